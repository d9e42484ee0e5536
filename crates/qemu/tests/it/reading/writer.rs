//! Writes logs, as the plugin does.

use tracewright_qemu::format::{
    CHUNK_HEADER, ChunkHeader, ChunkKind, FULL, Guess, Header, OUTCOMES, Record, Successors, Word,
};

/// Words of a thread, split into chunks.
#[derive(Debug, Default)]
pub struct Words {
    pub chunks: Vec<Vec<u32>>,
    successors: Vec<Successors>,
    last: Option<u32>,
    /// Set if the last word is outcomes that can grow.
    grows: bool,
}

/// Chunk size here: the smallest possible.
pub const CHUNK: usize = 4096;
/// Number of words in a chunk.
const MOST: usize = (CHUNK - CHUNK_HEADER) / 4;

impl Words {
    fn push(&mut self, words: &[u32]) {
        if self.chunks.last().is_none_or(|chunk| chunk.len() + words.len() > MOST) {
            self.chunks.push(Vec::new());
        }
        self.chunks.last_mut().unwrap().extend(words);
        self.grows = false;
    }

    pub fn word(&mut self, word: Word) {
        self.push(&[word.value()]);
        if matches!(word, Word::From(_) | Word::Off(_)) {
            self.last = None;
        }
    }

    /// Appends a word with its operands.
    pub fn words(&mut self, words: &[u32]) {
        self.push(words);
    }

    pub fn translation(&mut self, number: u32) {
        let at = number as usize;
        if self.successors.len() <= at {
            self.successors.resize(at + 1, Successors::default());
        }
        let guess = self.last.map(|last| self.successors[last as usize].find(number));
        match guess {
            Some(Guess::Known(outcome)) => {
                if !self.grows {
                    self.push(&[OUTCOMES | 1]);
                }
                let word = self.chunks.last_mut().unwrap().last_mut().unwrap();
                let bits = (*word & !OUTCOMES) << 1 | u32::from(outcome);
                *word = OUTCOMES | bits;
                self.grows = bits < FULL;
            }
            _ => {
                self.push(&[Word::Translation(number).value()]);
                if let Some(last) = self.last {
                    self.successors[last as usize].learn(number);
                }
            }
        }
        self.last = Some(number);
    }

    /// Returns a chunk as bytes.
    pub fn bytes(&self, chunk: usize) -> Vec<u8> {
        self.chunks[chunk].iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// Definitions, split into chunks.
#[derive(Debug, Default)]
pub struct Records(pub Vec<Vec<u8>>);

impl Records {
    pub fn add(&mut self, record: &Record<'_>) {
        let mut bytes = Vec::new();
        record.write(&mut bytes);
        if self.0.last().is_none_or(|chunk| chunk.len() + bytes.len() > CHUNK - CHUNK_HEADER) {
            self.0.push(Vec::new());
        }
        self.0.last_mut().unwrap().extend(bytes);
    }
}

/// Makes a log file. Chunks of definitions and threads alternate; the last of each stays open if `open` is set.
pub fn file(header: &Header, records: &Records, threads: &[Words], open: bool) -> Vec<u8> {
    let mut file = header.to_bytes().to_vec();
    let most = threads.iter().map(|words| words.chunks.len()).max().unwrap_or(0).max(records.0.len());
    for sequence in 0..most {
        // Definitions come after what needs them, which readers must accept.
        for (index, words) in (0..).zip(threads) {
            if sequence < words.chunks.len() {
                let is_open = open && sequence + 1 == words.chunks.len();
                chunk(&mut file, ChunkKind::Thread(index), sequence, &words.bytes(sequence), is_open);
            }
        }
        if let Some(bytes) = records.0.get(sequence) {
            chunk(
                &mut file,
                ChunkKind::Definitions,
                sequence,
                bytes,
                open && sequence + 1 == records.0.len(),
            );
        }
    }
    file
}

fn chunk(file: &mut Vec<u8>, kind: ChunkKind, sequence: usize, bytes: &[u8], is_open: bool) {
    let open = ChunkHeader::open(kind, sequence as u32);
    let head = if is_open { open } else { open.finished(bytes, 0) };
    let start = file.len();
    file.extend(head.to_bytes());
    file.extend(bytes);
    file.resize(start + CHUNK, 0);
}
