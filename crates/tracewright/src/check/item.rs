//! Items that are compared: what ran, as both a trace and a log report it.

use tracewright_core::{Block, DataAccess, DataKind, Element, Ended, Exception, Flow, GapReason, Isa};
use tracewright_hart::Access;
use tracewright_isa::riscv::AccessKind;

/// An item of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// Instructions ran.
    Run(Run),
    /// A trap was taken.
    Trap(Trap),
    /// The privilege or the context changes.
    Mode(Mode),
    /// Memory was accessed. Accesses keep their order, but do not stand beside their instructions.
    Data(Data),
    /// Accesses are missing here (only in a trace).
    DataLost,
    /// From here on it is not known what ran (only in a trace).
    Unknown(Unknown),
}

/// An access to memory. What is not known is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Kind of access.
    pub kind: AccessKind,
    /// Number of bytes.
    pub size: u8,
    /// Address.
    pub address: Option<u64>,
    /// Value that was loaded (also by an atomic operation) or stored.
    pub value: Option<u64>,
}

impl Data {
    /// Returns the part of an access that both logs and traces have; `None` for accesses that logs do not have.
    fn of(access: &DataAccess) -> Option<Self> {
        let &DataAccess { size, address, value, after, .. } = access;
        let kind = match access.kind {
            DataKind::Load => AccessKind::Load,
            DataKind::Store => AccessKind::Store,
            DataKind::Atomic(_) => AccessKind::Amo,
            DataKind::StoreFailed | DataKind::CompareFailed | DataKind::Csr(_) => return None,
        };
        let value = value.filter(|_| !(kind == AccessKind::Amo && after));
        Some(Self { kind, size, address, value })
    }

    /// Returns whether nothing that both know differs.
    pub fn agrees(&self, other: &Self) -> bool {
        let agree =
            |one: Option<u64>, other: Option<u64>| one.zip(other).is_none_or(|(one, other)| one == other);
        (self.kind, self.size) == (other.kind, other.size)
            && agree(self.address, other.address)
            && agree(self.value, other.value)
    }
}

impl From<&Access> for Data {
    fn from(&Access { kind, size, address, value, .. }: &Access) -> Self {
        Self { kind, size, address: Some(address), value: Some(value) }
    }
}

/// Privilege and context of instructions. `None`: not reported, so unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    /// The privilege.
    pub privilege: Option<u8>,
    /// The context: a thread or an address space.
    pub context: Option<u64>,
}

impl Mode {
    /// Overwrites what `other` knows.
    pub fn update(&mut self, other: Self) {
        self.privilege = other.privilege.or(self.privilege);
        self.context = other.context.or(self.context);
    }
}

/// Instructions that ran one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Address of the first.
    pub start: u64,
    /// Address after the last.
    pub end: u64,
    /// Number of instructions.
    pub count: u32,
    /// Length of the last instruction in bytes.
    pub last_len: u8,
    /// How it ended.
    pub ended: Ended,
    /// Whether the program alone determines the next address: the last instruction is a direct jump.
    pub is_certain: bool,
    /// Whether the log does not know where the last instruction, a branch, led. A trace may lack it.
    pub is_undecided: bool,
    /// Their instruction set.
    pub isa: Isa,
}

/// A trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trap {
    /// Address of the instruction that did not retire, or would have been next.
    pub pc: Option<u64>,
    /// Its cause.
    pub cause: u64,
    /// Whether it is an interrupt.
    pub interrupt: bool,
    /// The trap value.
    pub value: Option<u64>,
}

/// Why it is not known what ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Trace is missing.
    Gap,
    /// No image has the code.
    NoCode,
    /// The trace and the program do not agree.
    Mismatch,
    /// The trace leaves it open.
    Path,
}

/// An item of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// Offset in the trace file of the packet that reported it.
    pub offset: u64,
    /// The item.
    pub item: Item,
}

impl Run {
    /// Returns the address of the last instruction.
    pub fn last(&self) -> u64 {
        self.end.wrapping_sub(self.last_len.into())
    }
}

impl From<&Block> for Run {
    #[inline]
    fn from(block: &Block) -> Self {
        let is_certain = block.class.flow == Flow::Direct && !block.class.conditional;
        let is_undecided = block.ended == Ended::Cut && block.class.is_branch();
        let Block { start, end, count, last_len, ended, isa, .. } = *block;
        Self { start, end, count, last_len, ended, is_certain, is_undecided, isa }
    }
}

/// ETMv4's exception with which a debugger stops a core. Our encoder ends a trace with it where no other packet can.
const DEBUG_HALT: u16 = 1;

impl Item {
    /// Returns the item of an element; `None` if the element says nothing about what ran.
    pub fn of(element: &Element, is_arm: bool) -> Option<Self> {
        Some(match element {
            Element::Exception(Exception { number: DEBUG_HALT, .. }) if is_arm => return None,
            Element::Block(block) => Self::Run(Run { is_undecided: false, ..block.into() }),
            Element::Exception(Exception { number, interrupt, value, return_address, .. }) => {
                Self::Trap(Trap {
                    pc: *return_address,
                    cause: (*number).into(),
                    interrupt: *interrupt,
                    value: *value,
                })
            }
            Element::Context(context, _) => Self::Mode(Mode {
                privilege: Some(context.level),
                context: context.context_id.map(u64::from),
            }),
            Element::Gap { reason: GapReason::Start, .. } => return None,
            Element::Gap { .. } => Self::Unknown(Unknown::Gap),
            Element::NoCode { .. } => Self::Unknown(Unknown::NoCode),
            Element::Mismatch(_) => Self::Unknown(Unknown::Mismatch),
            Element::UnknownPath { .. } => Self::Unknown(Unknown::Path),
            Element::Data { access, .. } => Self::Data(Data::of(access)?),
            Element::DataLost => Self::DataLost,
            _ => return None,
        })
    }
}
