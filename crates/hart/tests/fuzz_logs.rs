//! Log readers on arbitrary input. Each body is a plain function, for `cargo test` and for a fuzzer.

use std::io::{BufRead, BufReader};

use tracewright_core::{Block, Class, Ended, Isa};
use tracewright_hart::log::own::{MAGIC, Reader, VERSION, Writer};
use tracewright_hart::log::{self, Kind, detect};
use tracewright_hart::{Access, Blocks, HartSink, Retired, Trap};
use tracewright_isa::riscv::{AccessKind, Xlen};
use tracewright_testkit::Rng;

/// Results of a reader: instructions, and messages of errors.
type Given = Vec<Result<Retired, String>>;

/// Collects everything that a reader of each kind returns. This ends, since each line gives two records at most.
fn all_readers<R: BufRead>(xlen: Xlen, lines: usize, input: impl Fn() -> R) -> [Given; 4] {
    // A program with code in places: short and long instructions, and ECALL.
    let code = |pc: u64| {
        (pc % 7 != 3).then_some(if pc.is_multiple_of(5) {
            0x73
        } else {
            (pc as u32).wrapping_mul(0x9e37_79b9)
        })
    };
    [Kind::Spike, Kind::Rvfi, Kind::Csv, Kind::Qemu].map(|kind| {
        let mut reader = log::Reader::new(kind, xlen, input(), code);
        let next = || reader.next().map_err(|error| error.to_string()).transpose();
        let given: Given = std::iter::from_fn(next).collect();
        assert!(given.len() <= 2 * lines + 2);
        given
    })
}

/// Reads any text as any kind of log: no panic, no endless loop, and chunks of any size give the same.
pub fn logs(data: &[u8]) {
    let Some((&first, text)) = data.split_first() else { return };
    let xlen = if first & 1 == 0 { Xlen::Rv64 } else { Xlen::Rv32 };
    let lines = text.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let whole = all_readers(xlen, lines, || text);
    let size = 1 + usize::from(first >> 1);
    assert_eq!(whole, all_readers(xlen, lines, || BufReader::with_capacity(size, text)));
    detect(text);
    for given in whole {
        let retired = given.iter().flatten().filter(|retired| retired.trap.is_none()).count() as u64;
        let mut blocks = Blocks::new(xlen, Count::default());
        given.iter().flatten().for_each(|retired| blocks.take(retired));
        assert_eq!(blocks.finish().0, retired);
    }
}

#[derive(Debug, Default)]
struct Count(u64);

impl HartSink for Count {
    const ACCESSES: bool = true;
    const INSTRUCTIONS: bool = true;
    const CYCLES: bool = true;

    fn block(&mut self, block: &Block) {
        self.0 = self.0.wrapping_add(u64::from(block.count));
    }
}

/// Reads any bytes as our own log, and as a chunk with a right checksum. The first two bytes choose its contents and
/// how much of it is codes.
pub fn own_log(data: &[u8]) {
    if let Ok(mut reader) = Reader::new(data) {
        let _ = reader.read(&mut Count::default());
    }
    let [contents, codes, chunk @ ..] = data else { return };
    let codes = chunk.len() * usize::from(*codes) / 255;
    let mut log = header(contents & 7);
    for _ in 0..2 {
        log.extend(with_head(codes, chunk));
    }
    let _ = Reader::new(&log[..]).unwrap().read(&mut Count::default());
}

fn header(contents: u8) -> Vec<u8> {
    [&MAGIC[..], &[VERSION, 64, contents, 0]].concat()
}

/// Makes a chunk whose header counts nothing, as in FORMAT.md.
fn with_head(codes: usize, chunk: &[u8]) -> Vec<u8> {
    let mut head = [0; 20];
    head[..4].copy_from_slice(&(codes as u32).to_le_bytes());
    head[4..8].copy_from_slice(&((chunk.len() - codes) as u32).to_le_bytes());
    let sum = head.iter().chain(chunk).fold(!0_u32, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| (sum >> 1) ^ ((sum & 1) * 0xedb8_8320))
    });
    [&head[..], &(!sum).to_le_bytes(), chunk].concat()
}

/// Lines of all kinds.
pub const LINES: &[&str] = &[
    "core   0: 0x0000000080000000 (0x00000297) auipc   t0, 0x0",
    "core   0: 0x0000000080000000 (0x00000297) DASM(00000297)",
    "core   0: 0x0000000080000000 (0x00000297) @ 12 DASM(00000297)",
    "core   0: 3 0x0000000080000000 (0x00000297) x5  0x0000000000001000",
    "3 0x0000000080000000 (0x00000297) x 5 0x0000000000001000",
    "core   0: 3 0x000000000000100c (0x0182b283) x5  0x0000000080000000 mem 0x0000000000001018",
    "core   1: 1 0x000000008000000c (0x00b6a72f) x14 0xfffffffffffff800 mem 0x80002000 mem 0x80002000 0xfffff800",
    "core   0: 0 0x0000000080000002 (0xec26) mem 0x0000003ffffffa38 0x0000003ffffffb58",
    "core   0: exception trap_load_page_fault, epc 0x0000000080000000",
    "core   0:           tval 0x8000000000003000",
    "core   0: exception interrupt #7, epc 0x0000000080000100",
    "core   0: >>>>  main",
    "core   INTERRUPT 0: 0x0000000000030000 (0x00000013) DASM(00000013)",
    "LD_ACCESS_FAULT exception @ 0x000000000001000e (0x0002b203)",
    "        73 0x10000 M (0x00000297) DASM(00000297)",
    "Exception Cause: Illegal Instructions, DASM(00000000) PC=0000000040000388",
    "Exception Cause:     5, DASM(00000000) PC=0000000040000388",
    "VALID,ADDRESS,INSN,PRIVILEGE,EXCEPTION,ECAUSE,TVAL,INTERRUPT",
    "1,80000012,44000ef,3,0,0,0,0",
    "1,80000180,13,3,1,8000000000000007,0,1",
    "Trace 0: 0x7f827c000100 [0000000000000000/0000000000010144/00207600/00000201] _start",
    "Stopped execution of TB chain before 0x7f827c000240 [0000000000010144] _start",
    "",
];

