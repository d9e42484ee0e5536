//! Programs on the hart.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use tracewright_core::{Block, Flow, MemorySpace};
use tracewright_hart::bare::{self, Bare};
use tracewright_hart::linux::{self, Linux, Streams};
use tracewright_hart::{Hart, HartSink, Privilege, Trap};
use tracewright_image::{Bytes, Image};

use super::happened::Happened;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    Block(Block),
    Trap { pc: u64, cause: u64, interrupt: bool, value: u64 },
    Privilege(u8),
    Context(u64),
}

/// HartSink that keeps a machine's events and its code.
#[derive(Default)]
pub struct Record {
    pub events: Vec<Event>,
    bits: Vec<u32>,
    pub code: BTreeMap<u64, u16>,
    /// Whether code was changed while it ran.
    pub changed: bool,
}

impl HartSink for Record {
    const INSTRUCTIONS: bool = true;

    fn block(&mut self, block: &Block) {
        self.events.push(Event::Block(*block));
        let mut at = block.start;
        for bits in std::mem::take(&mut self.bits) {
            let halves = if bits & 3 == 3 { 2 } else { 1 };
            for half in 0..halves {
                let value = (bits >> (16 * half)) as u16;
                let before = self.code.insert(at, value);
                self.changed |= before.is_some_and(|before| before != value);
                at = at.wrapping_add(2);
            }
        }
    }

    fn instructions(&mut self, bits: &[u32]) {
        self.bits.extend_from_slice(bits);
    }

    fn trap(&mut self, trap: &Trap) {
        let &Trap { pc, cause, interrupt, value, .. } = trap;
        self.events.push(Event::Trap { pc, cause, interrupt, value });
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.events.push(Event::Privilege(privilege as u8));
    }

    fn context(&mut self, context: u64) {
        self.events.push(Event::Context(context));
    }
}

impl Record {
    pub fn happened(&self) -> Vec<Happened> {
        let (mut privilege, mut context) = (0, 0);
        let mut happened = Vec::new();
        for event in &self.events {
            match *event {
                Event::Block(block) => happened.push(Happened::Block(block, privilege, context)),
                Event::Trap { pc, cause, interrupt, value } => {
                    let value = (!interrupt).then_some(value);
                    happened.push(Happened::Trap { pc: Some(pc), cause, interrupt, value });
                }
                Event::Privilege(now) => privilege = now,
                Event::Context(now) => context = now & 0xffff_ffff,
            }
        }
        happened
    }

    /// Returns whether it ran a loop that is not reported: a jump back without any branch on the way.
    pub fn has_uncounted_loop(&self) -> bool {
        let mut starts = std::collections::HashSet::new();
        self.events.iter().any(|event| match event {
            Event::Block(block) if block.class.flow == Flow::Direct && !block.class.conditional => {
                !starts.insert(block.start)
            }
            _ => {
                starts.clear();
                false
            }
        })
    }
}

/// Runs a program, for Linux or a bare machine.
pub fn run(path: &Path, instructions: u64) -> Record {
    let mut record = Record::default();
    run_into(path, instructions, &mut record);
    record
}

/// Runs a program with any sink.
pub fn run_into(path: &Path, instructions: u64, sink: &mut impl HartSink) {
    let elf = std::fs::read(path).unwrap();
    if bare::is_for_it(&elf) {
        // The proxy kernel runs a program.
        let program = path.with_file_name("hello_world.pk").display().to_string();
        let arguments = if path.ends_with("pk.riscv") { vec!["pk".into(), program] } else { Vec::new() };
        let host_files = path.parent().map(Path::to_path_buf);
        let options = bare::Options { arguments, host_files, ..bare::Options::default() };
        let (core, machine) = Bare::new(&elf, &options, Box::new(io::sink())).unwrap();
        Hart::new(core, machine).run(instructions, sink);
    } else {
        let arguments = vec![path.as_os_str().to_owned()];
        let options = linux::Options { arguments, streams: Streams::none(), ..linux::Options::default() };
        let (core, machine) = Linux::load(path, options).unwrap();
        Hart::new(core, machine).run(instructions, sink);
    }
}

/// Returns an image of all code that ran.
pub fn image(code: &BTreeMap<u64, u16>) -> Image {
    let mut builder = Image::builder();
    let mut runs: Vec<(u64, Vec<u8>)> = Vec::new();
    for (&address, half) in code {
        match runs.last_mut() {
            Some((start, bytes)) if *start + bytes.len() as u64 == address => {
                bytes.extend(half.to_le_bytes());
            }
            _ => runs.push((address, half.to_le_bytes().to_vec())),
        }
    }
    for (start, bytes) in runs {
        builder.raw("code", Bytes::from(bytes), start, MemorySpace::ANY).unwrap();
    }
    builder.build()
}

/// Returns the files of a folder, in order.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Returns all sample programs.
pub fn samples() -> Vec<PathBuf> {
    let samples = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/bin"));
    assert_eq!(samples.len(), 24);
    samples
}
