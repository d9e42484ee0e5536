use tracewright_core::Isa;

use super::{long_at, word_at};

/// A record of the definitions. It begins with a word: its kind in the highest byte, and its length in words, including
/// this one, in the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// Translated code. The first is translation 0, the second 1, and so on.
    Translation(TranslationRecord<'a>),
    /// An executable mapping of a file, or of memory without one, from here on.
    Map(MapRecord<'a>),
    /// A new thread.
    Thread {
        /// Index.
        index: u32,
        /// Linux's thread ID.
        tid: u32,
    },
    /// The handler of a signal from here on; 0 and 1 are none.
    Handler {
        /// Signal.
        signal: u32,
        /// Address of the handler.
        address: u64,
    },
    /// A message for people.
    Note(&'a str),
    /// The program file and its arguments, each followed by a zero byte.
    Command(&'a [u8]),
}

/// Translated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TranslationRecord<'a> {
    /// Address of the first instruction.
    pub start: u64,
    /// Instruction set.
    pub isa: Isa,
    /// Number of instructions.
    pub count: u32,
    /// Their bytes.
    pub code: &'a [u8],
}

/// An executable mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapRecord<'a> {
    /// First address.
    pub start: u64,
    /// Address after the last.
    pub end: u64,
    /// Offset in the file of what is at `start`.
    pub offset: u64,
    /// Path of the file; empty for memory that the program or the kernel created.
    pub path: &'a str,
    /// The file's build ID, if it has one.
    pub build_id: &'a [u8],
}

/// Maximum number of bytes of code in a translation.
pub const MOST_CODE: usize = 4096;

const TRANSLATION: u8 = 1;
const MAP: u8 = 2;
const THREAD: u8 = 3;
const HANDLER: u8 = 4;
const NOTE: u8 = 5;
const COMMAND: u8 = 6;

const ISAS: [Isa; 5] = [Isa::Rv32, Isa::Rv64, Isa::A64, Isa::A32, Isa::T32];

/// Error for bytes that are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadRecord;

impl<'a> Record<'a> {
    /// Appends the record. When it is published, the first word is stored last.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend([0; 4]);
        let kind = match *self {
            Self::Translation(TranslationRecord { start, isa, count, code }) => {
                out.extend(start.to_le_bytes());
                let isa = ISAS.iter().position(|&known| known == isa).unwrap_or_default() as u32;
                out.extend((isa << 16 | count).to_le_bytes());
                out.extend((code.len() as u32).to_le_bytes());
                out.extend(code);
                TRANSLATION
            }
            Self::Map(MapRecord { start, end, offset, path, build_id }) => {
                out.extend([start, end, offset].iter().flat_map(|long| long.to_le_bytes()));
                out.extend((path.len() as u32).to_le_bytes());
                out.extend((build_id.len() as u32).to_le_bytes());
                out.extend(path.as_bytes());
                out.extend(build_id);
                MAP
            }
            Self::Thread { index, tid } => {
                out.extend(index.to_le_bytes());
                out.extend(tid.to_le_bytes());
                THREAD
            }
            Self::Handler { signal, address } => {
                out.extend(signal.to_le_bytes());
                out.extend(address.to_le_bytes());
                HANDLER
            }
            Self::Note(text) => {
                out.extend((text.len() as u32).to_le_bytes());
                out.extend(text.as_bytes());
                NOTE
            }
            Self::Command(bytes) => {
                out.extend((bytes.len() as u32).to_le_bytes());
                out.extend(bytes);
                COMMAND
            }
        };
        out.resize(start + (out.len() - start).next_multiple_of(4), 0);
        let words = ((out.len() - start) / 4) as u32;
        out[start..start + 4].copy_from_slice(&(u32::from(kind) << 24 | words).to_le_bytes());
    }

    /// Reads the record at the start of `bytes`. Returns it with its length in bytes, or `None` if nothing was written
    /// from here on.
    ///
    /// # Errors
    /// Returns an error if the bytes are no record.
    pub fn read(bytes: &'a [u8]) -> Result<Option<(Self, usize)>, BadRecord> {
        let Some(head) = word_at(bytes, 0).filter(|&head| head != 0) else { return Ok(None) };
        let len = 4 * (head & 0xff_ffff) as usize;
        let bytes = bytes.get(4..len).ok_or(BadRecord)?;
        let record = Self::body((head >> 24) as u8, bytes).ok_or(BadRecord)?;
        Ok(Some((record, len)))
    }

    fn body(kind: u8, bytes: &'a [u8]) -> Option<Self> {
        let piece = |at: usize, len: usize| bytes.get(at..at.checked_add(len)?);
        let text = |at, len| str::from_utf8(piece(at, len)?).ok();
        Some(match kind {
            TRANSLATION => {
                let (what, len) = (word_at(bytes, 8)?, word_at(bytes, 12)? as usize);
                let (isa, count) = (*ISAS.get((what >> 16) as usize)?, what & 0xffff);
                let code = piece(16, len).filter(|code| code.len() <= MOST_CODE)?;
                Self::Translation(TranslationRecord { start: long_at(bytes, 0)?, isa, count, code })
            }
            MAP => {
                let (path, id) = (word_at(bytes, 24)? as usize, word_at(bytes, 28)? as usize);
                Self::Map(MapRecord {
                    start: long_at(bytes, 0)?,
                    end: long_at(bytes, 8)?,
                    offset: long_at(bytes, 16)?,
                    path: text(32, path)?,
                    build_id: piece(32usize.checked_add(path)?, id)?,
                })
            }
            THREAD => Self::Thread { index: word_at(bytes, 0)?, tid: word_at(bytes, 4)? },
            HANDLER => Self::Handler { signal: word_at(bytes, 0)?, address: long_at(bytes, 4)? },
            NOTE => Self::Note(text(4, word_at(bytes, 0)? as usize)?),
            COMMAND => Self::Command(piece(4, word_at(bytes, 0)? as usize)?),
            _ => return None,
        })
    }
}
