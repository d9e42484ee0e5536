/// Parameters of the modelled processor. [`Default`] is [`rocket_like`](Self::rocket_like).
///
/// Every field is bounded (see [`check`](Self::check) and the table that [`to_text`](Self::to_text) writes), so that no
/// model takes more than a few megabytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Maximum number of instructions that begin to execute in a cycle: 1 to 4.
    pub issue_width: u32,
    /// Maximum number of instructions that retire in a cycle: 1 to 4.
    pub retire_width: u32,
    /// Condition for retirement.
    pub retire: Retire,
    /// Number of stages between execution and retirement. An instruction that takes up to this many cycles longer than
    /// an addition retires no later than one.
    pub hidden_latency: u32,
    /// Maximum number of instructions that have begun and not retired.
    pub window: u32,
    /// Number of aligned bytes fetched in a cycle. A power of two.
    pub fetch_bytes: u32,
    /// Maximum number of instructions that the front end is ahead.
    pub fetch_queue: u32,

    /// Predictor of conditional branches.
    pub predictor: Predictor,
    /// Number of two-bit counters of the predictor. A power of two.
    pub predictor_entries: u32,
    /// Number of history bits of [`Predictor::Gshare`].
    pub predictor_history: u32,
    /// Number of entries of the direct-mapped branch target buffer. A power of two, or 0 for none.
    pub btb_entries: u32,
    /// Number of entries of the return address stack; 0 for none.
    pub return_stack: u32,
    /// Cycles lost when a branch is mispredicted.
    pub mispredict_penalty: u32,
    /// Cycles lost when a branch is taken as predicted but its target was not in the branch target buffer.
    pub redirect_penalty: u32,

    /// Instruction cache.
    pub icache: CacheConfig,
    /// Data cache: write-back, write-allocate.
    pub dcache: CacheConfig,
    /// Maximum number of concurrent data cache misses of loads. If 0, the cache blocks: not even hits pass a miss.
    pub outstanding_misses: u32,
    /// Number of entries of the store buffer.
    pub store_buffer: u32,

    /// Cycles between a load that hits and an instruction that uses its result, beyond those of an addition.
    pub load_use: u32,
    /// Cycles of an atomic operation beyond those of a load. It occupies the memory port for this time.
    pub atomic: u32,
    /// Cycles of a multiplication.
    pub multiply: u32,
    /// Set if a multiplication can begin each cycle.
    pub multiply_pipelined: bool,
    /// Cycles of a division of full registers. The divider does one at a time.
    pub divide: u32,
    /// Cycles of a division of 32-bit words in RV64 (DIVW and similar).
    pub divide_word: u32,
    /// Cycles of a floating-point addition or subtraction.
    pub float_add: u32,
    /// Cycles of a floating-point multiplication.
    pub float_multiply: u32,
    /// Cycles of a fused multiply-add.
    pub float_fused: u32,
    /// Cycles of a double-precision division. Divisions and square roots run one at a time.
    pub float_divide: u32,
    /// Cycles of a single-precision division.
    pub float_divide_single: u32,
    /// Cycles of a double-precision square root.
    pub float_sqrt: u32,
    /// Cycles of a single-precision square root.
    pub float_sqrt_single: u32,
    /// Cycles of conversions, comparisons, minimum, maximum, sign injection, classification and moves.
    pub float_convert: u32,
    /// Cycles for which a CSR access or fence has the pipeline to itself.
    pub csr: u32,
    /// Cycles lost at trap entry.
    pub trap_entry: u32,
}

/// Parameters of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheConfig {
    /// Size in bytes. If 0, there is no cache and every access hits. Size / (ways * line) is a power of two.
    pub size: u32,
    /// Number of lines in a set.
    pub ways: u32,
    /// Size of a line in bytes. A power of two.
    pub line: u32,
    /// Cycles of a hit. The first is part of the pipeline and free.
    pub hit: u32,
    /// Cycles of a miss beyond a hit.
    pub miss: u32,
}

/// Condition for retirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retire {
    /// Retires when it can no longer trap; users of its result wait (Rocket).
    Early,
    /// Retires when it has its result (CVA6).
    Complete,
}

/// Predictor of conditional branches.
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
