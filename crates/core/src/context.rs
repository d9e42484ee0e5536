use core::fmt;

use crate::MemorySpace;

/// The state of the core in which instructions ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Context {
    /// Exception level, 0 to 3.
    pub level: u8,
    /// Security state.
    pub security: Security,
    /// Whether the core is in its 64-bit state.
    pub is_64bit: bool,
    /// Virtual machine ID, if it is traced.
    pub vmid: Option<u32>,
    /// Context ID (on Linux the process ID), if it is traced.
    pub context_id: Option<u32>,
}

/// Security state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Security {
    /// Secure.
    Secure,
    /// Non-secure.
    NonSecure,
    /// Root (Arm RME).
    Root,
    /// Realm (Arm RME).
    Realm,
}

impl Context {
    /// Returns the memory space from which instructions are fetched in this context.
    pub const fn space(&self) -> MemorySpace {
        match (self.security, self.level) {
            (Security::Root, _) => MemorySpace::ROOT,
            (_, 3) => MemorySpace::EL3,
            (Security::Secure, 2) => MemorySpace::EL2S,
            (Security::Secure, _) => MemorySpace::EL1S,
            (Security::NonSecure, 2) => MemorySpace::EL2,
            (Security::NonSecure, _) => MemorySpace::EL1N,
            (Security::Realm, 2) => MemorySpace::EL2R,
            (Security::Realm, _) => MemorySpace::EL1R,
        }
    }
}

impl fmt::Display for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Secure => "secure",
            Self::NonSecure => "non-secure",
            Self::Root => "root",
            Self::Realm => "realm",
        })
    }
}
