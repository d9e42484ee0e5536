use tracewright_core::Isa;

/// Parameters of an encoder that a reader of its stream must know.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Params {
    /// Way to report conditional branches.
    pub mode: Mode,
    /// Number of counters of the branch predictor, a power of two from 64 to 1024 (mode predict).
    pub entries: u16,
    /// Width of addresses in bits, 32 to 64. Those of RV64 are extended from the highest one.
    pub address_bits: u8,
    /// Width of an address space's number in bits, 9 for RV32 and 16 for RV64.
    pub asid_bits: u8,
    /// Fields of synchronisation packets and traps.
    pub form: Form,
}

impl Default for Params {
    /// Returns the parameters of an encoder that reports each branch.
    fn default() -> Self {
        Self { mode: Mode::Target, entries: 1024, address_bits: 40, asid_bits: 16, form: Form::Full }
    }
}

/// Way to report conditional branches: bits 1:0 of the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Mode {
    /// A packet for each.
    #[default]
    Target = 0,
    /// A packet for each that a predictor gets wrong, and a count of the others. Direct jumps are left out.
    Predict = 2,
}

/// Fields of synchronisation packets and traps, which differ by age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Form {
    /// Those that the decoder of 2026 reads: all synchronisation packets have the configuration.
    #[default]
    Full,
    /// Those that the hardware of 2025 writes: only the first synchronisation packet has the configuration.
    Rtl,
    /// Those before: no privilege, no address space, no configuration.
    Plain,
}

/// Fewest and most counters of a predictor.
pub(crate) const ENTRIES: [u16; 2] = [64, 1024];

impl Params {
    /// Checks that such a stream can exist. Parsers and writers rely on it.
    ///
    /// # Errors
    /// Returns the name of the parameter that is wrong.
    pub const fn check(&self) -> Result<(), &'static str> {
        let [least, most] = ENTRIES;
        match self {
            _ if !self.entries.is_power_of_two() || self.entries < least || self.entries > most => {
                Err("entries")
            }
            _ if self.address_bits < 32 || self.address_bits > 64 => Err("address_bits"),
            _ if self.asid_bits == 0 || self.asid_bits > 32 => Err("asid_bits"),
            _ => Ok(()),
        }
    }

    /// Returns an address without the bits that the encoder does not have.
    pub(crate) const fn cut(&self, address: u64) -> u64 {
        address & (u64::MAX >> (64 - self.address_bits as u32)) & !1
    }

    /// Returns the whole address of what an encoder sent.
    #[inline]
    pub const fn whole(&self, sent: u64, isa: Isa) -> u64 {
        let above = 64 - self.address_bits as u32;
        match isa {
            Isa::Rv32 => sent & 0xffff_fffe,
            _ => (((self.cut(sent) << above) as i64) >> above) as u64,
        }
    }

    /// Returns the configuration that an encoder reports.
    pub const fn configuration(&self) -> u8 {
        /// Bit that ends a number.
        const LAST: u8 = 0x80;
        let size = (self.entries / ENTRIES[0]).trailing_zeros() as u8;
        match self.mode {
            Mode::Target => LAST,
            Mode::Predict => LAST | (size << 2) | Mode::Predict as u8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_extended_from_their_highest_bit() {
        let params = Params::default();
        assert_eq!(params.whole(0x80_0000_1234, Isa::Rv64), 0xffff_ff80_0000_1234);
        assert_eq!(params.whole(0x7f_0000_1235, Isa::Rv64), 0x7f_0000_1234);
        assert_eq!(params.whole(0x80_8000_1234, Isa::Rv32), 0x8000_1234);
        assert_eq!(params.cut(0xffff_ff80_0000_1234), 0x80_0000_1234);
        assert_eq!(Params { address_bits: 64, ..params }.whole(u64::MAX, Isa::Rv64), u64::MAX - 1);
    }

    #[test]
    fn configurations_have_mode_and_size() {
        let predict = |entries| Params { mode: Mode::Predict, entries, ..Params::default() }.configuration();
        assert_eq!([Params::default().configuration(), predict(64), predict(1024)], [0x80, 0x82, 0x92]);
    }
}
