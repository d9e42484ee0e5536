use crate::{Block, Context, DataAccess, Isa, MemorySpace};

/// What a decoder tells, in the order in which it happened. One enum for all protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// Instructions ran.
    Block(Block),
    /// Instructions ran that no walk can tell: some path from `start`, then execution went on at `next`.
    UnknownPath {
        /// Where they began, if that is known.
        start: Option<u64>,
        /// Where execution went on.
        next: u64,
        /// The instruction set there.
        isa: Isa,
        /// How many there were, if the trace says it.
        count: Option<u32>,
    },
    /// Execution goes on at this address; told where no program is at hand to tell more.
    Target {
        /// The address.
        address: u64,
        /// The instruction set there.
        isa: Isa,
        /// Whether a branch led there. Otherwise tracing begins there, an exception led there, or it is where execution was
        /// anyway.
        branch: bool,
    },
    /// The state of the core from here on, and the instruction set.
    Context(Context, Isa),
    /// Tracing begins here: what ran before is unknown.
    TraceOn(TraceOn),
    /// An exception was taken.
    Exception(Exception),
    /// Return from an exception.
    ExceptionReturn,
    /// A global timestamp.
    Timestamp {
        /// Its value.
        value: u64,
        /// Cycles since the last cycle count, if it says so.
        cycles: Option<u32>,
    },
    /// The point that a later timestamp refers to.
    TimestampMarker,
    /// Cycles since the last cycle count; `None`: the trace unit does not know.
    Cycles(Option<u32>),
    /// Trace events, one bit each.
    Event(u8),
    /// A value the program itself wrote into the trace.
    Instrumentation {
        /// Exception level of the instruction that wrote it.
        level: u8,
        /// The value.
        value: u64,
    },
    /// A memory transaction.
    Transaction(Transaction),
    /// Memory, or a control register, was accessed. Accesses are told in their order, but not next to their instructions: those may have
    /// been told before, or may be told later.
    Data {
        /// What was done.
        access: DataAccess,
        /// Address of the instruction that did it, where that is certain.
        by: Option<u64>,
    },
    /// Accesses are missing here.
    DataLost,
    /// The trace says that instructions ran here, but no image has their code.
    NoCode {
        /// The first address that is not known.
        address: u64,
        /// Where it would have to be.
        space: MemorySpace,
    },
    /// The trace and the program do not agree: is this the right program? Nothing is told from here on up to the next
    /// address in the trace.
    Mismatch(Mismatch),
    /// From here on trace is missing; a [`Gap`](Self::Gap) follows when it is known how much.
    Lost(GapReason),
    /// Between stream positions `from` and `to` nothing could be made of the trace.
    Gap {
        /// Why.
        reason: GapReason,
        /// Where it began.
        from: u64,
        /// Where decoding went on.
        to: u64,
    },
    /// The trace ends.
    End,
}

/// Why tracing begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceOn {
    /// Tracing was switched on, or a filter let it through.
    Normal,
    /// The trace unit had overflowed.
    Overflow,
}

/// An exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Exception {
    /// Its number, with the meaning the protocol gives it.
    pub number: u16,
    /// Whether it is an interrupt, where these have numbers of their own (RISC-V).
    pub interrupt: bool,
    /// What the architecture tells besides (RISC-V: the trap value), if the trace has it.
    pub value: Option<u64>,
    /// Where execution goes on after it, if the trace says so.
    pub return_address: Option<u64>,
    /// Whether the return address is also where the last branch went: no instruction ran there.
    pub at_target: bool,
}

/// What became of a memory transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transaction {
    /// It was under way when the trace began.
    Before,
    /// It started.
    Start,
    /// It succeeded.
    Commit,
    /// It failed: what it did is undone.
    Fail,
}

/// Why trace is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GapReason {
    /// Nothing can be understood before the first synchronisation point.
    Start,
    /// The trace unit overflowed.
    Overflow,
    /// Tracing stopped and threw away what was not certain yet.
    Discard,
    /// Bytes that are no packet.
    BadPacket,
    /// Packets that contradict each other.
    Contradiction(Contradiction),
    /// The recording was interrupted here: what follows does not continue what came before.
    Interrupted,
    /// What the trace says can have come about in several ways, after which the core is not in the same state.
    Ambiguous,
    /// The program could not be followed, which was told ([`Element::Mismatch`], [`Element::NoCode`]); nothing can be told before
    /// the next synchronisation point.
    Mismatch,
}

/// Packets that contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Contradiction {
    /// More elements committed than there are.
    CommitBeyondDepth,
    /// More elements cancelled than there are.
    CancelBeyondDepth,
    /// A return whose address is neither in the trace nor on the return stack.
    ReturnStackEmpty,
    /// Not as many elements are uncertain as the trace unit says.
    WrongDepth,
    /// A packet that cannot come here.
    UnexpectedPacket,
    /// A trap whose handler is neither in the trace nor known otherwise.
    NoHandler,
}

/// How the trace and the program do not agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mismatch {
    /// The branch at this address has no condition, and yet it was not taken.
    NotTaken(u64),
    /// From this address on there is no branch for a quarter of a megabyte.
    Endless(u64),
    /// What lies at this address is no instruction.
    NotCode(u64),
    /// The trace does not say where the branch at this address went.
    NoTarget(u64),
    /// From this address on, execution does not come to where an exception or a branch is said to be.
    Missed {
        /// Where execution was.
        from: u64,
        /// Where it should have come to.
        to: u64,
    },
}
