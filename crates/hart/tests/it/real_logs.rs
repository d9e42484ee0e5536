//! Readers on logs that simulators wrote.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{self, How, contents};
use tracewright_core::{Block, Ended, Flow};
use tracewright_hart::log::own::Writer;
use tracewright_hart::log::{Kind, Reader, detect, own};
use tracewright_hart::{Blocks, HartSink, Retired, Retirements, Stop, Trap};
use tracewright_isa::riscv::{Xlen, decode};
use tracewright_testkit::{Scratch, captures_for, skip};

/// Counts reports, and whether the instructions explain where execution continued.
#[derive(Debug)]
struct Count {
    xlen: Xlen,
    instructions: u64,
    blocks: u64,
    traps: u64,
    /// Blocks after which execution continued at an impossible address.
    gaps: u64,
    last_bits: u32,
    /// Only possible next address, if known.
    next: Option<u64>,
}

impl Count {
    fn new(xlen: Xlen) -> Self {
        Self { xlen, instructions: 0, blocks: 0, traps: 0, gaps: 0, last_bits: 0, next: None }
    }

    fn at(&mut self, pc: u64) {
        self.gaps += u64::from(self.next.take().is_some_and(|next| next != pc));
    }
}

impl HartSink for Count {
    const INSTRUCTIONS: bool = true;

    fn instructions(&mut self, bits: &[u32]) {
        self.last_bits = *bits.last().unwrap();
    }

    fn block(&mut self, block: &Block) {
        self.at(block.start);
        self.instructions += u64::from(block.count);
        self.blocks += 1;
        let last = decode(self.xlen, self.last_bits);
        assert_eq!((last.class(), last.len), (block.class, block.last_len));
        self.next = match (block.ended, block.class.flow) {
            (Ended::Taken, Flow::Direct) if self.xlen == Xlen::Rv32 => {
                Some(last.target(block.last()) & 0xffff_ffff)
            }
            (Ended::Taken, Flow::Direct) => Some(last.target(block.last())),
            (Ended::Taken, _) => None,
            _ => Some(block.end),
        };
    }

    fn trap(&mut self, trap: &Trap) {
        self.at(trap.pc);
        self.traps += 1;
        self.next = Some(trap.next);
    }
}

/// Each line is an instruction of a block, or a trap; nothing is missing between them.
#[test]
fn retirement_traces_in_csv() {
    const NAME: &str = "retirement_traces_in_csv";
    let Some(folder) = captures_for(NAME, "riscv/etrace/spike_pc_trace") else { return };
    let (mut files, mut instructions, mut blocks, mut traps) = (0, 0, 0, 0);
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let Some(text) = contents(NAME, &path) else { return };
        assert_eq!(detect(&text.as_bytes()[..text.len().min(4096)]), Some(Kind::Csv), "{path:?}");
        let lines = text.lines().filter(|line| !line.is_empty()).count() as u64 - 1;
        let is_trap = |line: &&str| line.split(',').nth(4) == Some("1");
        let trap_lines = text.lines().skip(1).filter(is_trap).count() as u64;
        let mut reader = Reader::new(Kind::Csv, xlen(&path), text.as_bytes(), |_| None);
        let mut sink = Blocks::new(xlen(&path), Count::new(xlen(&path)));
        while let Some(retired) = reader.next().unwrap_or_else(|error| panic!("{path:?}: {error}")) {
            sink.take(&retired);
        }
        let count = sink.finish();
        assert_eq!(reader.skipped(), 0, "{path:?}");
        assert_eq!(count.traps, trap_lines, "{path:?}");
        assert_eq!(count.instructions + count.traps, lines, "{path:?}");
        assert_eq!(count.gaps, 0, "{path:?}");
        if lines < 400_000 {
            through_our_own_log(xlen(&path), &text);
        }
        files += 1;
        instructions += count.instructions;
        blocks += count.blocks;
        traps += count.traps;
    }
    assert_eq!((files, instructions, blocks, traps), (17, 13_765_249, 1_844_809, 43));
}

