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

/// Numbers of exceptions.
#[expect(missing_docs, reason = "they are named as in the specification")]
pub mod cause {
    pub const INSTRUCTION_MISALIGNED: u64 = 0;
    pub const INSTRUCTION_ACCESS_FAULT: u64 = 1;
    pub const ILLEGAL_INSTRUCTION: u64 = 2;
    pub const BREAKPOINT: u64 = 3;
    pub const LOAD_MISALIGNED: u64 = 4;
    pub const LOAD_ACCESS_FAULT: u64 = 5;
    pub const STORE_MISALIGNED: u64 = 6;
    pub const STORE_ACCESS_FAULT: u64 = 7;
    pub const ECALL_U: u64 = 8;
    pub const ECALL_S: u64 = 9;
    pub const ECALL_M: u64 = 11;
    pub const INSTRUCTION_PAGE_FAULT: u64 = 12;
    pub const LOAD_PAGE_FAULT: u64 = 13;
    pub const STORE_PAGE_FAULT: u64 = 15;

    /// What happened, in words.
    pub fn describe(cause: u64, interrupt: bool) -> &'static str {
        match (interrupt, cause) {
            (false, INSTRUCTION_MISALIGNED) => "jump to an odd address",
            (false, INSTRUCTION_ACCESS_FAULT) => "jump to where no code is",
            (false, ILLEGAL_INSTRUCTION) => "illegal instruction",
            (false, BREAKPOINT) => "breakpoint",
            (false, LOAD_MISALIGNED) => "misaligned load",
            (false, LOAD_ACCESS_FAULT) => "load from where no memory is",
            (false, STORE_MISALIGNED) => "misaligned store",
            (false, STORE_ACCESS_FAULT) => "store to where no memory is",
            (false, ECALL_U | ECALL_S | ECALL_M) => "environment call",
            (false, INSTRUCTION_PAGE_FAULT) => "jump to a page that is not there",
            (false, LOAD_PAGE_FAULT) => "load from a page that is not there",
            (false, STORE_PAGE_FAULT) => "store to a page that is not there",
            (false, _) => "unknown exception",
            (true, 1 | 3) => "software interrupt",
            (true, 5 | 7) => "timer interrupt",
            (true, 9 | 11) => "external interrupt",
            (true, _) => "unknown interrupt",
        }
    }
}
