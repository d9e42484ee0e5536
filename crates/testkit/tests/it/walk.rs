//! Walks are contiguous, and everything that can happen does.

use std::collections::HashSet;

use tracewright_core::{Ended, Flow, Role};
use tracewright_testkit::Rng;
use tracewright_testkit::riscv::walk::{Event, Happenings, Program, Walk};

#[test]
fn everything_happens_and_all_is_contiguous() {
    let mut seen = HashSet::new();
    for seed in 0..200 {
        let program = Program::generate(&mut Rng::new(seed));
        let happenings = Happenings { contexts: 200, switches: 200, ..Happenings::default() };
        let (start, end) = (program.address, program.address + program.bytes.len() as u64);
        // Where execution must be, if known.
        let mut next = None;
        let mut instructions = 0;
        Walk::new(&program, Rng::new(seed ^ 0xff)).with(happenings).run(3000, &mut |event| match event {
            Event::Block(block) => {
                instructions += block.count;
                assert!(block.start >= start && block.end <= end && block.start < block.end, "{seed}");
                assert!(next.is_none_or(|next| next == block.start), "seed {seed}: {next:x?} {block:x?}");
                next = matches!(block.ended, Ended::Cut | Ended::NotTaken).then_some(block.end);
                seen.insert(format!("{:?} {:?} {:?}", block.class.flow, block.class.role, block.ended));
            }
            Event::Trap(trap) => {
                assert!(next.is_none_or(|next| next == trap.pc), "seed {seed}: {next:x?} {trap:x?}");
                let (interrupt, to_itself) = (trap.interrupt, trap.next == trap.pc + 4);
                seen.insert(format!("trap, interrupt {interrupt}, to itself {to_itself}"));
                next = Some(trap.next);
            }
            Event::Context { elsewhere: true, .. } => next = None,
            Event::Privilege(_) | Event::Context { .. } => {}
        });
        // The other steps are traps.
        assert!(instructions > 1500, "seed {seed}: {instructions}");
    }
    for (flow, role) in [
        (Flow::Direct, Role::Jump),
        (Flow::Direct, Role::Call),
        (Flow::Pair, Role::Call),
        (Flow::Pair, Role::Jump),
        (Flow::Indirect, Role::Jump),
        (Flow::Indirect, Role::Call),
        (Flow::Indirect, Role::Return),
        (Flow::Indirect, Role::Swap),
        (Flow::Indirect, Role::ExceptionReturn),
    ] {
        assert!(seen.contains(&format!("{flow:?} {role:?} Taken")), "no {flow:?} {role:?}");
    }
    for trap in ["trap, interrupt true, to itself false", "trap, interrupt false, to itself true"] {
        assert!(seen.contains(trap), "no {trap}");
    }
}
