//! The retirement log has the same addresses as QEMU's own log of executed instructions, for our deterministic
//! programs, on all three processors, linked in all ways.

use crate::support;
use crate::support::addresses;

use addresses::Addresses;
use support::record;
use tracewright_testkit::qemu::{End, Program, all_own, build};

const TEST: &str = "retirement logs beside QEMU's own";

#[test]
fn the_log_has_every_instruction() {
    let (mut compared, mut wrong) = (0, Vec::new());
    for (own, guest, variant) in all_own().filter(|(own, ..)| own.same_each_time) {
        let Some(elf) = build(TEST, guest, own.name, variant) else { continue };
        if !guest.available(TEST) {
            continue;
        }
        let what = format!("{} {:?} {guest:?} {variant:?}", own.name, own.arguments);
        // QEMU's log of all of `cpu` would take minutes.
        let arguments = if own.name == "cpu" { &["text", "1"] } else { own.arguments };
        let program = Program::new(guest, &elf, arguments);
        let mut recorded = record(&program);
        let threads: Vec<_> = recorded.log.threads().collect();
        let (ours, off) = Addresses::of(&mut recorded.log, 0);
        let theirs: Vec<_> = program.program_counters().unwrap().collect();
        let same = ours.all.iter().zip(&theirs).take_while(|(ours, theirs)| ours == theirs).count();
        let rest = |all: &[u64]| all[same.saturating_sub(3)..].iter().take(8).copied().collect::<Vec<_>>();
        // QEMU also logs the instruction that kills the program, which did not retire.
        let killed = matches!(own.end, End::Signal(_));
        let is_end = same + usize::from(killed) == theirs.len();
        let is_equal = same == ours.all.len() && same > 3000 && is_end;
        // No signals are sent: a signal would be a misinterpretation.
        let signals = ours.traps.iter().filter(|trap| trap.interrupt).count();
        let is_whole = signals == 0
            && own.end.is(recorded.status)
            && threads == [0]
            && ours.lost == 0
            && off.is_some() != killed;
        if !is_equal || !is_whole {
            wrong.push(format!(
                "{what}: {}, threads {threads:?}, lost {}, signals {signals}, end {off:?}: {same} of {} and {}: {:x?}, QEMU: {:x?}",
                recorded.status,
                ours.lost,
                ours.all.len(),
                theirs.len(),
                rest(&ours.all),
                rest(&theirs)
            ));
        }
        compared += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared == 0 || compared >= 9, "{compared}");
}
