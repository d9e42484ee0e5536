use tracewright_core::Isa;

use super::{long_at, word_at};

/// A record among the definitions: a word with its kind in the highest byte and its length in words, itself included, in the others;
/// then that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// Code was translated. The first is translation 0, the second 1, and so on.
    Translation(TranslationRecord<'a>),
    /// A file, or memory without one, is mapped so that it can be executed, from here on.
    Map(MapRecord<'a>),
    /// A thread began.
    Thread {
        /// Its index.
        index: u32,
        /// Linux's number for it.
        tid: u32,
    },
    /// From now on this is the handler of a signal; 0 and 1 are none.
    Handler {
        /// The signal.
        signal: u32,
        /// The handler's address.
        address: u64,
    },
    /// Something that people should know.
    Note(&'a str),
    /// The program file, and its arguments, each ended by a zero byte.
    Command(&'a [u8]),
}

/// Code as it was translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TranslationRecord<'a> {
    /// Address of the first instruction.
    pub start: u64,
    /// Instruction set.
    pub isa: Isa,
    /// How many instructions.
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
    /// Path of the file; none: memory that the program made or the kernel gave.
    pub path: &'a str,
    /// The file's build ID, if it has one.
    pub build_id: &'a [u8],
}

/// Bytes of code in a translation at most.
pub const MOST_CODE: usize = 4096;

const TRANSLATION: u8 = 1;
const MAP: u8 = 2;
const THREAD: u8 = 3;
const HANDLER: u8 = 4;
const NOTE: u8 = 5;
const COMMAND: u8 = 6;

const ISAS: [Isa; 5] = [Isa::Rv32, Isa::Rv64, Isa::A64, Isa::A32, Isa::T32];

/// These bytes are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadRecord;

impl<'a> Record<'a> {
    /// Appends it. The first word comes last where it is published.
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

    /// The record at the start of `bytes`, and how many bytes it has; `None`: nothing was written from here on.
    ///
    /// # Errors
    /// When these bytes are no record.
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
