//! The committed samples are what our own emitter and framer write. `BLESS=1 cargo test` rewrites them.

use crate::run::{files, root};
use crate::support::{framed, hello, m33, swo, write_folder};

use std::fs;
use std::path::Path;

use tracewright_core::TraceId;
use tracewright_etm::packet::{
    Atoms, Context, CycleCount, Emitter, Exception, InstructionSet, Packet, ReturnAddress, Security,
    Timestamp, TraceInfo,
};
use tracewright_etm::{Params, Protocol, Registers};
use tracewright_frames::{Framer, Line, Options};
use tracewright_input::Packing;
use tracewright_testkit::Scratch;
use tracewright_testkit::perf::{Form, Recording, who};

/// A stream under construction: says packets in their shortest form.
struct Writer {
    emitter: Emitter,
    bytes: Vec<u8>,
}

impl Writer {
    fn new(registers: &Registers) -> Self {
        Self { emitter: Emitter::new(Params::new(registers).unwrap()), bytes: Vec::new() }
    }

    fn say(&mut self, packet: Packet) {
        let bytes = self.emitter.emit(&packet).unwrap_or_else(|error| panic!("{packet:?}: {error}"));
        self.bytes.extend_from_slice(&bytes);
    }

    fn address(&mut self, value: u64) {
        let address = self.emitter.trace_state().shortest(value, InstructionSet::Is0);
        self.say(Packet::Address(address));
    }

    fn timestamp(&mut self, value: u64) {
        let bytes = self.emitter.trace_state().timestamp_bytes(value);
        self.say(Packet::Timestamp(Timestamp { value, bytes, cycles: None }));
    }

    /// Atoms as letters, in as many packets as it takes.
    fn atoms(&mut self, letters: &str) {
        let mut rest = letters;
        while !rest.is_empty() {
            let atoms = |count: usize| {
                let bits = rest
                    .bytes()
                    .take(count)
                    .enumerate()
                    .map(|(i, letter)| u32::from(letter == b'E') << i)
                    .sum();
                Atoms { bits, count: count as u8 }
            };
            let longest =
                (1..=rest.len().min(24)).rev().find(|&count| atoms(count).header().is_some()).unwrap();
            self.say(Packet::Atom(atoms(longest)));
            rest = &rest[longest..];
        }
    }

    fn start(&mut self, address: u64, context: Context, info: TraceInfo) {
        self.say(Packet::Async);
        self.say(Packet::TraceInfo(info));
        self.say(Packet::TraceOn);
        let mut start = self.emitter.trace_state().shortest(address, InstructionSet::Is0);
        start.form = tracewright_etm::packet::AddressForm::Long64;
        self.say(Packet::AddressContext(start, context));
    }

    fn cycles(&mut self, cycles: u32) {
        let above = cycles - self.emitter.trace_state().cycle_threshold();
        let format = if above < 4 {
            3
        } else if above < 16 {
            2
        } else {
            1
        };
        self.say(Packet::CycleCount(CycleCount { format, commit: None, cycles: Some(cycles) }));
    }
}

/// An ETMv4.2 with cycle counts, context IDs and timestamps: a kernel loop that is interrupted.
fn core_0() -> (Registers, Vec<u8>) {
    let registers = Registers {
        trcconfigr: 1 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 11 | 1 << 12,
        trctraceidr: 0x10,
        trcidr0: 0x2800_0ea1,
        trcidr1: 0x4100_f422,
        ..Registers::default()
    };
    let mut w = Writer::new(&registers);
    let info =
        TraceInfo { plctl: TraceInfo::INFO | TraceInfo::CYCT, info: 1, cyct: 4, ..TraceInfo::default() };
    let kernel = Context::new(1, true, Security::NonSecure).with_context_id(0x2a).with_vmid(0);
    w.start(0xffff_8000_1008_1000, kernel, info);
    w.timestamp(0x1_2345_6780);
    for round in 0..6 {
        w.atoms("EEEN");
        w.cycles(4 + round);
        w.atoms("E");
        w.address(0xffff_8000_1008_4c20);
        w.atoms("NEE");
        w.address(0xffff_8000_1008_1018);
    }
    w.atoms("EN");
    w.say(Packet::Exception(Exception {
        number: 0xe,
        return_address: ReturnAddress::Follows,
        fault_pending: false,
    }));
    w.address(0xffff_8000_1008_1024);
    w.cycles(40);
    w.address(0xffff_8000_1001_0280);
    w.say(Packet::Event(0b0001));
    w.atoms("EEEEEEEEEEEN");
    w.timestamp(0x1_2345_6a04);
    w.atoms("NNEN");
    w.say(Packet::ExceptionReturn);
    w.atoms("E");
    w.address(0xffff_8000_1008_1024);
    w.atoms("NENENEEE");
    w.cycles(310);
    w.say(Packet::Overflow);
    w.start(0xffff_8000_1008_1000, kernel, info);
    w.timestamp(0x1_2345_7000);
    w.atoms("EEEEEEEEEEEEEEEEEEEEEEEN");
    w.cycles(19);
    (registers, w.bytes)
}

