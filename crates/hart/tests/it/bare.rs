//! Corner cases of the bare machine, a few instructions each.

use std::io::{self, Write};

use crate::support::elf::elf;
use crate::support::{RAM, Record, Told, bare, bytes};
use tracewright_hart::bare::{Bare, Options};
use tracewright_hart::{Core, Hart, Stop, Trap};

/// Address of the handler of the programs below.
const HANDLER: u64 = RAM + 0x400;
const NOP: u32 = 0x13;
const MRET: u32 = 0x3020_0073;
const EBREAK: u32 = 0x10_0073;
const WAIT: u32 = 0x6f;

const MCYCLE: u32 = 0xb00;
const MCYCLEH: u32 = 0xb80;
const MCOUNTINHIBIT: u32 = 0x320;
const MCAUSE: u32 = 0x342;
const MTVEC: u32 = 0x305;

fn csrr(rd: u32, csr: u32) -> u32 {
    csr << 20 | 2 << 12 | rd << 7 | 0x73
}

fn csrw(csr: u32, rs: u32) -> u32 {
    csr << 20 | rs << 15 | 1 << 12 | 0x73
}

fn addi(rd: u32, rs: u32, imm: u32) -> u32 {
    imm << 20 | rs << 15 | rd << 7 | 0x13
}

fn ld(rd: u32, rs: u32) -> u32 {
    rs << 15 | 3 << 12 | rd << 7 | 0x03
}

fn sd(rs2: u32, rs1: u32) -> u32 {
    rs2 << 20 | rs1 << 15 | 3 << 12 | 0x23
}

/// Runs `code` in M mode with `x[5..]` set. The handler reads mcause into x31 and waits.
fn run(is_rv32: bool, options: &Options, x: &[u64], code: &[u32]) -> (Core, Vec<Trap>, Stop) {
    let mut words = code.to_vec();
    words.resize(0x100, WAIT);
    words.extend([csrr(31, MCAUSE), WAIT]);
    let mut hart = bare(&elf(is_rv32, RAM, &bytes(&words)), options, x);
    let mut record = Record::default();
    let stop = hart.run(200, &mut record);
    (hart.core, record.traps(), stop)
}

fn at_ram() -> Options {
    Options { entry: Some(RAM), ..Options::default() }
}

#[test]
fn a_misaligned_store_to_a_device_faults() {
    let options = Options { misaligned: true, ..at_ram() };
    let (core, traps, _) = run(false, &options, &[HANDLER, 0x0200_4001], &[csrw(MTVEC, 5), sd(7, 6)]);
    assert_eq!((core.x[31], traps[0].cause, traps[0].value), (7, 7, 0x0200_4001));
}

/// Switches to U mode at x8, with all of RAM allowed and nothing else.
const TO_USER: [u32; 6] = [0x3052_9073, 0x3b03_1073, 0x3a03_9073, 0x3414_1073, 0x3000_1073, MRET];

/// Returns mtvec, pmpaddr0 (NAPOT, 64 KiB of RAM), pmpcfg0 (all rights), mepc.
fn to_user(to: u64) -> [u64; 4] {
    [HANDLER, RAM >> 2 | 0x1fff, 0x1f, to]
}

#[test]
fn memory_protection_covers_devices() {
    let [a, b, c, d] = to_user(RAM + 0x18);
    let code = [&TO_USER[..], &[ld(10, 9)]].concat();
    let (core, traps, _) = run(false, &at_ram(), &[a, b, c, d, 0x0200_bff8], &code);
    assert_eq!((core.x[31], traps[0].cause, traps[0].value), (5, 5, 0x0200_bff8));
    // M mode may.
    let (_, traps, _) =
        run(false, &at_ram(), &[a, b, c, d, 0x0200_bff8], &[&TO_USER[..5], &[ld(10, 9)]].concat());
    assert_eq!(traps, []);
}

#[test]
fn a_jump_to_the_handler_from_below_traps_to_it() {
    // The handler is not in the part of memory that U mode may use.
    let [a, _, c, d] = to_user(HANDLER);
    let (core, traps, stop) = run(false, &at_ram(), &[a, RAM >> 2 | 0x7f >> 1, c, d], &TO_USER);
    assert_eq!((core.x[31], traps.len(), stop), (1, 1, Stop::Limit));
    assert_eq!((traps[0].pc, traps[0].next), (HANDLER, HANDLER));
}

