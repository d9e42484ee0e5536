//! System calls that matter for the recording.

use std::ffi::c_uint;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;

use super::ffi::Id;
use super::state::{State, state, thread};
use crate::format::{Record, Target};

/// A system call that matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Clone,
    Clone3,
    Fork,
    Exec,
    /// Maps memory, or changes its permissions, which are in the third argument.
    Map,
    Remap,
    SetHandler,
}

impl Call {
    fn of(target: Target, number: i64) -> Option<Self> {
        let is_arm = target == Target::Arm;
        // 32-bit Arm has its own numbers; the others share those of newer architectures.
        Some(match (is_arm, number) {
            (false, 220) | (true, 120) => Self::Clone,
            (_, 435) => Self::Clone3,
            (true, 2 | 190) => Self::Fork,
            (false, 221 | 281) | (true, 11 | 387) => Self::Exec,
            (false, 222 | 226) | (true, 90 | 192 | 125) => Self::Map,
            (false, 216) | (true, 163) => Self::Remap,
            (false, 134) | (true, 67 | 174) => Self::SetHandler,
            _ => return None,
        })
    }
}

const PROT_EXEC: u64 = 4;
const CLONE_VM: u64 = 0x100;
const CLONE_VFORK: u64 = 0x4000;

/// Called when a system call is made.
#[allow(clippy::too_many_arguments)]
pub extern "C" fn on_call(
    _: Id,
    vcpu: c_uint,
    number: i64,
    first: u64,
    second: u64,
    third: u64,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
) {
    let Some(state) = state() else { return };
    if let Some(thread) = thread(vcpu) {
        thread.calls();
    }
    match Call::of(state.target, number) {
        Some(Call::Clone) => clone(state, vcpu, first),
        Some(Call::Clone3) => clone(state, vcpu, state.guest(first).map_or(CLONE_VM, u64::from_le_bytes)),
        Some(Call::Exec) => {
            if let Some(thread) = thread(vcpu) {
                thread.exec();
            }
        }
        Some(Call::SetHandler) => {
            // The handler is the first field of what the second argument points to.
            let handler = match state.target {
                Target::Arm => state.guest(second).map(|word| u32::from_le_bytes(word).into()),
                _ => state.guest(second).map(u64::from_le_bytes),
            };
            if let (Some(address), true) = (handler, second != 0) {
                let handler = Record::Handler {
                    signal: first as u32,
                    address: address & !u64::from(state.target == Target::Arm),
                };
                state.definitions().write(&state.output, &handler);
            }
        }
        Some(Call::Map) if third & PROT_EXEC == 0 => {}
        Some(Call::Map | Call::Remap) => state.maps().changed(),
        Some(Call::Fork) | None => {}
    }
}

/// Called when a system call returns.
pub extern "C" fn on_return(_: Id, vcpu: c_uint, number: i64, result: i64) {
    let Some(state) = state() else { return };
    match Call::of(state.target, number) {
        Some(Call::Clone | Call::Clone3 | Call::Fork) => {
            if state.pid.load(Ordering::Relaxed) != std::process::id() {
                state.forked(vcpu);
            } else if result > 0 && is_process(result) {
                let what =
                    if state.arguments.follows_forks { "has a log of its own" } else { "is not recorded" };
                state.note(&format!("process {result} was forked, and {what}"));
            }
        }
        Some(Call::Map | Call::Remap) => state.maps().changed(),
        _ => {}
    }
}

/// Handles the creation of a thread or process.
fn clone(state: &State, vcpu: u32, flags: u64) {
    // QEMU implements `vfork` as a fork.
    if flags & CLONE_VM == 0 || flags & CLONE_VFORK != 0 || state.counter.is_some() {
        return;
    }
    // QEMU now discards all translations, and makes them anew for several threads.
    if !state.is_parallel.swap(true, Ordering::Relaxed)
        && let Some(thread) = thread(vcpu)
    {
        thread.count_own();
    }
}

/// Returns whether `id` is a process, not a thread of this one, which may have ended by now. (A process exists until it
/// is waited for.)
fn is_process(id: i64) -> bool {
    let is_there = |path: String| std::path::Path::new(&path).exists();
    !is_there(format!("/proc/self/task/{id}")) && is_there(format!("/proc/{id}"))
}

impl State {
    /// Reads the program's memory.
    fn guest<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let base = self.guest_base.load(Ordering::Relaxed);
        let mut bytes = [0; N];
        // By way of a file, since the address may be wrong.
        File::open("/proc/self/mem").ok()?.read_exact_at(&mut bytes, address.wrapping_add(base)).ok()?;
        Some(bytes)
    }
}
