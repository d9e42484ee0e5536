//! Retirement logs through the command: the committed sample is what our own format writes (`BLESS=1 cargo test` rewrites it), and
//! what is encoded from a log is equal to it.

use std::fs;
use std::path::PathBuf;

use crate::run::{root, run};
use tracewright_core::Isa;
use tracewright_qemu::format::{
    CHUNK_HEADER, ChunkHeader, ChunkKind, ChunkState, HEADER_SIZE, Header, MapRecord, OUTCOMES, Off, Record,
    Target, TranslationRecord, Word,
};
use tracewright_testkit::Scratch;

const CHUNK: usize = 4096;

fn sample() -> PathBuf {
    root().join("samples/retirement.log")
}

/// A program that counts down from 3 and exits, and a second thread that was still in the loop when QEMU was killed.
fn log(target: Target) -> Vec<u8> {
    let header = Header { chunk_size: CHUNK as u32, pid: 1234, api: 1, ..Header::new(target) };
    // li a0, 3; addi a0, a0, -1; bnez a0, .-4; li a7, 93; ecall. Or: mov, subs, b.ne, mov, svc.
    let (isa, code) = match target {
        Target::Riscv64 => (Isa::Rv64, [0x0030_0513, 0xfff5_0513, 0xfe05_1ee3, 0x05d0_0893, 0x73]),
        _ => (Isa::A64, [0xd280_0060, 0xf100_0400, 0x54ff_ffe1, 0xd280_0ba8, 0xd400_0001]),
    };
    let code: Vec<u8> = code.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    let translation = |first: usize, count: usize| {
        let (start, code) = (0x10000 + 4 * first as u64, &code[4 * first..4 * (first + count)]);
        Record::Translation(TranslationRecord { start, isa, count: count as u32, code })
    };
    let mut records = Vec::new();
    for record in [
        Record::Command(b"./countdown\0--from=3\0"),
        Record::Map(MapRecord { start: 0x10000, end: 0x11000, offset: 0, path: "", build_id: &[] }),
        Record::Map(MapRecord {
            start: 0x20000,
            end: 0x21000,
            offset: 0x1000,
            path: "/nowhere/libgone.so",
            build_id: &[0xab, 0xcd],
        }),
        Record::Thread { index: 0, tid: 1234 },
        Record::Thread { index: 1, tid: 1235 },
        Record::Note("this log was made by hand"),
        translation(0, 1),
        translation(1, 2),
        translation(3, 2),
    ] {
        record.write(&mut records);
    }
    // The loop is its own successor once it was told.
    let first = [0, 1, 1].map(|number| Word::Translation(number).value());
    let first: Vec<_> = first.into_iter().chain([OUTCOMES | 2, 3, Word::Off(Off::Exit).value()]).collect();
    let second = [Word::Translation(1).value(), 2, OUTCOMES | 0b1000];
    let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    let mut file = header.to_bytes().to_vec();
    let chunks = [
        (ChunkKind::Definitions, ChunkState::Done, records),
        (ChunkKind::Thread(0), ChunkState::Done, bytes(&first)),
        (ChunkKind::Thread(1), ChunkState::Open, bytes(&second)),
    ];
    for (kind, state, bytes) in chunks {
        let open = ChunkHeader::open(kind, 0);
        let head = if state == ChunkState::Done { open.finished(&bytes, 0) } else { open };
        let end = file.len() + CHUNK;
        file.extend(head.to_bytes());
        file.extend(bytes);
        file.resize(end, 0);
    }
    file
}

#[test]
fn the_sample_is_what_the_format_writes() {
    let bytes = log(Target::Riscv64);
    if std::env::var_os("BLESS").is_some() {
        fs::write(sample(), &bytes).unwrap();
    }
    assert!(fs::read(sample()).unwrap() == bytes, "samples/retirement.log differs; BLESS=1 accepts it");
}

#[test]
fn what_is_encoded_is_equal_to_the_log() {
    for target in [Target::Riscv64, Target::Aarch64] {
        let folder = Scratch::new(target.name());
        let [log_file, capture, alone] = ["x.log", "capture", "alone"].map(|name| folder.join(name));
        fs::write(&log_file, log(target)).unwrap();
        let encoded = run!("encode {log_file} -o {capture}").ends(0);
        encoded.says("thread0").says("thread1").says("cut: killed, or crashed");
        // The call retires on Arm, and not on RISC-V. Of the thread that was cut, what was last is not told.
        let first = if target == Target::Riscv64 { 8 } else { 9 };
        let checked = run!("decode {capture} --check {log_file}").ends(0);
        let checked = checked.begins(format!("thread0: equal: {first} instructions, "));
        checked.prints("thread1: equal: 8 instructions, 0 traps");
        // One source alone: the others need not be there.
        run!("encode {log_file} -o {alone} --thread 1 -q").ends(0);
        let checked = run!("decode {alone} --check {log_file} --json").ends(1);
        checked.says("thread 0 is not in the capture").prints("\"source\":\"thread1\"");
    }
}

#[test]
fn a_difference_is_found_in_its_thread() {
    for target in [Target::Riscv64, Target::Aarch64] {
        let folder = Scratch::new(&format!("{}-differs", target.name()));
        let (log_file, capture) = (folder.join("x.log"), folder.join("capture"));
        let mut bytes = log(target);
        fs::write(&log_file, &bytes).unwrap();
        run!("encode {log_file} -o {capture} -q").ends(0);
        // Another round of the loop, in the open chunk of the second thread.
        let at = HEADER_SIZE + 2 * CHUNK + CHUNK_HEADER + 8;
        bytes[at..at + 4].copy_from_slice(&(OUTCOMES | 0b10000).to_le_bytes());
        fs::write(&log_file, &bytes).unwrap();
        let checked = run!("decode {capture} --check {log_file}").ends(1).prints("thread0: equal");
        checked.prints("thread1: the trace and the log part after 8 instructions");
    }
}

#[test]
fn damage_is_said_with_its_place() {
    let folder = Scratch::new("damage");
    let log_file = folder.join("x.log");
    let mut bytes = log(Target::Riscv64);
    let chunk = HEADER_SIZE + CHUNK;
    bytes[chunk + CHUNK_HEADER] ^= 2;
    fs::write(&log_file, &bytes).unwrap();
    let wrong = format!("the checksum of this chunk does not match (at offset {chunk:#x})");
    run!("info {log_file}").ends(1).says(&wrong);
    run!("stats {log_file}").ends(1).says(&wrong);
    run!("encode {log_file} -o {}", folder.join("capture")).ends(1).says("thread0: the log is damaged");
    // What is no log any more is refused.
    fs::write(&log_file, &bytes[..100]).unwrap();
    run!("info {log_file}").ends(2).says("ends within its header");
}