/// An ETE 1.3: a user program with a transaction, an instrumentation value and a system call.
fn core_1() -> (Registers, Vec<u8>) {
    let registers = Registers {
        protocol: Protocol::Ete,
        trcconfigr: 1 | 1 << 11 | 1 << 12,
        trctraceidr: 0x11,
        trcidr0: 0x2880_0ea1,
        trcdevarch: 0x4773_5a13,
        ..Registers::default()
    };
    let mut w = Writer::new(&registers);
    let user = Context::new(0, true, Security::NonSecure);
    w.start(0x40_0b40, user, TraceInfo::default());
    w.say(Packet::TimestampMarker);
    w.atoms("EEN");
    w.timestamp(0x1_2345_6790);
    w.address(0x40_2210);
    w.atoms("NNEEEEEEEN");
    w.say(Packet::TransactionStart);
    w.atoms("ENE");
    w.address(0x40_2210);
    w.say(Packet::TransactionCommit);
    w.say(Packet::Instrumentation { el: 0, value: 0xcafe });
    let source = w.emitter.trace_state().shortest(0x40_2248, InstructionSet::Is0);
    w.say(Packet::SourceAddress(source));
    w.address(0x40_0b54);
    w.atoms("N");
    w.say(Packet::Exception(Exception {
        number: 0x2,
        return_address: ReturnAddress::Follows,
        fault_pending: false,
    }));
    w.address(0x40_0b60);
    let kernel = w.emitter.trace_state().shortest(0xffff_8000_1001_0400, InstructionSet::Is0);
    w.say(Packet::AddressContext(kernel, Context::new(1, true, Security::NonSecure)));
    w.atoms("EEENNNEEEEEEEEEEN");
    (registers, w.bytes)
}

fn write_two_cores(dir: &Path) {
    let sources = [core_0(), core_1()];
    let mut framer = Framer::new(Options::default());
    let mut frames = Vec::new();
    let mut rest: Vec<&[u8]> = sources.iter().map(|(_, bytes)| &bytes[..]).collect();
    while rest.iter().any(|bytes| !bytes.is_empty()) {
        for (i, (rest, len)) in rest.iter_mut().zip([23, 11]).enumerate() {
            let (piece, after) = rest.split_at(rest.len().min(len));
            framer.push(TraceId::new(0x10 + i as u8).unwrap(), piece, &mut frames).unwrap();
            *rest = after;
        }
    }
    framer.flush(&mut frames);

    let description = "two cores, written by the tracewright emitter, no chip was involved";
    let cores = ["Cortex-A53", "ARMv9-A"].into_iter().zip(sources.iter().map(|(registers, _)| registers));
    write_folder(dir, description, (Packing::CoreSight, &frames), [], cores);
}

/// Compares a folder with what a function writes; with BLESS=1, writes it.
fn check(name: &str, write: impl Fn(&Path)) {
    let committed = root().join("samples").join(name);
    if std::env::var_os("BLESS").is_some() {
        let _ = fs::remove_dir_all(&committed);
        write(&committed);
    }
    let scratch = Scratch::new("samples");
    let written = scratch.path().join(name);
    write(&written);
    let (expected, got) = (files(&written), files(&committed));
    assert!(!expected.is_empty());
    assert_eq!(got, expected, "samples/{name} is out of date: run with BLESS=1");
}

#[test]
fn two_cores_is_what_the_emitter_writes() {
    check("two-cores", write_two_cores);
}

fn write_hello(dir: &Path) {
    let (registers, trace) = hello::trace();
    let description = "a small program, written by the tracewright encoder, no chip was involved";
    let frames = framed(0x10, &trace);
    let sources = [("Cortex-A53", &registers)];
    let memory = [(hello::MAIN, &hello::code()[..])];
    write_folder(dir, description, (Packing::CoreSight, &frames), memory, sources);
    fs::write(dir.join("hello.elf"), hello::file()).unwrap();
}

#[test]
fn hello_is_what_the_encoder_writes() {
    check("hello", write_hello);
}

/// The same program as `hello`, as perf records it. Its file is not here: `--symfs` says where it is.
fn write_perf(dir: &Path) {
    let (registers, trace) = hello::trace();
    let frames = framed(0x10, &trace);
    let mut recording = Recording::new();
    let words = registers.named().take(6).map(|(_, value)| u64::from(value));
    let unit = [0x4040_4040_4040_4040, 0, 7].into_iter().chain(words).chain([0xcc]).collect();
    let (pid, file) = (0x2a, hello::file());
    let offset = file.windows(16).position(|bytes| bytes == &hello::code()[..16]).unwrap() as u64;
    let len = hello::code().len() as u64;
    recording.machine("aarch64").units(1, &[unit]);
    recording.comm(who(pid, 0), "hello", false).mmap2(
        who(pid, 0),
        hello::MAIN,
        len,
        offset,
        "/usr/bin/hello.elf",
    );
    recording.mmap2(who(pid, 0), 0xffff_8000_0000, 0x1000, 0, "[vdso]").itrace_start(who(pid, 10));
    recording.aux(who(pid, 20), 0, frames.len() as u64, 0).trace(0, 0, &frames).exit(who(pid, 30));
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join("perf.data"), recording.write(Form::File)).unwrap();
}

#[test]
fn perf_is_what_the_encoder_writes() {
    check("perf", write_perf);
}

/// A dump of the RAM that an RP2350 traces to: it is not full.
fn write_rp2350(dir: &Path) {
    fs::create_dir_all(dir).unwrap();
    let mut dump = m33::trace();
    dump.resize(512, 0);
    fs::write(dir.join("trace.bin"), dump).unwrap();
    fs::write(dir.join("firmware.elf"), m33::file()).unwrap();
}

#[test]
fn rp2350_is_what_the_encoder_writes() {
    check("rp2350", write_rp2350);
}

/// SWO as a UART adapter and as a logic analyser record it.
fn write_swo(dir: &Path) {
    fs::create_dir_all(dir).unwrap();
    let bytes = swo::trace(true);
    fs::write(dir.join("uart.bin"), swo::sampled(Line::Uart, 12.0, &bytes)).unwrap();
    fs::write(dir.join("manchester.bin"), swo::sampled(Line::Manchester, 12.0, &bytes)).unwrap();
    fs::write(dir.join("swo.bin"), bytes).unwrap();
}

#[test]
fn swo_is_what_the_encoders_write() {
    check("swo", write_swo);
}
