//! Types of packets.

/// A packet.
///
/// Times are cycles since the last packet with a time, except in synchronisation, where they are absolute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// A branch that was taken (mode target).
    TakenBranch {
        /// Cycles.
        time: u64,
    },
    /// A branch that was not taken (mode target).
    NotTakenBranch {
        /// Cycles.
        time: u64,
    },
    /// A jump whose target is in the instruction (mode target).
    InferableJump {
        /// Cycles.
        time: u64,
    },
    /// A jump whose target is in a register.
    UninferableJump {
        /// Target, relative to the address of the jump (XOR).
        difference: u64,
        /// Cycles.
        time: u64,
    },
    /// Branches that went as predicted (mode predict).
    Hits {
        /// Number of branches.
        count: u64,
    },
    /// A branch that did not go as predicted (mode predict).
    Miss {
        /// Cycles.
        time: u64,
    },
    /// A trap, or a return from one.
    Trap {
        /// Kind.
        kind: TrapKind,
        /// Privilege before and after it: 0 U, 1 S, 2 H, 3 M. The form plain does not have it.
        privilege: Option<[u8; 2]>,
        /// Number of the address space, if it is a return to U.
        asid: Option<u64>,
        /// Address of the instruction that did not retire, or of the return.
        from: u64,
        /// Address where execution goes on, relative to `from` (XOR).
        difference: u64,
        /// Cycles.
        time: u64,
    },
    /// Synchronisation.
    Sync {
        /// Reason.
        kind: SyncKind,
        /// Privilege. The form plain does not have it.
        privilege: Option<u8>,
        /// Number of the address space. The form plain does not have it.
        asid: Option<u64>,
        /// Configuration: mode in bits 1:0, and size of the predictor above. Not all forms have it.
        configuration: Option<u8>,
        /// Address of the next instruction.
        target: u64,
        /// Cycles, absolute.
        time: u64,
    },
}

/// Kind of a trap packet, as it is numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TrapKind {
    /// Exception.
    Exception = 1,
    /// Interrupt.
    Interrupt = 2,
    /// Return from either.
    Return = 4,
}

/// Kind of a synchronisation packet, as it is numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SyncKind {
    /// Start of tracing.
    Start = 1,
    /// Repeated now and then.
    Periodic = 2,
    /// End of tracing.
    End = 3,
}

/// Names of packets, in the order of [`Packet::kind`].
pub const KINDS: &[&str] =
    &["TakenBranch", "NotTakenBranch", "InferableJump", "UninferableJump", "Hits", "Miss", "Trap", "Sync"];

impl Packet {
    /// Returns the index in [`KINDS`].
    #[inline]
    pub const fn kind(&self) -> usize {
        match self {
            Self::TakenBranch { .. } => 0,
            Self::NotTakenBranch { .. } => 1,
            Self::InferableJump { .. } => 2,
            Self::UninferableJump { .. } => 3,
            Self::Hits { .. } => 4,
            Self::Miss { .. } => 5,
            Self::Trap { .. } => 6,
            Self::Sync { .. } => 7,
        }
    }

    /// Returns the name of the packet.
    pub const fn name(&self) -> &'static str {
        KINDS[self.kind()]
    }
}

impl TrapKind {
    pub(super) const fn of(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Exception),
            2 => Some(Self::Interrupt),
            4 => Some(Self::Return),
            _ => None,
        }
    }
}

impl SyncKind {
    pub(super) const fn of(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Start),
            2 => Some(Self::Periodic),
            3 => Some(Self::End),
            _ => None,
        }
    }

    /// Returns whether such packets have the configuration in streams of this form.
    pub(crate) const fn has_configuration(self, form: crate::Form) -> bool {
        match form {
            crate::Form::Full => true,
            crate::Form::Rtl => matches!(self, Self::Start),
            crate::Form::Plain => false,
        }
    }
}
