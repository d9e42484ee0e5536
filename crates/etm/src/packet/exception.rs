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
    /// Returns the name of the exception on a core of this profile: `SVC`, `Data Fault`, ... External interrupts of M profile
    /// have a number in place of a name: see [`Exception::irq`]. Numbers that the architecture does not define are
    /// `Reserved`.
    pub fn name(&self, profile: CoreProfile) -> &'static str {
        match (profile == CoreProfile::M, self.number) {
            (false, 0x00) => "PE Reset",
            (false, 0x01) => "Debug Halt",
            (false, 0x02) => "Call",
            (false, 0x03) => "Trap",
            (false, 0x04) => "System Error",
            (false, 0x06) => "Inst Debug",
            (false, 0x07) => "Data Debug",
            (false, 0x0a) => "Alignment",
            (false, 0x0b) => "Inst Fault",
            (false, 0x0c) => "Data Fault",
            (false, 0x0e) => "IRQ",
            (false, 0x0f) => "FIQ",
            (false, 0x10..=0x17) => "Implementation Defined",
            (true, 0x01) => "PE Reset",
            (true, 0x02) => "NMI",
            (true, 0x03) => "HardFault",
            (true, 0x04) => "MemManage",
            (true, 0x05) => "BusFault",
            (true, 0x06) => "UsageFault",
            (true, 0x07) => "SecureFault",
            (true, 0x0b) => "SVC",
            (true, 0x0c) => "DebugMonitor",
            (true, 0x0e) => "PendSV",
            (true, 0x0f) => "SysTick",
            (true, 0x18) => "DebugHalt",
            (true, 0x19) => "LazyFP Push",
            (true, 0x1a) => "Lockup",
            _ => "Reserved",
        }
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
