/// What can be asked of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Field {
    /// Its address.
    Pc,
    /// How many instructions ran before it.
    Number,
    /// The cycle in which it retired.
    Cycle,
    /// The privilege it ran in: 0 user, 1 supervisor, 3 machine.
    Privilege,
    /// The context it ran in: thread, address space.
    Context,
    /// The thread's number in its recording.
    Thread,
    /// The cause of the trap whose handler it is in.
    Cause,
    /// The value of that trap.
    Tval,
    /// 1 if that trap is an exception.
    Exception,
    /// 1 if that trap is an interrupt.
    Interrupt,
    /// 1 if it is in the handler of an interrupt, or in one of an exception in there.
    Isr,
    /// E-Trace's type of the block that it is in.
    Itype,
    /// Half-words of the block that it is in.
    Iretire,
    /// E-Trace's size of the last instruction of the block that it is in.
    Ilastsize,
    /// The events that happened just before it, a bit each.
    Event,
}

/// What values of a field look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// Numbers and symbols.
    Addresses,
    /// Numbers.
    Numbers,
    /// Numbers, and these words for some.
    Words(&'static [(&'static str, u64)]),
    /// It is, or it is not.
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

/// All names, first those that errors and documents use.
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
    /// How many there are.
    pub(super) const COUNT: usize = 15;

    /// Its names in alphabetical order would hide which belong together: so they come in this order.
    pub(super) const LISTED: &str = "pc, priv, context, thread, cause, tval, exception, interrupt, isr, \
                                     instruction, cycle, itype, iretire, ilastsize or event";

    /// The field with this name.
    pub fn of(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, field)| *field)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, field)| *field == self).map_or("", |(name, _)| name)
    }

    /// What its values look like.
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

    /// The greatest value that it can have.
    pub(super) const fn most(self) -> u64 {
        match self {
            Self::Privilege => 3,
            Self::Exception | Self::Interrupt | Self::Isr | Self::Ilastsize => 1,
            Self::Itype => 15,
            _ => u64::MAX,
        }
    }

    /// Whether it is of the whole block that an instruction is in.
    pub(super) const fn is_of_block(self) -> bool {
        matches!(self, Self::Itype | Self::Iretire | Self::Ilastsize)
    }
}
