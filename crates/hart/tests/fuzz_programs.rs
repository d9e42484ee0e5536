//! Machines running arbitrary programs. Each body is a plain function, for `cargo test` and for a fuzzer.

use std::path::PathBuf;

use tracewright_core::{Block, DataAccess, DataKind, Ended};
use tracewright_hart::bare::{self, Bare};
use tracewright_hart::{Access, Core, Hart, HartSink, Machine, Stop, Trap};
use tracewright_isa::riscv::{AccessKind, Xlen, decode};
use tracewright_testkit::{Rng, Scratch};

#[path = "it/support/elf.rs"]
mod elf;

use elf::elf;

const RAM: u64 = 0x8000_0000;
/// Address of page tables.
const TABLE: u64 = RAM + 0x8000;
/// Maximum number of instructions that a program runs.
const LIMIT: u64 = 20_000;

/// Checks that a machine's reports are consistent, and keeps a checksum of them.
#[derive(Default)]
struct Check {
    is_rv32: bool,
    bits: Vec<u32>,
    accesses: Vec<Access>,
    data: Vec<(u64, DataAccess)>,
    /// Address where execution must continue, if known.
    at: Option<u64>,
    /// Set after a block was cut: a trap or the end must follow.
    cut: bool,
    retired: u64,
    /// Lowest and highest address of code.
    code: (u64, u64),
    /// Checksums of instructions and traps, and of accesses. They do not depend on where blocks are cut.
    sums: [u64; 2],
}

impl Check {
    fn new(core: &Core) -> Self {
        Self { is_rv32: core.is_rv32, at: Some(core.pc), code: (u64::MAX, 0), ..Self::default() }
    }

    /// Checks that data trace reports are those of accesses, CSR instructions and failed store-conditionals.
    fn compare_data(&mut self, pcs: &[u64], block: &Block) {
        let mut accesses = self.accesses.iter();
        let mut next = 0;
        for (pc, access) in self.data.drain(..) {
            let at = pcs[next..].iter().position(|&at| at == pc);
            let index = next + at.unwrap_or_else(|| panic!("{pc:#x} {access} {block:x?}"));
            next = index + 1;
            let kind = match access.kind {
                DataKind::Load => AccessKind::Load,
                DataKind::Store => AccessKind::Store,
                DataKind::Atomic(_) => AccessKind::Amo,
                _ => continue,
            };
            let (address, value) = (access.address.unwrap(), access.value.unwrap());
            let told = Access { index: index as u32, kind, size: access.size, address, value };
            assert_eq!(accesses.next(), Some(&told), "{block:x?}");
        }
        assert_eq!(accesses.next(), None, "{block:x?}");
    }

