use super::Handler;
use crate::data;

/// Settings of a decoder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Options before the first support packet.
    pub initial: crate::Options,
    /// Options of data trace before the first support packet.
    pub data: data::Options,
    /// Source whose messages are decoded; `None` if there is only one.
    pub source: Option<u16>,
    /// Addresses of trap handlers, needed only with implicit exceptions.
    pub handlers: Vec<Handler>,
    /// Whether a new context means that execution goes on elsewhere, for example in another thread (the
    /// encoder's `ctype` is 3, asynchronous discontinuity). Otherwise execution goes on where it was.
    pub context_discontinuity: bool,
    /// Most branches that one packet may stand for; a packet with more is treated as damaged. (A few bytes
    /// can stand for 2³² branches.)
    pub most_branches: Option<u64>,
    /// Deviations of the encoder from the specification.
    pub quirks: Quirks,
}

/// Deviations of known encoders from the specification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quirks {
    /// Whether synchronisation packets leave the branch predictor as it is.
    pub keeps_predictor: bool,
    /// Whether synchronisation packets leave the jump target cache and the return stack as they are.
    pub keeps_history: bool,
    /// Whether, with `irdepth`, a return that did not go to its call leaves that call on the return stack
    /// (pseudo-code of version 2.0).
    pub keeps_failed_returns: bool,
    /// Whether every sent address enters the jump target cache, not only targets of uninferable jumps.
    pub caches_all_addresses: bool,
}

impl Quirks {
    /// Deviations of the C codec of 2021.
    pub const C_CODEC: Self = Self {
        keeps_predictor: true,
        keeps_history: false,
        keeps_failed_returns: false,
        caches_all_addresses: true,
    };
}

impl From<crate::Options> for Options {
    fn from(initial: crate::Options) -> Self {
        Self { initial, ..Self::default() }
    }
}