/// Our own log of a trace gives the same reports, and takes less than a byte per instruction.
fn through_our_own_log(xlen: Xlen, text: &str) {
    let mut reader = Reader::new(Kind::Csv, xlen, text.as_bytes(), |_| None);
    let mut blocks = Blocks::new(xlen, Writer::<_, true, true>::new(Vec::new(), xlen).unwrap());
    let mut expected = Vec::new();
    while let Some(retired) = reader.next().unwrap() {
        blocks.take(&retired);
        expected.push(without_next(&retired));
    }
    let log = blocks.finish().finish().unwrap();
    let mut again = Vec::new();
    let mut retirements = Retirements::new(|retired: &Retired| again.push(without_next(retired)));
    own::Reader::new(&log[..]).unwrap().read(&mut retirements).unwrap();
    assert!(again == expected);
    let lines = text.lines().count();
    assert!(lines < 10_000 || log.len() < lines, "{} {lines}", log.len());
}

/// Removes what only one side has: the bits of an instruction that did not retire, and the address after it.
fn without_next(retired: &Retired) -> Retired {
    match retired.trap {
        Some(trap) => Retired { privilege: retired.privilege, ..Retired::trap(Trap { next: 0, ..trap }) },
        None => *retired,
    }
}

/// Returns the register width of the program of a trace, which lies beside it.
fn xlen(trace: &Path) -> Xlen {
    let name = trace.file_name().unwrap().to_str().unwrap().split('.').next().unwrap();
    let program = trace.ancestors().nth(3).unwrap().join("elf").join(format!("{name}.riscv"));
    match fs::read(program) {
        Ok(bytes) if bytes.get(4) == Some(&1) => Xlen::Rv32,
        _ => Xlen::Rv64,
    }
}

/// Loops, calls through pointers, recursion, a jump table and system calls, without any library.
const PROGRAM: &str = r#"
static long call(long number, long a, long b, long c) {
    register long a7 asm("a7") = number, a0 asm("a0") = a, a1 asm("a1") = b, a2 asm("a2") = c;
    asm volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory");
    return a0;
}
__attribute__((noinline)) static long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__attribute__((noinline)) static long twice(long n) { return 2 * n; }
static long (*volatile functions[])(long) = {fib, twice};
__attribute__((noinline)) static long pick(long n) {
    switch (n % 7) {
    case 0: return n * 3;
    case 1: return n ^ 5;
    case 2: return n - 1;
    case 3: return n / 3;
    case 4: return n << 2;
    case 5: return ~n;
    default: return 0;
    }
}
void _start(void) {
    volatile long sum = 0;
    for (long i = 0; i < 14; i++) {
        sum += functions[i & 1](i) + pick(i);
        if (i % 5 == 0) call(64, 1, (long)".", 1);
    }
    call(93, sum & 63, 0, 0);
    for (;;) ;
}
"#;

