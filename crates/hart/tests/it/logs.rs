//! Readers of other simulators' logs, on lines of each layout.

use crate::support::{Record, Told};
use tracewright_core::Ended;
use tracewright_hart::log::{Kind, LineProblem, Reader, UNTOLD, detect, wrong_header};
use tracewright_hart::{Access, Blocks, Privilege, Retired, Retirements, Trap};
use tracewright_isa::riscv::{AccessKind, Xlen};

type Log<'a> = Reader<&'a [u8], fn(u64) -> Option<u32>>;

/// Creates a reader of a log of the program that [`code`] has.
fn open(kind: Kind, xlen: Xlen, log: &str) -> Log<'_> {
    Reader::new(kind, xlen, log.as_bytes(), code)
}

fn code(pc: u64) -> Option<u32> {
    match pc {
        0..4 => Some(3),
        0x10144 => Some(0x1234_1141),
        0x10146 => Some(0x13),
        0x1014a => Some(0x73),
        _ => None,
    }
}

/// Collects everything that a reader returns. Panics at an error.
fn all(reader: &mut Log<'_>) -> Vec<Retired> {
    std::iter::from_fn(|| reader.next().unwrap()).collect()
}

/// Reads a log of RV64.
fn read(kind: Kind, log: &str) -> Vec<Retired> {
    all(&mut open(kind, Xlen::Rv64, log))
}

/// Returns the message of the first error in a log of RV64.
fn error(kind: Kind, log: &str) -> String {
    let mut reader = open(kind, Xlen::Rv64, log);
    loop {
        match reader.next() {
            Ok(retired) => assert!(retired.is_some(), "no error"),
            Err(error) => return error.to_string(),
        }
    }
}

fn instruction(pc: u64, bits: u32) -> Retired {
    Retired::new(pc, bits)
}

fn committed(pc: u64, bits: u32, access: Option<Access>) -> Retired {
    Retired { privilege: Some(Privilege::Machine), access, ..instruction(pc, bits) }
}

fn access(kind: AccessKind, size: u8, address: u64, value: u64) -> Option<Access> {
    Some(Access { index: 0, kind, size, address, value })
}

fn exception(pc: u64, cause: u64, value: u64) -> Trap {
    Trap { pc, cause, interrupt: false, value, next: 0, served: false }
}

#[test]
fn spike_listing() {
    let log = "warning: tohost and fromhost symbols not in ELF\n\
        core   0: 0x0000000000001000 (0x00000297) auipc   t0, 0x0\n\
        core   0: >>>>  _start\n\
        core   0: 0x0000000080000014 (0x00004131) c.li    sp, 12\n\
        core   0: 0x0000000080000016 (0x00028383) lb      t2, 0(t0)\r\n\
        core   0: exception trap_load_page_fault, epc 0x0000000080000016\n\
        core   0:           tval 0x8000000000003000\n\
        core   0: 0x0000000080000100 (0xa001a001) c.j     pc + 0\n\
        core   0: exception interrupt #7, epc 0x0000000080000100\n\
        core   0: exception trap_instruction_page_fault, epc 0x0000000080000200\n\
        core   0:           badaddr 0x0000000080000200\n\
        core   0: 0x0000000080000300 (0x00000073) ecall\n\
        core   0: exception trap_user_ecall, epc 0x0000000080000300\n";
    let mut reader = open(Kind::Spike, Xlen::Rv64, log);
    let interrupt = Trap { interrupt: true, ..exception(0x8000_0100, 7, 0) };
    let expected = [
        instruction(0x1000, 0x297),
        instruction(0x8000_0014, 0x4131),
        Retired {
            trap: Some(exception(0x8000_0016, 13, 0x8000_0000_0000_3000)),
            ..instruction(0x8000_0016, 0x28383)
        },
        instruction(0x8000_0100, 0xa001),
        Retired::trap(interrupt),
        Retired::trap(exception(0x8000_0200, 12, 0x8000_0200)),
        Retired { trap: Some(exception(0x8000_0300, 8, 0)), ..instruction(0x8000_0300, 0x73) },
    ];
    assert_eq!(all(&mut reader), expected);
    assert_eq!(reader.skipped(), 2);
}

