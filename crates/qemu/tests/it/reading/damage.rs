//! Logs that were cut or changed.

use std::io::Cursor;

use tracewright_core::{Block, Ended};
use tracewright_qemu::format::{CHUNK_HEADER, HEADER_SIZE, LogData};
use tracewright_qemu::read::{DamageKind, Error, Log};
use tracewright_testkit::Rng;

use super::expected::{Everything, Told};
use super::machine::{Ran, run};
use super::writer::{self, CHUNK};

/// Checks that reports are a prefix of the expected ones. The last block may be shorter, or lack how it ended.
fn assert_begins(told: &[Told], expected: &[Told], what: &str) {
    // The thread's number may be missing.
    let known =
        |told: &[Told]| told.iter().filter(|told| !matches!(told, Told::Context(_))).cloned().collect();
    let (told, expected): (Vec<_>, Vec<_>) = (known(told), known(expected));
    let told = told.strip_suffix(&[Told::Lost]).unwrap_or(&told);
    let Some((last, before)) = told.split_last() else { return };
    assert!(before.len() <= expected.len(), "{what}");
    assert!(*before == expected[..before.len()], "{what}: not what ran");
    match (last, expected.get(before.len())) {
        (Told::Block(last, bits, accesses), Some(Told::Block(whole, all_bits, all_accesses))) => {
            let is_cut = Block { ended: whole.ended, ..*last } == *whole || last.ended == Ended::Cut;
            assert!(
                is_cut && last.start == whole.start && last.count <= whole.count,
                "{what}: {last:?} {whole:?}"
            );
            assert!(all_bits.starts_with(bits) && all_accesses.starts_with(accesses), "{what}");
        }
        // A call that nothing follows has no next address.
        (Told::Trap(last), Some(Told::Trap(whole))) => {
            assert_eq!((last.pc, last.cause), (whole.pc, whole.cause));
        }
        (last, whole) => assert_eq!(Some(last), whole, "{what}"),
    }
}

/// Reads all threads. Each must report a prefix of what ran. Returns the errors.
fn read(name: &str, bytes: &[u8], ran: &Ran) -> Vec<Option<Error>> {
    let mut log = Log::new(Cursor::new(bytes)).unwrap();
    let mut errors = Vec::new();
    for index in log.threads().collect::<Vec<_>>() {
        let mut everything = Everything::default();
        let result = log.read(index, &mut everything);
        assert_begins(&everything.told, &ran.told[index as usize], name);
        let is_lost = everything.told.last() == Some(&Told::Lost);
        assert!(result.is_ok() || is_lost, "{name}: nobody says that the rest is lost");
        errors.push(result.err());
    }
    errors
}

fn of(ran: &Ran, open: bool) -> Vec<u8> {
    writer::file(&ran.header, &ran.records, &ran.threads, open)
}

#[test]
fn a_log_that_was_cut_is_read_up_to_there() {
    let mut rng = Rng::new(1);
    for seed in 0..150 {
        let ran = run(seed);
        let bytes = of(&ran, seed % 2 == 0);
        for round in 0..6 {
            let len = HEADER_SIZE + rng.below((bytes.len() - HEADER_SIZE) as u64 + 1) as usize;
            read(&format!("cut-{seed}-{round}"), &bytes[..len], &ran);
            let log = Log::new(Cursor::new(&bytes[..len])).unwrap();
            // A chunk of zeros was not begun.
            let mut rest = bytes[..len].chunks(CHUNK_HEADER).skip(HEADER_SIZE / CHUNK_HEADER);
            let is_cut = rest.nth((len - HEADER_SIZE) / CHUNK * CHUNK / CHUNK_HEADER);
            let is_cut = is_cut.is_some_and(|head| head.iter().any(|&byte| byte != 0));
            match log.damage() {
                Some(Error::CutShort { len: at }) => assert!(is_cut && *at == len as u64, "{seed} {round}"),
                // What the cut left of a record may be told first.
                Some(Error::Damage { .. }) if is_cut => {}
                damage => assert!(!is_cut, "{seed} {round}: {damage:?}"),
            }
        }
    }
}

