use super::Kind;

/// The instruction set bit of an address packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum InstructionSet {
    /// A64 or A32: instructions are 4-byte aligned.
    Is0,
    /// T32: instructions are 2-byte aligned.
    Is1,
}

impl InstructionSet {
    /// Returns how many low address bits are always zero and never sent.
    pub const fn alignment_bits(self) -> u32 {
        2 - self as u32
    }
}

/// The compressed form of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum AddressForm {
    /// Equal to history entry 0, the newest.
    Exact0,
    /// Equal to history entry 1.
    Exact1,
    /// Equal to history entry 2.
    Exact2,
    /// Seven address bits; the rest from history entry 0.
    Short7,
    /// Fifteen address bits; the rest from history entry 0.
    Short15,
    /// Address bits 31:0; the rest from history entry 0.
    Long32,
    /// All address bits.
    Long64,
}

impl AddressForm {
    /// Returns the exact-match form for a history entry (0 to 2).
    pub(crate) const fn exact(entry: u8) -> Self {
        match entry {
            0 => Self::Exact0,
            1 => Self::Exact1,
            _ => Self::Exact2,
        }
    }

    /// Returns the history entry of an exact match.
    pub const fn exact_entry(self) -> Option<u8> {
        match self {
            Self::Exact0 => Some(0),
            Self::Exact1 => Some(1),
            Self::Exact2 => Some(2),
            _ => None,
        }
    }

    /// Returns the number of low address bits that the packet holds, or 0 for an exact match.
    pub const fn bits(self, is: InstructionSet) -> u32 {
        match self {
            Self::Exact0 | Self::Exact1 | Self::Exact2 => 0,
            Self::Short7 => 7 + is.alignment_bits(),
            Self::Short15 => 15 + is.alignment_bits(),
            Self::Long32 => 32,
            Self::Long64 => 64,
        }
    }

    /// Returns the number of payload bytes of the form.
    pub(crate) const fn payload_len(self) -> usize {
        match self {
            Self::Exact0 | Self::Exact1 | Self::Exact2 => 0,
            Self::Short7 => 1,
            Self::Short15 => 2,
            Self::Long32 => 4,
            Self::Long64 => 8,
        }
    }
}

/// The address of a packet, decompressed, with its compressed form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Address.
    pub value: u64,
    /// Instruction set at the address.
    pub is: InstructionSet,
    /// Compressed form in the packet.
    pub form: AddressForm,
}

impl Address {
    /// Returns the kind of an Address packet in this form.
    pub(crate) const fn kind(self) -> Kind {
        match (self.form, self.is) {
            (AddressForm::Exact0 | AddressForm::Exact1 | AddressForm::Exact2, _) => Kind::AddressExact,
            (AddressForm::Short7 | AddressForm::Short15, InstructionSet::Is0) => Kind::AddressShortIs0,
            (AddressForm::Short7 | AddressForm::Short15, InstructionSet::Is1) => Kind::AddressShortIs1,
            (AddressForm::Long32, InstructionSet::Is0) => Kind::Address32Is0,
            (AddressForm::Long32, InstructionSet::Is1) => Kind::Address32Is1,
            (AddressForm::Long64, InstructionSet::Is0) => Kind::Address64Is0,
            (AddressForm::Long64, InstructionSet::Is1) => Kind::Address64Is1,
        }
    }

    /// Returns the kind of a Source Address packet in this form.
    pub(crate) const fn source_kind(self) -> Kind {
        match self.kind() {
            Kind::AddressExact => Kind::SourceAddressExact,
            Kind::AddressShortIs0 => Kind::SourceAddressShortIs0,
            Kind::AddressShortIs1 => Kind::SourceAddressShortIs1,
            Kind::Address32Is0 => Kind::SourceAddress32Is0,
            Kind::Address32Is1 => Kind::SourceAddress32Is1,
            Kind::Address64Is0 => Kind::SourceAddress64Is0,
            _ => Kind::SourceAddress64Is1,
        }
    }

    /// Returns the kind of an Address with Context packet in this form (long forms only).
    pub(crate) const fn context_kind(self) -> Kind {
        match self.kind() {
            Kind::Address32Is0 => Kind::AddressContext32Is0,
            Kind::Address32Is1 => Kind::AddressContext32Is1,
            Kind::Address64Is0 => Kind::AddressContext64Is0,
            _ => Kind::AddressContext64Is1,
        }
    }
}