#[test]
fn spike_commits_in_all_layouts() {
    let new = "core   0: 3 0x0000000000001000 (0x00000297) x5  0x0000000000001000\n\
        core   0: 3 0x000000000000100c (0x0182b283) x5  0x0000000080000000 mem 0x0000000000001018\n\
        core   0: 3 0x0000000080000000 (0x8202)\n\
        core   0: 3 0x0000000080000002 (0xec26) mem 0x0000003ffffffa38 0x0000003ffffffb58\n\
        core   0: 3 0x0000000080000004 (0x10200073) c768_mstatus 0x8000000a000066a2\n\
        core   0: 3 0x0000000080000008 (0x00028383) x7  0xffffffffffffff80 mem 0x0000000080002000\n\
        core   0: 3 0x000000008000000c (0x00b6a72f) x14 0xfffffffffffff800 \
        mem 0x0000000080002000 mem 0x0000000080002000 0xfffff800\n\
        core   0: 3 0x0000000080000010 (0x00b68023) mem 0x0000000080002000 0x5\n\
        core   0: 3 0x0000000080000014 (0x0006a007) f0  0xffffffff3f800000 mem 0x0000000080002008\n";
    let expected = [
        committed(0x1000, 0x297, None),
        committed(0x100c, 0x182_b283, access(AccessKind::Load, 8, 0x1018, 0x8000_0000)),
        committed(0x8000_0000, 0x8202, None),
        committed(0x8000_0002, 0xec26, access(AccessKind::Store, 8, 0x3f_ffff_fa38, 0x3f_ffff_fb58)),
        committed(0x8000_0004, 0x1020_0073, None),
        committed(0x8000_0008, 0x28383, access(AccessKind::Load, 1, 0x8000_2000, 0x80)),
        committed(0x8000_000c, 0xb6_a72f, access(AccessKind::Amo, 4, 0x8000_2000, 0xffff_f800)),
        committed(0x8000_0010, 0xb6_8023, access(AccessKind::Store, 1, 0x8000_2000, 5)),
        committed(0x8000_0014, 0x6_a007, access(AccessKind::Load, 4, 0x8000_2008, 0x3f80_0000)),
    ];
    assert_eq!(read(Kind::Spike, new), expected);

    // Old versions do not have the core, and pad register numbers with a space.
    let old =
        new.replace("core   0: ", "").replace(" x5 ", " x 5").replace(" x7 ", " x 7").replace(" f0 ", " f 0");
    assert_eq!(read(Kind::Spike, &old), expected);

    // Both lines of each instruction.
    let both: String = new
        .lines()
        .map(|line| {
            format!("{} text\n{line}\n", line.split_inclusive(')').next().unwrap().replace(": 3 ", ": "))
        })
        .collect();
    assert!(both.starts_with("core   0: 0x0000000000001000 (0x00000297) text\n"), "{both}");
    assert_eq!(read(Kind::Spike, &both), expected);
}

#[test]
fn spike_rv32_and_cores() {
    let log = "core   1: 0x80000130 (0x03d79863) bne\n\
        core   0: 0xffffffff80000130 (0x03d79863) bne\n\
        core   1: 1 0x80000130 (0x03d79863)\n\
        core   0: 3 0x80000138 (0x00b6a72f) x14 0x7ffff800 mem 0x80002000 0xfffff800\n";
    let of = |core| all(&mut open(Kind::Spike, Xlen::Rv32, log).with_hart(core));
    let second = Retired { privilege: Some(Privilege::Supervisor), ..instruction(0x8000_0130, 0x3d7_9863) };
    assert_eq!(of(1), [second]);
    assert_eq!(all(&mut open(Kind::Spike, Xlen::Rv32, log)), [second]);
    let amo = committed(0x8000_0138, 0xb6_a72f, access(AccessKind::Amo, 4, 0x8000_2000, 0x7fff_f800));
    assert_eq!(of(0), [instruction(0x8000_0130, 0x3d7_9863), amo]);
    assert_eq!(of(2), []);
}

#[test]
fn spike_vector_lines_are_no_obstacle() {
    let log = "core   2: 3 0x80000214 (0x0203e407) e32 m1 l4 v8  0x00000000800000003f2aaaaa3f000000 \
               c8_vstart 0x00000000 mem 0x90002010 mem 0x90002020\n";
    let mut reader = open(Kind::Spike, Xlen::Rv32, log);
    assert_eq!(reader.next().unwrap(), Some(committed(0x8000_0214, 0x203_e407, None)));
}

