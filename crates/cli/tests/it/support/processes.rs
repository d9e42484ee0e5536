//! Recordings made by us: programs run, are traced, and the trace is put into a recording of perf.

use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use super::framed;
use crate::run::{number, run, string, text, values};
use tracewright_core::{Block, Context, Element, Isa, Security, TraceOn};
use tracewright_etm::encode::{Encoder, Options};
use tracewright_etm::{Protocol, Registers};
use tracewright_testkit::perf::{Form, Recording, Who, who};
use tracewright_testkit::program::{Executor, Happenings, Program, generate_computing};
use tracewright_testkit::{Rng, Scratch};

/// What a trace unit has that perf would have set up.
fn registers(protocol: Protocol) -> Registers {
    let mut registers =
        Registers { protocol, trctraceidr: 0x10, trcidr0: 0x2800_0ea1, ..Registers::default() };
    // Linux at EL1 tells the thread in context IDs, at EL2 (VHE) in VMIDs.
    registers.trcconfigr = if protocol == Protocol::Ete { 0x8081 } else { 0x41 };
    registers.trcidr2 = if protocol == Protocol::Ete { 0xc000_1088 } else { 0x488 };
    registers
}

/// The words by which perf describes it.
fn unit(registers: &Registers) -> Vec<u64> {
    let is_ete = registers.protocol == Protocol::Ete;
    let magic = if is_ete { 0x5050_5050_5050_5050 } else { 0x4040_4040_4040_4040 };
    let mut words = vec![magic, 0, if is_ete { 8 } else { 7 }];
    let named =
        [registers.trcconfigr, 0x10, registers.trcidr0, registers.trcidr1, registers.trcidr2, 0, 0xcc];
    words.extend(named.map(u64::from));
    words.extend(is_ete.then_some(u64::from(registers.trcdevarch)));
    words
}

/// A program that runs in a process.
pub struct Running<'a> {
    executor: Executor<'a>,
    tid: u32,
}

impl<'a> Running<'a> {
    pub fn new(program: &'a Program, tid: u32, rng: &mut Rng) -> Self {
        let happenings = Happenings { exceptions: 0, ..Happenings::default() };
        Self { executor: Executor::new(program, Rng::new(rng.next_u64()), happenings), tid }
    }

    /// Runs for a while. Returns what is traced of it: user code only.
    pub fn run(&mut self, protocol: Protocol, instructions: u64) -> Vec<Element> {
        let thread = Some(self.tid);
        let is_ete = protocol == Protocol::Ete;
        let context = Context {
            level: 0,
            security: Security::NonSecure,
            is_64bit: true,
            vmid: thread.filter(|_| is_ete),
            context_id: thread.filter(|_| !is_ete),
        };
        let mut elements = vec![Element::TraceOn(TraceOn::Normal), Element::Context(context, Isa::A64)];
        self.executor.run(instructions, |element| {
            if let Element::Block(_) = element {
                elements.push(*element);
            }
        });
        elements
    }
}

/// A recording, and the blocks that ran.
pub struct Made {
    pub recording: Recording,
    registers: Registers,
    pub trace: Vec<u8>,
    framed: bool,
    pub ran: Vec<Block>,
    /// The thread of each.
    pub by: Vec<u32>,
}

impl Made {
    pub fn new(protocol: Protocol) -> Self {
        let registers = registers(protocol);
        let mut recording = Recording::new();
        recording.machine("aarch64").units(1, &[unit(&registers)]);
        let framed = protocol == Protocol::Etm4;
        Self { recording, registers, trace: Vec::new(), framed, ran: Vec::new(), by: Vec::new() }
    }

    /// The same with timestamps, of a counter that the recorder's clock is made of (1) or of another.
    pub fn timed(counter: u64) -> Self {
        let mut made = Self::new(Protocol::Etm4);
        made.registers.trcconfigr |= 1 << 11;
        let mut unit = unit(&made.registers);
        unit[2] += 1;
        unit.push(counter);
        made.recording = Recording::new();
        made.recording.machine("aarch64").units(1, &[unit]);
        made
    }

