//! The hart and QEMU retire the same instructions, block by block and trap by trap, in all sample programs for Linux
//! (`programs/cases.txt`).
//!
//! The others need a machine without an operating system, unlike QEMU's user mode. Whole systems are not recorded (the plugin
//! refuses), and `qemu-system-riscv64` is another package; `programs/build --system` compares what these programs print.

use crate::support;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use support::record;
use tracewright_core::Block;
use tracewright_hart::linux::{Linux, Mount, Options, Streams};
use tracewright_hart::{Hart, HartSink, Stop, Trap};
use tracewright_testkit::qemu::{Guest, Program};

/// An event of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Block(Block),
    /// Trap, as far as a log of QEMU has it: address, cause, next address, and whether it is a system call.
    Trap(u64, u64, u64, bool),
}

#[derive(Debug, Default)]
struct Events(Vec<Event>);

impl HartSink for Events {
    fn block(&mut self, block: &Block) {
        self.0.push(Event::Block(*block));
    }

    fn trap(&mut self, trap: &Trap) {
        self.0.push(Event::Trap(trap.pc, trap.cause, trap.next, trap.served));
    }

    fn lost(&mut self) {
        panic!("something is lost after {:x?}", self.0.last());
    }
}

fn on_the_hart(elf: &Path, arguments: &[&str], input: Vec<u8>, folder: &Path) -> (Stop, Events) {
    let all = [elf.as_os_str().to_owned()].into_iter().chain(arguments.iter().map(OsString::from));
    let options = Options {
        arguments: all.collect(),
        environment: vec!["LANG=C".into()],
        streams: Streams { input: Box::new(io::Cursor::new(input)), ..Streams::none() },
        mounts: vec![Mount { at: folder.into(), host: folder.into(), writable: false }],
        folder: Some(folder.into()),
        ..Options::default()
    };
    let (core, linux) = Linux::load(elf, options).unwrap();
    let mut events = Events::default();
    let stop = Hart::new(core, linux).run(u64::MAX, &mut events);
    (stop, events)
}

#[test]
fn sample_programs_retire_the_same() {
    if !Guest::Riscv64.available("the hart beside QEMU") {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs").canonicalize().unwrap();
    let cases = std::fs::read_to_string(folder.join("cases.txt")).unwrap();
    let mut compared = 0;
    for line in cases.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let words: Vec<_> = line.split_whitespace().collect();
        let [name, program, status, ref arguments @ ..] = words[..] else { panic!("{line}") };
        let elf: PathBuf = folder.join(format!("bin/{program}.elf"));
        let environment = [("LANG", OsString::from("C"))];
        let program = Program {
            environment: &environment,
            folder: Some(&folder),
            ..Program::new(Guest::Riscv64, &elf, arguments)
        };
        let mut recorded = record(&program);
        // QEMU 7.2 computes `ctzw` of a zero word wrongly if the upper half has a bit. The program finds and reports that.
        let is_wrong = name == "bits" && recorded.status.code() == Some(1);
        assert!(is_wrong || recorded.status.code() == status.parse().ok(), "{name}: {}", recorded.status);
        let mut theirs = Events::default();
        recorded.log.read(0, &mut theirs).unwrap();
        let (stop, ours) = on_the_hart(&elf, arguments, Vec::new(), &folder);
        assert_eq!(Ok(stop), status.parse().map(|status| Stop::Exit { status }), "{name}");
        let pairs = ours.0.iter().zip(&theirs.0);
        let same = pairs.take_while(|(ours, theirs)| ours == theirs).count();
        let rest = |events: &Events| events.0.iter().skip(same).take(3).copied().collect::<Vec<_>>();
        assert!(
            same == ours.0.len() && same == theirs.0.len() && same > 100 || is_wrong && same > 10_000,
            "{name}: {same} of {} and {}: {:x?}, QEMU: {:x?}",
            ours.0.len(),
            theirs.0.len(),
            rest(&ours),
            rest(&theirs)
        );
        compared += 1;
    }
    assert!(compared >= 15, "{compared}");
}