#[test]
fn malformed_lines_are_located() {
    let spike = |log| error(Kind::Spike, log);
    assert_eq!(
        spike("\ncore   0: 0x1000 (0x297 auipc"),
        "line 2: expected an address and an instruction: 0x... (0x...), found \"0x1000 (0x297 auipc\""
    );
    assert_eq!(
        spike("core   0: 7 0x0 (0x0)"),
        "line 1: expected a privilege: 0, 1 or 3, found \"7 0x0 (0x0)\""
    );
    assert_eq!(
        spike("core   0: exception trap_nothing, epc 0x0"),
        "line 1: expected the name of a trap, found \"trap_nothing, epc 0x0\""
    );
    assert_eq!(
        spike("core   0: exception trap_breakpoint at 0x0"),
        "line 1: expected the name of a trap, found \"trap_breakpoint at 0x0\""
    );
    assert_eq!(
        spike("core   0: exception trap_breakpoint, epc 0x"),
        "line 1: expected epc and an address: , epc 0x..., found \"0x\""
    );
    assert_eq!(spike("core   0: 3 0x0 (0x3) mem"), "line 1: expected an address after mem, found \"mem\"");
    assert_eq!(
        spike("core   0: what is this"),
        "line 1: expected an instruction, a commit, an exception, a tval or a symbol, found \"what is this\""
    );
    let long = format!("core   0: {}\ncore   0: 0x10 (0x3)\n", " ".repeat(70_000));
    let mut reader = open(Kind::Spike, Xlen::Rv64, &long);
    let problem = reader.next().map_err(|error| (error.line, error.problem));
    assert!(matches!(problem, Err((1, LineProblem::TooLong(65536)))));
    assert_eq!(reader.next().unwrap(), Some(instruction(0x10, 3)));

    let csv = |rows: &str| error(Kind::Csv, &format!("{CSV}\n{rows}\n"));
    assert_eq!(csv("1,zz"), "line 2: expected a hexadecimal number (ADDRESS), found \"zz\"");
    assert_eq!(
        csv("1,0,0,0,0,0,0,0\n1,0,0,0,0,0,0"),
        "line 3: expected a hexadecimal number (TVAL), found \"0\""
    );
    assert_eq!(csv("1,0,0,2,0,0,0,0"), "line 2: expected 0, 1 or 3 (PRIVILEGE), found \"1,0,0,2,0,0,0,0\"");
    assert_eq!(csv("1,0,0,3,0,0,0,0,"), "line 2: expected 0 or 1 (INTERRUPT), found \"0,\"");
    let no_header = error(Kind::Csv, "1,0,0,3,0,0,0,0");
    assert!(no_header.starts_with("line 1: expected VALID,"), "{no_header}");

    let qemu = |log| error(Kind::Qemu, log);
    assert_eq!(qemu("Trace 0: 0x7f [0/4/0/1]"), "line 1: the program has no instruction at 0x4");
    assert!(qemu("Trace 0: 0x7f [0/0/0/0]").contains("-one-insn-per-tb"));
    assert!(qemu("Trace 0: 0x7f [0").contains("expected a CPU and its block"));

    let rvfi = |log| error(Kind::Rvfi, log);
    assert!(rvfi("SOME exception @ 0x0 (0x3)").contains("expected the name of an exception"));
    assert!(rvfi("Exception Cause: 5").contains("expected where it happened"));
    assert!(rvfi("12 0x10 X (0x3)").contains("expected cycle, address, mode"));
}

const CSV: &str = "VALID,ADDRESS,INSN,PRIVILEGE,EXCEPTION,ECAUSE,TVAL,INTERRUPT";

#[test]
fn csv_rows() {
    let log = format!(
        "{CSV}\n1,80000012,44000ef,3,0,0,0,0\n0,0,0,0,0,0,0,0\n1,8000005c,3a079073,3,1,2,7,0\n\
         1,80000038,716d,1,0,2,0,0\n\
         1,80000180,13,3,1,8000000000000007,0,1\n"
    );
    let mut reader = open(Kind::Csv, Xlen::Rv64, &log);
    let interrupt = Trap { interrupt: true, ..exception(0x8000_0180, 7, 0) };
    let expected = [
        committed(0x8000_0012, 0x440_00ef, None),
        Retired { trap: Some(exception(0x8000_005c, 2, 7)), ..committed(0x8000_005c, 0x3a07_9073, None) },
        Retired { privilege: Some(Privilege::Supervisor), ..instruction(0x8000_0038, 0x716d) },
        Retired { privilege: Some(Privilege::Machine), ..Retired::trap(interrupt) },
    ];
    assert_eq!(all(&mut reader), expected);
    assert_eq!(reader.skipped(), 1);
}

