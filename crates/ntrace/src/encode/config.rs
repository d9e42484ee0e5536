use tracewright_core::Isa;

use crate::Params;

/// Settings of an encoder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Parameters that a reader needs, too.
    pub params: Params,
    /// Instruction set, which decides the width of addresses.
    pub isa: Isa,
    /// Whether full histories that repeat are counted (`trTeInstEnRepeatedHistory`).
    pub repeated_history: bool,
    /// Whether branch messages that repeat are counted (branch mode only).
    pub repeated_branch: bool,
    /// Number of branches in a full history, 4 to 31.
    pub history_branches: u8,
    /// Width of the instruction counter in bits, up to 30. It is sent before it overflows.
    pub icnt_bits: u8,
    /// Number of calls that the encoder keeps, up to 32.
    pub calls: u8,
    /// Whether privilege and contexts are sent (`trTeContext`).
    pub contexts: bool,
    /// Whether exceptions and interrupts have causes of their own. Otherwise both are traps.
    pub trap_kinds: bool,
    /// Messages with a timestamp.
    pub timestamps: Timestamps,
    /// Interval of synchronisation.
    pub resync: Resync,
    /// Reason that the first synchronisation gives: 5 is that tracing was switched on.
    pub first_sync: u8,
    /// Whether the end of tracing leaves out an empty history, as the reference encoder does.
    pub omits_empty_history: bool,
}

impl Config {
    /// Creates the settings of an encoder without options.
    pub fn new(params: Params, isa: Isa) -> Self {
        Self {
            params,
            isa,
            repeated_history: false,
            repeated_branch: false,
            history_branches: 31,
            icnt_bits: 22,
            calls: 32,
            contexts: false,
            trap_kinds: true,
            timestamps: Timestamps::Off,
            resync: Resync::default(),
            first_sync: 5,
            omits_empty_history: false,
        }
    }

    /// Checks that such an encoder can exist.
    ///
    /// # Errors
    /// Returns the name of the setting that is wrong.
    pub const fn check(&self) -> Result<(), &'static str> {
        match self {
            _ if self.history_branches < 4 || self.history_branches > 31 => Err("history_branches"),
            _ if self.icnt_bits == 0 || self.icnt_bits > 30 => Err("icnt_bits"),
            _ if self.calls > 32 => Err("calls"),
            _ if self.first_sync > 15 => Err("first_sync"),
            _ => self.params.check(),
        }
    }
}

/// Messages with a timestamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Timestamps {
    /// None.
    #[default]
    Off,
    /// Those with synchronisation.
    Syncs,
    /// All.
    All,
}

/// Interval of synchronisation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resync {
    /// Unit that is counted.
    pub mode: SyncMode,
    /// Synchronisation is due after 2 to the power of `max` + 4 units (`trTeInstSyncMax`).
    pub max: u8,
}

/// Unit that is counted (`trTeInstSyncMode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum SyncMode {
    /// No regular synchronisation.
    #[default]
    Off = 0,
    /// Messages.
    Messages = 1,
    /// Cycles.
    Cycles = 2,
    /// Half-words of retired instructions.
    HalfWords = 3,
}
