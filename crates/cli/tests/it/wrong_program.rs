//! Programs that are not what ran: nothing of them is counted, and no capture holds them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run::{elf, forget_checksums, recorded, replace, root, run, text};
use tracewright_testkit::{Rng, Scratch};

const UNEXPLAINED: &str = "the program does not explain the trace";
const NOT_IT: &str = "is not the program that ran: ";

/// A log tells where blocks end: that suffices to see that another program ran, also if it has no instructions.
#[test]
fn a_log_refutes_another_program() {
    let place = Scratch::new("wrong");
    let [log, out, copy] = ["run.log", "out", "copy.log"].map(|name| place.join(name));
    let (right, wrong) = (elf("sort"), elf("args"));
    for details in ["blocks", "all"] {
        run!("record -q --log {log} --details {details} {right} 100").good();
        for verb in ["decode --summary", "profile", "coverage", "profile --calls"] {
            run!("{verb} {log} --image {right}").ends(0).says_not("mismatch");
            let refused = run!("{verb} {log} --image {wrong}").ends(2).says(UNEXPLAINED);
            assert_eq!(refused.says("nothing is counted").out, "", "{verb}");
        }
        let listed = run!("decode {log} --image {wrong}").ends(1).says(UNEXPLAINED);
        let mismatches = listed.out.lines().filter(|line| line.contains(" mismatch 0x")).count();
        assert!(mismatches > 1000, "{mismatches}");
        run!("encode -q {log} --image {right} -o {out}").ends(0);
        run!("decode {out} --check {log}").ends(0);
        fs::remove_dir_all(&out).unwrap();
        run!("encode {log} --image {wrong} -o {out}").ends(2).says(NOT_IT).says("no capture is written");
        run!("record --from-log {log} -o {out} --log {copy} {wrong}").ends(2).says(NOT_IT);
        assert!(!Path::new(&out).exists() && !Path::new(&copy).exists(), "{details}");
        run!("record -q --from-log {log} -o {out} --log {copy} {right}").ends(0);
        run!("decode {out} --check {copy}").ends(0);
        // An earlier capture is not replaced by none.
        run!("encode {log} --image {wrong} -o {out}").ends(2);
        run!("decode {out} --check {log}").ends(0);
        fs::remove_dir_all(&out).unwrap();
        fs::remove_file(&copy).unwrap();
    }
}

/// A loop of eight instructions, three of which run: addresses and bits.
const LOOP: [(u64, u32); 8] = [
    (0x8000_0000, 0x0030_0293),
    (0x8000_0004, 0xfff2_8293),
    (0x8000_0008, 0xfe02_9ee3),
    (0x8000_0004, 0xfff2_8293),
    (0x8000_0008, 0xfe02_9ee3),
    (0x8000_0004, 0xfff2_8293),
    (0x8000_0008, 0xfe02_9ee3),
    (0x8000_000c, 0x0000_8067),
];

/// Logs of other tools, each in its form, against the right code, code with one other instruction, and other code.
#[test]
fn logs_of_other_tools_refute_it_too() {
    let place = Scratch::new("wrong");
    let out = place.join("out");
    let spike = LOOP.iter().map(|(pc, bits)| format!("core   0: 3 {pc:#018x} ({bits:#010x})\n"));
    let csv = LOOP.iter().map(|(pc, bits)| format!("1,{pc:x},{bits:x},3,0,0,0,0\n"));
    let csv = "VALID,ADDRESS,INSN,PRIVILEGE,EXCEPTION,ECAUSE,TVAL,INTERRUPT\n".to_owned()
        + &csv.collect::<String>();
    let types = [0, 0, 5, 0, 5, 0, 4, 13];
    let ports = LOOP.iter().zip(types).map(|((pc, _), itype)| format!("{itype},0,0,3,{pc:x},0,0,1,1\n"));
    let ports = "itype_0,cause,tval,priv,iaddr_0,context,ctype,iretire_0,ilastsize_0\n".to_owned()
        + &ports.collect::<String>();
    let qemu = LOOP
        .iter()
        .map(|(pc, _)| format!("Trace 0: 0x7f827c000100 [0000000000000000/{pc:016x}/00207600/00000201] f\n"));
    let image = |name: &str, words: &[u32]| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        format!("{}@0x80000000", text(&place.write(name, &bytes)))
    };
    let right = image("right", &[0x0030_0293, 0xfff2_8293, 0xfe02_9ee3, 0x0000_8067]);
    let nops = image("nops", &[0x13; 4]);
    for (name, log) in
        [("spike", spike.collect()), ("csv", csv), ("ports", ports), ("qemu", qemu.collect::<String>())]
    {
        let log = place.write(name, log.as_bytes());
        let log = text(&log);
        run!("encode {log} --image {right} -o {out}").ends(0).says_not("contradicts");
        run!("decode {out} --summary").ends(0).says("8 instructions in 4 blocks");
        fs::remove_dir_all(&out).unwrap();
        run!("encode {log} --image {nops} -o {out}").ends(2).says(NOT_IT);
        assert!(!Path::new(&out).exists(), "{name}");
    }
}