/// What QEMU logs is a possible execution of the program.
#[test]
fn qemu_runs_a_program() {
    let scratch = Scratch::new("real-logs");
    let [source, program, log] = ["program.c", "program", "log"].map(|name| scratch.path().join(name));
    fs::write(&source, PROGRAM).unwrap();
    let mut compiler = Command::new("riscv64-linux-gnu-gcc");
    compiler.args(["-O2", "-static", "-nostdlib", "-ffreestanding", "-o"]).arg(&program).arg(&source);
    if !matches!(compiler.output(), Ok(output) if output.status.success()) {
        return skip("qemu_runs_a_program", "no riscv64-linux-gnu-gcc");
    }
    let run = |option| {
        let mut qemu = Command::new("qemu-riscv64");
        qemu.args([option, "-d", "exec,nochain", "-D"]).arg(&log).arg(&program).output()
    };
    let outputs = ["-singlestep", "-one-insn-per-tb"].map(run);
    let Some(output) = outputs.iter().flatten().find(|output| output.stdout == b"...") else {
        return skip("qemu_runs_a_program", "no qemu-riscv64");
    };
    let text = fs::read(&log).unwrap();
    let elf = fs::read(&program).unwrap();
    let ours = on_our_hart(&program);

    assert_eq!(detect(&text[..4096]), Some(Kind::Qemu));
    let lines = text.split(|&byte| byte == b'\n').filter(|line| line.starts_with(b"Trace ")).count() as u64;
    let mut reader = Reader::new(Kind::Qemu, Xlen::Rv64, &text[..], |pc| code(&elf, pc));
    let mut blocks = Blocks::new(Xlen::Rv64, Count::new(Xlen::Rv64));
    let mut theirs = Vec::new();
    while let Some(retired) = reader.next().unwrap() {
        blocks.take(&retired);
        theirs.push((retired.pc, retired.trap.is_some()));
    }
    let ours: Vec<_> = ours.iter().map(|retired| (retired.pc, retired.trap.is_some())).collect();
    assert!(ours == theirs);
    let count = blocks.finish();
    assert_eq!((reader.skipped(), reader.of_others(), count.gaps), (0, 0, 0));
    // Three dots, and the end.
    assert_eq!(count.traps, 4);
    assert_eq!(count.instructions + count.traps, lines);
    assert!(lines > 2000, "{lines}");
    // The sum that the program computes, as a check that it ran correctly.
    assert_eq!(output.status.code(), Some(expected_status()));
}

/// Returns what our hart retires in a program. The same comes back from our own log of it, and from its conversion to blocks.
fn on_our_hart(program: &Path) -> Vec<Retired> {
    let mut direct = Vec::new();
    let ran = support::run(
        program,
        &How::default(),
        // Logs have no registers.
        &mut Retirements::new(|retired: &Retired| direct.push(Retired { register: None, ..*retired })),
    );
    assert_eq!(ran.stop, Stop::Exit { status: expected_status() });

    let mut writer = Writer::<_, true, true>::new(Vec::new(), Xlen::Rv64).unwrap();
    support::run(program, &How::default(), &mut writer);
    let log = writer.finish().unwrap();
    let mut from_log = Vec::new();
    let mut retirements = Retirements::new(|retired: &Retired| from_log.push(*retired));
    own::Reader::new(&log[..]).unwrap().read(&mut retirements).unwrap();
    assert!(from_log == direct);

    let mut from_blocks = Vec::new();
    let mut blocks =
        Blocks::new(Xlen::Rv64, Retirements::new(|retired: &Retired| from_blocks.push(*retired)));
    direct.iter().for_each(|retired| blocks.take(retired));
    blocks.finish();
    assert!(from_blocks == direct);
    direct
}

fn expected_status() -> i32 {
    fn fib(n: i64) -> i64 {
        if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
    }
    let pick = |n: i64| match n % 7 {
        0 => n * 3,
        1 => n ^ 5,
        2 => n - 1,
        3 => n / 3,
        4 => n << 2,
        5 => !n,
        _ => 0,
    };
    let sum: i64 = (0..14).map(|i| if i & 1 == 0 { fib(i) } else { 2 * i } + pick(i)).sum();
    (sum & 63) as i32
}

/// Returns the four bytes at an address of a 64-bit program, according to its program headers.
fn code(elf: &[u8], pc: u64) -> Option<u32> {
    let number = |at: usize, len: usize| {
        elf[at..at + len].iter().rev().fold(0_u64, |value, &byte| value << 8 | u64::from(byte))
    };
    let (headers, size, count) = (number(32, 8) as usize, number(54, 2) as usize, number(56, 2) as usize);
    (0..count).map(|index| headers + index * size).find_map(|header| {
        let (offset, start, len) = (number(header + 8, 8), number(header + 16, 8), number(header + 32, 8));
        let is_there = number(header, 4) == 1 && pc >= start && pc - start < len;
        let at = (offset + pc.wrapping_sub(start)) as usize;
        is_there.then(|| number(at, 4.min(elf.len() - at)) as u32)
    })
}
