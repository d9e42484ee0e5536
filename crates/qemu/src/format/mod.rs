//! The retirement log, as described in `book/src/reference/retirement-log.md`. Everything is little-endian, in words of four bytes.
//!
//! A log is a [`Header`], then chunks of one size, each of which is a [`ChunkHeader`] and words. Chunks of
//! *definitions* hold [`Record`]s: translations (code as it was translated, numbered), mappings, threads. Chunks of a
//! *thread* hold [`Word`]s: the translations it ran, with one bit for each that [`Successors`] predict.
//!
//! Chunks are memory shared with the reader, so that what was written survives if QEMU is killed. What is not written
//! yet is zero, and everything is published by a single store of a nonzero word.

mod checkpoints;
mod chunk;
mod header;
mod record;
mod successors;
mod word;

pub use self::checkpoints::{LAST_ACCESS, retired};
pub use self::chunk::{
    BEGAN_AT, CHUNK_COUNT_AT, CHUNK_HEADER, ChunkHeader, ChunkKind, ChunkState, Counted, checksum,
};
pub use self::header::{CHUNK_SIZE, COUNT_AT, HEADER_SIZE, Header, LogData, MAGIC, NotALog, Target, VERSION};
pub use self::record::{BadRecord, MOST_CODE, MapRecord, Record, TranslationRecord};
pub use self::successors::{Guess, Successors};
pub use self::word::{FULL, LEAST_OUTCOMES, MOST_TRANSLATIONS, OUTCOMES, Off, Word, access};

/// Reads four bytes at `at`, if they exist.
fn word_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Reads eight bytes at `at`, if they exist.
fn long_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use tracewright_core::Isa;

    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let header = Header {
            target: Target::Arm,
            chunk_size: 1 << 18,
            data: LogData::Addresses,
            pid: 1,
            forked_from: 2,
            api: 3,
            time: 1 << 60,
            checkpoints: 1 << 40,
        };
        assert_eq!(Header::parse(&header.to_bytes()), Ok(header));
        let begun = ChunkHeader::open(ChunkKind::Thread(7), 3);
        let chunk = ChunkHeader { counted: Counted::Chunk, instructions: 1 << 40, begun: 5, ..begun };
        let chunk = chunk.finished(b"abcdefghi", 6);
        assert_eq!(ChunkHeader::parse(&chunk.to_bytes()), Some(chunk));
        assert_eq!(ChunkHeader::parse(&[0; 64]), None);
        let records = [
            Record::Translation(TranslationRecord {
                start: 2,
                isa: Isa::T32,
                count: 3,
                code: &[1, 2, 3, 4, 5, 6],
            }),
            Record::Map(MapRecord { start: 1, end: 2, offset: 3, path: "/a", build_id: &[1, 2, 3] }),
            Record::Thread { index: 1, tid: 2 },
            Record::Handler { signal: 11, address: 0x1234_5678_9abc },
            Record::Note("what"),
            Record::Command(b"a\0b\0"),
        ];
        let mut bytes = Vec::new();
        for record in records {
            record.write(&mut bytes);
        }
        bytes.extend([0; 8]);
        let mut rest = &bytes[..];
        for record in records {
            let (found, len) = Record::read(rest).unwrap().unwrap();
            assert_eq!(found, record);
            rest = &rest[len..];
        }
        assert_eq!(Record::read(rest), Ok(None));
    }

    #[test]
    fn words_are_what_they_were() {
        let words = [
            Word::End,
            Word::Outcomes { bits: 0, count: 0 },
            Word::Outcomes { bits: 0x2aaa_aaaa, count: 30 },
            Word::Outcomes { bits: 1, count: 5 },
            Word::Translation(0),
            Word::Translation(MOST_TRANSLATIONS - 1),
            Word::Left(511),
            Word::From(3),
            Word::Off(Off::Exec),
            Word::Access { index: 511, size_shift: 4, is_store: true },
            Word::Signal,
        ];
        for word in words {
            assert_eq!(Word::parse(word.value()), Some(word), "{:#x}", word.value());
        }
        assert_eq!(Word::parse(0x4fff_ffff), None);
        assert_eq!(Word::parse(OUTCOMES), None);
    }

    #[test]
    fn two_successors_are_remembered() {
        let mut successors = Successors::default();
        assert_eq!((successors.find(0), successors.get(false)), (Guess::Other, None));
        for next in [0, 5, 6] {
            successors.learn(next);
        }
        assert_eq!(successors.find(0), Guess::Known(false));
        assert_eq!(successors.find(5), Guess::Other);
        assert_eq!(successors.find(6), Guess::Known(true));
        assert_eq!((successors.get(false), successors.get(true)), (Some(0), Some(6)));
    }
}
