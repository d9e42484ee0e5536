//! Callbacks that QEMU makes while the program runs.
#![allow(unsafe_code)]

use std::ffi::{c_uint, c_void};

use super::state::{state, thread};
use crate::format::{LAST_ACCESS, access};

/// Called when a translation begins to run.
pub extern "C" fn on_translation(vcpu: c_uint, number: *mut c_void) {
    if let Some(thread) = thread(vcpu) {
        thread.runs(number.addr() as u32);
    }
}

/// Called when a checkpoint is passed, if QEMU cannot count.
pub extern "C" fn on_checkpoint(vcpu: c_uint, _: *mut c_void) {
    if let Some(thread) = thread(vcpu) {
        thread.pass(1);
    }
}

/// Called when the last instruction of a translation accessed memory, if QEMU cannot count.
pub extern "C" fn on_last_access(vcpu: c_uint, _: u32, _: u64, _: *mut c_void) {
    if let Some(thread) = thread(vcpu) {
        thread.pass(LAST_ACCESS);
    }
}

/// Called when an instruction accessed memory.
pub extern "C" fn on_access(vcpu: c_uint, info: u32, address: u64, index: *mut c_void) {
    let (Some(state), Some(thread)) = (state(), thread(vcpu)) else { return };
    let (Some(shift), Some(is_store)) = (state.api.mem_size_shift, state.api.mem_is_store) else { return };
    // SAFETY: QEMU's functions are called with QEMU's own argument.
    let (shift, is_store) = unsafe { (shift(info), is_store(info)) };
    let value = state.api.mem_get_value.filter(|_| state.has_values()).map(|get| {
        // SAFETY: as above.
        let value = unsafe { get(info) };
        ((1 << shift.min(4)).max(4) / 4, value.halves)
    });
    thread.accesses(access(index.addr() as u32, shift, is_store), address, value);
}

/// Called when the instruction where recording begins is about to run. `place` has the number of the translation and
/// the index in it.
pub extern "C" fn on_start(vcpu: c_uint, place: *mut c_void) {
    if let Some(thread) = thread(vcpu) {
        thread.start((place.addr() >> 16) as u32, (place.addr() & 0xffff) as u32);
    }
}

/// Called when the instruction where recording stops is about to run.
pub extern "C" fn on_stop(vcpu: c_uint, index: *mut c_void) {
    if let Some(thread) = thread(vcpu) {
        thread.stop_before(index.addr() as u32);
    }
}
