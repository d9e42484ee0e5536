//! Numbers and instruments code that QEMU translated.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

use tracewright_core::Isa;
use tracewright_isa::{may_access, t32};

use super::callbacks::{on_access, on_checkpoint, on_last_access, on_start, on_stop, on_translation};
use super::count_page;
use super::ffi::{ADD, Api, Handle, Id, NO_ACCESSES, NO_REGISTERS, READS_AND_WRITES, take_text};
use super::instruction_set::instruction_set;
use super::state::{State, state};
use crate::format::{LAST_ACCESS, LogData, MOST_CODE, Record, TranslationRecord};

/// Called when QEMU has translated code.
pub extern "C" fn on_translated(_: Id, tb: Handle) {
    if let Some(state) = state() {
        // The plugin is installed only if these functions exist.
        let _ = translated(state, tb);
    }
}

/// Instructions of a translation.
struct Code {
    handles: Vec<Handle>,
    lens: Vec<u8>,
    bytes: Vec<u8>,
    start: u64,
    /// Address in QEMU's memory.
    host: u64,
}

fn translated(state: &State, tb: Handle) -> Option<()> {
    let api = &state.api;
    let mut code = Code::read(api, state.version, tb)?;
    let last = *code.handles.last()?;
    let isa = instruction_set(state.target, code.start, &code.bytes, &code.lens, || {
        // SAFETY: QEMU's function is called with QEMU's argument.
        api.insn_disas.map(|text| take_text(unsafe { text(last) })).unwrap_or_default()
    });
    code.trim(isa);
    let mut at = 0;
    let mut accesses = Vec::new();
    for (index, &len) in code.lens.iter().enumerate() {
        if may_access(isa, &code.bytes[at..]) {
            accesses.push(index as u16);
        }
        at += usize::from(len);
    }
    state.guest_base.store(code.host.wrapping_sub(code.start), Ordering::Relaxed);
    state.write_command();
    // Mappings come first, since a reader must know the origin of code when it comes.
    state.maps().translated(code.start, code.host, &state.places, |map| {
        state.definitions().write(&state.output, &Record::Map(*map));
    });
    let count = code.lens.len() as u32;
    let record = TranslationRecord { start: code.start, isa, count, code: &code.bytes };
    let number = state.definitions().number(&state.output, &record, &accesses)?;
    instrument(state, tb, &code, number, &accesses)
}

impl Code {
    fn read(api: &Api, version: u32, tb: Handle) -> Option<Self> {
        // SAFETY: QEMU's functions are called with QEMU's arguments, during translation.
        unsafe {
            let count = (api.tb_n_insns?)(tb);
            let handles: Vec<Handle> =
                (0..count).map(|index| api.tb_get_insn.map_or(tb, |get| get(tb, index))).collect();
            let first = *handles.first()?;
            let (start, host) = ((api.insn_vaddr?)(first), (api.insn_haddr?)(first).addr() as u64);
            let (mut lens, mut bytes) = (Vec::with_capacity(count), Vec::with_capacity(4 * count));
            for &insn in &handles {
                let len = (api.insn_size?)(insn);
                let mut code = [0; 16];
                let code = code.get_mut(..len)?;
                if version >= 3 {
                    (api.insn_data_copy?)(insn, code.as_mut_ptr(), len);
                } else {
                    code.copy_from_slice(std::slice::from_raw_parts((api.insn_data?)(insn), len));
                }
                lens.push(len as u8);
                bytes.extend_from_slice(code);
            }
            (bytes.len() <= MOST_CODE).then_some(Self { handles, lens, bytes, start, host })
        }
    }

    /// Removes bytes that belong to no instruction; see [`instruction_set`].
    fn trim(&mut self, isa: Isa) {
        if isa != Isa::T32 {
            return;
        }
        let (mut from, mut to) = (0, 0);
        for len in &mut self.lens {
            let said = usize::from(*len);
            let Some(&first) = self.bytes[from..].first_chunk() else { break };
            *len = t32::len(u16::from_le_bytes(first)).min(*len);
            self.bytes.copy_within(from..from + usize::from(*len), to);
            (from, to) = (from + said, to + usize::from(*len));
        }
        self.bytes.truncate(to);
    }
}

