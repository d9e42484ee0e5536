use super::{Filter, Port, Resync};
use crate::{Options, Params, data};

/// Settings of an encoder.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Fixed attributes.
    pub params: Params,
    /// Options that are on.
    pub options: Options,
    /// Interval of synchronisation.
    pub resync: Resync,
    /// Filter of entries.
    pub filter: Filter,
    /// Port with limited bandwidth, if packets go through one.
    pub port: Option<Port>,
    /// Whether every packet empties the branch map, even one that does not carry it. Branches before a
    /// context packet are then lost.
    pub shallow: bool,
    /// Options of data trace, for support packets.
    pub data: Option<data::Options>,
    /// Deviations from the specification, as other encoders have them.
    pub quirks: Quirks,
}

/// Deviations of known encoders from what we hold to be right. All are off by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quirks {
    /// Whether the last instruction is reported at the end even if it was reported just before, with the
    /// status always `ended_rep` (reference model).
    pub always_ends_with_address: bool,
    /// Whether a start packet is sent without preparation where a decoder may pass its address, or that of
    /// the packet before, on another path, or has no path to it (reference model, C codec).
    pub bare_starts: bool,
    /// Whether, with `irdepth`, a return that did not go to its call leaves that call on the return stack
    /// (pseudo-code of version 2.0, `riscv-etrace`).
    pub keeps_failed_returns: bool,
    /// Whether, with only a call counter, returns are assumed to go to their call, as hardware that only
    /// counts must assume. A program that returns elsewhere is traced wrongly (reference model, C codec).
    /// Otherwise the encoder also keeps the addresses.
    pub trusts_returns: bool,
    /// Whether 31 correctly predicted branches before an address are sent as a map, so that counts begin at
    /// 32 (C codec).
    pub counts_from_32: bool,
    /// Whether every reported address enters the jump target cache, not only targets of jumps (C codec).
    pub caches_every_address: bool,
    /// Whether a target in the jump target cache is sent as an index even if its address is shorter (C
    /// codec).
    pub always_prefers_index: bool,
}

impl Quirks {
    /// Deviations of the Python reference model.
    pub const REFERENCE: Self = Self {
        always_ends_with_address: true,
        bare_starts: true,
        keeps_failed_returns: false,
        trusts_returns: true,
        counts_from_32: false,
        caches_every_address: false,
        always_prefers_index: false,
    };

    /// Deviations of the C codec of 2021.
    pub const C_CODEC: Self = Self {
        always_ends_with_address: false,
        bare_starts: true,
        keeps_failed_returns: false,
        trusts_returns: true,
        counts_from_32: true,
        caches_every_address: true,
        always_prefers_index: true,
    };
}
