//! Good inputs of every format, small, made from the samples and by the command itself.

use std::fs;
use std::path::Path;

use super::older;
use crate::damage::SOURCES;
use crate::perf_run_time::jitted;
use crate::run::{elf, files, root, run, words};
use tracewright_hart::timing::Config;
use tracewright_testkit::Scratch;
use tracewright_testkit::perf::{BpfProgram, Form, Recording, who};

/// What an input is, which decides what is done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A capture: all files of a folder, or one file.
    Capture,
    /// Trace bytes that need `--source` and `--packing`.
    Raw,
    /// A profile that was kept.
    Profile,
    /// A branch list of simpleperf.
    BranchList,
    /// What a program executed. All but those of the plugin for QEMU need the program.
    Log,
    /// A log of the plugin for QEMU.
    PluginLog,
    /// A program to run.
    Program,
    /// A timing model.
    Timing,
    /// Events for `--when`.
    Events,
    /// Parameters of an E-Trace encoder.
    Parameters,
}

/// An input.
#[derive(Clone, Debug)]
pub struct Input {
    pub kind: Kind,
    /// Files by name. What is damaged is one of the first `victims`.
    pub files: Vec<(String, Vec<u8>)>,
    pub victims: usize,
    /// What is given to the command: a path below `in`.
    pub path: String,
    /// Options that it needs.
    pub options: Vec<String>,
}

fn program(name: &str) -> Vec<u8> {
    fs::read(root().join("programs/bin").join(name)).expect("a program of the repository")
}

fn sample(path: &str) -> Vec<u8> {
    fs::read(root().join("samples").join(path)).expect("a sample")
}

impl Input {
    pub fn file(kind: Kind, name: &str, bytes: Vec<u8>) -> Self {
        Self {
            kind,
            files: vec![(name.into(), bytes)],
            victims: 1,
            path: format!("in/{name}"),
            options: Vec::new(),
        }
    }

    /// All files of a folder.
    fn folder(kind: Kind, folder: &Path) -> Self {
        let files: Vec<_> = files(folder).into_iter().collect();
        Self { kind, victims: files.len(), files, path: "in".into(), options: Vec::new() }
    }

    pub fn with(mut self, name: &str, bytes: Vec<u8>) -> Self {
        self.files.push((name.into(), bytes));
        self
    }

    pub fn options(mut self, options: &str) -> Self {
        self.options.extend(words(options));
        self
    }
}

const ETRACE: &str = "--source \
    etrace,isa=rv64,encapsulation=standard,iaddress_width=64,context_width=32,return_stack_size=5";

/// Logs as others write them, of a few instructions: that of QEMU is of `args.elf`, the others are of no program at hand.
const TEXT_LOGS: [(&str, &str); 4] = [
    (
        "spike.log",
        "core   0: 3 0x0000000080000000 (0x00000297) x5  0x0000000080000000\n\
         core   0: 3 0x0000000080000004 (0x0182b283) x5  0x0000000080000000 mem 0x0000000080001018\n\
         core   0: 3 0x0000000080000008 (0xec26) mem 0x0000003ffffffa38 0x0000003ffffffb58\n\
         core   0: exception trap_load_page_fault, epc 0x000000008000000a\n\
         core   0:           tval 0x8000000000003000\n\
         core   0: 3 0x0000000080000100 (0x0000006f)\n",
    ),
    (
        "cva6.log",
        "core   0: 0x0000000080000000 (0x00000297) DASM(00000297)\n        73 0x80000004 M (0x00000013) DASM(00000013)\n\
         Exception Cause: Illegal Instructions, DASM(00000000) PC=0000000080000008\n",
    ),
    (
        "retired.csv",
        "VALID,ADDRESS,INSN,PRIVILEGE,EXCEPTION,ECAUSE,TVAL,INTERRUPT\n1,80000000,44000ef,3,0,0,0,0\n\
         1,80000044,13,3,1,8000000000000007,0,1\n1,80000048,6f,3,0,0,0,0\n",
    ),
    (
        "qemu.log",
        "Trace 0: 0x7f827c000100 [0000000000000000/0000000000010120/00207600/00000201] _start\n\
         Trace 0: 0x7f827c000240 [0000000000000000/0000000000010124/00207600/00000201] _start\n\
         Trace 0: 0x7f827c000380 [0000000000000000/0000000000010128/00207600/00000201] _start\n\
         Stopped execution of TB chain before 0x7f827c000380 [0000000000010128] _start\n",
    ),
];

const EVENTS: &str = "# when what happens\nbutton@instruction=10\nbutton@cycle=400\ndoor@instruction=20\n";

const PARAMETERS: &str = "[required]\niaddress_width_p=64\niaddress_lsb_p=1\ncontext_width_p = 32\n\
    return_stack_size_p=5\nprivilege_width_p=2\necause_width_p=6\n";