/// Inserts callbacks and counters.
fn instrument(state: &State, tb: Handle, code: &Code, number: u32, accesses: &[u16]) -> Option<()> {
    let api = &state.api;
    let number_as_data = std::ptr::without_provenance_mut::<c_void>(number as usize);
    let last = code.handles.len() - 1;
    // SAFETY: QEMU's functions are called with QEMU's arguments, during translation; callbacks are functions, and take
    // numbers as data.
    unsafe {
        (api.tb_exec?)(tb, on_translation, NO_REGISTERS, number_as_data);
        for &index in accesses {
            let index = usize::from(index);
            if index == last {
                count_last_access(state, code.handles[index]);
            } else {
                count_checkpoint(state, code.handles[index + 1]);
            }
        }
        let is_data = state.arguments.data != LogData::Nothing;
        for (index, &insn) in code.handles.iter().enumerate() {
            let is_counted = accesses.last().is_some_and(|&at| usize::from(at) == last) && index == last;
            let index = std::ptr::without_provenance_mut(index);
            if is_data {
                (api.mem?)(insn, on_access, NO_REGISTERS, READS_AND_WRITES, index);
            } else if state.counter.is_none() && !is_counted {
                // Before version 8, QEMU keeps the callbacks of the last instruction of a translation: the next helper
                // that accesses memory calls them, even after they are freed. A callback for neither reads nor writes
                // makes QEMU replace them, and is never called.
                (api.mem?)(insn, on_access, NO_REGISTERS, NO_ACCESSES, index);
            }
        }
        let mut address = code.start;
        for (index, (&insn, &len)) in code.handles.iter().zip(&code.lens).enumerate() {
            let is_at = |place: &Option<super::places::Where>| {
                place.as_ref().is_some_and(|place| place.is_at(address))
            };
            if is_at(&state.places.stop) {
                (api.insn_exec?)(insn, on_stop, NO_REGISTERS, std::ptr::without_provenance_mut(index));
            }
            if is_at(&state.places.start) {
                let place = (number as usize) << 16 | index;
                (api.insn_exec?)(insn, on_start, NO_REGISTERS, std::ptr::without_provenance_mut(place));
            }
            address += u64::from(len);
        }
    }
    Some(())
}

/// Counts a checkpoint before `insn`.
///
/// # Safety
/// `insn` is being translated.
unsafe fn count_checkpoint(state: &State, insn: Handle) {
    let api = &state.api;
    // SAFETY: the caller guarantees `insn`; the counter exists as long as the plugin.
    unsafe {
        match (state.counter, api.insn_inline_each, api.insn_inline, api.insn_exec) {
            (Some(counter), Some(add), ..) => add(insn, ADD, counter, 1),
            (_, _, Some(add), _) if !state.is_parallel.load(Ordering::Relaxed) => {
                add(insn, ADD, count_page::count().cast(), 1);
            }
            (.., Some(call)) => call(insn, on_checkpoint, NO_REGISTERS, std::ptr::null_mut()),
            _ => {}
        }
    }
}

/// Counts the accesses of `insn`, the last instruction.
///
/// # Safety
/// `insn` is being translated.
unsafe fn count_last_access(state: &State, insn: Handle) {
    const BOTH: c_int = READS_AND_WRITES;
    let api = &state.api;
    // SAFETY: the caller guarantees `insn`; the counter exists as long as the plugin.
    unsafe {
        match (state.counter, api.mem_inline_each, api.mem_inline, api.mem) {
            (Some(counter), Some(add), ..) => add(insn, BOTH, ADD, counter, LAST_ACCESS),
            (_, _, Some(add), _) if !state.is_parallel.load(Ordering::Relaxed) => {
                add(insn, BOTH, ADD, count_page::count().cast(), LAST_ACCESS);
            }
            (.., Some(call)) => call(insn, on_last_access, NO_REGISTERS, BOTH, std::ptr::null_mut()),
            _ => {}
        }
    }
}
