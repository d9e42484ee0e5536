//! Programs of Debian (`tests/debian.txt`): their logs are complete and consistent.

use crate::support;

use support::record;
use tracewright_core::{Block, Ended, Flow};
use tracewright_hart::{HartSink, Trap};
use tracewright_testkit::qemu::Program;
use tracewright_testkit::{Scratch, debian, skip};

/// Checks that each block follows from what came before it.
#[derive(Debug, Default)]
struct Follows {
    instructions: u64,
    /// Next address, if known.
    next: Option<u64>,
    /// Set if programs call the kernel's helpers (`0xffff0fc0` and others: cmpxchg, TLS), which QEMU implements itself.
    /// Plugins do not see them, so what follows an indirect jump is then unknown.
    calls_helpers: bool,
    /// Set if the last block ended with an indirect jump.
    jumped: bool,
    wrong: Vec<String>,
}

impl HartSink for Follows {
    fn block(&mut self, block: &Block) {
        if self.next.is_some_and(|next| next != block.start) {
            self.wrong.push(format!("{:x?}, then {block:x?}", self.next));
        }
        self.instructions += u64::from(block.count);
        self.next = (block.ended != Ended::Taken).then_some(block.end);
        self.jumped = block.class.flow == Flow::Indirect;
    }

    fn trap(&mut self, trap: &Trap) {
        if trap.interrupt {
            self.wrong.push(format!("no signals are sent: {trap:x?}"));
        }
        self.next = Some(trap.next);
    }

    fn lost(&mut self) {
        if self.calls_helpers && self.jumped {
            self.next = None;
        } else {
            self.wrong.push(format!("lost after {} instructions", self.instructions));
        }
    }
}

#[test]
fn logs_of_real_programs_are_whole() {
    const TEST: &str = "logs of Debian's programs";
    for architecture in debian::Architecture::ALL {
        let Some(root) = architecture.root().filter(|_| architecture.guest.available(TEST)) else {
            skip(TEST, &format!("{}: not fetched; ./test does that", architecture.name));
            continue;
        };
        let folder = Scratch::new("debian");
        debian::write_inputs(folder.path()).unwrap();
        let is_run = |program: &debian::Program| {
            program.architecture == architecture && (program.small || debian::is_full())
        };
        for program in debian::Program::all().into_iter().filter(is_run) {
            let Some(elf) = program.path() else { panic!("{} is not there", program.name) };
            let environment = program.environment();
            let how = Program {
                guest: architecture.guest,
                elf: &elf,
                arguments: &program.arguments,
                environment: &environment,
                root: Some(&root),
                folder: Some(folder.path()),
            };
            let mut recorded = record(&how);
            let what = format!("{} {}", architecture.name, program.name);
            assert!(recorded.status.success(), "{what}: {}", recorded.status);
            let threads: Vec<_> = recorded.log.threads().collect();
            for thread in threads {
                // Only processors older than Armv7 need the helpers.
                let calls_helpers = architecture.name == "armel";
                let mut follows = Follows { calls_helpers, ..Follows::default() };
                let off = recorded.log.read(thread, &mut follows).unwrap();
                let Follows { wrong, instructions, .. } = follows;
                assert!(wrong.is_empty(), "{what} {thread}: {instructions}: {wrong:#?}");
                assert!(off.is_some() && instructions > 100, "{what} {thread}: {instructions}, {off:?}");
            }
        }
    }
}
