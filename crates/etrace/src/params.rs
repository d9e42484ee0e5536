use crate::data;

/// What an encoder is built with: the attributes that discovery gives, under their names in the specification, without
/// `_p`. Sizes of tables are exponents of two; 0: there is none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Params {
    /// Bits of an address.
    pub iaddress_width: u8,
    /// Lowest bits of an address that are not sent.
    pub iaddress_lsb: u8,
    /// Bits of a context; not sent if [`nocontext`](Self::nocontext).
    pub context_width: u8,
    /// Contexts are not sent.
    pub nocontext: bool,
    /// Bits of a time; not sent if [`notime`](Self::notime).
    pub time_width: u8,
    /// Times are not sent.
    pub notime: bool,
    /// Bits of a privilege.
    pub privilege_width: u8,
    /// Bits of the cause of a trap.
    pub ecause_width: u8,
    /// Bits of the subformat of format 0.
    pub f0s_width: u8,
    /// Entries of the branch predictor.
    pub bpred_size: u8,
    /// Entries of the jump target cache.
    pub cache_size: u8,
    /// Bits of the counter of nested calls.
    pub call_counter_size: u8,
    /// Entries of the stack of return addresses.
    pub return_stack_size: u8,
    /// Whether sequentially inferable jumps can be told apart.
    pub sijump: bool,
    /// Draft 2.0.5: packets have the number of implicit returns (`irets`) in place of the depth of the stack (`irdepth`).
    pub iret_ext: bool,
    /// Not the specification, but the reference model: `irdepth` is all ones where `irreport` is not asserted. Either can be read.
    pub irdepth_ones: bool,
    /// Not the specification, but PULP's `rv_tracer`: only addresses are cut, to whole bytes, and flags are not chained to them.
    pub address_bytes: bool,
    /// How support packets are laid out.
    pub support: SupportLayout,
    /// Bits of a data address.
    pub daddress_width: u8,
    /// Bits of the widest data access: 8, 16, 32 or 64.
    pub data_width: u8,
    /// Bits of the type of a data access, which says what data trace knows: 1: only loads and stores; 2: those of several
    /// accesses, too ([`mmacas_ext`](Self::mmacas_ext)); 3: CSRs, too; 4: atomics, too.
    pub dtype_width: u8,
    /// Bits of a CSR: 32 or 64.
    pub csr_width: u8,
    /// Which compression of values data trace has.
    pub data_compression: data::Compression,
    /// Bits of `diff` in data packets without an address, and in those of CSRs: 2, or 1 if there is only one compression.
    pub data_diff_width: u8,
    /// Bits of `diff` in packets of CSRs without data: 0 or 1.
    pub csr_diff_width: u8,
    /// Whether loads and atomics are told by two packets, one for the request and one for what was loaded.
    pub split_loads: bool,
    /// Bits of what identifies a request, where loads are split.
    pub lrid_width: u8,
    /// Draft 2.0.5: data packets have the formats of the extension for multiple accesses and compare-and-swap.
    pub mmacas_ext: bool,
    /// What data packets mean where the reference model departs from the specification.
    pub data_dialect: data::Dialect,
}

/// How `encoder_mode` and the options lie in a support packet: the specification (2.0) leaves it to the implementation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SupportLayout {
    /// The reference model's.
    #[default]
    Reference,
    /// That of PULP's `rv_tracer`.
    Pulp,
    /// That of the standard support packet (draft 2.0.5).
    Standard,
}

impl Default for Params {
    /// An encoder for RV64 with the sizes that the specification gives as defaults where that makes sense.
    fn default() -> Self {
        Self {
            iaddress_width: 64,
            iaddress_lsb: 1,
            context_width: 32,
            nocontext: true,
            time_width: 64,
            notime: true,
            privilege_width: 2,
            ecause_width: 5,
            f0s_width: 1,
            bpred_size: 0,
            cache_size: 0,
            call_counter_size: 0,
            return_stack_size: 0,
            sijump: false,
            iret_ext: false,
            irdepth_ones: false,
            address_bytes: false,
            support: SupportLayout::Reference,
            daddress_width: 64,
            data_width: 64,
            dtype_width: 4,
            csr_width: 64,
            data_compression: data::Compression::Both,
            data_diff_width: 2,
            csr_diff_width: 1,
            split_loads: false,
            lrid_width: 1,
            mmacas_ext: false,
            data_dialect: data::Dialect::Standard,
        }
    }
}

impl Params {
    /// Bits of an address in a packet.
    pub const fn address_bits(&self) -> u32 {
        (self.iaddress_width - self.iaddress_lsb) as u32
    }

    /// Bits of a context in a packet.
    pub const fn context_bits(&self) -> u32 {
        if self.nocontext { 0 } else { self.context_width as u32 }
    }

    /// Bits of a time in a packet.
    pub const fn time_bits(&self) -> u32 {
        if self.notime { 0 } else { self.time_width as u32 }
    }

    /// Bits of `irdepth`, or of `irets` in its place.
    pub const fn returns_bits(&self) -> u32 {
        if self.iret_ext {
            return 8;
        }
        let stack = self.return_stack_size as u32;
        stack + (stack > 0) as u32 + self.call_counter_size as u32
    }

    /// How many calls implicit returns can know of, and how often besides each may have been made again.
    pub(crate) const fn calls(&self) -> (usize, u32) {
        let repeats = if self.iret_ext { (1 << self.call_counter_size) - 1 } else { 0 };
        match (self.return_stack_size, self.call_counter_size) {
            (0, 0) => (0, 0),
            // As many as `irdepth` can tell.
            (0, counter) if !self.iret_ext => ((1 << counter) - 1, 0),
            (0, counter) => (1 << counter, 0),
            (stack, _) => (1 << stack, repeats),
        }
    }

    /// An address with only the bits that it has.
    pub const fn address(&self, value: u64) -> u64 {
        let mask = if self.iaddress_width >= 64 { u64::MAX } else { (1 << self.iaddress_width) - 1 };
        value & mask
    }
}
