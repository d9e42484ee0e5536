//! The stack of a program at its start: arguments, environment, and the auxiliary vector.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::Options;
use super::memory::{Layout, STACK_SIZE};
use super::process::{GROUP, Random, USER};
use crate::Core;
use crate::memory::{PAGE, Rights};

/// Information about the program that goes onto its stack.
#[derive(Debug)]
pub struct Start {
    /// Program headers: address, size of one, number.
    pub headers: (u64, u64, u64),
    /// Entry point, after the dynamic linker.
    pub entry: u64,
    /// Base address of the dynamic linker; 0 if there is none.
    pub linker_base: u64,
    pub executable: bool,
    pub name: PathBuf,
}

/// Extensions of the machine, one bit for each letter: A, C, D, F, I, M.
const HARDWARE: u64 = 0x112d;

/// Maps the stack, fills it, and sets the stack pointer. The error says what does not fit.
pub fn build(
    core: &mut Core,
    layout: &Layout,
    start: &Start,
    options: &Options,
    random: &mut Random,
) -> Result<(), String> {
    let rights = if start.executable { Rights::ALL } else { Rights::READ | Rights::WRITE };
    core.memory.map(layout.stack_bottom(), STACK_SIZE, rights);
    // The page that signal handlers return to: li a7, 139 (rt_sigreturn); ecall.
    core.memory.map(layout.trampoline(), PAGE, Rights::READ | Rights::EXECUTE);
    let code = [0x93, 0x08, 0xb0, 0x08, 0x73, 0, 0, 0];

    // Strings from the top down, then the words that point to them.
    let mut strings = Strings { bytes: Vec::new(), top: layout.stack_top };
    let name = strings.push(start.name.as_os_str().as_bytes());
    let environment: Vec<u64> =
        options.environment.iter().map(|text| strings.push(text.as_bytes())).collect();
    let arguments: Vec<u64> = options.arguments.iter().map(|text| strings.push(text.as_bytes())).collect();
    let mut seed = [0; 16];
    random.fill(&mut seed);
    let seed = strings.push_bytes(&seed);

    let (headers, size, count) = start.headers;
    let auxiliary = [
        [3, headers],           // AT_PHDR
        [4, size],              // AT_PHENT
        [5, count],             // AT_PHNUM
        [6, PAGE],              // AT_PAGESZ
        [7, start.linker_base], // AT_BASE
        [8, 0],                 // AT_FLAGS
        [9, start.entry],       // AT_ENTRY
        [11, USER],             // AT_UID
        [12, USER],             // AT_EUID
        [13, GROUP],            // AT_GID
        [14, GROUP],            // AT_EGID
        [16, HARDWARE],         // AT_HWCAP
        [17, 100],              // AT_CLKTCK
        [23, 0],                // AT_SECURE
        [25, seed],             // AT_RANDOM
        [31, name],             // AT_EXECFN
        [0, 0],                 // AT_NULL
    ];
    let mut words = vec![arguments.len() as u64];
    words.extend(&arguments);
    words.push(0);
    words.extend(&environment);
    words.push(0);
    words.extend(auxiliary.as_flattened());

    let word = super::guest::word_size(core);
    let strings_at = strings.at();
    let pointer = strings_at.checked_sub(words.len() as u64 * word).map_or(0, |at| at & !15);
    // As in Linux, at most a quarter of the stack.
    if pointer < layout.stack_top - STACK_SIZE / 4 {
        return Err("its arguments and environment do not fit on its stack".into());
    }
    let words: Vec<u8> =
        words.iter().flat_map(|value| value.to_le_bytes().into_iter().take(word as usize)).collect();
    let strings = strings.finish();
    for (at, bytes) in [(layout.trampoline(), &code[..]), (strings_at, &strings), (pointer, &words)] {
        core.memory
            .load(at, bytes)
            .map_err(|_| "its stack does not fit into the memory it may use: allow more")?;
    }
    core.x[2] = pointer;
    Ok(())
}

/// Strings, the last one lowest.
struct Strings {
    /// Bytes in reverse order.
    bytes: Vec<u8>,
    top: u64,
}

impl Strings {
    fn at(&self) -> u64 {
        self.top.saturating_sub(self.bytes.len() as u64)
    }

    fn push(&mut self, text: &[u8]) -> u64 {
        self.bytes.push(0);
        self.push_bytes(text)
    }

    fn push_bytes(&mut self, bytes: &[u8]) -> u64 {
        self.bytes.extend(bytes.iter().rev());
        self.at()
    }

    fn finish(mut self) -> Vec<u8> {
        self.bytes.reverse();
        self.bytes
    }
}
