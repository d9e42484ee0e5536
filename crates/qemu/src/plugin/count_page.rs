//! The first page of the log, mapped: QEMU counts checkpoints in it while there is one thread.
//!
//! Its address is part of the code that QEMU generates, so that the page stays in place. What is behind it changes when
//! the process is forked.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_long, c_void};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::format::{COUNT_AT, HEADER_SIZE};

unsafe extern "C" {
    fn mmap(
        address: *mut c_void,
        len: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: c_long,
    ) -> *mut c_void;
}

const READ_AND_WRITE: c_int = 3;
const SHARED: c_int = 0x01;
const PRIVATE: c_int = 0x02;
const FIXED: c_int = 0x10;
const ANONYMOUS: c_int = 0x20;

static PAGE: AtomicPtr<u8> = AtomicPtr::new(null_mut());

/// Maps the page to a log.
pub fn of_log(log: &File) -> io::Result<()> {
    place(SHARED, log.as_raw_fd())
}

/// Maps the page to private memory.
pub fn of_nobody() {
    // There is a page already, and memory for one more, so that this does not fail.
    let _ = place(PRIVATE | ANONYMOUS, -1);
}

fn place(flags: c_int, file: c_int) -> io::Result<()> {
    let page = PAGE.load(Ordering::Relaxed);
    let fixed = if page.is_null() { 0 } else { FIXED };
    // SAFETY: the address is chosen by Linux, or is that of our own page.
    let placed = unsafe { mmap(page.cast(), HEADER_SIZE, READ_AND_WRITE, flags | fixed, file, 0) };
    if placed.addr() == usize::MAX {
        return Err(io::Error::last_os_error());
    }
    PAGE.store(placed.cast(), Ordering::Relaxed);
    Ok(())
}

/// Returns the address of the count.
#[inline(always)]
pub fn count() -> *mut u64 {
    PAGE.load(Ordering::Relaxed).wrapping_add(COUNT_AT).cast()
}
