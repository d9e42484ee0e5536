/// A property of an instruction that a plan can test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Field {
    /// Address of the instruction.
    Pc,
    /// Number of instructions that ran before it.
    Number,
    /// Cycle in which it retired.
    Cycle,
    /// Privilege in which it ran: 0 user, 1 supervisor, 3 machine.
    Privilege,
    /// Context in which it ran: a thread or an address space.
    Context,
    /// Number of the thread in its recording.
    Thread,
    /// Cause of the trap whose handler runs.
    Cause,
    /// Value of the trap whose handler runs.
    Tval,
    /// 1 if the trap whose handler runs is an exception.
    Exception,
    /// 1 if the trap whose handler runs is an interrupt.
    Interrupt,
    /// 1 if an interrupt handler runs, or the handler of an exception inside one.
    Isr,
    /// E-Trace type of the instruction's block.
    Itype,
    /// Half-words of the instruction's block.
    Iretire,
    /// E-Trace size of the last instruction of the instruction's block.
    Ilastsize,
    /// Events that happened just before the instruction, a bit each.
    Event,
}

/// The kind of values that a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// Numbers and symbols.
    Addresses,
    /// Numbers.
    Numbers,
    /// Numbers, some of which have names.
    Words(&'static [(&'static str, u64)]),
    /// A flag, tested by the name of the field alone.
    Flag,
    /// Names of events.
    Events,
}

const PRIVILEGES: &[(&str, u64)] =
    &[("u", 0), ("user", 0), ("s", 1), ("supervisor", 1), ("m", 3), ("machine", 3)];

const ITYPES: &[(&str, u64)] = &[
    ("none", 0),
    ("exception", 1),
    ("interrupt", 2),
    ("trap_return", 3),
    ("not_taken", 4),
    ("taken", 5),
    ("uninferable_call", 8),
    ("inferable_call", 9),
    ("uninferable_jump", 10),
    ("inferable_jump", 11),
    ("swap", 12),
    ("return", 13),
    ("other_uninferable_jump", 14),
    ("other_inferable_jump", 15),
];

/// Names of all fields. The first name of a field is used in errors and documents.
const NAMES: &[(&str, Field)] = &[
    ("pc", Field::Pc),
    ("priv", Field::Privilege),
    ("context", Field::Context),
    ("thread", Field::Thread),
    ("cause", Field::Cause),
    ("tval", Field::Tval),
    ("exception", Field::Exception),
    ("interrupt", Field::Interrupt),
    ("isr", Field::Isr),
    ("instruction", Field::Number),
    ("cycle", Field::Cycle),
    ("itype", Field::Itype),
    ("iretire", Field::Iretire),
    ("ilastsize", Field::Ilastsize),
    ("event", Field::Event),
    ("iaddr", Field::Pc),
    ("privilege", Field::Privilege),
    ("time", Field::Cycle),
];

impl Field {
    /// Number of fields.
    pub(super) const COUNT: usize = 15;

    /// Names in the order in which messages list them, with related fields side by side.
    pub(super) const LISTED: &str = "pc, priv, context, thread, cause, tval, exception, interrupt, isr, \
                                     instruction, cycle, itype, iretire, ilastsize or event";

    /// Returns the field with this name.
    pub fn of(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, field)| *field)
    }

    /// Returns the name of the field.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, field)| *field == self).map_or("", |(name, _)| name)
    }

    pub(super) const fn values(self) -> Values {
        match self {
            Self::Pc => Values::Addresses,
            Self::Privilege => Values::Words(PRIVILEGES),
            Self::Itype => Values::Words(ITYPES),
            Self::Exception | Self::Interrupt | Self::Isr => Values::Flag,
            Self::Event => Values::Events,
            _ => Values::Numbers,
        }
    }

    pub(super) const fn most(self) -> u64 {
        match self {
            Self::Privilege => 3,
            Self::Exception | Self::Interrupt | Self::Isr | Self::Ilastsize => 1,
            Self::Itype => 15,
            _ => u64::MAX,
        }
    }

    /// Returns whether the field belongs to the block of the instruction.
    pub(super) const fn is_of_block(self) -> bool {
        matches!(self, Self::Itype | Self::Iretire | Self::Ilastsize)
    }
}
