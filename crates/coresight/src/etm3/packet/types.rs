//! Packets as values.

use super::{ExceptionBytes, InstructionState, Kind};

/// A packet, or bytes that are not one (section "ETMv3 trace packets").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// Alignment synchronisation.
    Async,
    /// Cycles without instructions.
    CycleCount(u32),
    /// Instruction synchronisation: all that is needed to follow the program from here on.
    ISync(ISync),
    /// The trigger condition was met.
    Trigger,
    /// Instructions (P-header).
    Atoms(Atoms),
    /// Where execution goes on, and perhaps an exception.
    Branch(Branch),
    /// The value of an access whose place a placeholder marked.
    OutOfOrder {
        /// Tag of the placeholder.
        tag: u8,
        /// Number of bytes that were traced: 0, 1, 2 or 4. Higher bytes are zero.
        size: u8,
        /// The value.
        value: u32,
    },
    /// An access whose value comes later.
    Placeholder {
        /// Tag of the value.
        tag: u8,
        /// Whether this is the first access of the instruction. Only it has an address.
        first: bool,
        /// Address, if addresses are traced.
        address: Option<DataAddress>,
    },
    /// An exclusive store failed.
    StoreFailed,
    /// An access.
    Data {
        /// Whether this is the first access of the instruction. Only it has an address.
        first: bool,
        /// Address, if addresses are traced.
        address: Option<DataAddress>,
        /// Number of bytes that were traced: 0, 1, 2 or 4. Higher bytes are zero.
        size: u8,
        /// The value.
        value: u32,
    },
    /// Data are missing here: the trace unit was about to overflow.
    DataSuppressed,
    /// An access whose value was not traced.
    ValueNotTraced {
        /// Whether this is the first access of the instruction. Only it has an address.
        first: bool,
        /// Address, if addresses are traced.
        address: Option<DataAddress>,
    },
    /// A new virtual machine ID.
    Vmid(u8),
    /// A new context ID.
    ContextId(u32),
    /// A timestamp.
    Timestamp(Timestamp),
    /// Nothing.
    Ignore,
    /// M profile: the accesses that follow are those of an exception's entry.
    ExceptionEntry,
    /// The last instruction returned from an exception.
    ExceptionReturn,
    /// Bytes that were skipped in search of an A-Sync.
    NotSync {
        /// Number of bytes.
        len: u64,
    },
    /// A header that is not defined.
    Reserved {
        /// The byte.
        header: u8,
    },
    /// A header that does not exist in this configuration.
    ReservedForMode {
        /// Kind of packet in other configurations.
        kind: Kind,
    },
    /// Bytes that cannot follow the header.
    Malformed {
        /// Kind of packet that the header begins.
        kind: Kind,
    },
    /// The start of a packet at the end of the trace.
    Incomplete {
        /// Kind of packet that the header begins.
        kind: Kind,
    },
}

/// An address of an instruction, and how much of it a packet told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The address. Bits above those in the packet are those of the last address.
    pub value: u32,
    /// Number of low bits in the packet.
    pub told: u8,
    /// Number of low bits that are known: less than 32 before the first I-Sync.
    pub known: u8,
    /// Instruction set at the address.
    pub state: InstructionState,
}

/// An address of data, and how much of it a packet told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataAddress {
    /// The address. Bits above those in the packet are those of the last data address.
    pub value: u32,
    /// Number of low bits in the packet: 7, 14, 21, 28 or 32.
    pub told: u8,
    /// Number of low bits that are known.
    pub known: u8,
    /// Whether accesses are big-endian, which only an address of 32 bits tells.
    pub big_endian: Option<bool>,
}

/// A branch address packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Where execution goes on.
    pub address: Address,
    /// Whether the packet changed the instruction set.
    pub new_state: bool,
    /// Exception bytes. Number 0 is no exception, but a change of the security state.
    pub exception: Option<ExceptionBytes>,
    /// Whether the exception is told by the fifth byte alone (ETMv1's form, deprecated).
    pub deprecated: bool,
}

/// An I-Sync packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ISync {
    /// Cycles since the last cycle count.
    pub cycles: Option<u32>,
    /// Context ID, if it is traced.
    pub context_id: Option<u32>,
    /// Why there is an I-Sync.
    pub reason: Reason,
    /// Whether the core is in non-secure state.
    pub non_secure: bool,
    /// Whether the core is in Hyp mode.
    pub hyp: bool,
    /// Whether T32 is ThumbEE.
    pub alternative: bool,
    /// Address of the next instruction, if instructions are traced.
    pub address: Option<u32>,
    /// Instruction set at the address.
    pub state: InstructionState,
    /// Address of the next instruction, if that at [`address`](Self::address) is a load or store that is still under way (LSiP).
    pub current: Option<Address>,
}

/// The reason of an I-Sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Reason {
    /// Nothing happened: synchronisation is repeated now and then.
    Periodic,
    /// Tracing was switched on.
    TraceOn,
    /// Tracing goes on after the trace unit overflowed.
    Overflow,
    /// The core leaves debug state.
    DebugExit,
}

impl Reason {
    pub(crate) const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::Periodic,
            1 => Self::TraceOn,
            2 => Self::Overflow,
            _ => Self::DebugExit,
        }
    }
}

/// The atoms of a P-header: instructions that passed their condition (E) or did not (N).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Atoms {
    /// One bit for each instruction, oldest lowest, set for E.
    pub bits: u16,
    /// Number of instructions, up to 16.
    pub count: u8,
    /// Number of cycles, in cycle-accurate mode.
    pub cycles: u8,
    /// Format of the header.
    pub form: Form,
}

