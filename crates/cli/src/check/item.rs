//! What is compared: what ran, as a trace and a log both tell it.

use tracewright_core::{Block, DataAccess, DataKind, Element, Ended, Exception, Flow, GapReason, Isa};
use tracewright_hart::Access;
use tracewright_isa::riscv::AccessKind;

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// Instructions ran.
    Run(Run),
    /// A trap was taken.
    Trap(Trap),
    /// The privilege or the context changes.
    Mode(Mode),
    /// Memory was accessed. Accesses are in their order, but not beside their instructions.
    Data(Data),
    /// Of a trace: accesses are missing here.
    DataLost,
    /// Of a trace: from here on it is not known what ran.
    Unknown(Unknown),
}

/// An access to memory. What is not known is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// What was done.
    pub kind: AccessKind,
    /// Bytes.
    pub size: u8,
    /// Where.
    pub address: Option<u64>,
    /// What was loaded (also by an atomic operation), or stored.
    pub value: Option<u64>,
}

impl Data {
    /// Returns what both a log and a trace tell of an access; `None` of accesses that logs do not have.
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

    /// Whether nothing that both know differs.
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

/// Privilege and context of instructions. `None`: not told, so as before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    /// The privilege.
    pub privilege: Option<u8>,
    /// The context: a thread, an address space.
    pub context: Option<u64>,
}

impl Mode {
    /// Takes over what `other` knows.
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
    /// How many.
    pub count: u32,
    /// Bytes of the last.
    pub last_len: u8,
    /// How it ended.
    pub ended: Ended,
    /// Whether the program alone tells where execution goes from there: the last is a jump to one address.
    pub is_certain: bool,
    /// Of a log: nobody knows where the last, a branch, led. A trace may lack it.
    pub is_undecided: bool,
    /// Their instruction set.
    pub isa: Isa,
}

/// A trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trap {
    /// The instruction that did not retire, or would have been next.
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
#[repr(u8)]
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

/// An item of a trace, and where in the file it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    pub offset: u64,
    pub item: Item,
}