    /// What ran is traced, and the trace is written to the buffer.
    pub fn piece(&mut self, who: Who, elements: &[Element]) {
        let options = Options { sync_every: NonZero::new(512), ..Options::default() };
        let mut encoder = Encoder::new(&self.registers, options).unwrap();
        let mut bytes = Vec::new();
        let mut thread = 0;
        for element in elements.iter().chain([&Element::End]) {
            encoder.element(element, &mut bytes).unwrap();
            match element {
                Element::Context(context, _) => thread = context.context_id.or(context.vmid).unwrap_or(0),
                Element::Block(block) => {
                    self.ran.push(*block);
                    self.by.push(thread);
                }
                _ => {}
            }
        }
        if self.framed {
            bytes = framed(0x10, &bytes);
        }
        let flags = if self.framed { 0 } else { 0x100 };
        self.recording.aux(who, self.trace.len() as u64, bytes.len() as u64, flags);
        self.trace.extend(bytes);
    }

    /// Processes 100 (of two threads) and 200 run a program each.
    pub fn take_turns(&mut self, programs: &[Program; 2], rng: &mut Rng) {
        let protocol = self.registers.protocol;
        self.recording.comm(who(100, 0), "one", false).comm(who(200, 0), "two", false);
        // A second thread of the first.
        self.recording.fork(Who { tid: 101, ..who(100, 1) }, 100);
        let mut running =
            [(0, 100), (1, 200), (0, 101)].map(|(program, tid)| Running::new(&programs[program], tid, rng));
        for time in 1..20 {
            // They take turns, also within a piece.
            let mut elements = Vec::new();
            for _ in 0..rng.below(4) + 1 {
                elements.extend(running[rng.below(3) as usize].run(protocol, 300));
            }
            self.piece(who(100, 10 * time), &elements);
        }
    }

    /// Writes the recording, with all its trace.
    pub fn write(&mut self, scratch: &Scratch) -> PathBuf {
        self.recording.trace(0, 0, &self.trace);
        let path = scratch.path().join("perf.data");
        fs::write(&path, self.recording.write(Form::File)).unwrap();
        path
    }

    /// Writes the recording, decodes it, and compares.
    pub fn check(mut self, scratch: &Scratch) {
        let path = self.write(scratch);
        self.compare(&path, scratch);
    }

    /// Decodes the recording at a path, and compares it with what ran.
    pub fn compare(&self, path: &Path, scratch: &Scratch) {
        for jobs in [1, 3] {
            let decoded = run!("decode --json --jobs {jobs} {} --symfs {}", text(path), scratch.join("root"));
            let mut told = Vec::new();
            for object in values(&decoded.good()).filter(|object| object["kind"] == "block") {
                let address = |key: &str| string(&object, key).to_owned();
                told.push((address("address"), address("end"), number(&object, "instructions")));
            }
            let ran = self.ran.iter();
            let ran: Vec<_> = ran
                .map(|block| (format!("{:#x}", block.start), format!("{:#x}", block.end), block.count.into()))
                .collect();
            assert!(told == ran, "{} blocks told, {} ran", told.len(), ran.len());
        }
    }
}

/// Two programs that begin at the same address and are not the same.
pub fn programs(rng: &mut Rng) -> [Program; 2] {
    let one = generate_computing(rng, 2000);
    let other = loop {
        let other = generate_computing(rng, 2000);
        if other.entry() == one.entry() {
            break other;
        }
    };
    assert_ne!(one.segments[0].bytes, other.segments[0].bytes);
    [one, other]
}

/// A recording, and two programs that are installed for it.
pub fn started(seed: u64, protocol: Protocol, scratch: &Scratch) -> (Made, [Program; 2], Rng) {
    let mut rng = Rng::new(seed);
    let programs = programs(&mut rng);
    install(scratch, &programs);
    (Made::new(protocol), programs, rng)
}

/// Puts the programs where a copy of the machine's files is, as what is mapped of them: just bytes.
pub fn install(scratch: &Scratch, programs: &[Program; 2]) {
    fs::create_dir_all(scratch.path().join("root/bin")).unwrap();
    for (name, program) in ["one", "two"].iter().zip(programs) {
        fs::write(scratch.path().join("root/bin").join(name), &program.segments[0].bytes).unwrap();
    }
}

pub fn map(recording: &mut Recording, who: Who, program: &Program, path: &str) {
    let segment = &program.segments[0];
    recording.mmap2(who, segment.address, segment.bytes.len() as u64, 0, path);
}