/// Where lines are missing, no tool's log becomes a trace of what did not run: what came before stays, and the status says so.
#[test]
fn a_log_with_a_hole_is_no_whole_trace() {
    let place = Scratch::new("wrong");
    let out = place.join("out");
    // A loop of twelve turns: line 1 is before it, and each turn has two lines.
    let turns = (0..12).flat_map(|_| [(0x8000_0004_u64, 0xfff2_8293_u32), (0x8000_0008, 0xfe02_9ee3)]);
    let lines: Vec<_> = [(0x8000_0000, 0x00c0_0293)].into_iter().chain(turns).collect();
    let spike = |(pc, bits): &(u64, u32)| format!("core   0: 3 {pc:#018x} ({bits:#010x})\n");
    let cva6 = |(pc, bits): &(u64, u32)| format!("  73 {pc:#x} M ({bits:#010x}) DASM({bits:08x})\n");
    let qemu = |(pc, _): &(u64, u32)| {
        format!("Trace 0: 0x7f827c000100 [0000000000000000/{pc:016x}/00207600/00000201] f\n")
    };
    let logs = [
        lines.iter().map(spike).collect(),
        lines.iter().map(cva6).collect(),
        lines.iter().map(qemu).collect::<Vec<_>>(),
    ];
    let code: Vec<u8> = [0x00c0_0293_u32, 0xfff2_8293, 0xfe02_9ee3, 0x8067]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let image = place.write("code", &code);
    for (number, log) in logs.iter().enumerate() {
        // After a branch, and after another instruction.
        for (hole, ran, from) in [(5..6, 24, 5), (6..9, 22, 6)] {
            let kept = log.iter().enumerate().filter(|(index, _)| !hole.contains(index));
            let kept: String = kept.map(|(_, line)| &line[..]).collect();
            let log = place.write(format!("{number}-{from}"), kept.as_bytes());
            let encoded = run!("encode {} --image {}@0x80000000 -o {out}", text(&log), text(&image)).ends(1);
            encoded.says(format!("line {}: does not follow from line {from}: ", from + 1));
            run!("decode {out} --summary").says(format!("{ran} instructions"));
            fs::remove_dir_all(&out).unwrap();
        }
    }
}

/// A reader has one program: where the code was another later, it has none, and does not take the first for all that ran.
#[test]
fn code_that_changes_is_left_out() {
    let place = Scratch::new("wrong");
    let out = place.join("out");
    // nop; nop; jump back, and then a jump back in place of the second.
    let turn = [(0x8000_0000_u64, 0x13_u32), (0x8000_0004, 0x13), (0x8000_0008, 0xff9f_f06f)];
    let changed = [(0x8000_0000, 0x13), (0x8000_0004, 0xffdf_f06f)];
    let lines = turn.repeat(3).into_iter().chain(changed.repeat(3));
    let lines: String = lines.map(|(pc, bits)| format!("core   0: 3 {pc:#018x} ({bits:#010x})\n")).collect();
    let log = place.write("log", lines.as_bytes());
    run!("encode {} -o {out}", text(&log)).ends(1).says("code was changed while it ran");
    run!("decode {out} --summary").ends(1).says("past the end of code.bin at 0x80000004");
}

