//! Data trace of programs that QEMU runs: each access that `decode` tells is the log's, and that of our own hart, in order.

use std::path::{Path, PathBuf};

use crate::run::{ETRACE, number, run, string, text, values};
use crate::support::recorded::{Recorded, record};
use serde_json::Value;
use tracewright_core::Block;
use tracewright_hart::{Access, HartSink};
use tracewright_isa::riscv::{AccessKind, Instruction, Op, Xlen, decode};
use tracewright_qemu::read::Log;
use tracewright_testkit::qemu::{Guest, Program, Variant, build};
use tracewright_testkit::{Scratch, skip};

/// What an instruction did, as the log has it.
struct Did {
    pc: u64,
    instruction: Instruction,
    accesses: Vec<Access>,
}

/// All instructions that access memory, or a control register.
#[derive(Default)]
struct AllDid {
    all: Vec<Did>,
    code: Vec<u32>,
    accesses: Vec<Access>,
}

impl HartSink for AllDid {
    const ACCESSES: bool = true;
    const INSTRUCTIONS: bool = true;

    fn instructions(&mut self, bits: &[u32]) {
        self.code.extend(bits);
    }

    fn access(&mut self, access: &Access) {
        self.accesses.push(*access);
    }

    fn block(&mut self, block: &Block) {
        let mut pc = block.start;
        for (index, &bits) in self.code.iter().enumerate() {
            let instruction = decode(Xlen::Rv64, bits);
            let its = self.accesses.iter().filter(|access| access.index as usize == index);
            let accesses: Vec<_> = its.copied().collect();
            if !accesses.is_empty() || is_csr(&instruction) || is_conditional(&instruction) {
                self.all.push(Did { pc, instruction, accesses });
            }
            pc += u64::from(instruction.len);
        }
        self.code.clear();
        self.accesses.clear();
    }
}

fn is_csr(instruction: &Instruction) -> bool {
    use Op::{Csrrc, Csrrci, Csrrs, Csrrsi, Csrrw, Csrrwi};
    matches!(instruction.op, Csrrw | Csrrs | Csrrc | Csrrwi | Csrrsi | Csrrci)
}

fn is_conditional(instruction: &Instruction) -> bool {
    matches!(instruction.op, Op::ScW | Op::ScD)
}

/// What `decode` tells of data.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Told {
    Access {
        access: String,
        size: u64,
        address: u64,
        value: Option<u64>,
        operand: Option<u64>,
        by: Option<u64>,
    },
    Lost,
}

fn hex(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}

/// What `decode` tells of a capture's buffer.
fn told(dir: &Path, buffer: &str) -> Vec<Told> {
    let ran = run!("decode --json --buffer {buffer} {}", text(dir));
    let is_missing = ran.err.contains("accesses are missing");
    values(&ran.ends(is_missing.into()).out)
        .filter_map(|line| match line["kind"].as_str() {
            Some("data") => Some(Told::Access {
                access: string(&line, "access").to_owned(),
                size: number(&line, "bytes"),
                address: hex(&line["address"]).unwrap(),
                value: hex(&line["value"]),
                operand: hex(&line["operand"]),
                by: hex(&line["by"]),
            }),
            Some("data lost") => Some(Told::Lost),
            _ => None,
        })
        .collect()
}

/// Whether this is what was done. With values, control registers are not known, nor are all operands of atomics.
fn is_equal(did: &Did, told: &Told, has_values: bool) -> bool {
    let Did { pc, instruction, accesses } = did;
    let kind = instruction.access().map(|(kind, _)| kind);
    let Told::Access { access, size, address, value, operand, by } = told else {
        return is_conditional(instruction)
            || has_values && (is_csr(instruction) || kind == Some(AccessKind::Amo));
    };
    if *by != Some(*pc) || value.is_some() != has_values && access != "store-conditional failed" {
        return false;
    }
    let Some(first) = accesses.first() else {
        return is_csr(instruction) && access.starts_with("csr ") && *address == instruction.imm as u64;
    };
    let last = &accesses[accesses.len() - 1];
    let is_there = (*size, *address) == (first.size.into(), first.address);
    let is_value = |expected: u64| !has_values || *value == Some(expected);
    let expected = match kind {
        Some(AccessKind::Amo) => {
            return is_there
                && access.starts_with("atomic ")
                && operand.is_some() == has_values
                && is_value(first.value);
        }
        Some(AccessKind::Store) if access == "store-conditional failed" => {
            return is_there && is_conditional(instruction) && value.is_none();
        }
        Some(AccessKind::Store) => "store",
        Some(AccessKind::Load) => "load",
        None => return false,
    };
    is_there && access == expected && operand.is_none() && is_value(last.value)
}

/// Compares each access of each thread. How many there are, and how many of them the trace only marks.
fn compare(what: &str, recorded: &Recorded, has_values: bool) -> (usize, usize) {
    let said = String::from_utf8_lossy(&recorded.output.stderr);
    assert!(recorded.output.status.success(), "{what}: {said}");
    recorded.prove().unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut log = Log::open(&recorded.log()).unwrap();
    let (mut all, mut lost) = (0, 0);
    for thread in log.threads().collect::<Vec<_>>() {
        let mut done = AllDid::default();
        log.read(thread, &mut done).unwrap();
        let told = told(&recorded.capture(), &format!("thread{thread}"));
        let same =
            done.all.iter().zip(&told).take_while(|(did, told)| is_equal(did, told, has_values)).count();
        if same < done.all.len().max(told.len()) {
            let did = done.all.get(same).map(|did| (did.pc, did.instruction, &did.accesses));
            panic!(
                "{what}, thread {thread}: {same} of {} and {} are equal: {did:x?}, {:x?}",
                done.all.len(),
                told.len(),
                told.get(same)
            );
        }
        all += same;
        lost += told.iter().filter(|told| **told == Told::Lost).count();
    }
    (all, lost)
}

