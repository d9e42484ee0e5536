//! Programs of Debian (`tests/debian.txt`), recorded under QEMU: they do what they do without us, and the traces tell what
//! ran, `ld.so` and all libraries included.

use crate::run::files;
use crate::support::recorded::record;
use tracewright_testkit::qemu::Program;
use tracewright_testkit::{Scratch, debian, skip};

#[test]
fn captures_of_real_programs_tell_what_ran() {
    const TEST: &str = "Debian's programs, recorded under QEMU";
    let mut wrong = Vec::new();
    for architecture in debian::Architecture::ALL {
        let Some(root) = architecture.root().filter(|_| architecture.guest.available(TEST)) else {
            skip(TEST, &format!("{}: not fetched; ./test does that", architecture.name));
            continue;
        };
        // The same inputs twice: for QEMU alone, and for the recorder.
        let folders = [Scratch::new("qemu-debian"), Scratch::new("qemu-debian")];
        folders.iter().for_each(|folder| debian::write_inputs(folder.path()).unwrap());
        let is_run = |program: &debian::Program| {
            program.architecture == architecture && (program.small || debian::is_full())
        };
        for program in debian::Program::all().into_iter().filter(is_run) {
            let what = format!("{} {}", architecture.name, program.name);
            let Some(elf) = program.path() else { panic!("{what} is not there") };
            let environment = program.environment();
            let how = |folder| Program {
                guest: architecture.guest,
                elf: &elf,
                arguments: &program.arguments,
                environment: &environment,
                root: Some(&root),
                folder: Some(folder),
            };
            let [alone, beside] = folders.each_ref().map(Scratch::path);
            let expected = how(alone).run(b"").unwrap();
            let recorded = record(&how(beside), &[]);
            let said = String::from_utf8_lossy(&recorded.output.stderr);
            assert!(recorded.output.status.success(), "{what}: {said}");
            assert!(recorded.output.stdout == expected.stdout, "{what}: another output");
            assert!(files(alone) == files(beside), "{what}: other files");
            if let Err(error) = recorded.prove() {
                wrong.push(format!("{what}: {error}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
