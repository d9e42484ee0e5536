use crate::{Block, Context, DataAccess, Delay, Isa, MemorySpace, Message};

/// An element of a decoded trace, in the order of execution. All protocols share this enum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// Instructions that ran.
    Block(Block),
    /// Instructions that ran on a path that is not known: from `start`, and then execution went on at `next`.
    UnknownPath {
        /// Address of the first instruction, if known.
        start: Option<u64>,
        /// Address at which execution went on.
        next: u64,
        /// Instruction set at `next`.
        isa: Isa,
        /// Number of instructions, if the trace has it.
        count: Option<u32>,
    },
    /// An address at which execution goes on. Emitted instead of blocks if there is no program to follow.
    Target {
        /// The address.
        address: u64,
        /// Instruction set at the address.
        isa: Isa,
        /// Whether a branch led to the address. If not, tracing begins there, an exception led there, or the trace
        /// repeats the current address.
        branch: bool,
    },
    /// The state of the core and the instruction set from here on.
    Context(Context, Isa),
    /// The start of tracing. What ran before is unknown.
    TraceOn(TraceOn),
    /// An exception that was taken.
    Exception(Exception),
    /// A return from an exception.
    ExceptionReturn,
    /// A global timestamp.
    Timestamp {
        /// Value of the timestamp.
        value: u64,
        /// Cycles since the last cycle count, if the trace has them.
        cycles: Option<u32>,
    },
    /// The point that a later timestamp refers to.
    TimestampMarker,
    /// Cycles since the last cycle count, or `None` if the trace unit does not know.
    Cycles(Option<u32>),
    /// Time since the last local timestamp of the same source, in cycles of its clock. It belongs to the messages before
    /// it.
    LocalTime {
        /// Number of cycles.
        cycles: u64,
        /// Delay of the timestamp or of the messages after what they report.
        delay: Delay,
    },
    /// Trace events, one bit each.
    Event(u8),
    /// The trigger condition of the trace unit was met.
    Trigger,
    /// A message of software or of debug hardware.
    Message(Message),
    /// A value that the program wrote into the trace.
    Instrumentation {
        /// Exception level of the instruction that wrote the value.
        level: u8,
        /// The value.
        value: u64,
    },
    /// A memory transaction.
    Transaction(Transaction),
    /// An access to memory or to a control register.
    ///
    /// Accesses are in order among themselves, but not next to their instructions, which may come earlier or later.
    Data {
        /// The access.
        access: DataAccess,
        /// Address of the instruction that made the access, if certain.
        by: Option<u64>,
    },
    /// Data accesses are missing here.
    DataLost,
    /// Instructions that ran, but whose code is in no image.
    NoCode {
        /// First address without code.
        address: u64,
        /// Memory space of the missing code.
        space: MemorySpace,
    },
    /// A contradiction between the trace and the program, most often because it is the wrong program. Nothing more is
    /// emitted until the next address in the trace.
    Mismatch(Mismatch),
    /// The start of missing trace. A [`Gap`](Self::Gap) follows when its extent is known.
    Lost(GapReason),
    /// A part of the trace that could not be decoded, as stream positions.
    Gap {
        /// Reason why the part could not be decoded.
        reason: GapReason,
        /// Position at which the gap begins.
        from: u64,
        /// Position at which decoding resumed.
        to: u64,
    },
    /// The end of the trace.
    End,
}

/// The reason why tracing begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceOn {
    /// Tracing was switched on, or a filter let it through.
    Normal,
    /// The trace unit overflowed before.
    Overflow,
    /// The core was halted by a debugger before.
    Debug,
}

/// An exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Exception {
    /// Number of the exception, as the protocol defines it, or [`UNKNOWN`](Self::UNKNOWN).
    pub number: u16,
    /// Whether the exception is an interrupt, if interrupts have numbers of their own (RISC-V).
    pub interrupt: bool,
    /// Additional value of the architecture (RISC-V: the trap value), if the trace has it.
    pub value: Option<u64>,
    /// Address at which execution goes on after the exception, if the trace has it.
    pub return_address: Option<u64>,
    /// Whether the return address is also the target of the last branch, so that no instruction ran there.
    pub at_target: bool,
}

impl Exception {
    /// Number of an exception whose number the trace does not have.
    pub const UNKNOWN: u16 = u16::MAX;

    /// Returns the number, if the trace has it.
    pub fn known(number: u16) -> Option<u16> {
        Some(number).filter(|&number| number != Self::UNKNOWN)
    }
}

/// The state of a memory transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transaction {
    /// The transaction was under way when the trace began.
    Before,
    /// The transaction started.
    Start,
    /// The transaction succeeded.
    Commit,
    /// The transaction failed, and its effects were undone.
    Fail,
}

/// The reason why trace is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GapReason {
    /// No trace can be decoded before the first synchronisation point.
    Start,
    /// The trace unit overflowed.
    Overflow,
    /// Tracing stopped, and elements that were still speculative were discarded.
    Discard,
    /// The bytes are not a packet.
    BadPacket,
    /// The packets contradict each other.
    Contradiction(Contradiction),
    /// The recording was interrupted: what follows does not continue what came before.
    Interrupted,
    /// The trace allows several paths that leave the core in different states.
    Ambiguous,
    /// The program could not be followed, as an earlier [`Element::Mismatch`] or [`Element::NoCode`] reported.
    /// Nothing can be decoded before the next synchronisation point.
    Mismatch,
}

/// A contradiction between packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Contradiction {
    /// More elements are committed than are speculative.
    CommitBeyondDepth,
    /// More elements are cancelled than are speculative.
    CancelBeyondDepth,
    /// A return has its address neither in the trace nor on the return stack.
    ReturnStackEmpty,
    /// The number of speculative elements differs from what the trace unit reports.
    WrongDepth,
    /// A packet is not allowed here.
    UnexpectedPacket,
    /// A trap has a handler that is neither in the trace nor known otherwise.
    NoHandler,
}

/// A contradiction between the trace and the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mismatch {
    /// The branch at this address is unconditional, but the trace says that it was not taken.
    NotTaken(u64),
    /// There is no branch in a quarter of a megabyte from this address on.
    Endless(u64),
    /// There is no valid instruction at this address.
    NotCode(u64),
    /// The trace does not say where the branch at this address went.
    NoTarget(u64),
    /// Execution from `from` does not reach `to`, where the trace reports an exception or a branch.
    Missed {
        /// Address where execution was.
        from: u64,
        /// Address that execution should have reached.
        to: u64,
    },
}