#[test]
fn a_handler_that_traps_itself_ends_the_run() {
    let (_, traps, stop) = run(false, &at_ram(), &[RAM + 8], &[csrw(MTVEC, 5), NOP, EBREAK]);
    assert_eq!((traps.len(), traps[0].pc, traps[0].cause, traps[0].next), (1, RAM + 8, 3, RAM + 8));
    assert!(matches!(stop, Stop::Fault(text) if text.contains("its handler is there too")));
}

#[test]
fn counters_stop() {
    let code = [csrw(MCOUNTINHIBIT, 5), csrr(10, MCYCLE), NOP, csrr(11, MCYCLE), csrw(MCOUNTINHIBIT, 0)];
    let code = [&code[..], &[csrr(12, MCYCLE), csrr(13, MCYCLE), csrr(14, MCOUNTINHIBIT)]].concat();
    let (core, ..) = run(false, &at_ram(), &[5], &code);
    assert_eq!(core.x[10..15], [1, 1, 1, 2, 0]);
    let (core, ..) = run(false, &at_ram(), &[u64::MAX], &[csrw(MCOUNTINHIBIT, 5), csrr(10, MCOUNTINHIBIT)]);
    assert_eq!(core.x[10], 5);
}

#[test]
fn rv32_sets_both_halves_of_a_counter() {
    let minus_one = u64::MAX;
    let code = [csrw(MCYCLEH, 5), csrw(MCYCLE, 6), NOP, csrr(10, MCYCLE), csrr(11, MCYCLEH), csrw(MCYCLE, 7)];
    let code = [&code[..], &[csrr(12, MCYCLE), csrr(13, MCYCLEH)]].concat();
    let (core, ..) = run(true, &at_ram(), &[7, minus_one, 3], &code);
    // The lower half overflowed before it was read.
    assert_eq!(core.x[10..14], [0, 8, 3, 8]);
}

/// Runs with a page table of Sv39 at RAM + 0x2000: one entry for all of RAM.
fn paged(entry: u64, pmp: u64) -> (Core, Vec<Trap>) {
    // csrw mtvec; csrw pmpaddr0; csrw pmpcfg0; csrw mepc; csrw satp; sd x10, (x11); csrw mstatus, x12; mret
    let code = [
        0x3052_9073,
        0x3b03_1073,
        0x3a03_9073,
        0x3414_1073,
        csrw(0x180, 9),
        sd(10, 11),
        csrw(0x300, 12),
        MRET,
    ];
    let satp = 8 << 60 | (RAM + 0x2000) >> 12;
    let x = [HANDLER, pmp, 0x1f, RAM + 0x20, satp, entry, RAM + 0x2010, 1 << 11];
    let (core, traps, _) = run(false, &at_ram(), &x, &[&code[..], &[addi(10, 0, 1)]].concat());
    (core, traps)
}

#[test]
fn reserved_bits_of_page_table_entries_fault() {
    let all = u64::MAX >> 10;
    let entry = RAM >> 12 << 10 | 0xcf;
    let (core, traps) = paged(entry, all);
    assert_eq!((core.x[10], traps), (1, vec![]));
    for bad in [entry | 1 << 54, entry | 1 << 63, entry & !0xff | 0x41, entry & !0xff | 0x11] {
        let (core, traps) = paged(bad, all);
        assert_eq!((core.x[31], traps[0].pc), (12, RAM + 0x20), "{bad:#x}");
    }
}

#[test]
fn memory_protection_covers_page_tables() {
    // Only the first 8 KiB of RAM: the table is behind them.
    let (core, traps) = paged(RAM >> 12 << 10 | 0xcf, RAM >> 2 | 0x3ff);
    assert_eq!((core.x[31], traps[0].cause), (1, 1));
}

#[test]
fn addresses_wrap_in_rv32() {
    // A NOP at the last address, and EBREAK at the first: one piece.
    let options = Options {
        more_memory: vec![(0, 0x1000), (0xffff_f000, 0x1000)],
        entry: Some(0xffff_fffc),
        ..Options::default()
    };
    let mut hart = bare(&elf(true, RAM, &[]), &options, &[]);
    hart.core.memory.load(0xffff_fffc, &NOP.to_le_bytes()).unwrap();
    hart.core.memory.load(0, &EBREAK.to_le_bytes()).unwrap();
    let stop = hart.run(10, &mut ());
    assert!(matches!(&stop, Stop::Fault(text) if text.contains("at 0x0 (value 0x0)")), "{stop:?}");
}

