use crate::params::CoreProfile;

/// An exception (section "Exception instruction trace packet").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception {
    /// Number of the exception. Its meaning depends on the profile of the core: see [`Exception::name`].
    pub number: u16,
    /// Meaning of the address packet that follows (field EE).
    pub return_address: ReturnAddress,
    /// M-profile: a fault is pending (field P).
    pub fault_pending: bool,
}

/// Field EE of an Exception packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ReturnAddress {
    /// 00: reserved; ETE's forms without an address.
    None,
    /// 01: the next address is the preferred return address.
    Follows,
    /// 10: the next address is both the target of the last branch and the preferred return address.
    FollowsAtTarget,
    /// 11: reserved.
    Reserved,
}

impl ReturnAddress {
    pub(crate) const fn from_bits(ee: u8) -> Self {
        match ee & 0b11 {
            0b00 => Self::None,
            0b01 => Self::Follows,
            0b10 => Self::FollowsAtTarget,
            _ => Self::Reserved,
        }
    }
}

impl Exception {
    /// Returns the name of the exception on a core of this profile: `IRQ`, `SVC`, ... Numbered interrupts are named
    /// by [`Exception::irq`]. Numbers that the architecture does not define are `Reserved`.
    pub fn name(&self, profile: CoreProfile) -> &'static str {
        let names: &[&str] = if profile == CoreProfile::M { &M_PROFILE } else { &A_R_PROFILE };
        names.get(usize::from(self.number)).copied().unwrap_or("Reserved")
    }

    /// Returns the number of an external interrupt on M profile.
    pub fn irq(&self, profile: CoreProfile) -> Option<u16> {
        match self.number {
            0x10..=0x17 if profile == CoreProfile::M => Some(self.number - 0x10),
            0x208..=0x3ef if profile == CoreProfile::M => Some(self.number - 0x200),
            _ => None,
        }
    }
}

const A_R_PROFILE: [&str; 24] = [
    "PE Reset",
    "Debug Halt",
    "Call",
    "Trap",
    "System Error",
    "Reserved",
    "Inst Debug",
    "Data Debug",
    "Reserved",
    "Reserved",
    "Alignment",
    "Inst Fault",
    "Data Fault",
    "Reserved",
    "IRQ",
    "FIQ",
    IMPLEMENTATION_DEFINED,
    IMPLEMENTATION_DEFINED,
    IMPLEMENTATION_DEFINED,
    IMPLEMENTATION_DEFINED,
    IMPLEMENTATION_DEFINED,
    IMPLEMENTATION_DEFINED,
    IMPLEMENTATION_DEFINED,
    IMPLEMENTATION_DEFINED,
];

const IMPLEMENTATION_DEFINED: &str = "Implementation Defined";

const M_PROFILE: [&str; 27] = [
    "Reserved",
    "PE Reset",
    "NMI",
    "HardFault",
    "MemManage",
    "BusFault",
    "UsageFault",
    "SecureFault",
    "Reserved",
    "Reserved",
    "Reserved",
    "SVC",
    "DebugMonitor",
    "Reserved",
    "PendSV",
    "SysTick",
    "IRQ0",
    "IRQ1",
    "IRQ2",
    "IRQ3",
    "IRQ4",
    "IRQ5",
    "IRQ6",
    "IRQ7",
    "DebugHalt",
    "LazyFP Push",
    "Lockup",
];
