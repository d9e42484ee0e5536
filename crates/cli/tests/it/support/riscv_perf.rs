//! Recordings of perf with RISC-V trace, made by us: programs run on our hart as threads of processes at the same addresses, traps lead
//! into a kernel, and slices of what ran are traced on several CPUs. No machine that records such files was at hand: they are written
//! byte by byte as the drivers and tools are known to do.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use tracewright_core::{Block, Ended, Isa, MemorySpace};
use tracewright_etrace::encode::{self as etrace, Encoder as EtraceEncoder};
use tracewright_etrace::ingress::Executed;
use tracewright_etrace::packet::Packet as EtracePacket;
use tracewright_etrace::stream::{self, Encapsulation, Writer};
use tracewright_flow::Graph;
use tracewright_hart::linux::{self, Linux, Streams};
use tracewright_hart::{Hart, HartSink, Trap};
use tracewright_image::{Bytes, Image};
use tracewright_ntrace::encode::{Config, Encoder, Resync, SyncMode};
use tracewright_ntrace::packet::{MessageBytes, Packet, emit};
use tracewright_ntrace::{ImplicitReturn, Params};
use tracewright_testkit::perf::{Recording, Who};
use tracewright_testkit::{Rng, Scratch};

use crate::run::{elf, number, root, run, string, text, values};

/// Address of the kernel.
pub const KERNEL: u64 = 0xffff_ffff_8000_0000;
/// `c.addi a0, 1`; `bne a0, a1, -2`; `sret`.
const KERNEL_CODE: [u8; 10] = [0x05, 0x05, 0xe3, 0x1f, 0xb5, 0xfe, 0x73, 0x00, 0x20, 0x10];
/// Address of the programs, which are not relocated.
const PROGRAM: u64 = 0x1_0000;

/// What a program did.
#[derive(Clone, Copy, Debug)]
enum Did {
    Block(Block),
    /// A system call at this address.
    Call(u64),
}

#[derive(Default)]
struct Kept(Vec<Did>);

impl HartSink for Kept {
    fn block(&mut self, block: &Block) {
        self.0.push(Did::Block(*block));
    }

    fn trap(&mut self, trap: &Trap) {
        self.0.push(Did::Call(trap.pc));
    }
}

/// A thread that runs a program.
pub struct Task {
    pub pid: u32,
    pub tid: u32,
    did: Vec<Did>,
    /// What it has done so far.
    at: usize,
}

impl Task {
    fn new(pid: u32, tid: u32, program: &str, arguments: &[&str]) -> Self {
        let path = root().join(elf(program));
        let all = [path.as_os_str().to_owned()].into_iter().chain(arguments.iter().map(OsString::from));
        let options = linux::Options {
            arguments: all.collect(),
            streams: Streams::none(),
            ..linux::Options::default()
        };
        let (core, machine) = Linux::load(&path, options).unwrap();
        let mut kept = Kept::default();
        Hart::new(core, machine).run(60_000, &mut kept);
        Self { pid, tid, did: kept.0, at: 0 }
    }
}

/// How encoders are set up, and who records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// N-Trace with contexts, by gtrace.
    Ntrace,
    /// N-Trace as the first drivers set it up: no contexts, no SRC.
    Bare,
    /// E-Trace, by gtrace.
    Etrace,
    /// N-Trace in frames of CoreSight, by SpacemiT's driver.
    Spacemit,
}

/// Number of the kernel's unit.
pub const UNIT: u32 = 12;
const CPUS: u32 = 2;

/// A recording, and what ran.
pub struct Made {
    pub form: Form,
    pub recording: Recording,
    pub tasks: Vec<Task>,
    /// Trace of each CPU.
    pub traces: BTreeMap<u32, Vec<u8>>,
    /// What ran on each CPU, and the thread that it ran for.
    pub ran: BTreeMap<u32, Vec<(Block, u32)>>,
    kernel: [Block; 3],
    time: u64,
}