#[test]
fn cva6_at_the_formal_interface() {
    let log = "*** [rvfi_tracer] WARNING No valid address of 'tohost' (tohost == 0x0)\n\
        core   0: 0x0000000000010000 (0x00100413) DASM(00100413)\n\
        3 0x0000000000010000 (0x00100413) x 8 0x0000000000000001\n\
        core   0: 0x0000000000010004 (0x0002b203) @       77 DASM(0002b203)\n\
        3 0x0000000000010004 (0x0002b203) x 4 0x0000000000000009 mem 0x0000000080002428\n\
        core   0: 0x0000000000010008 (0x00008202) c.jr    tp\n\
        3 0x0000000000010008 (0x8202)\n\
        core   0: 0x000000000001000a (0x00628023) DASM(00628023)\n\
        3 0x000000000001000a (0x00628023) mem 0x0000000080002000 0x1122334455667788\n\
        LD_ACCESS_FAULT exception @ 0x000000000001000e (0x0002b203)\n\
        core   0: 0x0000000000020000 (0x00000013) DASM(00000013)\n\
        3 0x0000000000020000 (0x00000013)\n\
        core   INTERRUPT 0: 0x0000000000030000 (0x00000013) DASM(00000013)\n\
        3 0x0000000000030000 (0x00000013)\n";
    let expected = [
        committed(0x10000, 0x10_0413, None),
        Retired {
            cycle: Some(77),
            ..committed(0x10004, 0x2_b203, access(AccessKind::Load, 8, 0x8000_2428, 9))
        },
        committed(0x10008, 0x8202, None),
        committed(0x1000a, 0x62_8023, access(AccessKind::Store, 1, 0x8000_2000, 0x88)),
        Retired::trap(exception(0x1000e, 5, 0)),
        committed(0x20000, 0x13, None),
        Retired::trap(Trap { interrupt: true, ..exception(0x20004, UNTOLD, 0) }),
        committed(0x30000, 0x13, None),
    ];
    assert_eq!(read(Kind::Rvfi, log), expected);
}

#[test]
fn cva6_at_the_commit_stage() {
    let log = "                  73 0x10000 M (0x00000297) DASM(00000297)\n\
        88 0x40000382 U (0x00001517) auipc   a0, 0x1\n\
        1 0x40000386 S (0x00004505) DASM(00004505)\n\
        Exception Cause: Illegal Instructions, DASM(00000000) PC=0000000040000388\n\
        Exception Cause:     5, DASM(00000000) PC=0000000040000388\n\
        Exception Cause: 9223372036854775815, DASM(00000000) PC=0000000040000388\n";
    let at = |privilege, cycle, pc, bits| Retired {
        privilege: Some(privilege),
        cycle: Some(cycle),
        ..instruction(pc, bits)
    };
    let expected = [
        at(Privilege::Machine, 73, 0x10000, 0x297),
        at(Privilege::User, 88, 0x4000_0382, 0x1517),
        at(Privilege::Supervisor, 1, 0x4000_0386, 0x4505),
        Retired::trap(exception(0x4000_0388, 2, 0)),
        Retired::trap(exception(0x4000_0388, 5, 0)),
        Retired::trap(Trap { interrupt: true, ..exception(0x4000_0388, 7, 0) }),
    ];
    let read = read(Kind::Rvfi, log);
    assert_eq!(read, expected);

    // Cycles and everything else survive the conversion to blocks.
    let mut again = Vec::new();
    let mut blocks = Blocks::new(Xlen::Rv64, Retirements::new(|retired: &Retired| again.push(*retired)));
    read[..3].iter().for_each(|retired| blocks.take(retired));
    blocks.finish();
    assert_eq!(again, expected[..3]);
}

