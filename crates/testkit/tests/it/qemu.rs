//! Programs for QEMU do what the tables say, before anything is recorded of them.

use tracewright_testkit::Scratch;
use tracewright_testkit::debian::{self, Architecture};
use tracewright_testkit::qemu::{Program, all_own, build};

const TEST: &str = "our programs under QEMU";

#[test]
fn our_programs_print_what_they_should() {
    for (own, guest, variant) in all_own() {
        let Some(elf) = build(TEST, guest, own.name, variant) else { continue };
        if !guest.available(TEST) {
            continue;
        }
        let outcome = Program::new(guest, &elf, own.arguments).run(b"").unwrap();
        let what = format!("{} {:?} {guest:?} {variant:?}", own.name, own.arguments);
        assert_eq!(String::from_utf8_lossy(&outcome.stdout), own.output, "{what}");
        assert!(own.end.is(outcome.status), "{what}: {}", outcome.status);
    }
}

/// The other tests rely on this: memory layout and random numbers are the same each time.
#[test]
fn runs_are_alike() {
    let repeated = all_own().filter(|(own, ..)| own.same_each_time && own.name != "cpu");
    for (own, guest, variant) in repeated {
        let Some(elf) = build(TEST, guest, own.name, variant) else { continue };
        if !guest.available(TEST) {
            continue;
        }
        let program = Program::new(guest, &elf, own.arguments);
        let mut second = program.program_counters().unwrap();
        let mut count = 0;
        for (number, counter) in program.program_counters().unwrap().enumerate() {
            assert_eq!(Some(counter), second.next(), "{} {guest:?} {variant:?}: {number}", own.name);
            count += 1;
        }
        assert_eq!(second.next(), None, "{} {guest:?} {variant:?}", own.name);
        assert!(count > 1000, "{} {guest:?} {variant:?}: {count}", own.name);
    }
}

/// At least ten programs, several for each processor, three of them small; and their inputs can be made.
#[test]
fn the_table_of_debians_programs() {
    let programs = debian::Program::all();
    for architecture in Architecture::ALL {
        let of = |small| {
            let is_of = move |program: &&debian::Program| program.architecture == architecture;
            programs.iter().filter(is_of).filter(move |program| program.small == small)
        };
        assert_eq!(of(true).count(), 1, "{architecture:?}");
        assert!(of(false).count() >= 10, "{architecture:?}");
    }
    let folder = Scratch::new("qemu");
    debian::write_inputs(folder.path()).unwrap();
    let is_input = |name: &&&str| name.starts_with("in.") || name.starts_with("short.");
    for name in programs.iter().flat_map(|program| &program.arguments).filter(is_input) {
        let made_by_another = *name == "in.l.gsm";
        assert!(made_by_another || folder.path().join(name).is_file(), "{name}");
    }
}

#[test]
fn debians_programs_run() {
    let full = debian::is_full();
    for architecture in Architecture::ALL {
        let Some(root) = architecture.root() else {
            tracewright_testkit::skip("programs of Debian", &format!("{}: not fetched", architecture.name));
            continue;
        };
        let folder = Scratch::new("qemu");
        debian::write_inputs(folder.path()).unwrap();
        for program in debian::Program::all() {
            if program.architecture != architecture || !(full || program.small) {
                continue;
            }
            let elf = program.path().unwrap_or_else(|| panic!("{} is not there", program.name));
            let environment = program.environment();
            let how = Program {
                guest: architecture.guest,
                elf: &elf,
                arguments: &program.arguments,
                environment: &environment,
                root: Some(&root),
                folder: Some(folder.path()),
            };
            let outcome = how.run(b"").unwrap();
            let said = String::from_utf8_lossy(&outcome.stderr);
            assert!(outcome.status.success(), "{architecture:?} {}: {} {said}", program.name, outcome.status);
        }
    }
}
