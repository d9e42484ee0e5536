//! Zcmp and Zcmt: LLVM's assembler, and lines for what the specification says.

use std::process::{Command, Stdio};

use tracewright_isa::riscv::{Frame, IType, Op, Xlen, Zcm, decode};
use tracewright_testkit::{has_programs, skip};

const ASSEMBLER: &str = "llvm-mc-19";

/// Disassembles 16-bit words one by one; `None` for those that are no instruction.
fn disassemble(xlen: Xlen, words: &[u16]) -> Vec<Option<String>> {
    let triple = if xlen == Xlen::Rv32 { "-triple=riscv32" } else { "-triple=riscv64" };
    let lines = words.iter().map(|word| format!("{:#x} {:#x}\n", word & 0xff, word >> 8));
    let mut child = Command::new(ASSEMBLER)
        .args([triple, "-mattr=+zcmp,+zcmt", "-disassemble"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input: String = lines.collect();
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    // What is invalid is named by its line, and left out of the output.
    let errors = String::from_utf8(output.stderr).unwrap();
    let invalid: Vec<usize> = errors
        .lines()
        .filter(|line| line.contains("invalid instruction encoding"))
        .map(|line| line.split(':').nth(1).unwrap().parse().unwrap())
        .collect();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut found =
        text.lines().filter(|line| !line.trim().starts_with('.')).map(|line| line.trim().replace('\t', " "));
    (1..=words.len()).map(|line| if invalid.contains(&line) { None } else { found.next() }).collect()
}

/// All encodings that C.FSDSP has.
#[test]
fn the_same_as_llvm() {
    if !has_programs("zcm::the_same_as_llvm", &[ASSEMBLER]) {
        return;
    }
    let words: Vec<u16> = (0..1 << 11).map(|bits| 0xa002 | bits << 2).collect();
    for xlen in [Xlen::Rv32, Xlen::Rv64] {
        let theirs = disassemble(xlen, &words);
        if theirs.iter().all(Option::is_none) {
            return skip("zcm::the_same_as_llvm", "llvm-mc does not know Zcmp");
        }
        let mut same = 0;
        for (&word, theirs) in words.iter().zip(&theirs) {
            let ours = Zcm::decode(xlen, word).map(|found| found.to_string());
            // The specification reserves moves into one register twice (DIFFERENCES.md).
            let is_twice = word & 0xfc60 == 0xac20 && word >> 7 & 7 == word >> 2 & 7;
            let theirs = theirs.clone().filter(|_| !is_twice);
            assert_eq!(ours, theirs, "{word:#x} {xlen:?}");
            same += u32::from(ours.is_some());
            // Other cores store doubles.
            assert_eq!(decode(xlen, word.into()).op, Op::Fsd);
        }
        assert_eq!(same, 4 * 12 * 4 + 256 + 64 + 56);
    }
}

#[test]
fn nothing_else_is_decoded() {
    for word in 0..=u16::MAX {
        if word & 0xe003 != 0xa002 {
            assert_eq!(Zcm::decode(Xlen::Rv64, word), None);
        }
    }
}

#[test]
fn what_they_do() {
    let of = |word| Zcm::decode(Xlen::Rv32, word).unwrap();
    assert_eq!(of(0xbefe), Zcm::PopRet(Frame { saved: 12, bytes: 112 }));
    for (word, itype) in [
        (0xb842, IType::None),
        (0xba42, IType::None),
        (0xbc42, IType::Return),
        (0xbe42, IType::Return),
        (0xa07e, IType::InferableJump),
        (0xa082, IType::InferableCall),
        (0xac66, IType::None),
    ] {
        assert_eq!(
            (of(word).itype(), of(word).class().is_branch()),
            (itype, itype != IType::None),
            "{word:#x}"
        );
    }
    assert_eq!(of(0xa07e).entry(Xlen::Rv32, 0x1000), Some(0x1000 + 31 * 4));
    assert_eq!(of(0xa082).entry(Xlen::Rv64, 0x1005), Some(0x1000 + 32 * 8));
    assert_eq!(of(0xb842).entry(Xlen::Rv64, 0x1000), None);
}
