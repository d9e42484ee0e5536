//! Numbers of exceptions, named as in the specification.
#![expect(missing_docs, reason = "they are named as in the specification")]

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
