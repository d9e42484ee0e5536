use crate::data;

/// Makes the struct, with a default for each field.
macro_rules! params {
    ($(#[$about:meta])* pub struct Params { $($(#[$doc:meta])* $name:ident: $type:ty = $default:expr,)* }) => {
        $(#[$about])*
        pub struct Params {
            $($(#[$doc])* pub $name: $type,)*
        }

        impl Default for Params {
            /// Returns the attributes of an RV64 encoder, with the default sizes of the specification where
            /// they make sense.
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }
    };
}

params! {
    /// Fixed attributes of an encoder, as discovery reports them. Fields have the names of the specification,
    /// without `_p`. Table sizes are exponents of two; 0 means that the table is absent.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct Params {
        /// Width of an instruction address in bits.
        iaddress_width: u8 = 64,
        /// Number of low address bits that are not sent.
        iaddress_lsb: u8 = 1,
        /// Width of a context in bits; not sent if [`nocontext`](Self::nocontext).
        context_width: u8 = 32,
        /// Whether contexts are left out.
        nocontext: bool = true,
        /// Width of a time in bits; not sent if [`notime`](Self::notime).
        time_width: u8 = 64,
        /// Whether times are left out.
        notime: bool = true,
        /// Width of a privilege level in bits.
        privilege_width: u8 = 2,
        /// Width of a trap cause in bits.
        ecause_width: u8 = 5,
        /// Width of the subformat of format 0 in bits.
        f0s_width: u8 = 1,
        /// Size of the branch predictor (exponent of two).
        bpred_size: u8 = 0,
        /// Size of the jump target cache (exponent of two).
        cache_size: u8 = 0,
        /// Width of the counter of nested calls in bits.
        call_counter_size: u8 = 0,
        /// Size of the return address stack (exponent of two).
        return_stack_size: u8 = 0,
        /// Whether the encoder recognises sequentially inferable jumps.
        sijump: bool = false,
        /// Draft 2.0.5: whether packets carry the number of implicit returns (`irets`) in place of the stack
        /// depth (`irdepth`).
        iret_ext: bool = false,
        /// Quirk of the reference model: whether `irdepth` is written as all ones where `irreport` is not
        /// asserted. The parser accepts both forms.
        irdepth_ones: bool = false,
        /// Quirk of PULP's `rv_tracer`: whether only addresses are compressed, to whole bytes, and flags are
        /// not chained to them.
        address_bytes: bool = false,
        /// Layout of support packets.
        support: SupportLayout = SupportLayout::Reference,
        /// Width of a data address in bits.
        daddress_width: u8 = 64,
        /// Width of the widest data access in bits: 8, 16, 32 or 64.
        data_width: u8 = 64,
        /// Width of the type of a data access in bits, which selects the kinds that are traced. 1: loads and
        /// stores. 2: also multiple accesses ([`mmacas_ext`](Self::mmacas_ext)). 3: also CSRs. 4: also
        /// atomics.
        dtype_width: u8 = 4,
        /// Width of a CSR in bits: 32 or 64.
        csr_width: u8 = 64,
        /// Compression of values in data trace.
        data_compression: data::Compression = data::Compression::Both,
        /// Width of `diff` in packets of CSRs and in data packets without an address: 2, or 1 if there is
        /// only one compression.
        data_diff_width: u8 = 2,
        /// Width of `diff` in packets of CSRs without data: 0 or 1.
        csr_diff_width: u8 = 1,
        /// Whether loads and atomics take two packets: one for the request, one for the loaded value.
        split_loads: bool = false,
        /// Width of the identifier of a request in bits, for split loads.
        lrid_width: u8 = 1,
        /// Draft 2.0.5: whether data packets use the formats of the extension for multiple accesses and
        /// compare-and-swap.
        mmacas_ext: bool = false,
        /// Meaning of data packets where the reference model departs from the specification.
        data_dialect: data::Dialect = data::Dialect::Standard,
    }
}

/// Layout of `encoder_mode` and the options in a support packet, which the specification (2.0) leaves to the
/// implementation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SupportLayout {
    /// Layout of the reference model.
    #[default]
    Reference,
    /// Layout of PULP's `rv_tracer`.
    Pulp,
    /// Layout of the standard support packet (draft 2.0.5).
    Standard,
}

impl Params {
    /// Returns the width of an address in a packet.
    pub const fn address_bits(&self) -> u32 {
        (self.iaddress_width - self.iaddress_lsb) as u32
    }

    /// Returns the width of a context in a packet.
    pub const fn context_bits(&self) -> u32 {
        if self.nocontext { 0 } else { self.context_width as u32 }
    }

    /// Returns the width of a time in a packet.
    pub const fn time_bits(&self) -> u32 {
        if self.notime { 0 } else { self.time_width as u32 }
    }

    /// Returns the width of `irdepth`, or of `irets` in its place.
    pub const fn returns_bits(&self) -> u32 {
        if self.iret_ext {
            return 8;
        }
        let stack = self.return_stack_size as u32;
        stack + (stack > 0) as u32 + self.call_counter_size as u32
    }

    /// Returns the kinds of packets, with the largest payload of each in bits before compression. Names have the format and the
    /// subformat.
    pub fn payload_bits(&self) -> impl Iterator<Item = (&'static str, u32)> {
        let (address, returns) = (self.address_bits(), self.returns_bits());
        let context = u32::from(self.privilege_width) + self.time_bits() + self.context_bits();
        let (cause, value) = (u32::from(self.ecause_width), u32::from(self.iaddress_width));
        // An address with notify, updiscon, irreport and how many returns.
        let reported = address + 3 + returns;
        let f0 = 2 + u32::from(self.f0s_width);
        let index = u32::from(self.cache_size);
        let sizes = [
            ("sync (3.0)", 5 + context + address, true),
            ("trap (3.1)", 7 + context + cause + address + value, true),
            ("context (3.2)", 4 + context, true),
            ("address (2)", 2 + reported, true),
            ("branches (1)", 7 + 31 + reported, true),
            ("branch count (0.0)", f0 + 34 + reported, self.bpred_size > 0),
            ("jump target (0.1)", f0 + index + 5 + 31 + 1 + returns, self.cache_size > 0),
        ];
        sizes.into_iter().filter(|(.., exists)| *exists).map(|(name, bits, _)| (name, bits))
    }

    /// Returns how many calls the return stack holds, and how many repeats each entry can count.
    pub(crate) const fn calls(&self) -> (usize, u32) {
        let repeats = if self.iret_ext { (1 << self.call_counter_size) - 1 } else { 0 };
        match (self.return_stack_size, self.call_counter_size) {
            (0, 0) => (0, 0),
            // As many as `irdepth` can express.
            (0, counter) if !self.iret_ext => ((1 << counter) - 1, 0),
            (0, counter) => (1 << counter, 0),
            (stack, _) => (1 << stack, repeats),
        }
    }

    /// Truncates `value` to the width of an address.
    pub const fn address(&self, value: u64) -> u64 {
        let mask = if self.iaddress_width >= 64 { u64::MAX } else { (1 << self.iaddress_width) - 1 };
        value & mask
    }
}