/// A trace of the log is the trace that was recorded, byte by byte.
fn encode_again(recorded: &Recorded) {
    let folder = Scratch::new("record-data");
    let again = folder.path().join("again");
    run!("encode -q -o {} {}", text(&again), text(&recorded.log())).ends(0);
    let mut traces = 0;
    for file in std::fs::read_dir(recorded.capture()).unwrap().map(Result::unwrap) {
        let name = file.file_name().into_string().unwrap();
        if name.starts_with("thread") && name.ends_with(".bin") {
            assert!(
                std::fs::read(file.path()).unwrap() == std::fs::read(again.join(&name)).unwrap(),
                "{name}"
            );
            traces += 1;
        }
    }
    assert!(traces > 0);
}

fn program(test: &str, name: &str) -> Option<PathBuf> {
    build(test, Guest::Riscv64, name, Variant::Static).filter(|_| Guest::Riscv64.available(test))
}

/// Rounds of `access`.
const ROUNDS: usize = 4;

#[test]
fn addresses_are_those_of_the_log() {
    const TEST: &str = "data trace of programs under QEMU, addresses";
    // Of store-conditionals only: what no branch asks for, and those that fail without an access.
    let cases: [(&str, &[&str], Option<usize>); 4] = [
        ("access", &[], Some(2 * ROUNDS)),
        ("access", &["changed", "shared"], Some(2 * ROUNDS)),
        ("signals", &[], Some(0)),
        ("threads", &[], None),
    ];
    for (name, arguments, expected) in cases {
        let Some(elf) = program(TEST, name) else { return };
        let recorded = record(&Program::new(Guest::Riscv64, &elf, arguments), &["--data", "addresses"]);
        let (all, lost) = compare(name, &recorded, false);
        assert!(all > 1000, "{name}: {all}");
        // In others, reservations may be lost to other threads.
        assert!(expected.is_none_or(|expected| lost == expected), "{name} {arguments:?}: {lost} are missing");
        encode_again(&recorded);
    }
}

/// What is told of code between these addresses, but for the stack, which is elsewhere in each machine.
fn within(told: Vec<Told>, (start, stop): (u64, u64)) -> Vec<Told> {
    const STATIC: u64 = 1 << 32;
    let mut is_within = false;
    told.into_iter()
        .filter(|told| match told {
            Told::Access { by, address, .. } => {
                is_within = by.is_some_and(|by| (start..stop).contains(&by));
                is_within && *address < STATIC
            }
            Told::Lost => is_within,
        })
        .collect()
}

#[test]
fn values_are_those_of_the_log_and_of_our_hart() {
    const TEST: &str = "data trace of programs under QEMU, values";
    for (name, arguments) in [
        ("access", &[][..]),
        ("access", &["shared"]),
        ("access", &["changed"]),
        ("cpu", &["calls", "1"]),
        ("threads", &[]),
    ] {
        let Some(elf) = program(TEST, name) else { return };
        let recorded = record(&Program::new(Guest::Riscv64, &elf, arguments), &["--data", "values"]);
        let said = String::from_utf8_lossy(&recorded.output.stderr);
        if said.contains("this QEMU does not tell values; version 9.2 and later do") {
            return skip(TEST, "qemu-riscv64 is older than 9.2");
        }
        let (all, _) = compare(name, &recorded, true);
        assert!(all > 1000, "{name}: {all}");
        encode_again(&recorded);
        if name == "access" && arguments != ["changed"] {
            compare_with_hart(&elf, arguments, &recorded);
        }
    }
}

/// Our hart, which knows all of it, tells the same of the same code.
fn compare_with_hart(elf: &Path, arguments: &[&str], recorded: &Recorded) {
    let said = String::from_utf8_lossy(&recorded.output.stdout);
    let mut range = said.split_whitespace().filter_map(|word| hex(&word.into()));
    let range = (range.next().unwrap(), range.next().unwrap());
    let ours = within(told(&recorded.capture(), "thread0"), range);
    let folder = Scratch::new("record-data");
    let dir = folder.path().join("hart");
    let (capture, elf, arguments) = (text(&dir), text(elf), arguments.join(" "));
    let ran = run!("{ETRACE} {capture} --option data=address,value {elf} -- {arguments}");
    assert_eq!(ran.out, said);
    let theirs = within(told(&dir, "trace"), range);
    let mut unknown = 0;
    for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        if ours == theirs {
            continue;
        }
        assert_eq!(*ours, Told::Lost, "{at}: {theirs:x?}");
        let Told::Access { access, .. } = theirs else { panic!("{at}: {theirs:x?}") };
        assert!(
            ["atomic", "csr", "store-conditional failed"].iter().any(|kind| access.starts_with(kind)),
            "{access}"
        );
        unknown += 1;
    }
    assert_eq!(ours.len(), theirs.len());
    // Control registers and a store-conditional; of the 14 atomics, those whose operand nothing tells.
    assert!((4 * ROUNDS..=12 * ROUNDS).contains(&unknown), "{unknown}");
}
