use tracewright_etrace::packet::Packet;
use tracewright_etrace::stream::{Content, Message};

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    Start,
    Exception,
    Interrupt,
    Context,
    Support,
    Address,
    Branches,
    BranchesAddress,
    BranchCount,
    BranchCountAddress,
    JumpTarget,
    Data,
    Other,
    Idle,
    Alignment,
    Malformed,
    Incomplete,
    NotSync,
}

impl Kind {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// All, in the order of the specification.
    pub const ALL: [Self; 18] = [
        Self::Start,
        Self::Exception,
        Self::Interrupt,
        Self::Context,
        Self::Support,
        Self::Address,
        Self::Branches,
        Self::BranchesAddress,
        Self::BranchCount,
        Self::BranchCountAddress,
        Self::JumpTarget,
        Self::Data,
        Self::Other,
        Self::Idle,
        Self::Alignment,
        Self::Malformed,
        Self::Incomplete,
        Self::NotSync,
    ];

    /// The kind of a message.
    pub fn of(message: &Message) -> Self {
        match &message.content {
            Content::Instruction(packet) => match packet {
                Packet::Start(_) => Self::Start,
                Packet::Trap(trap) if trap.interrupt => Self::Interrupt,
                Packet::Trap(_) => Self::Exception,
                Packet::Context(_) => Self::Context,
                Packet::Support(_) => Self::Support,
                Packet::Address(_) => Self::Address,
                Packet::Branches(_, None) => Self::Branches,
                Packet::Branches(_, Some(_)) => Self::BranchesAddress,
                Packet::BranchCount(count) if count.address.is_none() => Self::BranchCount,
                Packet::BranchCount(_) => Self::BranchCountAddress,
                Packet::JumpTarget { .. } => Self::JumpTarget,
            },
            Content::Data(_) => Self::Data,
            Content::Other { .. } => Self::Other,
            Content::Idle => Self::Idle,
            Content::Alignment => Self::Alignment,
            Content::Malformed(_) => Self::Malformed,
            Content::Incomplete => Self::Incomplete,
            Content::NotSync { .. } => Self::NotSync,
        }
    }

    /// Its name, with format and subformat where it has some.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Start => "Start (3.0)",
            Self::Exception => "Exception (3.1)",
            Self::Interrupt => "Interrupt (3.1)",
            Self::Context => "Context (3.2)",
            Self::Support => "Support (3.3)",
            Self::Address => "Address (2)",
            Self::Branches => "Branches (1)",
            Self::BranchesAddress => "Branches, address (1)",
            Self::BranchCount => "Branch count (0.0)",
            Self::BranchCountAddress => "Branch count, address (0.0)",
            Self::JumpTarget => "Jump target (0.1)",
            Self::Data => "Data",
            Self::Other => "Other type",
            Self::Idle => "Idle",
            Self::Alignment => "Alignment",
            Self::Malformed => "Malformed",
            Self::Incomplete => "Incomplete",
            Self::NotSync => "Not synchronised",
        }
    }

    /// Whether it belongs to one source.
    pub const fn has_source(self) -> bool {
        !matches!(self, Self::Idle | Self::Alignment | Self::Malformed | Self::Incomplete | Self::NotSync)
    }

    /// Whether it is a synchronisation packet: one at which reading can start.
    pub const fn is_sync(self) -> bool {
        matches!(self, Self::Start | Self::Exception | Self::Interrupt)
    }
}
