//! The plugin that QEMU loads: `qemu-aarch64 -plugin libtracewright_qemu.so,log=FILE program`.
//!
//! Each piece of code that QEMU translates is classified once, numbered, and written to the definitions. When it runs,
//! a callback appends an outcome or its number to the chunk of the thread. Nothing else happens while the program runs.
//!
//! A callback reports that a translation *begins*. *Checkpoints* show whether it ran to its end: a counter is
//! incremented at each instruction that follows one that may access memory, so that a fault shows where it was. While
//! there is one thread, the generated code counts. With a second thread, QEMU before version 9 cannot count per thread,
//! so that a callback counts. (QEMU then generates all code anew.)
//!
//! * `ffi`: functions and types of QEMU (found by name at load time, since versions differ).
//! * `arguments`, `places`: what to record, from where to where.
//! * `translate`: translated code; `instruction_set`: A32 or T32; `definitions`: its records; `maps`: its origin.
//! * `callbacks`: what QEMU calls while the program runs; `thread`: recording of a thread, the hot path.
//! * `output`: chunks, in a file or on their way to a recorder; `count_page`: the count of the only thread.
//! * `system_calls`: those that matter for the recording: threads, forks, mappings, handlers.

mod arguments;
mod callbacks;
mod count_page;
mod definitions;
mod ffi;
mod install;
mod instruction_set;
mod maps;
mod output;
mod places;
mod state;
mod system_calls;
mod thread;
mod translate;