impl Run {
    /// Address of the last.
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

/// ETMv4's exception with which a debugger stops a core; our encoder ends with it what it could not tell otherwise.
const DEBUG_HALT: u16 = 1;

impl Item {
    /// What an element of a trace comes to; `None` if it says nothing about what ran.
    pub fn of(element: &Element, is_arm: bool) -> Option<Self> {
        Some(match element {
            Element::Exception(Exception { number: DEBUG_HALT, .. }) if is_arm => return None,
            Element::Block(block) => Self::Run(block.into()),
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

/// Bytes of an item on its way from the threads that decode to the one that compares.
pub const LEN: usize = 40;

const ISAS: [Isa; 5] = [Isa::A64, Isa::A32, Isa::T32, Isa::Rv32, Isa::Rv64];

const RUN: u8 = 0;
const TRAP: u8 = 1;
const MODE: u8 = 2;
const UNKNOWN: u8 = 3;
const DATA: u8 = 4;
const DATA_LOST: u8 = 5;

const KINDS: [AccessKind; 3] = [AccessKind::Load, AccessKind::Store, AccessKind::Amo];

impl Told {
    pub fn to_bytes(self) -> [u8; LEN] {
        let (kind, detail, flags, numbers) = match self.item {
            Item::Run(run) => (
                RUN,
                run.ended as u8 | u8::from(run.is_certain) << 7,
                run.last_len,
                [run.start, run.end, run.count.into()],
            ),
            Item::Trap(Trap { pc, cause, interrupt, value }) => {
                let flags = u8::from(pc.is_some()) | u8::from(value.is_some()) << 1;
                (TRAP, interrupt.into(), flags, [pc.unwrap_or(0), value.unwrap_or(0), cause])
            }
            Item::Mode(Mode { privilege, context }) => {
                let flags = u8::from(privilege.is_some()) | u8::from(context.is_some()) << 1;
                (MODE, privilege.unwrap_or(0), flags, [context.unwrap_or(0), 0, 0])
            }
            Item::Unknown(why) => (UNKNOWN, why as u8, 0, [0; 3]),
            Item::Data(Data { kind, size, address, value }) => {
                let flags = u8::from(address.is_some()) | u8::from(value.is_some()) << 1;
                (DATA, kind as u8, flags, [address.unwrap_or(0), value.unwrap_or(0), size.into()])
            }
            Item::DataLost => (DATA_LOST, 0, 0, [0; 3]),
        };
        let mut bytes = [0; LEN];
        bytes[..3].copy_from_slice(&[kind, detail, flags]);
        if let Item::Run(run) = self.item {
            bytes[3] = run.isa as u8;
        }
        for (to, number) in bytes[8..].chunks_exact_mut(8).zip([self.offset].iter().chain(&numbers)) {
            to.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    pub fn from_bytes(bytes: &[u8; LEN]) -> Self {
        let number = |i: usize| {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[8 * i..8 * i + 8]);
            u64::from_le_bytes(number)
        };
        let (detail, flags, numbers) = (bytes[1], bytes[2], [number(2), number(3), number(4)]);
        let item = match bytes[0] {
            RUN => {
                let all = [Ended::Taken, Ended::NotTaken, Ended::Through, Ended::Cut];
                let ended = all.into_iter().find(|&ended| ended as u8 == detail & 0x7f).unwrap_or(Ended::Cut);
                let is_certain = detail & 0x80 != 0;
                let [start, end, count] = numbers;
                let isa = ISAS.into_iter().find(|&isa| isa as u8 == bytes[3]).unwrap_or(Isa::Rv64);
                let count = count as u32;
                Item::Run(Run {
                    start,
                    end,
                    count,
                    last_len: flags,
                    ended,
                    is_certain,
                    is_undecided: false,
                    isa,
                })
            }
            TRAP => Item::Trap(Trap {
                pc: (flags & 1 != 0).then_some(numbers[0]),
                value: (flags & 2 != 0).then_some(numbers[1]),
                cause: numbers[2],
                interrupt: detail != 0,
            }),
            MODE => Item::Mode(Mode {
                privilege: (flags & 1 != 0).then_some(detail),
                context: (flags & 2 != 0).then_some(numbers[0]),
            }),
            DATA => Item::Data(Data {
                kind: KINDS.into_iter().find(|&kind| kind as u8 == detail).unwrap_or(AccessKind::Load),
                address: (flags & 1 != 0).then_some(numbers[0]),
                value: (flags & 2 != 0).then_some(numbers[1]),
                size: numbers[2] as u8,
            }),
            DATA_LOST => Item::DataLost,
            _ => {
                let all = [Unknown::Gap, Unknown::NoCode, Unknown::Mismatch, Unknown::Path];
                let why = all.into_iter().find(|&why| why as u8 == detail).unwrap_or(Unknown::Gap);
                Item::Unknown(why)
            }
        };
        Self { offset: number(1), item }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_what_they_were() {
        let runs = [Ended::Taken, Ended::NotTaken, Ended::Through, Ended::Cut].map(|ended| {
            Item::Run(Run {
                start: 0x8000_0000_1234_5678,
                end: u64::MAX,
                count: u32::MAX,
                last_len: 4,
                ended,
                is_certain: ended == Ended::Taken,
                is_undecided: false,
                isa: ISAS[ended as usize],
            })
        });
        let traps = [(Some(7), None), (None, Some(u64::MAX)), (None, None)]
            .map(|(pc, value)| Item::Trap(Trap { pc, value, cause: 0xffff, interrupt: pc.is_some() }));
        let unknown = [Unknown::Gap, Unknown::NoCode, Unknown::Mismatch, Unknown::Path].map(Item::Unknown);
        let modes = [(Some(3), None), (None, Some(u64::MAX)), (Some(0), Some(0))]
            .map(|(privilege, context)| Item::Mode(Mode { privilege, context }));
        let data = KINDS.map(|kind| {
            let (address, value) = (Some(u64::MAX), (kind != AccessKind::Amo).then_some(7));
            Item::Data(Data { kind, size: 8, address, value })
        });
        let items = runs.into_iter().chain(traps).chain(unknown).chain(modes).chain(data);
        for item in items.chain([Item::DataLost]) {
            let told = Told { offset: 0x1_0000_0001, item };
            assert_eq!(Told::from_bytes(&told.to_bytes()), told);
        }
    }
}