/// The format of a P-header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Format 1: E atoms, then perhaps an N atom. In cycle-accurate mode there is a cycle before each.
    Run,
    /// Format 2: two atoms. In cycle-accurate mode there is a cycle before the first.
    Pair,
    /// Format 3: cycles, then perhaps an E atom.
    Cycles,
    /// Format 4: an atom without a cycle.
    Single,
}

impl Atoms {
    /// No atoms and no cycles.
    pub(super) const NONE: Self = Self { bits: 0, count: 0, cycles: 0, form: Form::Run };

    /// Returns the atoms of a header; `None` if it is none of this mode.
    pub const fn of_header(header: u8, cycle_accurate: bool) -> Option<Self> {
        let pair = (!header >> 3 & 1 | (!header >> 2 & 1) << 1) as u16;
        Some(match (cycle_accurate, header) {
            (_, header) if header & 0xf3 == 0x82 => {
                Self { bits: pair, count: 2, cycles: cycle_accurate as u8, form: Form::Pair }
            }
            (false, header) if header & 0x83 == 0x80 => {
                let (e, n) = (header >> 2 & 0xf, header >> 6 & 1);
                Self { bits: (1 << e) - 1, count: e + n, cycles: 0, form: Form::Run }
            }
            (true, header) if header & 0xa3 == 0x80 && header != 0x80 => {
                let (e, n) = (header >> 2 & 7, header >> 6 & 1);
                Self { bits: (1 << e) - 1, count: e + n, cycles: e + n, form: Form::Run }
            }
            (true, header) if header & 0xa3 == 0xa0 => {
                let e = header >> 6 & 1;
                Self { bits: e as u16, count: e, cycles: (header >> 2 & 7) + 1, form: Form::Cycles }
            }
            (true, header) if header & 0xfb == 0x92 => {
                Self { bits: (!header >> 2 & 1) as u16, count: 1, cycles: 0, form: Form::Single }
            }
            _ => return None,
        })
    }

    /// Returns the header.
    pub const fn header(&self) -> u8 {
        let bits = self.bits as u8;
        match self.form {
            Form::Run => {
                let e = self.bits.trailing_ones() as u8;
                0x80 | (if e < self.count { 0x40 } else { 0 }) | e << 2
            }
            Form::Pair => 0x82 | (!bits & 1) << 3 | (!bits >> 1 & 1) << 2,
            Form::Cycles => 0xa0 | self.count << 6 | (self.cycles - 1) << 2,
            Form::Single => 0x92 | (!bits & 1) << 2,
        }
    }

    /// Returns whether an instruction passed its condition.
    pub const fn passed(&self, index: u8) -> bool {
        self.bits >> index & 1 == 1
    }

    /// Returns the number of cycles before an instruction.
    #[inline(always)]
    pub const fn cycles_before(&self, index: u8) -> u8 {
        /// The most by form, before the first instruction and before others.
        const MOST: [[u8; 2]; 4] = [[1, 1], [1, 0], [u8::MAX, 0], [0, 0]];
        let most = MOST[self.form as usize][(index > 0) as usize];
        if self.cycles < most { self.cycles } else { most }
    }

    /// Returns the number of cycles before an instruction and all those before it.
    #[inline(always)]
    pub(crate) const fn cycles_through(&self, index: u8) -> u8 {
        let most = if matches!(self.form, Form::Run) { index + 1 } else { u8::MAX };
        if self.cycles < most { self.cycles } else { most }
    }
}

/// A timestamp packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    /// The value. Bits above those in the packet are those of the last timestamp.
    pub value: u64,
    /// Number of low bits in the packet.
    pub told: u8,
    /// Number of low bits that are known.
    pub known: u8,
    /// Whether the speed of the clock changed.
    pub clock_changed: bool,
}

impl Packet {
    /// Returns the kind of the packet.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Async => Kind::Async,
            Self::CycleCount(_) => Kind::CycleCount,
            Self::ISync(ISync { cycles: None, .. }) => Kind::ISync,
            Self::ISync(_) => Kind::ISyncCycles,
            Self::Trigger => Kind::Trigger,
            Self::Atoms(_) => Kind::Atoms,
            Self::Branch(_) => Kind::Branch,
            Self::OutOfOrder { .. } => Kind::OutOfOrder,
            Self::Placeholder { .. } => Kind::Placeholder,
            Self::StoreFailed => Kind::StoreFailed,
            Self::Data { .. } => Kind::Data,
            Self::DataSuppressed => Kind::DataSuppressed,
            Self::ValueNotTraced { .. } => Kind::ValueNotTraced,
            Self::Vmid(_) => Kind::Vmid,
            Self::ContextId(_) => Kind::ContextId,
            Self::Timestamp(_) => Kind::Timestamp,
            Self::Ignore => Kind::Ignore,
            Self::ExceptionEntry => Kind::ExceptionEntry,
            Self::ExceptionReturn => Kind::ExceptionReturn,
            Self::NotSync { .. } => Kind::NotSync,
            Self::Reserved { .. } => Kind::Reserved,
            Self::ReservedForMode { .. } => Kind::ReservedForMode,
            Self::Malformed { .. } => Kind::Malformed,
            Self::Incomplete { .. } => Kind::Incomplete,
        }
    }
}
