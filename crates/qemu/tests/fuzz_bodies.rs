//! The reader of retirement logs on arbitrary input. Each body is a plain function, for `cargo test` and for a fuzzer.

use std::io::Cursor;

use tracewright_core::{Block, Ended, Isa};
use tracewright_hart::{Access, HartSink, Trap};
use tracewright_qemu::format::{
    ChunkHeader, ChunkKind, ChunkState, Counted, Header, LogData, OUTCOMES, Record, Target,
    TranslationRecord, Word,
};
use tracewright_qemu::read::{Definitions, Log, Thread};
use tracewright_testkit::Rng;

/// Maximum number of bytes that a body reads, since one word may stand for thousands of blocks.
const MOST: usize = 1 << 12;

/// Checksum of all reports, and checks of their consistency.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sum<const ALL: bool> {
    sum: u64,
    instructions: u64,
    /// Instructions of the current block.
    bits: u64,
}

impl<const ALL: bool> Sum<ALL> {
    fn add(&mut self, number: u64) {
        self.sum = (self.sum ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
}

impl<const ALL: bool> HartSink for Sum<ALL> {
    const ACCESSES: bool = ALL;
    const INSTRUCTIONS: bool = ALL;

    fn block(&mut self, block: &Block) {
        let Block { start, end, count, last_len, class, ended, .. } = *block;
        assert!(count > 0 && matches!(last_len, 2 | 4), "{block:?}");
        assert!(class.ends_block() || ended == Ended::Cut, "{block:?}");
        assert!(class.conditional || ended != Ended::NotTaken, "{block:?}");
        assert!(!ALL || self.bits == u64::from(count), "{block:?} with {} instructions", self.bits);
        self.bits = 0;
        self.instructions += u64::from(count);
        for number in [start, end, count.into(), ended as u64] {
            self.add(number);
        }
    }

    fn access(&mut self, access: &Access) {
        assert!(access.size.is_power_of_two() && access.size <= 8, "{access:?}");
    }

    fn instructions(&mut self, bits: &[u32]) {
        self.bits += bits.len() as u64;
    }

    fn trap(&mut self, trap: &Trap) {
        assert!(!ALL || self.bits == 0, "{trap:?} within a block");
        for number in [trap.pc, trap.cause, trap.next] {
            self.add(number);
        }
    }

    fn lost(&mut self) {
        self.add(1);
    }
}

fn header(first: u8) -> Header {
    let target = Target::ALL[usize::from(first >> 2) % 3];
    let data = LogData::ALL[usize::from(first & 3) % 3];
    Header { chunk_size: 4096, data, ..Header::new(target) }
}

/// Takes any bytes as definitions and words of a thread: no panic; the slow and the fast path report the same, and so
/// do words in pieces of any size.
pub fn words(data: &[u8]) {
    compare(data);
}

/// Does the same, and returns the number of instructions reported.
fn compare(data: &[u8]) -> u64 {
    let Some((&[first, second], data)) = data.split_first_chunk() else { return 0 };
    let data = &data[..data.len().min(MOST)];
    let (records, words) = data.split_at(usize::from(second).min(data.len() / 4) * 4);
    let header = header(first);
    let mut definitions = Definitions::default();
    if let Ok(taken) = definitions.take(records) {
        assert!(taken <= records.len());
    }
    let (mut long, mut short, mut pieces) =
        (Sum::<true>::default(), Sum::<false>::default(), Sum::<false>::default());
    let mut threads = [0; 3].map(|_| Thread::new(0, &header));
    let results = [
        threads[0].take(words, &definitions, &mut long),
        threads[1].take(words, &definitions, &mut short),
        words.chunks(4).try_for_each(|word| threads[2].take(word, &definitions, &mut pieces)),
    ];
    threads[0].finish(&definitions, &mut long);
    threads[1].finish(&definitions, &mut short);
    threads[2].finish(&definitions, &mut pieces);
    // A sink without accesses does not parse them, so they must not be cut; nor is anything after a 0 parsed.
    let is_plain = words.chunks_exact(4).all(|word| word[3] != 0x43 && word != [0; 4]);
    if is_plain {
        assert_eq!(results[0], results[1]);
        assert_eq!(results[0].is_ok(), results[2].is_ok());
        assert_eq!((long.sum, long.instructions), (short.sum, short.instructions));
        assert_eq!((long.sum, long.instructions), (pieces.sum, pieces.instructions));
    }
    assert_eq!(long.instructions, threads[0].instructions());
    assert_eq!(short.instructions, threads[1].instructions());
    short.instructions
}

/// Takes any bytes as a log file: no panic, and errors are short.
pub fn log(data: &[u8]) {
    let data = &data[..data.len().min(16 * MOST)];
    let mut log = match Log::new(Cursor::new(data)) {
        Ok(log) => log,
        Err(error) => return assert!(error.to_string().len() < 200),
    };
    for thread in log.threads().collect::<Vec<_>>() {
        let mut sum = Sum::<true>::default();
        if let Err(error) = log.read(thread, &mut sum) {
            assert!(error.to_string().len() < 200);
        }
    }
}

/// Makes words that run some translations, or anything.
fn random_words(rng: &mut Rng, count: u32) -> Vec<u8> {
    let mut words = Vec::new();
    for at in 0..rng.below(120) {
        // Outcomes need known successors.
        let word = match rng.below(if at < 40 { 6 } else { 40 }) {
            0..12 => Word::Translation(rng.below(count.into()) as u32).value(),
            12..36 => OUTCOMES | 2 | rng.below(2) as u32,
            36 => OUTCOMES | (rng.next_u64() as u32 & 0x7fff_ffff) >> rng.below(31),
            37 => rng.pick(&[Word::Left(1), Word::Signal, Word::From(0), Word::Left(0)]).value(),
            38 => 0x4200_0000 | rng.below(6) as u32,
            _ => rng.next_u64() as u32 >> rng.below(32),
        };
        words.extend(word.to_le_bytes());
    }
    words
}

fn random_records(rng: &mut Rng, count: u32) -> Vec<u8> {
    let mut records = Vec::new();
    for _ in 0..count {
        let isa = *rng.pick(&[Isa::Rv32, Isa::Rv64, Isa::A64, Isa::A32, Isa::T32]);
        let len = 4 * (1 + rng.below(3)) as usize;
        let code = rng.bytes(len);
        let start = *rng.pick(&[0x1000, 0x1004, 0x1008, 0x100c, 0x2000, 0xffff_fffc, u64::MAX - 3]);
        let count = rng.below(5) as u32;
        Record::Translation(TranslationRecord { start, isa, count, code: &code }).write(&mut records);
    }
    records
}

/// Makes translations and words for [`words`].
pub fn any_words(rng: &mut Rng) -> Vec<u8> {
    let count = 1 + rng.below(8) as u32;
    let records = random_records(rng, count);
    let words = random_words(rng, count);
    let mut data = vec![rng.below(256) as u8, (records.len() / 4) as u8];
    data.extend(records);
    data.extend(words);
    data
}

#[test]
fn words_on_random_input() {
    let mut rng = Rng::new(11);
    let mut instructions = 0;
    for _ in 0..20_000 {
        let mut data = any_words(&mut rng);
        if rng.one_in(4) {
            let at = rng.below(data.len() as u64) as usize;
            data[at] = rng.next_u64() as u8;
        }
        instructions += compare(&data);
        compare(&rng.bytes_below(100));
    }
    assert!(instructions > 100_000, "{instructions}");
}

#[test]
fn logs_on_random_input() {
    let mut rng = Rng::new(12);
    for round in 0..2_000 {
        let mut data = header(rng.below(256) as u8).to_bytes().to_vec();
        for sequence in 0..rng.below(4) {
            let is_definitions = sequence == 0 || rng.one_in(3);
            let bytes = if is_definitions { random_records(&mut rng, 5) } else { random_words(&mut rng, 6) };
            let kind = match is_definitions {
                true => ChunkKind::Definitions,
                false => ChunkKind::Thread(rng.below(2) as u32),
            };
            let head = ChunkHeader {
                state: *rng.pick(&[ChunkState::Done, ChunkState::Open]),
                counted: *rng.pick(&[Counted::Unknown, Counted::Log, Counted::Chunk]),
                sequence: rng.below(2) as u32,
                ..ChunkHeader::open(kind, 0).finished(&bytes, 0)
            };
            let start = data.len();
            data.extend(head.to_bytes());
            data.extend(bytes);
            data.resize(start + 4096, 0);
        }
        if round % 2 == 0 {
            let at = rng.below(data.len() as u64) as usize;
            data[at] = rng.next_u64() as u8;
            data.truncate(rng.below(2 * data.len() as u64) as usize);
        }
        log(&data);
    }
}
