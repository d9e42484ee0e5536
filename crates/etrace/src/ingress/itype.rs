use tracewright_isa::riscv::IType;

/// How many bits a type has (`itype_width`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ITypeWidth {
    /// All uninferable jumps have one type, inferable ones none. Returns cannot be implicit.
    Three,
    /// Calls, returns and other jumps are told apart.
    #[default]
    Four,
}

impl ITypeWidth {
    /// A type as it is with this width.
    #[inline]
    pub const fn narrow(self, itype: IType) -> IType {
        match (self, itype) {
            (Self::Four, itype) => itype,
            (Self::Three, IType::InferableCall | IType::InferableJump | IType::OtherInferableJump) => {
                IType::None
            }
            (Self::Three, itype) if itype as u8 >= IType::UninferableJump3 as u8 => IType::UninferableJump3,
            (Self::Three, itype) => itype,
        }
    }
}