impl Made {
    pub fn new(form: Form) -> Self {
        let mut recording = Recording::new();
        recording.machine("riscv64");
        match form {
            Form::Spacemit => {
                let each = (0..u64::from(CPUS)).flat_map(|cpu| [cpu, 5, 1, 1, 0, 3, cpu]);
                let words: Vec<_> =
                    [u64::from(UNIT) << 32 | u64::from(CPUS)].into_iter().chain(each).collect();
                recording.unit_names(&[(1, "software"), (UNIT, "rvtrace")]).units_of(7, &words);
            }
            Form::Bare => {
                recording.unit_names(&[(UNIT, "rvtrace")]).units_of(7, &[UNIT.into()]);
            }
            Form::Ntrace | Form::Etrace => {
                recording.unit_names(&[(UNIT, "gtrace")]).units_of(8, &[UNIT.into()]);
            }
        }
        let tasks = vec![
            Task::new(100, 100, "sort", &["40"]),
            Task::new(200, 200, "hash", &["30"]),
            Task::new(100, 101, "sort", &["60"]),
        ];
        let who = |pid, tid| Who { pid, tid, time: 0, cpu: 0 };
        recording.kernel_mmap(KERNEL, 0x1000, 0, "[kernel.kallsyms]_text");
        for (pid, program) in [(100, "sort"), (200, "hash")] {
            recording.comm(who(pid, pid), program, false);
            // The segment with code, as the kernel maps it.
            let bytes = fs::read(root().join(elf(program))).unwrap();
            let len = bytes.len().next_multiple_of(0x1000) as u64;
            recording.mmap2(who(pid, pid), PROGRAM, len, 0, &format!("/bin/{program}"));
        }
        recording.fork(Who { tid: 101, ..who(100, 101) }, 100);
        for cpu in 0..CPUS {
            recording.hardware_id(Who { cpu, ..who(100, 100) }, cpu.into());
            recording.itrace_start(Who { cpu, ..who(100, 100) });
        }
        Self {
            form,
            recording,
            tasks,
            traces: BTreeMap::new(),
            ran: BTreeMap::new(),
            kernel: kernel(),
            time: 10,
        }
    }

    /// The parameters of the encoders, and what `--source` says of them.
    pub fn params(&self) -> (Params, &'static str) {
        let implicit_return = ImplicitReturn::Stack;
        match self.form {
            Form::Bare => (Params::default(), "ntrace,isa=rv64"),
            Form::Spacemit => {
                let dialect = tracewright_ntrace::Dialect::Spacemit;
                (Params { src_bits: 3, dialect, ..Params::default() }, "")
            }
            _ => {
                let params =
                    Params { src_bits: 1, implicit_return, extend_addr_msb: true, ..Params::default() };
                (params, "ntrace,isa=rv64,src_bits=1,implicit_return=stack,extend_addr_msb=1")
            }
        }
    }

    /// What the command needs to read it.
    pub fn source(&self) -> String {
        match self.form {
            Form::Etrace => {
                "--source etrace,isa=rv64,encapsulation=smi,context_width=32,nocontext=0,notime=1".into()
            }
            Form::Spacemit => String::new(),
            _ => format!("--source {}", self.params().1),
        }
    }

    /// A slice of what threads do on a CPU, as the bytes of its encoder. Without contexts only one thread runs in it.
    pub fn slice(&mut self, cpu: u32, rng: &mut Rng) -> (Vec<u8>, u32) {
        let mut encoder = Out::new(self, cpu);
        let mut task = rng.below(self.tasks.len() as u64) as usize;
        let first = self.tasks[task].tid;
        let ran = self.ran.entry(cpu).or_default();
        encoder.enter(0, first);
        for _ in 0..200 + rng.below(1000) {
            let Task { did, at, tid, .. } = &mut self.tasks[task];
            let Some(&next) = did.get(*at) else { break };
            *at += 1;
            match next {
                Did::Block(block) => {
                    encoder.block(&block);
                    ran.push((block, *tid));
                }
                Did::Call(pc) => {
                    encoder.trap(pc);
                    encoder.enter(1, *tid);
                    let [taken, not, back] = self.kernel;
                    let rounds = rng.below(5) as usize;
                    for (round, block) in [taken].repeat(rounds).into_iter().chain([not, back]).enumerate() {
                        // Another thread's turn.
                        if round == rounds && self.form != Form::Bare && rng.one_in(2) {
                            task = rng.below(self.tasks.len() as u64) as usize;
                            encoder.enter(1, self.tasks[task].tid);
                        }
                        encoder.block(&block);
                        ran.push((block, self.tasks[task].tid));
                    }
                    encoder.enter(0, self.tasks[task].tid);
                }
            }
        }
        // A call whose handler did not run is not in the trace.
        (encoder.finish(), first)
    }

    /// Adds a slice as a piece of trace of a CPU.
    pub fn add(&mut self, cpu: u32, tid: u32, bytes: &[u8]) {
        self.time += 10;
        let pid = self.tasks.iter().find(|task| task.tid == tid).map_or(0, |task| task.pid);
        let flags = match self.form {
            Form::Ntrace => 0x200,
            Form::Etrace => 0x100,
            Form::Bare | Form::Spacemit => 0,
        };
        let trace = self.traces.entry(cpu).or_default();
        let who = Who { pid, tid, time: self.time, cpu };
        self.recording.aux(who, trace.len() as u64, bytes.len() as u64, flags);
        trace.extend(bytes);
    }

