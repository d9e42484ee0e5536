use tracewright_core::Isa;

/// Parameters of an encoder that a reader of its stream must know. Most are register fields of the trace control interface, and have
/// their names without `trTeInst`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Params {
    /// Width of SRC in bits, 0 to 12. If it is 0, the stream has one source.
    pub src_bits: u8,
    /// Way to report conditional branches.
    pub mode: Mode,
    /// Way to omit the targets of returns.
    pub implicit_return: ImplicitReturn,
    /// Whether jumps whose target is in the instruction before are omitted.
    pub sequential_jump: bool,
    /// Whether direct jumps are reported like taken branches.
    pub all_jumps: bool,
    /// Whether identical top bits of addresses are dropped.
    pub extend_addr_msb: bool,
    /// Width of a timestamp in bits, 1 to 64. Timestamps wrap at this width.
    pub ts_width: u8,
    /// Version of the messages.
    pub dialect: Dialect,
}

impl Default for Params {
    /// Returns the parameters of an encoder with branch history and without options.
    fn default() -> Self {
        Self {
            src_bits: 0,
            mode: Mode::History,
            implicit_return: ImplicitReturn::Off,
            sequential_jump: false,
            all_jumps: false,
            extend_addr_msb: false,
            ts_width: 64,
            dialect: Dialect::Standard,
        }
    }
}

/// Way to report conditional branches (`trTeInstMode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Mode {
    /// A message for each taken branch (BTM).
    Branch = 3,
    /// A history with one bit for each branch (HTM).
    #[default]
    History = 6,
}

/// Way to omit the targets of returns (`trTeInstImplicitReturnMode`). A decoder only needs to know whether they are omitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ImplicitReturn {
    /// All targets are sent.
    #[default]
    Off,
    /// The encoder counts open calls, and trusts that returns go to them.
    Counter,
    /// The encoder compares this many low bits of each target with those of the open call.
    LowBits(u8),
    /// The encoder compares targets with the addresses of open calls.
    Stack,
}

/// Version of the messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// N-Trace 1.0.
    #[default]
    Standard,
    /// SpacemiT's hardware: N-Trace 1.0 whose addresses are extended from bit 47 of a field. The reference code extends them so, too.
    Spacemit,
    /// SiFive's hardware before 1.0: more messages; relative timestamps are differences by XOR, addresses are extended from bit 47
    /// of a field, and zeros between messages are idle.
    Sifive,
}

/// Largest width of SRC.
pub(crate) const MOST_SRC_BITS: u8 = 12;

impl Params {
    /// Checks that such a stream can exist. Parsers and writers rely on it.
    ///
    /// # Errors
    /// Returns the name of the parameter that is wrong.
    pub const fn check(&self) -> Result<(), &'static str> {
        match self {
            _ if self.src_bits > MOST_SRC_BITS => Err("src_bits"),
            _ if self.ts_width == 0 || self.ts_width > 64 => Err("ts_width"),
            _ => Ok(()),
        }
    }

    /// Returns whether targets of returns may be left out.
    pub fn has_implicit_returns(&self) -> bool {
        self.implicit_return != ImplicitReturn::Off
    }

    /// Returns a timestamp after the wrap at its width.
    pub(crate) const fn wrapped(&self, time: u64) -> u64 {
        time & (u64::MAX >> (64 - self.ts_width as u32))
    }
}

/// Returns the mask of the valid bits of an address.
pub(crate) const fn address_mask(isa: Isa) -> u64 {
    match isa {
        Isa::Rv32 => u32::MAX as u64,
        _ => u64::MAX,
    }
}