#[test]
fn too_little_memory_is_said() {
    // Stores to one page after another.
    let code = [csrw(MTVEC, 5), sd(7, 6), 0x0083_0333, 0xff9f_f06f];
    let options = Options { limit: 1 << 16, ..at_ram() };
    let (_, _, stop) = run(false, &options, &[HANDLER, RAM + 0x1000, 0, 0x1000], &code);
    assert!(matches!(&stop, Stop::Fault(text) if text.contains("--memory")), "{stop:?}");
}

#[test]
fn a_program_where_the_rom_would_be_runs() {
    let mut hart = bare(&elf(false, 0x1000, &bytes(&[addi(10, 0, 42), WAIT])), &Options::default(), &[]);
    hart.run(200, &mut ());
    assert_eq!(hart.core.x[10], 42);
}

#[test]
fn big_endian_programs_are_refused() {
    let mut file = elf(false, RAM, &[]);
    file[5] = 2;
    file[18..20].reverse();
    let error = Bare::new(&file, &Options::default(), Box::new(io::sink())).unwrap_err();
    assert!(error.to_string().contains("big-endian"), "{error}");
}

/// An output that is full.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn output_that_is_lost_is_said() {
    // Writes a byte to the serial port, and time passes.
    let sb = 7 << 20 | 6 << 15 | 0x23;
    let code = bytes(&[csrw(MTVEC, 5), sb, 0x1050_0073, WAIT]);
    let (mut core, machine) = Bare::new(&elf(false, RAM, &code), &at_ram(), Box::new(Full)).unwrap();
    core.x[5..8].copy_from_slice(&[HANDLER, 0x1000_0000, b'a'.into()]);
    let stop = Hart::new(core, machine).run(100, &mut ());
    assert!(matches!(&stop, Stop::Fault(text) if text.contains("could not be written")), "{stop:?}");
}

/// With mstatus.MIE and mie.MEIE set, the line rises after 40 instructions, wherever the program is then.
#[test]
fn the_external_line_interrupts_when_the_script_says() {
    const MSTATUS: u32 = 0x300;
    const MIE: u32 = 0x304;
    let options = Options { external: vec![(40, true), (60, false)], ..at_ram() };
    let code = [csrw(MTVEC, 5), csrw(MIE, 6), csrw(MSTATUS, 7), WAIT];
    let (core, traps, _) = run(false, &options, &[HANDLER, 1 << 11, 1 << 3], &code);
    assert_eq!(traps.len(), 1, "{traps:x?}");
    assert_eq!(
        (traps[0].cause, traps[0].interrupt, traps[0].pc, traps[0].next),
        (11, true, RAM + 12, HANDLER)
    );
    assert_eq!(core.x[31], 1 << 63 | 11);
}

/// The line's level is not what the program wrote.
#[test]
fn setting_a_pending_bit_does_not_keep_the_external_line() {
    const MIP: u32 = 0x344;
    const SSIP: u64 = 2;
    let options = Options { external: vec![(0, true), (20, false)], ..at_ram() };
    let csrrs = |csr: u32, rs: u32| csr << 20 | rs << 15 | 2 << 12 | 0x73;
    let mut code = vec![csrw(0x340, 0), csrrs(MIP, 6), csrr(28, MIP)];
    code.extend([NOP; 30]);
    code.push(csrr(29, MIP));
    let (core, _, _) = run(false, &options, &[0, SSIP], &code);
    let software_and_lines = SSIP | 1 << 9 | 1 << 11;
    assert_eq!(core.x[28] & 0xa0a, software_and_lines & 0xa0a);
    assert_eq!(core.x[29] & 0xa0a, SSIP);
}

/// The address space number is reported when it is entered.
#[test]
fn contexts_are_told() {
    const SATP: u32 = 0x180;
    const MEPC: u32 = 0x341;
    let code = [csrw(MTVEC, 5), csrw(SATP, 6), csrw(MEPC, 5), MRET];
    let mut record = Record::default();
    bare(&elf(false, RAM, &bytes(&code)), &at_ram(), &[HANDLER, 5 << 44]).run(20, &mut record);
    record.0.retain(|told| matches!(told, Told::Context(_)));
    assert_eq!(record.0, [Told::Context(0), Told::Context(5)]);
}
