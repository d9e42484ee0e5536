//! The plugin that QEMU loads: `qemu-aarch64 -plugin libtracewright_qemu.so,log=FILE program`.
//!
//! Each piece of code that QEMU translates is classified once, numbered and written among the definitions. When one runs, a callback
//! appends an outcome or its number to the chunk of its thread. Nothing else happens while the program runs.
//!
//! A callback says that a translation *begins*. Whether it ran to its end is known from *checkpoints*: a counter goes up at each
//! instruction that follows one that may access memory, so that a fault shows where it was. While there is one thread, QEMU counts by itself,
//! in the code it makes; when a second one comes, QEMU of before version 9 cannot count per thread, and a callback does.
//! (QEMU makes all code anew then.)
//!
//! * `ffi`: what QEMU calls, and offers (found by name when it is loaded, since versions differ).
//! * `arguments`, `places`: what to record, from where to where.
//! * `translate`: code that was translated; `instruction_set`: A32 or T32; `definitions`: what is written of it; `maps`: where it is from.
//! * `callbacks`: what QEMU calls while the program runs; `thread`: what a thread ran: the hot path.
//! * `output`: chunks, in a file or on their way to who reads them; `count_page`: where QEMU counts for the one thread there is.
//! * `system_calls`: those that change what there is to record: threads, forks, mappings, handlers.

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

pub use self::arguments::{Arguments, BadArgument, Data, NAMES};
