use super::{Filter, Port, Resync};
use crate::{Options, Params, data};

/// How an encoder is built and set up.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// What it is built with.
    pub params: Params,
    /// What is switched on.
    pub options: Options,
    /// How often it synchronises.
    pub resync: Resync,
    /// What is traced.
    pub filter: Filter,
    /// Where packets go, if that can be too slow for them.
    pub port: Option<Port>,
    /// Every packet empties the branch map, also those that do not carry it: branches before a context packet are
    /// lost.
    pub shallow: bool,
    /// How data is traced, for support packets.
    pub data: Option<data::Options>,
    /// Deviations from the specification that others have.
    pub quirks: Quirks,
}

/// Where known encoders do something else than we hold for right. All off by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quirks {
    /// At the end the last instruction is told even if it has been told just before, and the end is always `ended_rep` (reference
    /// model).
    pub always_ends_with_address: bool,
    /// A start packet comes without more ado where a decoder may come by its address, or that of the packet before, on another
    /// way, or has no way there (reference model, C codec).
    pub bare_starts: bool,
    /// With `irdepth`, a return that went elsewhere than its call says leaves that on the return stack (pseudo-code of version
    /// 2.0, `riscv-etrace`).
    pub keeps_failed_returns: bool,
    /// With a call counter only, returns are taken to go where their call was, as hardware that only counts has to: a program
    /// that returns elsewhere is traced wrongly (reference model, C codec). Otherwise we keep the addresses besides.
    pub trusts_returns: bool,
    /// 31 branches that were all foretold are told as a map where an address is told: a count begins with 32 (C codec).
    pub counts_from_32: bool,
    /// Every address that is told enters the jump target cache, not only targets of jumps (C codec).
    pub caches_every_address: bool,
    /// An index is sent for a target that is in the jump target cache, even if an address is shorter (C codec).
    pub always_prefers_index: bool,
}

impl Quirks {
    /// Those of the Python reference model.
    pub const REFERENCE: Self = Self {
        always_ends_with_address: true,
        bare_starts: true,
        keeps_failed_returns: false,
        trusts_returns: true,
        counts_from_32: false,
        caches_every_address: false,
        always_prefers_index: false,
    };

    /// Those of the C codec of 2021.
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
