//! A timing model: the cycle in which each instruction retires.
//!
//! The hart executes; the model estimates how long a processor would have taken. **It is a model** of no real product. It exists
//! so that cycle-accurate tracing, the sizing of trace buffers and stall views have input that behaves like a pipeline: bursts of
//! retirements, bubbles after loads and branches, long pauses at misses. Do not take its cycles for those of a processor.
//!
//! # What is modelled
//!
//! An in-order pipeline with a scoreboard. For each instruction, in program order:
//!
//! | step | waits for | [`Reason`] |
//! |---|---|---|
//! | fetch | an aligned group of `fetch_bytes` a cycle, at most `fetch_queue` instructions ahead | `Fetch` |
//! | | the instruction cache | `InstructionMiss` |
//! | | a branch predicted wrong; a target not in the target buffer | `Mispredict`, `Redirect` |
//! | begin | at most `issue_width` a cycle; one access, branch, product, floating-point operation | `Structural` |
//! | | at most `window` under way | `Structural` |
//! | | the divider, or the unit for floating-point quotients and roots: one at a time | `MultiplyDivide`, `Float` |
//! | | its operands | `LoadUse`, `DataMiss`, `MultiplyDivide`, `Float` |
//! | | room in the store buffer; an atomic, that it is empty | `StoreBuffer` |
//! | | a CSR access or fence before it | `Serialize` |
//! | retire | in order, at most `retire_width` a cycle | |
//! | | with [`Retire::Complete`], its own result | as operands |
//! | after a trap | `trap_entry` | `Trap` |
//!
//! * Branches: static (backward taken), bimodal or gshare directions; a direct-mapped target buffer; a return-address
//!   stack after the specification's hints (x1 and x5 are link registers). Returns are known as such when they are
//!   fetched. An indirect branch without a prediction counts as predicted wrong. MRET and SRET cost as much.
//! * Caches: set-associative, least recently used, allocated also by stores. Dirty lines are written back, which is
//!   counted but takes no time. Misses of loads overlap up to `outstanding_misses`; a load of a line that is on its way
//!   waits for it. Stores complete in the background, one at a time.
//! * FENCE waits for memory; FENCE.I and SFENCE.VMA also empty the instruction cache and fetch anew.
//!
//! # What is not modelled
//!
//! * No memory consistency, no other harts, no coherence; no TLB, no page walks; no prefetching; no second-level
//!   cache, no DRAM: a miss always takes the same time. Devices are cached like memory.
//! * Only what retired is executed: a wrong path fetches nothing and touches no cache. Predictors learn at once.
//! * The model sees addresses, not operands: a division takes the same time for all numbers (no early out; only DIVW
//!   and similar differ), as do floating-point operations.
//! * A load does not wait for a store in the buffer to the same address. Instructions are not fused. WFI takes a cycle;
//!   how long a hart slept is not known.
//! * A system call that the machine itself handles costs a trap entry and nothing else.
//!
//! # Example by hand
//!
//! ```text
//!                          fetched  operands  begins, retires
//!     ld   a0, 0(a1)          1        0         1
//!     addi a0, a0, 1          2        3         3      load_use = 1: a cycle is lost
//!     addi a2, a2, 1          3        0         4
//!     beq  a0, a3, ahead      4        4         5      predicted not taken, but it is
//! ahead:
//!     ld   a0, 0(a1)          9        0         9      mispredict_penalty = 3: cycles 6, 7 and 8 are lost
//! ```
//!
//! Nine cycles: 5 in which something retired, 1 [`Reason::LoadUse`], 3 [`Reason::Mispredict`]. Each cycle is counted
//! once: either something retired in it, or it is attributed to what the next instruction to retire was waiting for.
//!
//! # Use
//!
//! ```
//! use tracewright_hart::timing::{Config, Model, Timed};
//!
//! let config = Config::parse("preset = cva6_like\nload_use = 1 # as if it were shorter").unwrap();
//! // A sink for `Hart::run`; the one inside gets what it would have got, and cycles.
//! let timed = Timed::new(Model::new(&config).unwrap(), ());
//! assert_eq!(timed.model.stats().cycles, 0);
//! ```
//!
//! | preset | a cycle | branches | caches (I, D) | wrong branch | load to use | product, quotient |
//! |---|---|---|---|---|---|---|
//! | `rocket_like`, `default` | 1, retires early | gshare 512, BTB 32, stack 6 | 16 KiB, 16 KiB | 3 | 1 | 4, 65 |
//! | `cva6_like` | 1, retires up to 2 | bimodal 128, BTB 32, stack 2 | 16 KiB, 32 KiB | 5 | 2 | 2, 64 |
//! | `dual_issue` | 2 | gshare 4096, BTB 256, stack 8 | 32 KiB, 32 KiB | 6 | 2 | 3, 34 |
//! | `tiny` | 1 | static | none | 2 | 1 | 3, 37 |

mod config;
mod decoded;
mod fields;
mod front;
mod lines;
mod memory;
mod model;
mod predictor;
mod presets;
mod reason;
mod stats;
mod text;
mod timed;

pub use config::{CacheConfig, Config, Predictor, Retire};
pub use model::Model;
pub use reason::Reason;
pub use stats::{BranchStats, CacheStats, Stats};
pub use text::{ConfigError, ConfigProblem};
pub use timed::Timed;