fn damage(rng: &mut Rng, bytes: &mut Vec<u8>, times: u64) {
    for _ in 0..times {
        if bytes.is_empty() {
            return;
        }
        let at = rng.below(bytes.len() as u64) as usize;
        match rng.below(5) {
            0 => bytes[at] = rng.next_u64() as u8,
            1 => drop(bytes.remove(at)),
            2 => bytes[at] ^= 1 << rng.below(8),
            3 => bytes.truncate(at.max(bytes.len() / 2)),
            _ => drop(bytes.splice(at..at, rng.bytes(3))),
        }
    }
}

#[test]
fn logs_of_anything() {
    for seed in 0..3000 {
        let mut rng = Rng::new(seed);
        let mut data = rng.bytes(1);
        if rng.one_in(5) {
            data.extend(rng.bytes_below(300));
        } else {
            if rng.one_in(3) {
                data.extend(b"VALID,ADDRESS,INSN,PRIVILEGE,EXCEPTION,ECAUSE,TVAL,INTERRUPT\n");
            }
            for _ in 0..rng.below(12) {
                data.extend(rng.pick(LINES).as_bytes());
                data.push(b'\n');
            }
            let times = rng.below(6);
            damage(&mut rng, &mut data, times);
        }
        logs(&data);
    }
    logs(&[&[0][..], &[b' '; 200_000], b"\ncore   0: 0x0 (0x3)\n"].concat());
}

/// Makes a log with everything in it, of one chunk, without header and end.
fn chunk(rng: &mut Rng) -> (usize, Vec<u8>) {
    let mut writer = Writer::<_, true, true, true>::new(Vec::new(), Xlen::Rv64).unwrap();
    for _ in 0..rng.below(60) {
        let start = 0x1000 * rng.below(5);
        let count = 1 + rng.below(3) as u32;
        for index in 0..count {
            writer.instructions(&[3]);
            let address = rng.sized(20);
            writer.access(&Access { index, kind: AccessKind::Amo, size: 4, address, value: rng.sized(32) });
        }
        let cycle = rng.sized(20);
        writer.cycles(&[cycle, cycle + 1, cycle + 2][..count as usize]);
        let (end, isa, class) = (start + u64::from(count) * 4, Isa::Rv64, Class::NEXT);
        writer.block(&Block { start, end, count, isa, last_len: 4, class, ended: Ended::Cut });
        if rng.one_in(9) {
            writer.trap(&Trap { pc: end, cause: 2, interrupt: false, value: 0, next: 0, served: true });
        }
    }
    let log = writer.finish().unwrap();
    let log = &log[header(0).len()..];
    let word = |at: usize| u32::from_le_bytes(log[at..at + 4].try_into().unwrap()) as usize;
    let (codes, data) = (word(0), word(4));
    (codes, log[24..24 + codes + data].to_vec())
}

/// Makes the bytes before a chunk from which [`own_log`] learns how to read it.
fn chunk_head(rng: &mut Rng, codes: usize, chunk: &[u8]) -> Vec<u8> {
    vec![rng.next_u64() as u8, if chunk.is_empty() { 0 } else { (codes * 255 / chunk.len()) as u8 }]
}

/// Makes a good chunk for [`own_log`].
pub fn any_chunk(rng: &mut Rng) -> Vec<u8> {
    let (codes, chunk) = chunk(rng);
    [chunk_head(rng, codes, &chunk), chunk].concat()
}

#[test]
fn own_logs_of_anything() {
    for seed in 0..3000 {
        let mut rng = Rng::new(seed);
        let (codes, mut chunk) = chunk(&mut rng);
        let mut data = chunk_head(&mut rng, codes, &chunk);
        if rng.one_in(4) {
            chunk = rng.bytes_below(300);
        } else {
            let times = rng.below(4);
            damage(&mut rng, &mut chunk, times);
        }
        data.extend(chunk.iter());
        own_log(&data);

        // The codes of a good chunk, with damage behind or in them.
        let codes = codes.min(chunk.len());
        let log = [header(7), with_head(codes, &chunk), with_head(codes, &chunk)].concat();
        let _ = Reader::new(&log[..]).unwrap().read(&mut Count::default());
    }
}