    fn add(&mut self, which: usize, value: u64) {
        self.sums[which] = (self.sums[which] ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
}

impl HartSink for Check {
    const ACCESSES: bool = true;
    const DATA: bool = true;
    const INSTRUCTIONS: bool = true;

    fn data(&mut self, pc: u64, access: &DataAccess) {
        for value in [access.value, access.operand].into_iter().flatten() {
            assert_eq!(access.truncated(value), value, "{access}");
        }
        self.data.push((pc, *access));
    }

    fn access(&mut self, access: &Access) {
        assert!(matches!(access.size, 1 | 2 | 4 | 8), "{access:x?}");
        assert!(access.size == 8 || access.value >> (8 * access.size) == 0, "{access:x?}");
        assert!(self.accesses.last().is_none_or(|last| last.index < access.index), "{access:x?}");
        self.accesses.push(*access);
    }

    fn instructions(&mut self, bits: &[u32]) {
        self.bits.extend(bits);
    }

    fn block(&mut self, block: &Block) {
        assert!(!self.cut, "nothing tells why the block before {block:x?} was cut");
        assert!(block.count > 0 && self.bits.len() == block.count as usize, "{block:x?} {:x?}", self.bits);
        assert!(self.at.is_none_or(|at| at == block.start), "{block:x?}, expected at {:x?}", self.at);
        let xlen = if self.is_rv32 { Xlen::Rv32 } else { Xlen::Rv64 };
        let mask = if self.is_rv32 { 0xffff_ffff } else { u64::MAX };
        let mut pc = block.start;
        let (mut last, mut last_at) = (None, pc);
        let mut pcs = Vec::new();
        for bits in std::mem::take(&mut self.bits) {
            pcs.push(pc);
            assert!(!last.is_some_and(|(class, _): (tracewright_core::Class, _)| class.ends_block()));
            let instruction = decode(xlen, bits);
            let class = match &last {
                Some((_, previous)) => instruction.class_after(previous),
                None => instruction.class(),
            };
            last = Some((class, instruction));
            last_at = pc;
            pc = pc.wrapping_add(instruction.len.into()) & mask;
            self.add(0, pc);
            self.add(0, bits.into());
        }
        assert_eq!(pc, block.end, "{block:x?}");
        let (class, instruction) = last.unwrap();
        assert_eq!(instruction.len, block.last_len, "{block:x?}");
        self.compare_data(&pcs, block);
        for access in std::mem::take(&mut self.accesses) {
            assert!(access.index < block.count, "{access:x?} {block:x?}");
            self.add(1, access.address);
            self.add(1, access.value);
        }
        self.at = match block.ended {
            Ended::Cut => Some(block.end),
            Ended::NotTaken => Some(block.end),
            Ended::Taken if class.flow == tracewright_core::Flow::Direct => {
                Some(instruction.target(last_at) & mask)
            }
            _ => None,
        };
        self.cut = block.ended == Ended::Cut;
        match block.ended {
            Ended::Cut => assert!(!class.ends_block(), "{block:x?}"),
            Ended::Taken => assert!(class.is_branch() && class == block.class, "{block:x?}"),
            Ended::NotTaken => assert!(class.conditional && class == block.class, "{block:x?}"),
            Ended::Through => panic!("{block:x?}"),
        }
        self.code = (self.code.0.min(block.start), self.code.1.max(block.end));
        self.retired += u64::from(block.count);
    }

    fn trap(&mut self, trap: &Trap) {
        assert!(self.at.is_none_or(|at| at == trap.pc), "{trap:x?}, expected at {:x?}", self.at);
        assert!(self.bits.is_empty() && self.accesses.is_empty() && self.data.is_empty(), "{trap:x?}");
        assert!(trap.cause < 64, "{trap:x?}");
        [trap.pc, trap.cause, trap.value, trap.next].into_iter().for_each(|value| self.add(0, value));
        self.at = Some(trap.next);
        self.cut = false;
    }
}

/// Runs a machine at once, and its twin a few instructions at a time; both do the same. Exception: a program that
/// changes its code (or the page table before it), since without FENCE.I it is not defined when that is seen.
fn run<M: Machine>(mut make: impl FnMut() -> (Core, M), rng: &mut Rng, code: std::ops::Range<u64>) {
    let mut ends = Vec::new();
    for slices in [false, true] {
        let (mut core, machine) = make();
        let before = bytes(&mut core, &code);
        let mut check = Check::new(&core);
        let mut hart = Hart::new(core, machine);
        let mut stop = Stop::Limit;
        let mut limit = 0;
        while stop == Stop::Limit && limit < LIMIT {
            limit = if slices { (limit + 1 + rng.sized(10)).min(LIMIT) } else { LIMIT };
            stop = hart.run(limit, &mut check);
            // The end of a run cuts a block.
            check.cut = false;
            assert_eq!(check.retired, hart.core.instret);
            assert!(check.retired <= LIMIT && check.bits.is_empty() && check.accesses.is_empty());
            assert!(check.at.is_none_or(|at| at == hart.core.pc || stop != Stop::Limit));
        }
        let x = hart.core.x[..32].to_vec();
        assert_eq!(x[0], 0);
        if hart.core.is_rv32 {
            assert!(x.iter().all(|&value| value == value as i32 as i64 as u64), "{x:x?}");
        }
        if check.code.0 < code.start || check.code.1 > code.end || bytes(&mut hart.core, &code) != before {
            return;
        }
        ends.push((check.sums, hart.core.instret, hart.core.pc, x, hart.core.f, hart.core.fcsr, stop));
    }
    assert_eq!(ends[0], ends[1]);
}

/// Returns the contents of memory without the page table bits that the machine itself sets.
fn bytes(core: &mut Core, range: &std::ops::Range<u64>) -> Vec<Option<u64>> {
    let mask = |at: u64| if (TABLE..TABLE + 0x1000).contains(&at) { !0xc0_0000_00c0 } else { u64::MAX };
    let word = |at: u64| core.memory.peek::<8>(at).map(|bytes| u64::from_le_bytes(bytes) & mask(at));
    range.clone().step_by(8).map(word).collect()
}

/// Returns a value near something interesting.
fn value(rng: &mut Rng) -> u64 {
    let base = *rng.pick(&[
        0,
        RAM,
        RAM + 0x1000,
        TABLE,
        RAM + 0x10_0000,
        0xffff_ffff,
        0x1_0000_0000,
        0x0200_0000,
        0x0200_4000,
        0x0200_bff8,
        0x0c20_0000,
        0x1000_0000,
        1 << 38,
        1 << 47,
        1 << 63,
        u64::MAX,
        0x8000_0000_0008_0008,
        0x9000_0000_0008_0008,
        0x8008_0008,
        0x2000_0000,
    ]);
    match rng.below(4) {
        0 => base,
        1 => rng.next_u64(),
        2 => rng.sized(64),
        _ => base.wrapping_add(rng.below(64)).wrapping_sub(32),
    }
}

/// Runs any bytes on a bare machine, as an ELF file or as its code. The first eight bytes choose which, and the registers.
pub fn bare_program(data: &[u8]) {
    let Some((seed, bytes)) = data.split_first_chunk() else { return };
    let seed = u64::from_le_bytes(*seed);
    let mut rng = Rng::new(seed);
    let (is_file, is_rv32, pages) = (seed % 4 == 0, seed & 4 == 0, seed & 8 == 0);
    let mut options = bare::Options {
        memory: 0x10_0000,
        limit: 4 << 20,
        misaligned: rng.one_in(2),
        arguments: vec!["a".into()],
        ..bare::Options::default()
    };
    for i in 0..rng.below(4) {
        options.external.push((i * 1000 + rng.below(1000), rng.one_in(2)));
    }
    let file = if is_file { bytes.to_vec() } else { elf(is_rv32, RAM, bytes) };
    // RV32's last page, so that execution can continue at 0.
    options.more_memory.push((0xffff_f000, 0x1000));
    if !is_file {
        options.entry = Some(if rng.one_in(8) { extreme(&mut rng) } else { RAM });
    }
    let x: Vec<u64> = (0..32).map(|_| value(&mut rng)).collect();
    let table: Vec<u64> = (0..512).map(|_| page_table_entry(&mut rng, is_rv32)).collect();
    let make = || {
        let (mut core, machine) = Bare::new(&file, &options, Box::new(std::io::sink())).ok()?;
        if !is_file {
            for (register, &value) in core.x[1..32].iter_mut().zip(&x) {
                *register = if is_rv32 { value as i32 as i64 as u64 } else { value };
            }
            let tail = &bytes[..bytes.len().min(0x800) & !3];
            let _ = core.memory.load(0x1_0000_0000 - tail.len() as u64, tail);
            if pages {
                let size = if is_rv32 { 4 } else { 8 };
                let bytes: Vec<u8> =
                    table.iter().flat_map(|entry| entry.to_le_bytes()[..size].to_vec()).collect();
                let _ = core.memory.load(TABLE, &bytes);
            }
        }
        Some((core, machine))
    };
    match Bare::new(&file, &options, Box::new(std::io::sink())) {
        Ok(_) => run(|| make().unwrap(), &mut rng, RAM..TABLE + 0x1000),
        Err(error) => assert!(error.to_string().len() < 500),
    }
}

/// Returns an address at an end of something, where counting overflows or where markers may be.
fn extreme(rng: &mut Rng) -> u64 {
    let base =
        *rng.pick(&[0, u64::MAX, 0xffff_ffff, 0xffff_f800, 1 << 63, 1 << 38, 1 << 47, RAM + 0x10_0000]);
    if rng.one_in(2) { base } else { base.wrapping_add(rng.below(8)).wrapping_sub(4) }
}

/// Returns a page table entry that is often good.
fn page_table_entry(rng: &mut Rng, is_rv32: bool) -> u64 {
    let page = match rng.below(6) {
        0 => rng.next_u64() & 0xfff_ffff_ffff,
        1 | 2 => TABLE >> 12,
        // A large page of the highest level.
        3 => RAM >> 12,
        _ => (RAM >> 12) + rng.below(32),
    };
    let any = rng.next_u64() & 0x3ff;
    let flags = *rng.pick(&[0x01, 0xcf, 0xdf, 0xcf, 0xdf, 0xff, 0x0f, 0x1b, any]);
    let high = if rng.one_in(20) { rng.next_u64() << 54 } else { 0 };
    let entry = page << 10 | flags | high;
    if is_rv32 { entry & 0xffff_ffff } else { entry }
}

/// Returns a register, more often one of few.
fn register(rng: &mut Rng) -> u32 {
    if rng.one_in(3) { rng.below(32) as u32 } else { 5 + rng.below(4) as u32 }
}

const CSRS: &[u32] = &[
    0x001, 0x002, 0x003, 0x100, 0x104, 0x105, 0x106, 0x140, 0x141, 0x142, 0x144, 0x180, 0x300, 0x300, 0x300,
    0x301, 0x302, 0x303, 0x304, 0x305, 0x306, 0x30a, 0x310, 0x320, 0x340, 0x341, 0x341, 0x342, 0x343, 0x344,
    0x3a0, 0x3a1, 0x3a2, 0x3b0, 0x3b1, 0x3b2, 0x3bf, 0x7a0, 0xb00, 0xb02, 0xb80, 0xb82, 0xc00, 0xc01, 0xc02,
    0xc80, 0xf14,
];

/// Returns an instruction, more often one that can do harm.
fn instruction(rng: &mut Rng) -> u32 {
    let (rd, rs1, rs2) = (register(rng), register(rng), register(rng));
    let imm = rng.below(4096) as u32;
    match rng.below(20) {
        0..5 => {
            let csr = if rng.one_in(20) { imm } else { *rng.pick(CSRS) };
            csr << 20 | rs1 << 15 | *rng.pick(&[1, 2, 3, 5, 6, 7]) << 12 | rd << 7 | 0x73
        }
        5 => *rng.pick(&[0x3020_0073, 0x1020_0073, 0x1050_0073, 0x1200_0073, 0x100f, 0x73, 0x10_0073]),
        6..8 => imm << 20 | rs1 << 15 | (rng.below(8) as u32) << 12 | rd << 7 | 0x03,
        8..10 => {
            rng.next_u64() as u32 & 0xfe00_0f80 | rs2 << 20 | rs1 << 15 | (rng.below(4) as u32) << 12 | 0x23
        }
        10 => {
            let (function, width) = (rng.below(32) as u32, 2 + rng.below(2) as u32);
            function << 27 | rs2 << 20 | rs1 << 15 | width << 12 | rd << 7 | 0x2f
        }
        // Mostly forward, and not far.
        11 => (rng.below(16) as u32) << 8 | rs2 << 20 | rs1 << 15 | (rng.below(8) as u32) << 12 | 0x63,
        12 => (rng.below(32) as u32) << 21 | u32::from(rng.one_in(8)) << 31 | rd << 7 | 0x6f,
        13 if rng.one_in(4) => imm << 20 | rs1 << 15 | rd << 7 | 0x67,
        14 => rng.next_u64() as u32 & 0xffff_f000 | rd << 7 | *rng.pick(&[0x17, 0x37]),
        15 => {
            let (function, opcode) = (rng.next_u64() as u32 & 0xfe00_0000, *rng.pick(&[0x33, 0x3b, 0x53]));
            function | rs2 << 20 | rs1 << 15 | (imm & 0x7000) | rd << 7 | opcode
        }
        16 => rng.next_u64() as u32,
        17 => imm << 20 | rs1 << 15 | rd << 7 | *rng.pick(&[0x13, 0x1b, 0x1013, 0x5013, 0x7, 0x3007]),
        18 => (rng.next_u64() as u32 & 0xfffc) << 16 | rng.next_u64() as u32 & 0xfffc | 0x1_0001,
        _ => 0x0000_0013,
    }
}

/// Makes code that sets a trap handler, and then does anything.
pub fn code(rng: &mut Rng) -> Vec<u8> {
    // auipc t0, 0; addi t0, t0, 256; csrw mtvec, t0; csrw stvec, t0
    let mut words = vec![0x0000_0297, 0x1002_8293, 0x3052_9073, 0x1052_9073];
    // auipc t0, 8; srli t0, t0, 12; li t1, 8; slli t1, t1, 60; or t0, t0, t1; csrw satp, t0: Sv39 from the table on.
    if rng.one_in(3) {
        words.extend([0x0000_8297, 0x00c2_d293, 0x0080_0313, 0x03c3_1313, 0x0062_e2b3, 0x1802_9073]);
    }
    // li t0, -1; csrw pmpaddr0, t0; li t0, 31; csrw pmpcfg0, t0; csrwi medeleg
    if rng.one_in(2) {
        words.extend([0xfff0_0293, 0x3b02_9073, 0x01f0_0293, 0x3a02_9073]);
    }
    if rng.one_in(2) {
        words.extend([0xfff0_0293, 0x3022_9073, 0x3032_9073, 0x3042_9073]);
    }
    while words.len() < 64 {
        words.push(instruction(rng));
    }
    // The handler.
    match rng.below(3) {
        0 => {}
        // csrr t2, mepc; addi t2, t2, 4; csrw mepc, t2; mret
        1 => words.extend([0x3410_23f3, 0x0043_8393, 0x3413_9073, 0x3020_0073]),
        // The same for S mode, after something else.
        _ => words.extend([instruction(rng), 0x1410_23f3, 0x0043_8393, 0x1413_9073, 0x1020_0073]),
    }
    for _ in 0..rng.below(400) {
        words.push(instruction(rng));
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Runs any bytes as a program for Linux. It sees an empty folder, and must leave it empty.
#[cfg(unix)]
pub fn linux_program(data: &[u8]) {
    use tracewright_hart::linux::{self, Linux};
    let Some((seed, bytes)) = data.split_first_chunk() else { return };
    let seed = u64::from_le_bytes(*seed);
    let mut rng = Rng::new(seed);
    let is_file = seed % 4 == 0;
    let file = if is_file { bytes.to_vec() } else { elf(false, LINUX, bytes) };
    let folder = Scratch::new("fuzz");
    let (root, path) = (folder.path().join("root"), folder.write("program", &file));
    std::fs::create_dir(&root).unwrap();
    let x: Vec<u64> =
        (0..32).map(|_| if rng.one_in(6) { extreme(&mut rng) } else { linux_value(&mut rng) }).collect();
    let load = || {
        let options = linux::Options {
            arguments: vec!["a".into(), "b".into()],
            root: Some(root.clone()),
            memory: 16 << 20,
            ..linux::Options::default()
        };
        let (mut core, linux) = Linux::load(&path, options)?;
        if !is_file {
            // The stack pointer stays.
            core.x[3..32].copy_from_slice(&x[3..32]);
        }
        Ok::<_, linux::LoadError>((core, linux))
    };
    match load() {
        Ok(_) => run(|| load().unwrap(), &mut rng, LINUX..LINUX + 0x4000),
        Err(error) => assert!(error.to_string().len() < 800, "{error}"),
    }
    assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0);
}

const LINUX: u64 = 0x1_0000;

/// Returns a value near something in a program for Linux: its code, its stack, small numbers.
fn linux_value(rng: &mut Rng) -> u64 {
    match rng.below(6) {
        0 => rng.sized(64),
        1 => rng.below(8),
        2 => LINUX + rng.below(0x3000),
        3 => (LINUX + rng.below(0x3000)) & !7,
        4 => u64::MAX - rng.below(0x2000),
        _ => *rng.pick(&[1 << 63, 1 << 47, (1 << 38) - 8, 0x1000, 0x4000_0000, 0xffff_ffff, 0x8000_0000]),
    }
}

/// Makes code with many calls: a number, arguments, and ECALL.
pub fn calls(rng: &mut Rng) -> Vec<u8> {
    let mut words: Vec<u32> = Vec::new();
    for _ in 0..1 + rng.below(120) {
        for register in 10..16 {
            match rng.below(6) {
                // mv from another register, or addi, or lui.
                0 => words.push((rng.below(32) as u32) << 15 | register << 7 | 0x13),
                1 => words.push((rng.below(4096) as u32) << 20 | register << 7 | 0x13),
                2 => words.push((16 + rng.below(3) as u32) << 12 | register << 7 | 0x37),
                3 => {
                    words.push((16 + rng.below(3) as u32) << 12 | register << 7 | 0x37);
                    words.push((rng.below(4096) as u32) << 20 | register << 15 | register << 7 | 0x13);
                }
                _ => {}
            }
        }
        if rng.one_in(12) {
            words.extend(signals(rng));
        }
        let number = if rng.one_in(30) { rng.below(2048) } else { rng.below(450) } as u32;
        // Calls that end the program should be rare.
        let number = if matches!(number, 93 | 94) { 222 } else { number };
        words.extend([number << 20 | 17 << 7 | 0x13, 0x73]);
        // Sometimes keep the result: mv s2.., a0.
        if rng.one_in(2) {
            words.push(10 << 15 | (18 + rng.below(8) as u32) << 7 | 0x13);
        }
        if rng.one_in(8) {
            words.push(instruction(rng));
        }
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Makes code that fills the stack from any registers, uses it as a signal handler or as a signal frame, and triggers it.
fn signals(rng: &mut Rng) -> Vec<u32> {
    let li = |register: u32, value: u32| value << 20 | register << 7 | 0x13;
    // addi sp, sp, -2032; li s11, -1
    let mut words = vec![0x8101_0113, li(27, 0xfff)];
    let all = if rng.one_in(3) { Some(27) } else { None };
    for at in (0..1200).step_by(8) {
        // sd register, at(sp)
        let register = all.unwrap_or_else(|| rng.below(32) as u32);
        words.push(at >> 5 << 25 | register << 20 | 2 << 15 | 3 << 12 | (at & 0x1f) << 7 | 0x23);
    }
    if rng.one_in(2) {
        // rt_sigreturn
        words.extend([li(17, 139), 0x73]);
        return words;
    }
    // No flags, no mask; rt_sigaction of the signals that faults raise.
    words.extend([0x0001_3423, 0x0001_3823]);
    for signal in [4, 5, 7, 11] {
        words.extend([li(10, signal), 2 << 15 | 11 << 7 | 0x13, li(12, 0), li(13, 8), li(17, 134), 0x73]);
    }
    // ebreak, an illegal instruction, ld a0, 0(x0)
    words.push(*rng.pick(&[0x10_0073, 0, 0x0000_3503]));
    words
}

/// Returns the seeds to run: few by default, or many for a long run.
fn rounds(few: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let from = number("FUZZ_FROM").unwrap_or(0);
    from..from + number("FUZZ_ROUNDS").unwrap_or(few)
}

/// Returns the programs of the repository whose names `of` accepts.
pub fn programs(of: impl Fn(&str) -> bool) -> Vec<Vec<u8>> {
    // The second path is for the fuzz crate, which includes this file.
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut folders = ["../../programs/bin", "../programs/bin"].into_iter().map(|folder| here.join(folder));
    let folder = folders.find(|folder| folder.is_dir()).unwrap();
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.retain(|path| of(path.file_stem().unwrap().to_str().unwrap()));
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Changes a few bytes, most of them in headers, and sometimes cuts the file.
fn mutate(rng: &mut Rng, file: &mut Vec<u8>) {
    for _ in 0..1 + rng.below(6) {
        let end = if rng.one_in(4) { file.len() as u64 } else { 400 };
        let at = rng.below(end.min(file.len() as u64)) as usize;
        let bytes = match rng.below(3) {
            0 => vec![rng.next_u64() as u8],
            1 => rng.next_u64().to_le_bytes().to_vec(),
            _ => rng.pick(&[0, 1, u64::MAX, 1 << 63, 0xffff_ffff]).to_le_bytes().to_vec(),
        };
        let len = bytes.len().min(file.len() - at);
        file[at..at + len].copy_from_slice(&bytes[..len]);
    }
    if rng.one_in(8) {
        file.truncate(rng.below(file.len() as u64) as usize);
    }
}

/// Calls a body with a file of these that is damaged, with anything, or with what `code` returns, in each round.
fn of_anything(few: u64, files: &[Vec<u8>], code: fn(&mut Rng) -> Vec<u8>, body: fn(&[u8])) {
    for seed in rounds(few) {
        let mut rng = Rng::new(seed);
        let mut how = rng.next_u64() & !3;
        let bytes = match rng.below(8) {
            0 => {
                let mut file = rng.pick(files).clone();
                mutate(&mut rng, &mut file);
                file
            }
            1 => rng.bytes_below(300),
            _ => {
                how |= 1;
                code(&mut rng)
            }
        };
        let data = [&how.to_le_bytes()[..], &bytes].concat();
        let result = std::panic::catch_unwind(|| body(&data));
        assert!(result.is_ok(), "seed {seed}");
    }
}

#[test]
fn bare_programs_of_anything() {
    let files = programs(|name| name.starts_with("t") || name.starts_with("s") || name == "machine");
    let any = |rng: &mut Rng| if rng.one_in(10) { rng.bytes(2000) } else { code(rng) };
    of_anything(600, &files, any, bare_program);
}

#[cfg(unix)]
#[test]
fn a_jump_that_the_instruction_before_tells() {
    // auipc t0, 0; jalr x0, 8(t0)
    let code = [0x0000_0297_u32, 0x0082_8067].map(u32::to_le_bytes).concat();
    linux_program(&[&1_u64.to_le_bytes()[..], &code].concat());
}

#[cfg(unix)]
#[test]
fn linux_programs_of_anything() {
    let files = programs(|name| matches!(name, "args" | "hash" | "atomics"));
    of_anything(400, &files, calls, linux_program);
}
