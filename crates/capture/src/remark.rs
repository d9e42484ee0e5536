//! Remarks about captures.

use std::fmt;
use std::path::PathBuf;

use tracewright_core::text::Grouped;
use tracewright_isa::riscv::privilege_name;

use crate::error::Condition;
use crate::record::Contradictions;

/// A remark about a capture: the capture is usable, but may not be what the caller expects.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remark {
    /// The port's buffer is too small for an encoder to resume after a loss.
    SmallBuffer {
        /// The buffer's size in bits.
        bits: u64,
        /// Most bits that resuming takes.
        needs: u64,
    },
    /// No instruction can meet a condition.
    Never(Condition, String),
    /// Nothing was traced: instructions ran, but tracing never started, or nothing qualified.
    NothingTraced {
        /// The condition.
        when: String,
        /// Whether tracing started.
        has_started: bool,
        /// Instructions that ran.
        ran: u64,
    },
    /// Instructions that may qualify and are not traced, since it is not known where in their blocks they begin.
    LeftOut(u64),
    /// A trigger fired, or never did.
    Trigger {
        /// The trigger's condition.
        text: String,
        /// Instructions that had run when it fired; `None` if it never did.
        came: Option<u64>,
    },
    /// Traps to this privilege went to several handlers, and the trace does not say to which.
    SeveralHandlers(u8),
    /// The delta trace ends early.
    DeltaEnds(PathBuf, tracewright_delta::Refused),
    /// Code was changed while it ran, and the capture leaves it out; this is the first address.
    CodeChanged(u64),
    /// The capture lacks code that ran; this is the first address.
    CodeMissing(u64),
    /// The capture holds no program.
    NoProgram,
    /// Some of what a log reports contradicts the program.
    Contradicted(PathBuf, Contradictions),
    /// There are more pieces of code than a capture can hold.
    ManyPieces {
        /// Pieces that are kept.
        kept: usize,
        /// Pieces in total.
        of: usize,
        /// Whether naming the program would help.
        is_unnamed: bool,
    },
    /// A mapped file is gone or has changed: the capture has only the part of it that ran.
    FileGone(PathBuf, String),
    /// There are more threads than trace IDs.
    ManyThreads {
        /// Threads without a trace ID.
        without: usize,
        /// Threads that were traced.
        traced: usize,
        /// Instructions that are not in the trace.
        instructions: u64,
    },
    /// Branches that are not in the trace, since it is not known where they led.
    BranchesLeftOut(u64),
    /// Blocks and exceptions that are not in the trace, since no core can have executed them.
    Nonsense(u64),
    /// A log is damaged; everything before the damage is used.
    LogDamaged(PathBuf, String),
    /// Instructions of a log do not follow from those before them: the trace has a gap at each of these places.
    LogGaps {
        /// The log.
        log: PathBuf,
        /// Number of gaps.
        gaps: u64,
        /// The first of them.
        first: String,
    },
    /// A log has several threads, and only one is read.
    OneThread {
        /// The log.
        path: PathBuf,
        /// Number of its threads.
        of: usize,
        /// The thread that is read.
        thread: u32,
    },
    /// Instructions that the listing lacks, since the log does not have their code.
    Unlisted(u64),
    /// Only the log has the requested memory accesses: the capture's protocol has no data trace.
    OnlyLogHasData,
    /// A remark of the machine that ran the program, or of the log's writer.
    Note(String),
}

impl Remark {
    /// Returns whether the capture is as it was asked for: nothing is missing from it.
    pub const fn is_minor(&self) -> bool {
        let is_told = matches!(self, Self::Note(_) | Self::SmallBuffer { .. } | Self::Trigger { .. });
        is_told || matches!(self, Self::OneThread { .. } | Self::NoProgram)
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SmallBuffer { bits, needs } => write!(
                f,
                "beginning anew after a loss takes up to {} bytes: with {bits} bits nothing may come after the first loss",
                needs.div_ceil(8)
            ),
            Self::Never(_, text) => write!(f, "{text:?}: no instruction can ever be so"),
            Self::NothingTraced { when, has_started, ran } => {
                let ran = grouped(*ran);
                match has_started {
                    false => {
                        write!(f, "{when:?}: tracing never started: nothing of {ran} instructions is traced")
                    }
                    true => write!(f, "{when:?}: nothing qualified: none of {ran} instructions is traced"),
                }
            }
            Self::LeftOut(count) => write!(
                f,
                "{} instructions that may qualify are not traced: the log does not tell where in their blocks they begin (name the \
                 program), or they are conditional branches of T32 whose IT instruction does not qualify",
                grouped(*count)
            ),
            Self::Trigger { text, came: None } => {
                write!(f, "{text:?}: it never came: the ring holds the end of the trace")
            }
            Self::Trigger { text, came: Some(count) } => {
                write!(f, "{text:?}: came within the first {} instructions", grouped(*count))
            }
            Self::SeveralHandlers(level) => write!(
                f,
                "traps to {} mode went to several places, which implicit_exception leaves out: decode may go wrong there",
                privilege_name(*level)
            ),
            Self::DeltaEnds(path, refused) => write!(f, "{}: ends there: {refused}", path.display()),
            Self::CodeChanged(address) => write!(
                f,
                "code was changed while it ran, or is another in another context, at {address:#x} for one: the capture leaves out what \
                 changed; the log has all of it"
            ),
            Self::CodeMissing(address) => {
                write!(f, "the capture lacks code that ran, at {address:#x} for one")
            }
            Self::NoProgram => f.write_str("the capture holds no program"),
            Self::Contradicted(path, contradictions) => write!(
                f,
                "{}: the log contradicts the program: {contradictions}; decode may go wrong there",
                path.display()
            ),
            Self::ManyPieces { kept, of, is_unnamed: true } => {
                write!(f, "only {kept} of {of} pieces of code that is in no program are kept: name the program")
            }
            Self::ManyPieces { kept, of, is_unnamed: false } => {
                write!(f, "only {kept} of {of} pieces of code are kept: decode may miss some")
            }
            Self::FileGone(path, why) => {
                write!(f, "{}: {why}: the capture has only what ran of it", path.display())
            }
            Self::ManyThreads { without, traced, instructions } => write!(
                f,
                "{without} threads more than there are trace IDs ({traced}): {instructions} instructions are not in the trace"
            ),
            Self::BranchesLeftOut(count) => write!(
                f,
                "branches that are not in the trace: {count}; a signal came just then, or recording stopped: nobody knows where they led"
            ),
            Self::Nonsense(count) => write!(
                f,
                "blocks and exceptions that are not in the trace: {count}; no core can have had them"
            ),
            Self::LogDamaged(path, why) => write!(f, "{}: {why}", path.display()),
            Self::LogGaps { log, gaps, first } => write!(
                f,
                "{}: {first}: the log lacks instructions or a trap, and the trace has a gap there (gaps in all: {})",
                log.display(),
                grouped(*gaps)
            ),
            Self::OneThread { path, of, thread } => {
                write!(f, "{}: the log has {of} threads, this is thread {thread}", path.display())
            }
            Self::Unlisted(count) => write!(
                f,
                "the listing lacks {} instructions, whose code the log does not have: name the program that ran, or record with \
                 --details all",
                grouped(*count)
            ),
            Self::OnlyLogHasData => f.write_str(
                "the capture has no data trace, as ETMv4 of Arm's application processors has none; the log has it",
            ),
            Self::Note(text) => f.write_str(text),
        }
    }
}

/// Formats a number with its digits in groups of three: `1 234 567`.
pub fn grouped(number: impl Into<u128>) -> String {
    Grouped(number.into()).to_string()
}