#[test]
fn a_killed_writer_leaves_what_it_wrote() {
    for seed in 0..60 {
        let mut ran = run(seed);
        // Everything after some word was never written, in each thread.
        let mut rng = Rng::new(seed);
        for words in &mut ran.threads {
            let last = words.chunks.last_mut().unwrap();
            last.truncate(rng.below(last.len() as u64 + 1) as usize);
        }
        // It may have been about to add a chunk.
        let mut bytes = of(&ran, true);
        bytes.resize(bytes.len() + rng.below(CHUNK as u64) as usize, 0);
        let log = Log::new(Cursor::new(&bytes)).unwrap();
        assert!(!matches!(log.damage(), Some(Error::CutShort { .. })), "seed {seed}: {:?}", log.damage());
        let errors = read(&format!("killed-{seed}"), &bytes, &ran);
        // An access without its address is impossible, since its first word is written last.
        let good =
            |error: &Option<Error>| matches!(error, None | Some(Error::Damage { kind: DamageKind::Cut, .. }));
        assert!(
            ran.header.data != LogData::Nothing || errors.iter().all(Option::is_none),
            "seed {seed}: {errors:?}"
        );
        assert!(errors.iter().all(good), "seed {seed}: {errors:?}");
    }
}

#[test]
fn changed_bytes_are_found_by_checksums() {
    let mut rng = Rng::new(2);
    let mut found = 0;
    for seed in 0..150 {
        let ran = run(seed);
        let mut bytes = of(&ran, false);
        let chunk = rng.below(((bytes.len() - HEADER_SIZE) / CHUNK) as u64) as usize;
        let start = HEADER_SIZE + chunk * CHUNK;
        let len = u32::from_le_bytes(bytes[start + 16..start + 20].try_into().unwrap()) as usize;
        if len == 0 {
            continue;
        }
        let at = start + CHUNK_HEADER + rng.below(len as u64) as usize;
        bytes[at] ^= 1 << rng.below(8);
        let is_definitions = bytes[start] == 1;
        let errors = read(&format!("changed-{seed}"), &bytes, &ran);
        if is_definitions {
            let log = Log::new(Cursor::new(&bytes)).unwrap();
            assert!(
                matches!(log.damage(), Some(Error::Damage { offset, kind: DamageKind::Checksum }) if *offset == start as u64)
            );
        } else {
            let is_it = |error: &Error| matches!(error, Error::Damage { offset, kind: DamageKind::Checksum } if *offset == start as u64);
            assert_eq!(
                errors.iter().flatten().filter(|error| is_it(error)).count(),
                1,
                "seed {seed}: {errors:?}"
            );
        }
        found += 1;
    }
    assert!(found > 100);
}

#[test]
fn a_chunk_that_is_missing_is_said() {
    let mut found = 0;
    for seed in 0..60 {
        let ran = run(seed);
        let Some(index) = ran.threads.iter().position(|words| words.chunks.len() > 2) else { continue };
        let mut bytes = of(&ran, false);
        for start in (HEADER_SIZE..bytes.len()).step_by(CHUNK) {
            let word = |at: usize| u32::from_le_bytes(bytes[start + at..start + at + 4].try_into().unwrap());
            if (word(0), word(4), word(8)) == (2, index as u32, 1) {
                bytes[start..start + CHUNK].fill(0);
            }
        }
        let errors = read(&format!("missing-{seed}"), &bytes, &ran);
        assert!(
            matches!(errors[index], Some(Error::Damage { kind: DamageKind::Chunk(1), .. })),
            "{errors:?}"
        );
        found += 1;
    }
    assert!(found > 10);
}

#[test]
fn what_is_no_log_is_refused() {
    let ran = run(1);
    let bytes = of(&ran, false);
    let mut other = bytes.clone();
    other[8] = 2;
    for (name, bytes) in [("empty", &[][..]), ("short", &bytes[..4000]), ("version", &other)] {
        assert!(matches!(Log::new(Cursor::new(bytes)), Err(Error::NotALog(_))), "{name}");
    }
}
