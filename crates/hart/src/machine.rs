use crate::Privilege;
use crate::memory::Rights;
use crate::state::Core;

/// Environment of a hart: its address space and its traps.
pub trait Machine {
    /// Returns the index in the bytes of memory of the page of `address`, if `size` bytes at `address` (in the same
    /// page) may be accessed with `rights`. Called when the TLB does not have it. The exception is
    /// [`Exception::DEVICE`] for a device, which [`load`](Self::load) and [`store`](Self::store) access.
    fn translate(
        &mut self,
        core: &mut Core,
        address: u64,
        size: u8,
        rights: Rights,
    ) -> Result<usize, Exception>;

    /// Loads from a device.
    fn load(&mut self, _core: &mut Core, address: u64, _size: u8) -> Result<u64, Exception> {
        Err(Exception { cause: cause::LOAD_ACCESS_FAULT, value: address })
    }

    /// Stores to a device.
    fn store(&mut self, _core: &mut Core, address: u64, _size: u8, _value: u64) -> Result<(), Exception> {
        Err(Exception { cause: cause::STORE_ACCESS_FAULT, value: address })
    }

    /// Reads a CSR other than fflags, frm and fcsr. Returns the exception if it does not exist or may not be read.
    fn read_csr(&mut self, core: &mut Core, csr: u16) -> Result<u64, Exception>;

    /// Writes a CSR other than fflags, frm and fcsr. Returns the exception if it does not exist or may not be written.
    fn write_csr(&mut self, core: &mut Core, csr: u16, value: u64) -> Result<(), Exception>;

    /// Returns the bits of a CSR that read as 1 only because of something outside the hart.
    fn outside_bits(&self, _csr: u16) -> u64 {
        0
    }

    /// Executes MRET, SRET, WFI or SFENCE.VMA at `core.pc`. Returns the next address, or the exception if the
    /// instruction is not allowed.
    fn privileged(&mut self, core: &mut Core, op: tracewright_isa::riscv::Op) -> Result<u64, Exception>;

    /// Handles an exception raised at `core.pc`. Sets `core.pc` to the next address, or returns why the machine stops
    /// instead.
    fn exception(&mut self, core: &mut Core, exception: Exception) -> Result<Served, Stop>;

    /// Handles events between blocks when `core.instret` has reached `core.deadline`, and sets the next deadline. If an
    /// interrupt is taken, sets `core.pc` to its handler and returns its number. The error is why the machine stops.
    fn poll(&mut self, core: &mut Core) -> Result<Option<u64>, Stop>;

    /// Returns the current privilege.
    fn privilege(&self) -> Privilege;

    /// Returns the current context; see [`HartSink::context`](crate::HartSink::context).
    fn context(&self) -> u64 {
        0
    }
}

/// An exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception {
    /// Number; see [`cause`].
    pub cause: u64,
    /// Value of mtval.
    pub value: u64,
}

impl Exception {
    /// No exception: the address belongs to a device.
    pub const DEVICE: Self = Self { cause: u64::MAX, value: 0 };

    /// Replaces [`DEVICE`](Self::DEVICE), where devices cannot be accessed.
    pub(crate) fn or_device(self, instead: Self) -> Self {
        if self == Self::DEVICE { instead } else { self }
    }
}

/// Place where an exception was handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// In the machine itself.
    Machine,
    /// In a trap handler, which runs next.
    Handler,
}

/// Reason why a machine stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The program exited.
    Exit {
        /// Exit status.
        status: i32,
    },
    /// The limit of instructions was reached.
    Limit,
    /// A stop was requested; see [`Hart::stop_when`](crate::Hart::stop_when).
    Asked,
    /// The machine cannot continue, for this reason.
    Fault(String),
}

pub use tracewright_isa::riscv::cause;

/// Returns the cause of an access fault.
pub(crate) fn access_fault(rights: Rights) -> u64 {
    match rights {
        Rights::EXECUTE => cause::INSTRUCTION_ACCESS_FAULT,
        Rights::WRITE => cause::STORE_ACCESS_FAULT,
        _ => cause::LOAD_ACCESS_FAULT,
    }
}

/// Returns the cause of a page fault.
pub(crate) fn page_fault(rights: Rights) -> u64 {
    match rights {
        Rights::EXECUTE => cause::INSTRUCTION_PAGE_FAULT,
        Rights::WRITE => cause::STORE_PAGE_FAULT,
        _ => cause::LOAD_PAGE_FAULT,
    }
}