/// Code that was changed in one place is not another program: the capture has what ran, and the status says that something was wrong.
#[test]
fn little_that_differs_is_told() {
    let place = Scratch::new("wrong");
    let out = place.join("out");
    let pcs: Vec<u64> = (0..40).map(|index| 0x8000_0000 + 4 * index).collect();
    let log: String = pcs.iter().map(|pc| format!("core   0: 3 {pc:#018x} (0x00000013)\n")).collect();
    let log = place.write("spike.log", log.as_bytes());
    let mut code = 0x13_u32.to_le_bytes().repeat(40);
    code[17] ^= 1;
    let image = place.write("image", &code);
    let encoded = run!("encode -q {} --image {}@0x80000000 -o {out}", text(&log), text(&image));
    encoded.ends(1).says(
        "the log contradicts the program: 1 of 40 instructions are other code, the first at 0x80000010",
    );
    run!("decode {out} --instructions").ends(0).prints("0x80000010  00000013");
}

/// What is undefined did not run, in any instruction set.
#[test]
fn random_bytes_are_no_program() {
    let place = Scratch::new("wrong");
    let mut rng = Rng::new(7);
    let bytes: Vec<u8> = (0..0x1000).map(|_| rng.next_u64() as u8).collect();
    let image = place.write("random", &bytes);
    let listed = run!("decode samples/hello --image {}@0x400000", text(&image)).ends(1);
    listed.prints(": no instruction (undefined)");
    let capture = recorded(&place, "sort", "");
    forget_checksums(&capture);
    let zeros = place.write("zeros", &[0; 0x2000]);
    let listed = run!("decode {capture} --image {}@0x10000", text(&zeros)).ends(1);
    let listed = listed.prints("mismatch 0x10120: no instruction (undefined)");
    assert!(!listed.out.contains(" taken "));
}

/// A capture holds the program that ran: that another one is named is said before anything of it is listed.
#[test]
fn a_capture_knows_its_program() {
    let place = Scratch::new("wrong");
    let capture = recorded(&place, "sort", "");
    let other = "error: other code than ran at 0x10";
    let listed = run!("decode {capture} --image {}", elf("hash")).ends(1);
    assert!(listed.err.lines().next().is_some_and(|first| first.contains(other)), "{}", listed.err);
    run!("decode {capture} --image {} --summary", elf("sort")).ends(0);
    // Without symbols it is the same program.
    let stripped = place.join("stripped");
    let mut strip = Command::new("llvm-strip-19");
    match strip.args([&elf("sort"), "-o", &stripped]).current_dir(root()).status() {
        Ok(status) if status.success() => {
            run!("decode {capture} --image {stripped} --summary").ends(0).says_not(other);
        }
        _ => tracewright_testkit::skip("a_capture_knows_its_program", "no llvm-strip-19"),
    }
}

/// Of two cores whose program only one is, that one is counted.
#[test]
fn one_wrong_program_does_not_spoil_the_other_totals() {
    let place = Scratch::new("wrong");
    let both = recorded(&place, "sort", "");
    let all = run!("decode {both} --summary --json").ends(0).json()["instructions"].clone();
    let other = place.join("other");
    run!("record -q -o {other} {}", elf("hash")).good();
    fs::copy(format!("{other}/trace.bin"), format!("{both}/other.bin")).unwrap();
    forget_checksums(&both);
    let path = format!("{both}/capture.toml");
    let toml = fs::read_to_string(&path).unwrap();
    let at = |part: &str| toml.find(part).unwrap();
    let source = toml[at("[[source]]")..at("[[buffer]]")].replace("hart0", "hart1");
    let buffer = "[[buffer]]\nname = \"other\"\nfile = \"other.bin\"\nsources = [\"hart1\"]\n\n";
    replace(&path, "[[buffer]]\nname = \"trace\"", &format!("{source}{buffer}[[buffer]]\nname = \"trace\""));
    let summed = run!("decode {both} --summary --json").ends(1).says("other: hart1").says(UNEXPLAINED);
    assert_eq!(summed.json()["instructions"], all);
}
