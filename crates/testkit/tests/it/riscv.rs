//! The generator of RISC-V programs compared with independent tools: QEMU runs them, objdump reads them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::process::Command;
use std::thread;

use tracewright_testkit::qemu::{self, Guest};
use tracewright_testkit::riscv::{self, Instruction, Program};
use tracewright_testkit::{Rng, Scratch, has_programs};

const SEEDS: u64 = 500;

fn program(seed: u64) -> Program {
    riscv::generate(&mut Rng::new(seed))
}

/// Calls `test` with every seed, in two threads. Returns the results.
fn all<T: Send>(test: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let half = |first: u64| (first..SEEDS).step_by(2).map(&test).collect::<Vec<T>>();
    thread::scope(|scope| {
        let odd = scope.spawn(|| half(1));
        let mut results = half(0);
        results.extend(odd.join().expect("the other half"));
        results
    })
}

#[test]
fn same_seed_same_program() {
    for seed in 0..20 {
        assert_eq!(program(seed).elf(), program(seed).elf());
        assert_ne!(program(seed).elf(), program(seed + 1).elf());
    }
}

#[test]
fn programs_run_to_their_end() {
    if !Guest::Riscv64.available("programs_run_to_their_end") {
        return;
    }
    let folder = Scratch::new("riscv");
    all(|seed| {
        let program = program(seed);
        let path = folder.write(seed.to_string(), &program.elf());
        let outcome = qemu::Program::new(Guest::Riscv64, &path, &[]).run(b"").unwrap();
        assert_eq!(String::from_utf8_lossy(&outcome.stderr), "", "seed {seed}");
        assert_eq!(outcome.stdout.len(), program.output_len(), "seed {seed}: {}", outcome.status);
        assert_eq!(outcome.status.code(), Program::status(&outcome.stdout).map(i32::from), "seed {seed}");
        assert_eq!(Program::registers(&outcome.stdout).unwrap()[0], 0, "seed {seed}");
    });
}

#[test]
fn everything_is_executed() {
    if !Guest::Riscv64.available("everything_is_executed") {
        return;
    }
    let folder = Scratch::new("riscv");
    let results = all(|seed| {
        let program = program(seed);
        let path = folder.write(seed.to_string(), &program.elf());
        let mut counters = qemu::Program::new(Guest::Riscv64, &path, &[]).program_counters().unwrap();
        let (mut steps, mut executed) = (0, HashMap::<u64, u64>::new());
        for counter in counters.by_ref() {
            steps += 1;
            *executed.entry(counter).or_default() += 1;
        }
        assert!(counters.status().unwrap().code().is_some(), "seed {seed}");
        assert!(executed.contains_key(&program.entry), "seed {seed}");
        assert!(steps <= program.most_steps, "seed {seed}: {steps} of {}", program.most_steps);
        executed.keys().map(|&at| *program.instruction(at).expect("an instruction")).collect::<Vec<_>>()
    });

    // Number of different places with each mnemonic that were executed.
    let mut places = BTreeMap::<&str, u64>::new();
    let mut modes = BTreeSet::new();
    for instruction in results.iter().flatten() {
        *places.entry(instruction.mnemonic).or_default() += 1;
        if instruction.bits & 0x7f == 0x53 && instruction.mnemonic.starts_with("fadd") {
            modes.insert(instruction.bits >> 12 & 7);
        }
    }
    let wanted: BTreeSet<&str> = riscv::mnemonics().collect();
    for mnemonic in &wanted {
        let count = places.get(mnemonic).copied().unwrap_or(0);
        assert!(count >= 200, "{mnemonic} was executed at {count} places");
    }
    assert_eq!(places.keys().copied().collect::<BTreeSet<_>>(), wanted, "nothing else");
    assert_eq!(modes.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 7], "rounding modes");
}

#[test]
fn objdump_agrees() {
    if !has_programs("objdump_agrees", &["riscv64-linux-gnu-objdump"]) {
        return;
    }
    let folder = Scratch::new("riscv");
    // Tables and gaps would put it out of step; so instructions only.
    let programs: Vec<Program> = (0..50).map(program).collect();
    let all: Vec<&Instruction> = programs.iter().flat_map(Program::instructions).collect();
    let bytes: Vec<u8> =
        all.iter().flat_map(|i| i.bits.to_le_bytes().into_iter().take(i.len.into())).collect();
    let code = folder.write("code", &bytes);
    // It knows the extensions from the attributes that the assembler leaves.
    let source = folder.write("source", format!(".incbin \"{}\"\n", code.display()).as_bytes());
    let object = folder.write("object", b"");
    let mut assembler = Command::new("riscv64-linux-gnu-as");
    assembler.arg("-march=rv64gc_zba_zbb_zbs").arg(source).arg("-o").arg(&object);
    assert!(assembler.status().unwrap().success());
    let mut objdump = Command::new("riscv64-linux-gnu-objdump");
    let output = objdump.args(["-Dz", "-j.text", "-Mno-aliases"]).arg(object).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    // `   4:\t00b50533          \tadd\ta0,a0,a1`
    let names: Vec<&str> = text.lines().filter_map(|line| line.split('\t').nth(2)).collect();
    let mut differences = BTreeMap::new();
    for (instruction, &name) in all.iter().zip(&names) {
        let plain = name.trim_end().split(".aq").next().unwrap().trim_end_matches(".rl");
        // Conversions that are always exact have a rounding mode nevertheless; 2.40 knows only 0.
        let exact = ["fcvt.d.s", "fcvt.d.w", "fcvt.d.wu"].contains(&instruction.mnemonic);
        let unknown = exact && instruction.bits >> 12 & 7 != 0 && plain == ".4byte";
        let alias = [instruction.mnemonic, plain] == ["c.nop", "c.addi"];
        if plain != instruction.mnemonic && !unknown && !alias {
            differences.insert((instruction.mnemonic, plain), instruction);
        }
    }
    assert!(differences.is_empty(), "{differences:x?}");
    assert_eq!(names.len(), all.len());
}
