//! Helpers of the hart's tests.

pub mod elf;

use std::ffi::OsString;
use std::io::{self, Cursor, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use tracewright_core::Block;
use tracewright_hart::linux::{Linux, Options, Streams};
use tracewright_hart::{Hart, HartSink, Stop, Trap};

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

/// Collects the addresses of all executed instructions, including system calls.
#[derive(Default)]
pub struct Addresses {
    pub addresses: Vec<u64>,
    bits: Vec<u32>,
}

impl HartSink for Addresses {
    const INSTRUCTIONS: bool = true;

    fn instructions(&mut self, bits: &[u32]) {
        self.bits.extend(bits);
    }

    fn block(&mut self, block: &Block) {
        let mut pc = block.start;
        for bits in self.bits.drain(..) {
            self.addresses.push(pc);
            pc += if bits & 3 == 3 { 4 } else { 2 };
        }
        assert_eq!(pc, block.end, "{block:x?}");
    }

    fn trap(&mut self, trap: &Trap) {
        self.addresses.push(trap.pc);
    }
}
