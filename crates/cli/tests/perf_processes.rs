//! Recordings of several processes whose programs lie at the same addresses: each block must come from the program of the process
//! that ran it, at the time when it ran.

#[allow(dead_code, reason = "a part of it is used")]
mod support;

use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::process::Command;

use support::Scratch;
use tracewright_core::{Block, Context, Element, Isa, Security, TraceId, TraceOn};
use tracewright_etm::encode::{Encoder, Options};
use tracewright_etm::{Protocol, Registers};
use tracewright_frames::{Framer, Options as FrameOptions};
use tracewright_testkit::perf::{Form, Recording, Who, who};
use tracewright_testkit::program::{Executor, Happenings, Program, generate_computing};
use tracewright_testkit::{Rng, skip};

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
struct Running<'a> {
    executor: Executor<'a>,
    tid: u32,
}

impl<'a> Running<'a> {
    fn new(program: &'a Program, tid: u32, rng: &mut Rng) -> Self {
        let happenings = Happenings { exceptions: 0, ..Happenings::default() };
        Self { executor: Executor::new(program, Rng::new(rng.next_u64()), happenings), tid }
    }

    /// Runs for a while. Returns what is traced of it: user code only.
    fn run(&mut self, protocol: Protocol, instructions: u64) -> Vec<Element> {
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
struct Made {
    recording: Recording,
    registers: Registers,
    trace: Vec<u8>,
    framed: bool,
    ran: Vec<Block>,
}

impl Made {
    fn new(protocol: Protocol) -> Self {
        let registers = registers(protocol);
        let mut recording = Recording::new();
        recording.machine("aarch64").units(1, &[unit(&registers)]);
        let framed = protocol == Protocol::Etm4;
        Self { recording, registers, trace: Vec::new(), framed, ran: Vec::new() }
    }

    /// What ran is traced, and the trace is written to the buffer.
    fn piece(&mut self, who: Who, elements: &[Element]) {
        let options = Options { sync_every: NonZero::new(512), ..Options::default() };
        let mut encoder = Encoder::new(&self.registers, options).unwrap();
        let mut bytes = Vec::new();
        for element in elements.iter().chain([&Element::End]) {
            encoder.element(element, &mut bytes).unwrap();
            if let Element::Block(block) = element {
                self.ran.push(*block);
            }
        }
        if self.framed {
            let mut framer = Framer::new(FrameOptions::default());
            let mut frames = Vec::new();
            framer.push(TraceId::new(0x10).unwrap(), &bytes, &mut frames).unwrap();
            framer.flush(&mut frames);
            bytes = frames;
        }
        let flags = if self.framed { 0 } else { 0x100 };
        self.recording.aux(who, self.trace.len() as u64, bytes.len() as u64, flags);
        self.trace.extend(bytes);
    }

    /// Writes the recording, decodes it, and compares.
    fn check(mut self, scratch: &Scratch) {
        self.recording.trace(0, 0, &self.trace);
        let path = scratch.path().join("perf.data");
        fs::write(&path, self.recording.write(Form::File)).unwrap();
        for jobs in ["1", "3"] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_tracewright"));
            command.args(["decode", "--json", "--jobs", jobs]).arg(&path);
            let output = command.arg("--symfs").arg(scratch.path().join("root")).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let mut told = Vec::new();
            for line in String::from_utf8(output.stdout).unwrap().lines() {
                let object: serde_json::Value = serde_json::from_str(line).unwrap();
                if object["kind"] == "block" {
                    let number = |key: &str| object[key].as_str().unwrap().to_owned();
                    told.push((number("start"), number("end"), object["count"].as_u64().unwrap()));
                }
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
fn programs(rng: &mut Rng) -> [Program; 2] {
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

/// Puts the programs where a copy of the machine's files is, as what is mapped of them: just bytes.
fn install(scratch: &Scratch, programs: &[Program; 2]) {
    fs::create_dir_all(scratch.path().join("root/bin")).unwrap();
    for (name, program) in ["one", "two"].iter().zip(programs) {
        fs::write(scratch.path().join("root/bin").join(name), &program.segments[0].bytes).unwrap();
    }
}

fn map(recording: &mut Recording, who: Who, program: &Program, path: &str) {
    let segment = &program.segments[0];
    recording.mmap2(who, segment.address, segment.bytes.len() as u64, 0, path);
}

fn two_processes(protocol: Protocol, scratch: &Scratch) -> Made {
    let mut rng = Rng::new(41);
    let programs = programs(&mut rng);
    install(scratch, &programs);
    let mut made = Made::new(protocol);
    made.recording.comm(who(100, 0), "one", false).comm(who(200, 0), "two", false);
    map(&mut made.recording, who(100, 0), &programs[0], "/bin/one");
    map(&mut made.recording, who(200, 0), &programs[1], "/bin/two");
    // A second thread of the first.
    made.recording.fork(Who { tid: 101, ..who(100, 1) }, 100);
    let mut running =
        [(0, 100), (1, 200), (0, 101)].map(|(program, tid)| Running::new(&programs[program], tid, &mut rng));
    for time in 1..20 {
        // They take turns, also within a piece.
        let mut elements = Vec::new();
        for _ in 0..rng.below(4) + 1 {
            elements.extend(running[rng.below(3) as usize].run(protocol, 300));
        }
        made.piece(who(100, 10 * time), &elements);
    }
    made
}

#[test]
fn processes_at_the_same_addresses_are_kept_apart() {
    let scratch = Scratch::new("perf-two");
    two_processes(Protocol::Etm4, &scratch).check(&scratch);
}

#[test]
fn vmids_and_raw_trace_do_as_well() {
    let scratch = Scratch::new("perf-two-raw");
    two_processes(Protocol::Ete, &scratch).check(&scratch);
}

/// Long enough to be decoded in several windows, by several threads at once.
#[test]
fn long_pieces_are_split_between_threads() {
    let scratch = Scratch::new("perf-long");
    let mut rng = Rng::new(43);
    let programs = programs(&mut rng);
    install(&scratch, &programs);
    let mut made = Made::new(Protocol::Etm4);
    map(&mut made.recording, who(100, 0), &programs[0], "/bin/one");
    map(&mut made.recording, who(200, 0), &programs[1], "/bin/two");
    let mut running =
        [(0, 100), (1, 200)].map(|(program, tid)| Running::new(&programs[program], tid, &mut rng));
    for time in 1..4 {
        let mut elements = Vec::new();
        for turn in 0..40 {
            elements.extend(running[turn % 2].run(Protocol::Etm4, 5000));
        }
        made.piece(who(100, 10 * time), &elements);
    }
    assert!(made.trace.len() > 100_000, "{}", made.trace.len());
    made.check(&scratch);
}

#[test]
fn a_process_that_runs_another_program_changes() {
    let scratch = Scratch::new("perf-exec");
    let mut rng = Rng::new(42);
    let programs = programs(&mut rng);
    install(&scratch, &programs);
    let mut made = Made::new(Protocol::Etm4);
    map(&mut made.recording, who(100, 0), &programs[0], "/bin/one");
    let mut one = Running::new(&programs[0], 100, &mut rng);
    let mut child = Running::new(&programs[0], 200, &mut rng);
    let mut other = Running::new(&programs[1], 200, &mut rng);
    made.piece(who(100, 10), &one.run(Protocol::Etm4, 1000));
    made.recording.fork(who(200, 20), 100);
    made.piece(who(200, 30), &child.run(Protocol::Etm4, 1000));
    made.recording.comm(who(200, 40), "two", true);
    map(&mut made.recording, who(200, 41), &programs[1], "/bin/two");
    let both = [one.run(Protocol::Etm4, 500), other.run(Protocol::Etm4, 500)].concat();
    made.piece(who(200, 50), &both);
    made.check(&scratch);
}

/// The same by perf, which we did not write.
#[test]
fn perf_keeps_them_apart_as_we_do() {
    let scratch = Scratch::new("perf-itself");
    let mut made = two_processes(Protocol::Etm4, &scratch);
    made.recording.trace(0, 0, &made.trace);
    let path = scratch.path().join("perf.data");
    fs::write(&path, made.recording.write(Form::File)).unwrap();
    let Some(listed) = perf_script(&path, &scratch.path().join("root")) else {
        return skip("processes by perf", "no perf that reads CoreSight");
    };
    let expected: Vec<u64> = made.ran.iter().flat_map(|block| (block.start..block.end).step_by(4)).collect();
    assert!(listed == expected, "{} instructions by perf, {} ran", listed.len(), expected.len());
}

/// The addresses of the instructions that ran. `None`: there is no perf that can tell.
fn perf_script(path: &Path, symfs: &Path) -> Option<Vec<u64>> {
    let mut perf = Command::new("perf");
    perf.args(["script", "--itrace=i1i", "-F", "ip", "-i"]).arg(path).arg("--symfs").arg(symfs);
    let output = perf.output().ok()?;
    let text = String::from_utf8(output.stdout).unwrap();
    let addresses: Vec<_> =
        text.lines().filter_map(|line| u64::from_str_radix(line.trim(), 16).ok()).collect();
    (output.status.success() && !addresses.is_empty()).then_some(addresses)
}
