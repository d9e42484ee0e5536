//! Helpers of the hart's tests.

pub mod elf;

use std::ffi::OsString;
use std::io::{self, Cursor, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use tracewright_core::{Block, DataAccess};
use tracewright_hart::bare::{self, Bare};
use tracewright_hart::linux::{Linux, Options, Streams};
use tracewright_hart::{Access, Hart, HartSink, Privilege, Stop, Trap};
use tracewright_testkit::unpacked;

/// Collects output.
#[derive(Clone, Default)]
pub struct Output(Arc<Mutex<Vec<u8>>>);

impl Output {
    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Outcome of a program.
pub struct Ran {
    pub output: Vec<u8>,
    pub stop: Stop,
}

/// How to run a program.
#[derive(Default)]
pub struct How<'a> {
    pub arguments: &'a [&'a str],
    pub environment: &'a [&'a str],
    pub input: &'a [u8],
    pub folder: Option<&'a Path>,
}

/// Address of a bare machine's memory.
pub const RAM: u64 = 0x8000_0000;

/// Returns instructions as bytes.
pub fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Loads a program into a bare machine, and `x` into its registers from x5 on. Its output is discarded.
pub fn bare(elf: &[u8], options: &bare::Options, x: &[u64]) -> Hart<Bare> {
    let (mut core, machine) = Bare::new(elf, options, Box::new(io::sink())).unwrap();
    core.x[5..5 + x.len()].copy_from_slice(x);
    Hart::new(core, machine)
}

/// Returns the text of a file, unpacked if necessary; `None` if that is impossible here.
pub fn contents(test: &str, path: &Path) -> Option<String> {
    match path.extension().is_some_and(|extension| extension == "xz") {
        true => unpacked(test, path),
        false => Some(std::fs::read_to_string(path).unwrap()),
    }
}

/// Runs a Linux program.
pub fn run(elf: &Path, how: &How<'_>, sink: &mut impl HartSink) -> Ran {
    let output = Output::default();
    let options = Options {
        arguments: [elf.as_os_str().to_owned()]
            .into_iter()
            .chain(how.arguments.iter().map(OsString::from))
            .collect(),
        environment: how.environment.iter().map(OsString::from).collect(),
        folder: how.folder.map(Path::to_path_buf),
        streams: Streams {
            input: Box::new(Cursor::new(how.input.to_vec())),
            output: Box::new(output.clone()),
            error: Box::new(io::sink()),
            terminals: [false; 3],
        },
        ..Options::default()
    };
    let (core, linux) = Linux::load(elf, options).unwrap();
    let mut hart = Hart::new(core, linux);
    let stop = hart.run(2_000_000_000, sink);
    Ran { output: output.bytes(), stop }
}

/// A retired instruction or a trap: address, bits, privilege, and the cause of an exception or interrupt.
pub type Line = (u64, u32, u8, Option<(u64, bool)>);

/// Collects all executed instructions, including system calls.
#[derive(Default)]
pub struct Lines {
    pub lines: Vec<Line>,
    bits: Vec<u32>,
    privilege: u8,
}

impl HartSink for Lines {
    const INSTRUCTIONS: bool = true;

    fn instructions(&mut self, bits: &[u32]) {
        self.bits.extend(bits);
    }

    fn block(&mut self, block: &Block) {
        assert_eq!(self.bits.len(), block.count as usize, "{block:x?}");
        let mut pc = block.start;
        for bits in self.bits.drain(..) {
            self.lines.push((pc, bits, self.privilege, None));
            pc += if bits & 3 == 3 { 4 } else { 2 };
        }
        assert_eq!(pc, block.end, "{block:x?}");
    }

    fn trap(&mut self, trap: &Trap) {
        self.lines.push((trap.pc, 0, self.privilege, Some((trap.cause, trap.interrupt))));
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.privilege = privilege as u8;
    }
}

/// A report to a sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Block(Block),
    Access(Access),
    Data(u64, DataAccess),
    Instruction(u32),
    Cycle(u64),
    Trap(Trap),
    Privilege(Privilege),
    Context(u64),
    Lost,
    Code(u64, [u8; 8]),
}

impl Told {
    pub fn tell(&self, sink: &mut impl HartSink) {
        match self {
            Self::Block(block) => sink.block(block),
            Self::Access(access) => sink.access(access),
            Self::Data(pc, access) => sink.data(*pc, access),
            Self::Instruction(bits) => sink.instructions(&[*bits]),
            Self::Cycle(cycle) => sink.cycles(&[*cycle]),
            Self::Trap(trap) => sink.trap(trap),
            Self::Privilege(privilege) => sink.privilege(*privilege),
            Self::Context(context) => sink.context(*context),
            Self::Lost => sink.lost(),
            Self::Code(address, bytes) => sink.code(*address, bytes),
        }
    }
}

/// Collects all reports.
#[derive(Debug, Default)]
pub struct Record(pub Vec<Told>);

impl Record {
    pub fn traps(&self) -> Vec<Trap> {
        let trap = |told: &Told| if let Told::Trap(trap) = told { Some(*trap) } else { None };
        self.0.iter().filter_map(trap).collect()
    }
}

impl HartSink for Record {
    const ACCESSES: bool = true;
    const DATA: bool = true;
    const INSTRUCTIONS: bool = true;
    const CYCLES: bool = true;

    fn block(&mut self, block: &Block) {
        self.0.push(Told::Block(*block));
    }

    fn access(&mut self, access: &Access) {
        self.0.push(Told::Access(*access));
    }

    fn data(&mut self, pc: u64, access: &DataAccess) {
        self.0.push(Told::Data(pc, *access));
    }

    fn instructions(&mut self, bits: &[u32]) {
        self.0.extend(bits.iter().copied().map(Told::Instruction));
    }

    fn cycles(&mut self, cycles: &[u64]) {
        self.0.extend(cycles.iter().copied().map(Told::Cycle));
    }

    fn trap(&mut self, trap: &Trap) {
        self.0.push(Told::Trap(*trap));
    }

    fn lost(&mut self) {
        self.0.push(Told::Lost);
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.0.push(Told::Privilege(privilege));
    }

    fn context(&mut self, context: u64) {
        self.0.push(Told::Context(context));
    }

    fn code(&mut self, address: u64, bytes: &[u8]) {
        self.0.push(Told::Code(address, bytes.try_into().expect("eight bytes each")));
    }
}
