//! Programs on the hart.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use tracewright_core::{Block, DataAccess, Flow, Isa, MemorySpace};
use tracewright_etrace::ingress::{Entry, Executed};
use tracewright_hart::bare::{self, Bare};
use tracewright_hart::linux::{self, Linux, Streams};
use tracewright_hart::{Hart, HartSink, Privilege, Trap};
use tracewright_image::{Bytes, Image};
use tracewright_isa::riscv::len;

use super::happened::Happened;

#[derive(Clone, Debug)]
pub enum Event {
    /// Block, and the accesses of its instructions with their addresses.
    Block(Block, Vec<(u64, DataAccess)>),
    Trap(Trap),
    Privilege(Privilege),
    Context(u64),
}

/// HartSink that keeps a machine's events and its code.
#[derive(Clone, Debug, Default)]
pub struct Record {
    pub events: Vec<Event>,
    /// Instructions of all blocks.
    pub bits: Vec<u32>,
    pub code: BTreeMap<u64, u16>,
    /// Whether code was changed while it ran.
    pub changed: bool,
    data: Vec<(u64, DataAccess)>,
}

impl HartSink for Record {
    const DATA: bool = true;
    const INSTRUCTIONS: bool = true;

    fn block(&mut self, block: &Block) {
        // Logs do not have the instructions.
        let first = self.bits.len().saturating_sub(block.count as usize);
        for (at, bits) in addresses(block, &self.bits[first..]) {
            for half in 0..u64::from(len(bits as u16) / 2) {
                let value = (bits >> (16 * half)) as u16;
                let before = self.code.insert(at.wrapping_add(2 * half), value);
                self.changed |= before.is_some_and(|before| before != value);
            }
        }
        self.events.push(Event::Block(*block, std::mem::take(&mut self.data)));
    }

    fn instructions(&mut self, bits: &[u32]) {
        self.bits.extend_from_slice(bits);
    }

    fn data(&mut self, pc: u64, access: &DataAccess) {
        self.data.push((pc, *access));
    }

    fn trap(&mut self, trap: &Trap) {
        assert!(self.data.is_empty());
        self.events.push(Event::Trap(*trap));
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.events.push(Event::Privilege(privilege));
    }

    fn context(&mut self, context: u64) {
        self.events.push(Event::Context(context));
    }
}

/// Returns the instructions of a block with their addresses.
pub fn addresses(block: &Block, bits: &[u32]) -> impl Iterator<Item = (u64, u32)> {
    let mut next = block.start;
    bits.iter().map(move |&bits| {
        let at = next;
        next = next.wrapping_add(len(bits as u16).into());
        (at, bits)
    })
}

impl Record {
    pub fn isa(&self) -> Isa {
        let isa = self.events.iter().find_map(|event| match event {
            Event::Block(block, _) => Some(block.isa),
            _ => None,
        });
        isa.expect("nothing ran")
    }

    /// Returns each event with the instructions of its block.
    pub fn told(&self) -> impl Iterator<Item = (&Event, &[u32])> {
        let mut rest = &self.bits[..];
        self.events.iter().map(move |event| {
            let count = if let Event::Block(block, _) = event { block.count as usize } else { 0 };
            (event, rest.split_off(..count).unwrap())
        })
    }

    /// Returns the events as the input of an encoder. Contexts have 32 bits.
    pub fn entries(&self, mut executed: Executed) -> Vec<Entry> {
        self.events.iter().filter_map(|event| entry(&mut executed, event)).collect()
    }

    pub fn happened(&self) -> Vec<Happened> {
        let (mut privilege, mut context) = (0, 0);
        let mut happened = Vec::new();
        for event in &self.events {
            match *event {
                Event::Block(block, _) => happened.push(Happened::Block(block, privilege, context)),
                Event::Trap(Trap { pc, cause, interrupt, value, .. }) => {
                    let value = (!interrupt).then_some(value);
                    happened.push(Happened::Trap { pc: Some(pc), cause, interrupt, value });
                }
                Event::Privilege(now) => privilege = now as u8,
                Event::Context(now) => context = now & 0xffff_ffff,
            }
        }
        happened
    }

    /// Returns whether it ran a loop that is not reported: a jump back without any branch on the way.
    pub fn has_uncounted_loop(&self) -> bool {
        let mut starts = std::collections::HashSet::new();
        self.events.iter().any(|event| match event {
            Event::Block(block, _) if block.class.flow == Flow::Direct && !block.class.conditional => {
                !starts.insert(block.start)
            }
            _ => {
                starts.clear();
                false
            }
        })
    }
}

/// Returns the entry of an event, or `None` if the event changes only the circumstances.
pub fn entry(executed: &mut Executed, event: &Event) -> Option<Entry> {
    match event {
        Event::Block(block, _) => return Some(executed.block(block)),
        Event::Trap(trap) => return Some(executed.trap(trap.pc, trap.cause, trap.interrupt, trap.value)),
        Event::Privilege(privilege) => executed.privilege(*privilege as u8),
        Event::Context(context) => executed.context(context & 0xffff_ffff),
    }
    None
}

/// Runs a program, for Linux or a bare machine.
pub fn run(path: &Path, instructions: u64) -> Record {
    let mut record = Record::default();
    let elf = std::fs::read(path).unwrap();
    if bare::is_for_it(&elf) {
        // The proxy kernel runs a program.
        let program = path.with_file_name("hello_world.pk").display().to_string();
        let arguments = if path.ends_with("pk.riscv") { vec!["pk".into(), program] } else { Vec::new() };
        let host_files = path.parent().map(Path::to_path_buf);
        let options = bare::Options { arguments, host_files, ..bare::Options::default() };
        let (core, machine) = Bare::new(&elf, &options, Box::new(io::sink())).unwrap();
        Hart::new(core, machine).run(instructions, &mut record);
    } else {
        let arguments = vec![path.as_os_str().to_owned()];
        let options = linux::Options { arguments, streams: Streams::none(), ..linux::Options::default() };
        let (core, machine) = Linux::load(path, options).unwrap();
        Hart::new(core, machine).run(instructions, &mut record);
    }
    record
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

/// Returns the path of a sample program.
pub fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/bin").join(name)
}

/// Returns all sample programs but those of conformance kits, which `tracewright::conform` tests.
pub fn samples() -> Vec<PathBuf> {
    let mut samples = files(&sample(""));
    samples.retain(|path| !path.file_name().unwrap().to_str().unwrap().starts_with("conform"));
    assert_eq!(samples.len(), 24);
    samples
}