#[test]
fn qemu_lines() {
    // 7.2, 8 and later, and without the fourth number; a block that did not run; another CPU.
    let log = "Trace 0: 0x7f827c000100 [0000000000000000/0000000000010144/00207600/00000201] _start\n\
        Trace 0: 0x7f827c000240 [00000000/0000000000010146/00101000/ff021201] a symbol\n\
        cpu_exec: something else\n\
        Stopped execution of TB chain before 0x7f827c000240 [0000000000010146] a symbol\n\
        Trace 1: 0x7f827c000240 [00000000/0000000000000000/00101000/ff021201] \n\
        Trace 0: 0x7f827c000240 [00000000/0000000000010146/00101000/ff021201] a symbol\n\
        Trace 0: 0x7f827c000240 [00000000/000000000001014a/00101000] a symbol\n";
    let mut reader = open(Kind::Qemu, Xlen::Rv64, log);
    let call = Trap { next: 0x1014e, served: true, ..exception(0x1014a, 8, 0) };
    let expected = [
        instruction(0x10144, 0x1141),
        instruction(0x10146, 0x13),
        Retired { trap: Some(call), ..instruction(0x1014a, 0x73) },
    ];
    assert_eq!(all(&mut reader), expected);
    assert_eq!((reader.skipped(), reader.of_others()), (1, 1));
}

#[test]
fn kinds_are_told_apart() {
    let cases: &[(&[u8], Option<Kind>)] = &[
        (b"", None),
        (b"hello\nworld\n", None),
        (b"VALID,ADDRESS,INSN,PRIVILEGE,EXCEPTION,ECAUSE,TVAL,INTERRUPT\r\n", Some(Kind::Csv)),
        (b"warning\ncore   0: 0x80000000 (0x00000297) auipc   t0, 0x0\n", Some(Kind::Spike)),
        (b"core   0: 3 0x0000000080000000 (0x00000297) x5  0x0000000080000000\n", Some(Kind::Spike)),
        (b"3 0x0000000080000000 (0x00000297) x 5 0x0000000080000000\n", Some(Kind::Spike)),
        (b"core   0: 0x80000000 (0x00000297) DASM(00000297)\n", Some(Kind::Rvfi)),
        (b"      73 0x10000 M (0x00000297) DASM(00000297)\n", Some(Kind::Rvfi)),
        (b"73 0x10000 M (0x00000297) auipc\n", Some(Kind::Rvfi)),
        (b"Trace 0: 0x7f827c000100 [0/0/0/0] _start\n", Some(Kind::Qemu)),
    ];
    for (start, kind) in cases {
        assert_eq!(detect(start), *kind, "{}", String::from_utf8_lossy(start));
    }
}

#[test]
fn blocks_of_instructions_and_back() {
    let load = access(AccessKind::Load, 8, 0x2000, 7);
    let in_user = |retired: Retired| Retired { privilege: Some(Privilege::User), ..retired };
    let interrupt = Trap { interrupt: true, next: 0x9000, ..exception(0x100a, 7, 0) };
    let call = Trap { served: true, next: 0x110, ..exception(0x10c, 8, 0) };
    let run = [
        in_user(instruction(0x100, 0x13)),
        in_user(Retired { access: load, ..instruction(0x104, 0x2_b203) }),
        // bne, not taken; then ecall, served; then bne, taken.
        in_user(instruction(0x108, 0x3d7_9863)),
        in_user(Retired::trap(call)),
        in_user(instruction(0x110, 0xfed7_9ce3)),
        // c.j
        in_user(instruction(0x108, 0xa801)),
        in_user(instruction(0x1008, 0x4131)),
        in_user(Retired::trap(interrupt)),
        committed(0x9000, 0x3020_0073, None),
        in_user(instruction(0x100a, 0x4131)),
    ];
    let mut blocks = Blocks::new(Xlen::Rv64, Record::default());
    run.iter().for_each(|retired| blocks.take(retired));
    let record = blocks.finish();
    let told = &record.0;

    let summary: Vec<_> = told
        .iter()
        .filter_map(|told| match told {
            Told::Block(block) => Some((block.start, block.end, block.count, block.ended)),
            _ => None,
        })
        .collect();
    let expected = [
        (0x100, 0x10c, 3, Ended::NotTaken),
        (0x110, 0x114, 1, Ended::Taken),
        (0x108, 0x10a, 1, Ended::Taken),
        (0x1008, 0x100a, 1, Ended::Cut),
        (0x9000, 0x9004, 1, Ended::Taken),
        (0x100a, 0x100c, 1, Ended::Cut),
    ];
    assert_eq!(summary, expected);
    assert_eq!(record.traps(), [call, interrupt]);
    assert_eq!(told[0], Told::Privilege(Privilege::User));
    assert_eq!(told[2], Told::Access(Access { index: 1, ..load.unwrap() }));

    let mut again = Vec::new();
    let mut retirements = Retirements::new(|retired: &Retired| again.push(*retired));
    told.iter().for_each(|told| told.tell(&mut retirements));
    assert_eq!(again, run);
}

