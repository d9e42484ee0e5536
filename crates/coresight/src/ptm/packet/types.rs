use super::Kind;
use crate::shared::address::State;
use crate::shared::exception::ExceptionBytes;

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// Alignment synchronisation: five zeros or more, and 0x80.
    Async,
    /// Instruction synchronisation: all that is needed to follow execution.
    ISync(ISync),
    /// Branch, and where it went; or an exception.
    Branch(Branch),
    /// Waypoints without addresses, if there are no cycle counts.
    Atoms(Atoms),
    /// Waypoint without address, with the cycles before it.
    CycleAtom {
        /// Whether the waypoint was taken.
        taken: bool,
        /// Cycles since the last count.
        cycles: u32,
    },
    /// Address of an instruction that execution has reached, and that is no waypoint.
    WaypointUpdate(Address),
    /// The trigger condition was met.
    Trigger,
    /// Context ID from here on.
    ContextId(u32),
    /// Virtual machine ID from here on.
    Vmid(u8),
    /// Timestamp.
    Timestamp(Timestamp),
    /// Return from an exception.
    ExceptionReturn,
    /// Padding.
    Ignore,
    /// Bytes that were skipped in search of an A-Sync.
    NotSync {
        /// Number of bytes.
        len: u64,
    },
    /// A header that has no meaning.
    Reserved,
    /// Bytes that are not a packet.
    Malformed {
        /// Kind of the header.
        kind: Kind,
    },
    /// An unfinished packet at the end of the stream.
    Incomplete {
        /// Kind of the header.
        kind: Kind,
    },
}

/// An instruction synchronisation packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ISync {
    /// Why it was made.
    pub reason: ISyncReason,
    /// Address of the next instruction.
    pub address: u32,
    /// Whether it is a T32 instruction.
    pub thumb: bool,
    /// Whether the core is in non-secure state.
    pub non_secure: bool,
    /// Whether the instruction set is the other one of its kind: ThumbEE.
    pub alternative: bool,
    /// Whether the core is in Hyp mode.
    pub hyp: bool,
    /// Cycles since the last count; periodic ones have none.
    pub cycles: Option<u32>,
    /// Context ID, if they are traced.
    pub context_id: Option<u32>,
}

/// Why an I-Sync was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ISyncReason {
    /// From time to time.
    #[default]
    Periodic,
    /// Tracing was switched on.
    TraceOn,
    /// The trace unit had overflowed.
    Overflow,
    /// The core had been halted.
    Debug,
}

/// An address that is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// The address. Bits that were never told are 0.
    pub value: u32,
    /// Its instruction state.
    pub state: State,
    /// Whether the instruction set is the other one of its kind: ThumbEE.
    pub alternative: bool,
    /// Number of low bits of the packet's bytes: 7, 13, 20, 27 or 32, of which the lowest is not there.
    pub width: u8,
    /// Number of low bits of `value` that are known, of 32.
    pub known: u8,
    /// Whether the instruction set is another than before.
    pub changes_state: bool,
    /// Whether an information byte follows a waypoint update, which tells only `alternative`.
    pub information: bool,
}

/// A branch, or an exception.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Branch {
    /// Where execution goes on.
    pub address: Address,
    /// Exception bytes. Number 0 is no exception, but a change of the security state.
    pub exception: Option<ExceptionBytes>,
    /// Cycles since the last count, if the trace has them.
    pub cycles: Option<u32>,
}

/// One to five waypoints: bit 0 is the oldest, 1 is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Atoms {
    /// Outcomes, oldest lowest.
    pub bits: u8,
    /// How many.
    pub count: u8,
}

/// A timestamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamp {
    /// Its value.
    pub value: u64,
    /// Number of low bits that were told.
    pub told: u8,
    /// Whether the frequency of the timestamp's clock changed.
    pub clock_changed: bool,
    /// Cycles since the last count, if the trace has them.
    pub cycles: Option<u32>,
}

impl Kind {
    /// Returns the kind of the packets with this header.
    pub const fn of(header: u8) -> Self {
        match header {
            0x00 => Self::Async,
            0x08 => Self::ISync,
            0x0c => Self::Trigger,
            0x3c => Self::Vmid,
            0x42 | 0x46 => Self::Timestamp,
            0x66 => Self::Ignore,
            0x6e => Self::ContextId,
            0x72 => Self::WaypointUpdate,
            0x76 => Self::ExceptionReturn,
            _ if header & 1 == 1 => Self::Branch,
            _ if header & 0x80 != 0 => Self::Atom,
            _ => Self::Reserved,
        }
    }
}

impl Packet {
    /// Returns the kind.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Async => Kind::Async,
            Self::ISync(_) => Kind::ISync,
            Self::Branch(_) => Kind::Branch,
            Self::Atoms(_) | Self::CycleAtom { .. } => Kind::Atom,
            Self::WaypointUpdate(_) => Kind::WaypointUpdate,
            Self::Trigger => Kind::Trigger,
            Self::ContextId(_) => Kind::ContextId,
            Self::Vmid(_) => Kind::Vmid,
            Self::Timestamp(_) => Kind::Timestamp,
            Self::ExceptionReturn => Kind::ExceptionReturn,
            Self::Ignore => Kind::Ignore,
            Self::NotSync { .. } => Kind::NotSync,
            Self::Reserved => Kind::Reserved,
            Self::Malformed { .. } => Kind::Malformed,
            Self::Incomplete { .. } => Kind::Incomplete,
        }
    }
}

impl ISyncReason {
    /// Returns the reason with this number, of which only two bits count.
    pub const fn of(number: u8) -> Self {
        match number & 3 {
            0 => Self::Periodic,
            1 => Self::TraceOn,
            2 => Self::Overflow,
            _ => Self::Debug,
        }
    }
}

impl ISync {
    /// Returns the instruction state.
    pub const fn state(&self) -> State {
        if self.thumb { State::Thumb } else { State::Arm }
    }
}

impl Atoms {
    /// Returns whether each waypoint was taken, oldest first.
    pub fn iter(self) -> impl Iterator<Item = bool> {
        (0..self.count).map(move |index| self.bits >> index & 1 == 1)
    }
}