    /// Puts the programs where a copy of the machine's files is.
    pub fn install(&self, scratch: &Scratch) -> PathBuf {
        let root = scratch.path().join("root");
        fs::create_dir_all(root.join("bin")).unwrap();
        for program in ["sort", "hash"] {
            fs::copy(crate::run::root().join(elf(program)), root.join("bin").join(program)).unwrap();
        }
        fs::write(root.join("vmlinux"), kernel_file()).unwrap();
        root
    }

    /// Writes the recording, with all its trace.
    pub fn write(&mut self, scratch: &Scratch, form: tracewright_testkit::perf::Form) -> PathBuf {
        for (&cpu, bytes) in &self.traces {
            self.recording.trace(cpu, 0, bytes);
        }
        let path = scratch.path().join("perf.data");
        fs::write(&path, self.recording.write(form)).unwrap();
        path
    }

    /// What the command needs to read the recording at a path.
    pub fn line(&self, path: &Path, root: &Path) -> String {
        format!("{} --symfs {} {}", text(path), text(root), self.source())
    }

    /// What ran on a CPU: start, end and instructions of each block.
    pub fn ran(&self, cpu: u32) -> Vec<Ran> {
        self.ran[&cpu].iter().map(|(block, _)| (block.start, block.end, u64::from(block.count))).collect()
    }

    /// Decodes the recording at a path, and compares it with what ran: each block, and the thread that it ran for.
    pub fn compare(&self, path: &Path, root: &Path) {
        let line = self.line(path, root);
        for jobs in [1, 3] {
            let told = blocks(self.form, &run!("decode --json {line} --jobs {jobs}").good());
            for &cpu in self.ran.keys() {
                let (told, ran) = (&told[&cpu], self.ran(cpu));
                let at = ran.iter().zip(told).position(|(ran, told)| ran != told);
                assert!(
                    *told == ran,
                    "{:?}, cpu{cpu}: {} told, {} ran, {at:?}",
                    self.form,
                    told.len(),
                    ran.len()
                );
            }
        }
        let folded = run!("profile --format folded -o - {line}").good();
        let mut threads: BTreeMap<String, u64> = BTreeMap::new();
        for (stack, count) in folded.lines().filter_map(|line| line.rsplit_once(' ')) {
            let thread = stack.split(';').next().unwrap().to_owned();
            *threads.entry(thread).or_default() += count.parse::<u64>().unwrap();
        }
        let mut ran: BTreeMap<String, u64> = BTreeMap::new();
        for (block, tid) in self.ran.values().flatten() {
            let name = ["sort 100", "hash 200", "sort 100, thread 101"][match tid {
                100 => 0,
                200 => 1,
                _ => 2,
            }];
            *ran.entry(name.to_owned()).or_default() += u64::from(block.count);
        }
        // Between two messages with counts, N-Trace does not tell where in the kernel another thread's turn began.
        let sum = |of: &BTreeMap<String, u64>| of.values().sum::<u64>();
        assert_eq!(sum(&threads), sum(&ran), "{:?}", self.form);
        if self.form == Form::Bare {
            // No context names a thread.
            return;
        }
        assert!(threads.keys().eq(ran.keys()), "{:?}: {threads:?} {ran:?}", self.form);
        for (name, count) in &ran {
            assert!(threads[name].abs_diff(*count) <= count / 200, "{:?}: {threads:?} {ran:?}", self.form);
        }
    }
}

/// A block: start, end, instructions.
pub type Ran = (u64, u64, u64);

/// The blocks in what `decode --json` prints, by CPU.
pub fn blocks(form: Form, decoded: &str) -> BTreeMap<u32, Vec<Ran>> {
    let mut told = BTreeMap::new();
    for object in values(decoded).filter(|object| object["kind"] == "block") {
        let address =
            |key: &str| u64::from_str_radix(string(&object, key).trim_start_matches("0x"), 16).unwrap();
        // Messages in frames name their CPU; others are in its buffer.
        let cpu: u32 = match form {
            Form::Spacemit => number(&object, "id") as u32,
            _ => string(&object, "buffer").trim_start_matches("cpu").parse().unwrap(),
        };
        let block = (address("address"), address("end"), number(&object, "instructions"));
        told.entry(cpu).or_insert_with(Vec::new).push(block);
    }
    told
}

/// The blocks of the kernel: a round of its loop, the last round, and the return.
fn kernel() -> [Block; 3] {
    let mut builder = Image::builder();
    builder.raw("kernel", Bytes::from(KERNEL_CODE.to_vec()), KERNEL, MemorySpace::ANY).unwrap();
    let image = builder.build();
    let mut graph = Graph::new(&image, false);
    let [first, second] = [0, 6].map(|at| graph.at(KERNEL + at, Isa::Rv64, MemorySpace::ANY));
    let block = |id, ended| graph.node(id).block(ended);
    [block(first, Ended::Taken), block(first, Ended::NotTaken), block(second, Ended::Taken)]
}

