use super::Handler;
use crate::data;

/// How to decode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What is switched on before any support packet says so.
    pub initial: crate::Options,
    /// Likewise for data trace.
    pub data: data::Options,
    /// The source whose messages are taken; `None`: there is only one.
    pub source: Option<u16>,
    /// Where trap handlers are. Asked for with implicit exceptions only.
    pub handlers: Vec<Handler>,
    /// With another context, execution goes on somewhere else (the encoder is told `ctype` 3, asynchronous discontinuity):
    /// threads, for example. Otherwise it goes on where it was.
    pub context_discontinuity: bool,
    /// No packet stands for more branches than this; one that does is taken for damaged. (A few bytes can stand for 2 to the
    /// power of 32 branches.)
    pub most_branches: Option<u64>,
    /// What the encoder does otherwise than the specification says.
    pub quirks: Quirks,
}

/// What encoders do otherwise than the specification says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quirks {
    /// The branch predictor is not reset by synchronisation packets.
    pub keeps_predictor: bool,
    /// The jump target cache and the return stack are not reset by synchronisation packets.
    pub keeps_history: bool,
    /// With `irdepth`, a return that went elsewhere than its call says leaves that on the return stack (pseudo-code of version
    /// 2.0).
    pub keeps_failed_returns: bool,
    /// Each address that is sent goes into the jump target cache, not only those of uninferable jumps.
    pub caches_all_addresses: bool,
}

impl Quirks {
    /// The C codec of 2021.
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