/// Where a line does not follow from the one before it, instructions are missing, or the log is not of what ran.
#[test]
fn lines_follow_from_each_other() {
    let error = |lines: &str| {
        let log = format!("{CSV}\n{}\n", lines.replace(' ', ",3,0,0,0,0\n").replace(';', "\n"));
        let mut reader = open(Kind::Csv, Xlen::Rv64, &log).in_sequence();
        loop {
            match reader.next() {
                Ok(Some(_)) => {}
                Ok(None) => return None,
                Err(error) => return Some(error.to_string()),
            }
        }
    };
    // bnez at 8, back by 4: taken, and not.
    assert_eq!(error("1,4,13 1,8,fe029ee3 1,4,13 1,8,fe029ee3 1,c,8067 1,0,13 "), None);
    let branch =
        "line 3: does not follow from line 2: after the instruction at 0x8 comes 0xc or 0x4, not 0x100";
    assert_eq!(error("1,8,fe029ee3 1,100,13 ").as_deref(), Some(branch));
    let jump = "line 3: does not follow from line 2: after the instruction at 0x4 comes 0x14, not 0x8";
    assert_eq!(error("1,4,100006f 1,8,13 ").as_deref(), Some(jump));
    let hole = "line 3: does not follow from line 2: after the instruction at 0x4 comes 0x8, not 0x10";
    assert_eq!(error("1,4,13 1,10,13 ").as_deref(), Some(hole));
    // An exception leads anywhere, but has to be reached; so does an interrupt, wherever it is taken.
    assert_eq!(error("1,4,13 1,8,73,3,1,b,0,0;1,100,13 "), None);
    assert!(error("1,4,13 1,10,73,3,1,b,0,0;1,100,13 ").is_some());
    assert_eq!(error("1,4,13 1,20,0,3,1,7,0,1;1,100,13 "), None);
}

/// Other logs leave out traps: there an instruction that does not follow is a gap. The lines are those of the instructions, although
/// each is returned when the next line was read.
#[test]
fn an_instruction_that_does_not_follow_is_a_gap() {
    let line = |pc: u64| format!("core   0: 3 {pc:#x} (0x00000013)\n");
    let gaps = |log: &str| {
        let mut reader = open(Kind::Spike, Xlen::Rv64, log).in_sequence();
        let next =
            || reader.next().unwrap().map(|retired| (retired.pc, reader.gap().map(ToString::to_string)));
        std::iter::from_fn(next).collect::<Vec<_>>()
    };
    let why = "line 3: does not follow from line 2: after the instruction at 0x4 comes 0x8, not 0x10";
    let log = [0, 4, 0x10, 0x14].map(line).concat();
    assert_eq!(gaps(&log), [(0, None), (4, None), (0x10, Some(why.to_owned())), (0x14, None)]);
    // An interrupt explains it, and the last instruction is compared, too.
    let log = [&line(0), "core   0: exception interrupt #7, epc 0x4\n", &line(0x100), &line(0)].concat();
    let gaps = gaps(&log);
    assert_eq!(gaps.iter().filter(|(_, gap)| gap.is_some()).count(), 1);
    assert!(gaps[3].1.as_ref().is_some_and(|gap| gap.starts_with("line 4: does not follow from line 3")));
}

/// What is nearly right says what it has to be.
#[test]
fn csv_says_what_it_has_to_be() {
    let head = CSV.to_lowercase();
    let found = wrong_header(format!("{head}\n1,4,13,3,0,0,0,0\n").as_bytes()).unwrap().to_string();
    assert!(found.starts_with(&format!("line 1: expected {CSV}, found \"valid,")), "{found}");
    assert!(wrong_header(b"name,address\n").is_none() && wrong_header(CSV.as_bytes()).is_none());
    let prefixed = error(Kind::Csv, &format!("{CSV}\n1,0x80000000,13,3,0,0,0,0\n"));
    assert_eq!(prefixed, "line 2: expected hexadecimal digits without 0x, found \"0x80000000\"");
}
