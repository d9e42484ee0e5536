/// The processor that is modelled. [`Default`] is [`rocket_like`](Self::rocket_like).
///
/// Every field is bounded (see [`check`](Self::check) and the table that [`to_text`](Self::to_text) writes), so no
/// configuration makes a model that takes more than a few megabytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Instructions that can begin to execute in a cycle: 1 to 4.
    pub issue_width: u32,
    /// Instructions that can retire in a cycle: 1 to 4.
    pub retire_width: u32,
    /// When an instruction can retire.
    pub retire: Retire,
    /// Stages between execution and retirement: an instruction that takes this many cycles longer than an addition
    /// retires no later than one.
    pub hidden_latency: u32,
    /// Instructions that may have begun and not retired.
    pub window: u32,
    /// Bytes fetched in a cycle, aligned to as many. A power of two.
    pub fetch_bytes: u32,
    /// Instructions the front end may be ahead.
    pub fetch_queue: u32,

    /// What foretells conditional branches.
    pub predictor: Predictor,
    /// Two-bit counters of the predictor. A power of two.
    pub predictor_entries: u32,
    /// Bits of history of [`Predictor::Gshare`].
    pub predictor_history: u32,
    /// Entries of the branch target buffer, direct-mapped. A power of two; 0: there is none.
    pub btb_entries: u32,
    /// Entries of the return-address stack; 0: there is none.
    pub return_stack: u32,
    /// Cycles lost when a branch goes elsewhere than predicted.
    pub mispredict_penalty: u32,
    /// Cycles lost when a branch is taken as predicted but its target was not in the target buffer.
    pub redirect_penalty: u32,

    /// The instruction cache.
    pub icache: CacheConfig,
    /// The data cache: write-back, write-allocate.
    pub dcache: CacheConfig,
    /// Data-cache misses of loads that can be under way at once. 0: the cache blocks, not even hits get by a miss.
    pub outstanding_misses: u32,
    /// Stores that wait to be written to the data cache.
    pub store_buffer: u32,

    /// Cycles between a load that hits and an instruction that uses its result, beyond those of an addition.
    pub load_use: u32,
    /// Cycles an atomic operation takes beyond those of a load; it keeps the memory port so long.
    pub atomic: u32,
    /// Cycles to a product.
    pub multiply: u32,
    /// Whether a product can be begun each cycle.
    pub multiply_pipelined: bool,
    /// Cycles of a division of full registers; the divider does one at a time.
    pub divide: u32,
    /// Cycles of a division of 32-bit words in RV64 (DIVW and its kin).
    pub divide_word: u32,
    /// Cycles of a floating-point addition or subtraction.
    pub float_add: u32,
    /// Cycles of a floating-point multiplication.
    pub float_multiply: u32,
    /// Cycles of a fused multiply-add.
    pub float_fused: u32,
    /// Cycles of a double-precision division; one at a time, also with roots.
    pub float_divide: u32,
    /// Cycles of a single-precision division.
    pub float_divide_single: u32,
    /// Cycles of a double-precision square root.
    pub float_sqrt: u32,
    /// Cycles of a single-precision square root.
    pub float_sqrt_single: u32,
    /// Cycles of conversions, comparisons, minimum, maximum, sign injection, classification and moves.
    pub float_convert: u32,
    /// Cycles a CSR access or fence has the pipeline to itself.
    pub csr: u32,
    /// Cycles lost at a trap's entry.
    pub trap_entry: u32,
}

/// A cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheConfig {
    /// Bytes; 0: there is none, and memory is so close that every access hits. Size / (ways * line) is a power of two.
    pub size: u32,
    /// Lines in a set.
    pub ways: u32,
    /// Bytes of a line. A power of two.
    pub line: u32,
    /// Cycles of a hit. The first is part of the pipeline and costs nothing more.
    pub hit: u32,
    /// Cycles a miss takes beyond a hit.
    pub miss: u32,
}

/// When an instruction can retire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retire {
    /// When it can no longer trap; what uses its result waits (Rocket).
    Early,
    /// When it has its result (CVA6).
    Complete,
}

/// What foretells conditional branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Predictor {
    /// Backward taken, forward not taken.
    Static,
    /// A two-bit counter for each address.
    Bimodal,
    /// A two-bit counter for each exclusive or of address and history.
    Gshare,
}

impl Default for Config {
    fn default() -> Self {
        Self::rocket_like()
    }
}
