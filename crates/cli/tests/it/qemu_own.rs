//! Our programs for QEMU, recorded: the traces tell what ran, instruction by instruction, in all threads.

use crate::support::recorded::record;
use tracewright_testkit::qemu::{End, Guest, Program, all_own, build};

/// Where a capture does not tell what ran, why, and what is said of it. What is in here and does not differ is wrong, too.
const DIFFERENCES: [(&str, &[Guest], &str, &str); 1] = [
    // A capture has one program: code that changed is not in it, and decode says that it is missing. The log has all of it.
    (
        "jit",
        &Guest::ALL,
        "code was changed while it ran",
        "no image has the code, and the log's changed while the program ran",
    ),
];

#[test]
fn captures_tell_what_ran() {
    const TEST: &str = "our programs, recorded under QEMU";
    let mut wrong = Vec::new();
    for (own, guest, variant) in all_own() {
        let Some(elf) = build(TEST, guest, own.name, variant).filter(|_| guest.available(TEST)) else {
            continue;
        };
        let older: &[&[&str]] =
            if guest == Guest::Arm { &[&["--protocol", "ptm"], &["--protocol", "etm3"]] } else { &[] };
        for options in [&[] as &[&str]].iter().chain(older) {
            let what = format!("{} {:?} {guest:?} {variant:?} {options:?}", own.name, own.arguments);
            let recorded = record(&Program::new(guest, &elf, own.arguments), options);
            let output = &recorded.output;
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(String::from_utf8_lossy(&output.stdout), own.output, "{what}: {said}");
            // The program's own status; 1 if it was killed.
            let expected = match own.end {
                End::Exit(status) => Some(status),
                End::Signal(_) => output.status.code().filter(|&code| code != 0),
            };
            assert_eq!(output.status.code(), expected, "{what}: {said}");
            let known =
                DIFFERENCES.iter().find(|(name, guests, ..)| *name == own.name && guests.contains(&guest));
            // A PTM leaves out what ran before a T32 branch that a signal, or the end of the process, left open: see DIFFERENCES.md. They
            // come when they come, and recording says so.
            let leaves_out = ["signals", "leave"].contains(&own.name)
                && options.contains(&"ptm")
                && said.contains("branches that are not in the trace");
            match (recorded.prove(), known) {
                (Ok(()), None) => {}
                (Err(error), None) if leaves_out && error.contains("the log") => {}
                (Err(error), Some((_, _, reported, found)))
                    if said.contains(reported) && error.contains(found) => {}
                (Err(error), _) => wrong.push(format!("{what}: {said}{error}")),
                (Ok(()), Some(_)) => wrong.push(format!("{what} is equal now: it is no difference any more")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
