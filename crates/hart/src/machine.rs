use crate::Privilege;
use crate::memory::Rights;
use crate::state::Core;

/// What surrounds a hart: what is where in memory, and what happens on traps.
pub trait Machine {
    /// Where in the bytes of memory the page of `address` is, if `size` bytes from there on (in the same page) may be used so.
    /// Called when that is not remembered.
    ///
    /// # Errors
    /// The exception; or [`Exception::DEVICE`] where a device is, which [`load`](Self::load) and [`store`](Self::store) serve.
    fn translate(
        &mut self,
        core: &mut Core,
        address: u64,
        size: u8,
        rights: Rights,
    ) -> Result<usize, Exception>;

    /// Loads from a device.
    ///
    /// # Errors
    /// The exception.
    fn load(&mut self, _core: &mut Core, address: u64, _size: u8) -> Result<u64, Exception> {
        Err(Exception { cause: cause::LOAD_ACCESS_FAULT, value: address })
    }

    /// Stores to a device.
    ///
    /// # Errors
    /// The exception.
    fn store(&mut self, _core: &mut Core, address: u64, _size: u8, _value: u64) -> Result<(), Exception> {
        Err(Exception { cause: cause::STORE_ACCESS_FAULT, value: address })
    }

    /// Reads a CSR other than fflags, frm and fcsr.
    ///
    /// # Errors
    /// When there is none, or it may not be read.
    fn read_csr(&mut self, core: &mut Core, csr: u16) -> Result<u64, Exception>;

    /// Writes a CSR likewise.
    ///
    /// # Errors
    /// When there is none, or it may not be written.
    fn write_csr(&mut self, core: &mut Core, csr: u16, value: u64) -> Result<(), Exception>;

    /// The bits of a CSR that read as 1 only because of something outside the hart.
    fn outside_bits(&self, _csr: u16) -> u64 {
        0
    }

    /// MRET, SRET, WFI or SFENCE.VMA, at `core.pc`. Returns where execution goes on.
    ///
    /// # Errors
    /// When it is not allowed.
    fn privileged(&mut self, core: &mut Core, op: tracewright_isa::riscv::Op) -> Result<u64, Exception>;

    /// An exception was raised at `core.pc`. Sets `core.pc` to where execution goes on.
    ///
    /// # Errors
    /// Why the machine stops instead.
    fn exception(&mut self, core: &mut Core, exception: Exception) -> Result<Served, Stop>;

    /// Called between blocks when `core.instret` has come to `core.deadline`. Sets the next deadline. Returns the number of
    /// the interrupt that was taken, if one was; `core.pc` is the handler then.
    ///
    /// # Errors
    /// Why the machine stops.
    fn poll(&mut self, core: &mut Core) -> Result<Option<u64>, Stop>;

    /// The privilege it runs in.
    fn privilege(&self) -> Privilege;

    /// The context it runs in; see [`Sink::context`](crate::Sink::context).
    fn context(&self) -> u64 {
        0
    }
}

/// An exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception {
    /// Its number, see [`cause`].
    pub cause: u64,
    /// What mtval tells.
    pub value: u64,
}

impl Exception {
    /// No exception: the address is a device's.
    pub const DEVICE: Self = Self { cause: u64::MAX, value: 0 };
}

/// Who served an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// The machine.
    Machine,
    /// A trap handler, which runs now.
    Handler,
}

/// Why a machine stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The program ended itself.
    Exit {
        /// Its status.
        status: i32,
    },
    /// It was told to stop after so many instructions.
    Limit,
    /// Somebody asked it to stop; see [`Hart::stop_when`](crate::Hart::stop_when).
    Asked,
    /// It cannot go on: why.
    Fault(String),
}

pub use tracewright_isa::riscv::cause;