/// The kernel as an ELF file with one segment.
fn kernel_file() -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend([2_u16, 243].map(u16::to_le_bytes).concat());
    file.extend(1_u32.to_le_bytes());
    file.extend([KERNEL, 64, 0].map(u64::to_le_bytes).concat());
    file.extend(5_u32.to_le_bytes());
    file.extend([64_u16, 56, 1, 0, 0, 0].map(u16::to_le_bytes).concat());
    file.extend([1_u32, 5].map(u32::to_le_bytes).concat());
    let len = KERNEL_CODE.len() as u64;
    file.extend([0x1000, KERNEL, KERNEL, len, len, 0x1000].map(u64::to_le_bytes).concat());
    file.resize(0x1000, 0);
    file.extend(KERNEL_CODE);
    file
}

/// An encoder of either protocol.
#[expect(clippy::large_enum_variant, reason = "few of them")]
enum Out {
    Ntrace { encoder: Encoder, params: Params, src: u16, bytes: Vec<u8> },
    Etrace { encoder: EtraceEncoder, executed: Executed, writer: Writer, bytes: Vec<u8> },
}

fn etrace_params() -> tracewright_etrace::Params {
    tracewright_etrace::Params {
        context_width: 32,
        nocontext: false,
        notime: true,
        ..tracewright_etrace::Params::default()
    }
}

impl Out {
    fn new(made: &Made, cpu: u32) -> Self {
        if made.form == Form::Etrace {
            let params = etrace_params();
            let config = etrace::Config { params: params.clone(), ..etrace::Config::default() };
            let writer = Writer::new(stream::Config {
                params,
                encapsulation: Encapsulation::Smi,
                options: Default::default(),
                data: Default::default(),
            });
            let (encoder, executed) = (EtraceEncoder::new(config), Executed::default());
            return Self::Etrace { encoder, executed, writer, bytes: Vec::new() };
        }
        let params = made.params().0;
        let contexts = made.form != Form::Bare;
        let resync = Resync { mode: SyncMode::Messages, max: 0 };
        let encoder = Encoder::new(Config { contexts, resync, ..Config::new(params.clone(), Isa::Rv64) });
        Self::Ntrace {
            encoder,
            src: if params.src_bits > 0 { cpu as u16 } else { 0 },
            params,
            bytes: Vec::new(),
        }
    }

    fn enter(&mut self, privilege: u8, tid: u32) {
        match self {
            Self::Ntrace { encoder, .. } => {
                encoder.context(Some(tid.into()), None);
                encoder.privilege(privilege, false);
            }
            Self::Etrace { executed, .. } => {
                executed.context(tid.into());
                executed.privilege(privilege);
            }
        }
    }

    fn block(&mut self, block: &Block) {
        match self {
            Self::Ntrace { encoder, params, src, bytes } => {
                encoder.block(block, &mut |packet, _| write(packet, *src, params, bytes));
            }
            Self::Etrace { encoder, executed, writer, bytes } => {
                encoder.entry(&executed.block(block), &mut |packet| write_etrace(packet, writer, bytes));
            }
        }
    }

    fn trap(&mut self, pc: u64) {
        match self {
            Self::Ntrace { encoder, params, src, bytes } => {
                encoder.trap(pc, false, &mut |packet, _| write(packet, *src, params, bytes));
            }
            Self::Etrace { encoder, executed, writer, bytes } => {
                let entry = executed.trap(pc, 8, false, 0);
                encoder.entry(&entry, &mut |packet| write_etrace(packet, writer, bytes));
            }
        }
    }

    fn finish(self) -> Vec<u8> {
        match self {
            Self::Ntrace { mut encoder, params, src, mut bytes } => {
                encoder.stop(4, &mut |packet, _| write(packet, src, &params, &mut bytes));
                bytes
            }
            Self::Etrace { mut encoder, mut writer, mut bytes, .. } => {
                encoder.finish(&mut |packet| write_etrace(packet, &mut writer, &mut bytes));
                bytes
            }
        }
    }
}

fn write(packet: &Packet, src: u16, params: &Params, bytes: &mut Vec<u8>) {
    let mut message = MessageBytes::default();
    emit(packet, src, None, params, &mut message).unwrap();
    bytes.extend(&message[..]);
}

fn write_etrace(packet: &EtracePacket, writer: &mut Writer, bytes: &mut Vec<u8>) {
    writer.instruction(0, None, packet, bytes).unwrap();
}