/// Makes all inputs.
pub fn make() -> Vec<Input> {
    let samples = root().join("samples");
    let mut inputs = vec![
        Input::folder(Kind::Capture, &samples.join("hello")).options("--image in/hello.elf"),
        Input::folder(Kind::Capture, &samples.join("two-cores")),
        Input::folder(Kind::Capture, &samples.join("threads")),
        Input::folder(Kind::Capture, &samples.join("etrace")),
        Input::file(Kind::Capture, "perf.data", sample("perf/perf.data"))
            .with("hello.elf", sample("hello/hello.elf"))
            .options("--symfs in"),
        Input::file(Kind::Raw, "trace.bin", sample("two-cores/buffer_0.bin"))
            .options(&format!("--packing coresight {SOURCES}")),
        Input::file(Kind::Raw, "trace.bin", sample("etrace/trace.bin"))
            .with("args.elf", program("args.elf"))
            .options(&format!("--image in/args.elf {ETRACE}")),
        Input::file(Kind::PluginLog, "plugin.log", sample("retirement.log")),
    ];
    inputs.extend(recorded());
    inputs.extend(older::make());
    inputs.push(run_time_code());
    for (name, text) in TEXT_LOGS {
        let log = Input::file(Kind::Log, name, text.into()).with("program.elf", program("args.elf"));
        inputs.push(log);
    }
    for name in ["args.elf", "traps.elf", "timer32.elf", "semihosting.elf"] {
        inputs.push(Input::file(Kind::Program, "program.elf", program(name)));
    }
    let timing = Config::cva6_like().to_text();
    for (kind, name, text) in [
        (Kind::Timing, "core.timing", timing.as_str()),
        (Kind::Events, "events.txt", EVENTS),
        (Kind::Parameters, "hart.scf", PARAMETERS),
    ] {
        inputs.push(Input::file(kind, name, text.into()).with("program.elf", program("args.elf")));
    }
    inputs
}

/// A recording of code that was made and changed at run time.
fn run_time_code() -> Input {
    let scratch = Scratch::new("hostile-run-time");
    let mut made = jitted(&scratch, 2);
    let functions = vec![(0x9_0000, [7; 8], vec![0x1f, 0x20, 0x03, 0xd5])];
    made.recording.bpf_programs(&[BpfProgram { id: 3, name: "probe", functions }]).bpf_event(3, 1, 3, [7; 8]);
    made.recording.ksymbol(4, 0x9_0000, 4, 1, false, "bpf_prog_0707070707070707_probe");
    made.recording.ksymbol(5, 0xa_0000, 0x100, 2, false, "page").text_poke(6, 0xa_0010, &[], &[3; 8]);
    made.recording.text_poke(7, 0x8000, &[4; 4], &[5; 4]);
    let recording = fs::read(made.write(&scratch)).unwrap();
    let dump = fs::read(scratch.path().join("root/jit-100.dump")).unwrap();
    let input = Input::file(Kind::Capture, "perf.data", recording).with("jit-100.dump", dump);
    Input { victims: 2, ..input }.options("--symfs in")
}

/// What the command records and keeps.
fn recorded() -> Vec<Input> {
    let scratch = Scratch::new("hostile-corpus");
    let at = |name: &str| scratch.join(name);
    let (args, traps) = (elf("args"), elf("traps"));
    let hello = "samples/hello --image samples/hello/hello.elf";
    let short = "record -q --max-instructions 2000";
    for line in [
        format!("{short} -o {} --protocol etrace --timing cva6_like --delta {args}", at("delta")),
        format!("{short} -o {} --protocol etrace --option data=address,value {traps}", at("data")),
        format!(
            "{short} -o {} --protocol ntrace --option resync_max=0 --option timestamps=all {traps}",
            at("ntrace")
        ),
        format!("{short} -o {} --protocol tacit --option periodic=30 {traps}", at("tacit")),
        format!("{short} --log {} --details all {args}", at("own.log")),
        format!("{short} --log {} {traps}", at("blocks.log")),
        format!("profile {} --format tracewright -o {}", at("delta"), at("one.prof")),
        format!("profile {hello} --format branch-list -o {}", at("hello.bl")),
    ] {
        run!("{line}").ends_within(0..=1);
    }
    let read = |name: &str| fs::read(at(name)).expect("what was recorded");
    let mut recording = Recording::new();
    recording.machine("aarch64").comm(who(1, 0), "hello", false).feature(133, read("hello.bl"));
    let listed = [("hello.bl", read("hello.bl")), ("perf.data", recording.write(Form::File))];
    let mut inputs = vec![
        Input::folder(Kind::Capture, &scratch.path().join("delta")),
        Input::folder(Kind::Capture, &scratch.path().join("data")),
        Input::folder(Kind::Capture, &scratch.path().join("ntrace")),
        Input::file(Kind::Raw, "trace.bin", read("ntrace/trace.bin")).with("traps.elf", program("traps.elf")).options(
            "--source ntrace,isa=rv64,implicit_return=stack,sequential_jump=1,extend_addr_msb=1 --image in/traps.elf",
        ),
        Input::folder(Kind::Capture, &scratch.path().join("tacit")),
        Input::file(Kind::Raw, "trace.bin", read("tacit/trace.bin"))
            .with("traps.elf", program("traps.elf"))
            .options("--source tacit,isa=rv64 --image in/traps.elf"),
        Input::file(Kind::Log, "own.log", read("own.log")).with("program.elf", program("args.elf")),
        Input::file(Kind::Log, "blocks.log", read("blocks.log")).with("program.elf", program("traps.elf")),
        Input::file(Kind::Profile, "one.prof", read("one.prof"))
            .with("args.elf", program("args.elf"))
            .options("--image in/args.elf"),
    ];
    for (name, bytes) in listed {
        let list = Input::file(Kind::BranchList, name, bytes).with("hello.elf", sample("hello/hello.elf"));
        inputs.push(list.options("--image in/hello.elf"));
    }
    inputs
}
