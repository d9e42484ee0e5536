//! Entry points that QEMU looks for in a plugin.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, Ordering};

use super::arguments::Arguments;
use super::ffi::{Api, Counter, Id, Info, find, take_text};
use super::state::{State, complain, set_thread, state, thread};
use super::system_calls::{on_call, on_return};
use super::thread::Thread;
use super::translate::on_translated;
use crate::format::{LogData, Record, Target};

/// Requested version of the interface. QEMU refuses a plugin whose version it does not have, so the version is set to
/// what this QEMU supports when the plugin is loaded.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static qemu_plugin_version: AtomicI32 = AtomicI32::new(1);

/// Function that the dynamic linker runs after loading, before QEMU reads the version.
#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = set_version;

extern "C" fn set_version() {
    // A function that each version of the interface added.
    let brought = [
        (c"qemu_plugin_scoreboard_new", 2),
        (c"qemu_plugin_register_vcpu_tb_exec_cond_cb", 3),
        (c"qemu_plugin_read_memory_vaddr", 4),
    ];
    for (name, version) in brought {
        if find(name).is_some() {
            qemu_plugin_version.store(version, Ordering::Relaxed);
        }
    }
}

/// Installs the plugin. Called by QEMU.
///
/// # Safety
/// The arguments are those that QEMU passes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: Id,
    info: *const Info,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    // SAFETY: QEMU guarantees its arguments.
    let (info, arguments) = unsafe {
        let argument = |index| CStr::from_ptr(*argv.add(index)).to_string_lossy().into_owned();
        (&*info, (0..usize::try_from(argc).unwrap_or(0)).map(argument).collect::<Vec<_>>())
    };
    match install(id, info, &arguments) {
        Ok(()) => 0,
        Err(why) => {
            complain(&why);
            1
        }
    }
}

fn install(id: Id, info: &Info, arguments: &[String]) -> Result<(), String> {
    let arguments = Arguments::parse(arguments.iter().map(String::as_str))?;
    // SAFETY: QEMU's string ends with a zero.
    let name = unsafe { CStr::from_ptr(info.target_name) }.to_string_lossy();
    if info.system_emulation {
        return Err("only programs for Linux are recorded (qemu-aarch64, ...), not whole systems".into());
    }
    let target = Target::ALL.into_iter().find(|target| target.name() == name);
    let target = target.ok_or_else(|| {
        format!("programs for {name} are not recorded: only those for aarch64, arm and riscv64 are")
    })?;
    let api = Api::load();
    if arguments.data == LogData::Values && api.mem_get_value.is_none() {
        return Err(
            "data=values: this QEMU does not tell values; version 9.2 and later do. data=addresses works"
                .into(),
        );
    }
    // SAFETY: QEMU's function.
    let counter = api.scoreboard_new.map(|make| Counter { scoreboard: unsafe { make(8) }, offset: 0 });
    let state =
        State::install(api, qemu_plugin_version.load(Ordering::Relaxed) as u32, arguments, target, counter)
            .map_err(|error| error.to_string())?;
    register(state, id).ok_or("this QEMU lacks functions that plugins need: 7.2 and later have them")?;
    Ok(())
}

fn register(state: &State, id: Id) -> Option<()> {
    let api = &state.api;
    let has_counts = state.counter.is_some() || api.insn_inline.is_some();
    if !has_counts || api.tb_exec.is_none() || api.insn_data.is_none() || api.insn_exec.is_none() {
        return None;
    }
    // SAFETY: QEMU's functions; callbacks have the types they ask for.
    unsafe {
        (api.vcpu_init?)(id, on_thread);
        (api.vcpu_exit?)(id, on_thread_exit);
        (api.tb_trans?)(id, on_translated);
        (api.system_call?)(id, on_call);
        (api.system_call_return?)(id, on_return);
        (api.at_exit?)(id, on_exit, null_mut());
    }
    Some(())
}

extern "C" fn on_thread(_: Id, vcpu: c_uint) {
    let Some(state) = state() else { return };
    if set_thread(vcpu, Some(Thread::new(state, vcpu))).is_some() {
        complain("a thread was not seen to end");
    }
}

extern "C" fn on_thread_exit(_: Id, vcpu: c_uint) {
    if let Some(thread) = thread(vcpu) {
        thread.finish();
    }
    drop(set_thread(vcpu, None));
}

extern "C" fn on_exit(_: Id, _: *mut c_void) {
    if let Some(state) = state() {
        state.finish();
    }
}

/// Returns the part of QEMU's command line, zero-terminated strings, from the program on.
fn program_and_arguments<'a>(program: &str, all: &'a [u8]) -> &'a [u8] {
    let same_file = |text: &[u8]| {
        let real = |path: &str| std::fs::canonicalize(path).ok();
        str::from_utf8(text)
            .is_ok_and(|text| text == program || real(text).is_some_and(|path| Some(path) == real(program)))
    };
    let (mut at, mut before) = (0, &all[..0]);
    for text in all.split(|&byte| byte == 0) {
        // QEMU's option -0 has the name that the program sees; its path comes later.
        if at > 0 && before != b"-0" && same_file(text) {
            return &all[at..];
        }
        at += text.len() + 1;
        before = text;
    }
    all
}

impl State {
    /// Writes the program's path and its arguments, which are behind QEMU's own. Called when something runs, since QEMU
    /// does not know them earlier.
    pub fn write_command(&self) {
        if self.is_command_told.swap(true, Ordering::Relaxed) {
            return;
        }
        // SAFETY: QEMU's function.
        let program = self.api.path_to_binary.map(|path| take_text(unsafe { path() })).unwrap_or_default();
        let all = std::fs::read("/proc/self/cmdline").unwrap_or_default();
        let mut command = program_and_arguments(&program, &all).to_vec();
        command.truncate(1 << 16);
        self.definitions().write(&self.output, &Record::Command(&command));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_begins_with_the_program() {
        let all = b"qemu-arm\0-L\0/x\0-0\0./app\0./app\0one\0./app\0";
        assert_eq!(program_and_arguments("./app", all), b"./app\0one\0./app\0");
        assert_eq!(program_and_arguments("other", all), all);
    }
}
