//! QEMU's plugin interface, as far as it is used here: versions 1 (QEMU 7.2) to 4 and later.
//!
//! Functions are looked up by name when the plugin is loaded: no version has all of them, and a plugin that links to a
//! missing one could not be loaded at all.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::NonNull;

/// Number that QEMU assigns to the plugin.
pub type Id = u64;
/// A translation or one of its instructions, during translation.
pub type Handle = *mut c_void;

/// Information from QEMU at installation; only its beginning, which all versions share.
#[repr(C)]
#[derive(Debug)]
pub struct Info {
    /// Processor, as in the name of the program.
    pub target_name: *const c_char,
    /// Lowest supported version of the interface.
    pub lowest: c_int,
    /// Version of the interface.
    pub current: c_int,
    /// Set if a whole system is emulated.
    pub system_emulation: bool,
}

/// A per-thread counter in QEMU's memory (version 2).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// The memory.
    pub scoreboard: *mut c_void,
    /// Offset in each thread's part.
    pub offset: usize,
}

/// Value loaded or stored (version 4).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MemoryValue {
    /// Log2 of the number of valid bytes.
    pub size_shift: c_int,
    /// Value, the lower half first.
    pub halves: [u64; 2],
}

/// Flag: the callback accesses no registers.
pub const NO_REGISTERS: c_int = 0;
/// Flag: loads and stores.
pub const READS_AND_WRITES: c_int = 3;
/// Flag: neither loads nor stores.
pub const NO_ACCESSES: c_int = 0;
/// Inline operation of QEMU, in place of a callback: addition to a number.
pub const ADD: c_int = 0;

pub type OnThread = extern "C" fn(Id, c_uint);
pub type OnTranslation = extern "C" fn(Id, Handle);
pub type OnExecution = extern "C" fn(c_uint, *mut c_void);
pub type OnMemory = extern "C" fn(c_uint, u32, u64, *mut c_void);
pub type OnCall = extern "C" fn(Id, c_uint, i64, u64, u64, u64, u64, u64, u64, u64, u64);
pub type OnReturn = extern "C" fn(Id, c_uint, i64, i64);
pub type OnExit = extern "C" fn(Id, *mut c_void);

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn free(memory: *mut c_void);
}

/// Finds a function of QEMU, or of a library it has loaded, by name.
pub fn find(name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: null stands for everything that is loaded; the name ends with a zero.
    NonNull::new(unsafe { dlsym(std::ptr::null_mut(), name.as_ptr()) })
}

macro_rules! api {
    ($($(#[$doc:meta])* $field:ident: $name:literal $type:ty,)*) => {
        /// Functions of QEMU; `None` where its version lacks one.
        #[derive(Clone, Copy, Debug)]
        pub struct Api {
            $($(#[$doc])* pub $field: Option<$type>,)*
        }

        impl Api {
            /// Finds the functions of the QEMU that has loaded the plugin.
            pub fn load() -> Self {
                Self {
                    $($field: find($name).map(|found| {
                        // SAFETY: a function's type belongs to its name; where it changed with a version (`insn_data`), a
                        // field of its own says so, and who calls it looks at the version.
                        unsafe { std::mem::transmute::<NonNull<c_void>, $type>(found) }
                    }),)*
                }
            }
        }
    };
}

api! {
    vcpu_init: c"qemu_plugin_register_vcpu_init_cb" unsafe extern "C" fn(Id, OnThread),
    vcpu_exit: c"qemu_plugin_register_vcpu_exit_cb" unsafe extern "C" fn(Id, OnThread),
    tb_trans: c"qemu_plugin_register_vcpu_tb_trans_cb" unsafe extern "C" fn(Id, OnTranslation),
    tb_exec: c"qemu_plugin_register_vcpu_tb_exec_cb" unsafe extern "C" fn(Handle, OnExecution, c_int, *mut c_void),
    insn_exec: c"qemu_plugin_register_vcpu_insn_exec_cb" unsafe extern "C" fn(Handle, OnExecution, c_int, *mut c_void),
    /// Adds to a number for all threads (version 1).
    insn_inline: c"qemu_plugin_register_vcpu_insn_exec_inline" unsafe extern "C" fn(Handle, c_int, *mut c_void, u64),
    mem_inline: c"qemu_plugin_register_vcpu_mem_inline" unsafe extern "C" fn(Handle, c_int, c_int, *mut c_void, u64),
    /// Adds to a number for each thread (version 2).
    insn_inline_each: c"qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu" unsafe extern "C" fn(Handle, c_int, Counter, u64),
    mem_inline_each: c"qemu_plugin_register_vcpu_mem_inline_per_vcpu" unsafe extern "C" fn(Handle, c_int, c_int, Counter, u64),
    scoreboard_new: c"qemu_plugin_scoreboard_new" unsafe extern "C" fn(usize) -> *mut c_void,
    scoreboard_find: c"qemu_plugin_scoreboard_find" unsafe extern "C" fn(*mut c_void, c_uint) -> *mut c_void,
    mem: c"qemu_plugin_register_vcpu_mem_cb" unsafe extern "C" fn(Handle, OnMemory, c_int, c_int, *mut c_void),
    mem_size_shift: c"qemu_plugin_mem_size_shift" unsafe extern "C" fn(u32) -> c_uint,
    mem_is_store: c"qemu_plugin_mem_is_store" unsafe extern "C" fn(u32) -> bool,
    mem_get_value: c"qemu_plugin_mem_get_value" unsafe extern "C" fn(u32) -> MemoryValue,
    system_call: c"qemu_plugin_register_vcpu_syscall_cb" unsafe extern "C" fn(Id, OnCall),
    system_call_return: c"qemu_plugin_register_vcpu_syscall_ret_cb" unsafe extern "C" fn(Id, OnReturn),
    at_exit: c"qemu_plugin_register_atexit_cb" unsafe extern "C" fn(Id, OnExit, *mut c_void),
    tb_n_insns: c"qemu_plugin_tb_n_insns" unsafe extern "C" fn(Handle) -> usize,
    tb_get_insn: c"qemu_plugin_tb_get_insn" unsafe extern "C" fn(Handle, usize) -> Handle,
    /// Returns the code (up to version 2).
    insn_data: c"qemu_plugin_insn_data" unsafe extern "C" fn(Handle) -> *const u8,
    /// Copies the code (from version 3 on).
    insn_data_copy: c"qemu_plugin_insn_data" unsafe extern "C" fn(Handle, *mut u8, usize) -> usize,
    insn_size: c"qemu_plugin_insn_size" unsafe extern "C" fn(Handle) -> usize,
    insn_vaddr: c"qemu_plugin_insn_vaddr" unsafe extern "C" fn(Handle) -> u64,
    insn_haddr: c"qemu_plugin_insn_haddr" unsafe extern "C" fn(Handle) -> *const u8,
    insn_disas: c"qemu_plugin_insn_disas" unsafe extern "C" fn(Handle) -> *mut c_char,
    path_to_binary: c"qemu_plugin_path_to_binary" unsafe extern "C" fn() -> *mut c_char,
}

/// Takes ownership of a string that QEMU allocated.
pub fn take_text(text: *mut c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: QEMU's strings end with a zero, and were allocated by GLib, which uses malloc.
    unsafe {
        let found = CStr::from_ptr(text).to_string_lossy().into_owned();
        free(text.cast());
        found
    }
}
