//! `checksums.toml`: the length of each file of a capture when it was written, and a CRC-32 of each piece. It
//! lies beside `capture.toml` or a snapshot.
//!
//! ```toml
//! format = 1
//! piece = 0x100000
//!
//! [[file]]
//! name = "trace.bin"
//! bytes = 1140
//! crc32 = "a3830348" # eight digits a piece
//! ```
//!
//! Pieces are checked when they are read, so that the time to open a capture does not depend on its size.

use std::collections::HashMap;
use std::fmt::Write;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tracewright_core::Crc32;

use super::FORMAT;
use super::read::read as read_text;
use super::value::{Document, Table, Wrong};
use super::write::quoted;
use crate::file::{open_plain, size};
use crate::output::{OutputFolder, cannot_write};
use crate::problem::{Problem, quote};

/// Name of the file.
pub const CHECKSUMS_FILE: &str = "checksums.toml";

/// Size of a piece in bytes.
const PIECE: u64 = 1 << 20;
/// Most pieces of a file. Of longer files only the length is kept, so that all checksums together can be
/// read.
const MOST_PIECES: u64 = 1 << 18;
/// Largest piece; pieces are held in memory.
const LARGEST_PIECE: u64 = 1 << 24;

/// Lengths and checksums of a capture's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checksums {
    files: HashMap<PathBuf, FileSums>,
}

/// Length and checksums of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSums {
    /// Length of the file.
    pub bytes: u64,
    /// Length of all pieces but the last.
    piece: u64,
    /// Checksums; none if only the length is known.
    sums: Vec<u32>,
}

impl Checksums {
    /// Returns length and checksums of a file, if known.
    pub fn of(&self, path: &Path) -> Option<&FileSums> {
        self.files.get(path)
    }

    /// Compares the length of a file with the recorded one. Returns how they differ.
    pub(crate) fn other_length(&self, path: &Path) -> Option<String> {
        let (was, is) = (self.of(path)?.bytes, size(path).ok()?);
        let how = if is < was { "cut short" } else { "added to" };
        (is != was).then(|| format!("has {is} bytes, and {was} were recorded: it was {how} since"))
    }

    /// Compares a whole file with its checksums. Returns how they differ.
    pub fn differs(&self, path: &Path, bytes: &[u8]) -> Option<String> {
        let sums = self.of(path)?;
        if bytes.len() as u64 != sums.bytes {
            return Some(format!("has {} bytes, and {} were recorded", bytes.len(), sums.bytes));
        }
        let piece = usize::try_from(sums.piece).unwrap_or(usize::MAX);
        let wrong = (0..).zip(bytes.chunks(piece)).find(|&(number, piece)| !sums.fits(number, piece));
        wrong.map(|(number, _)| {
            format!("is not what was recorded (checksum of the bytes from {:#x} on)", number * sums.piece)
        })
    }
}

impl FileSums {
    fn read(mut file: impl Read) -> io::Result<Self> {
        let (mut bytes, mut sums) = (0, Vec::new());
        let mut piece = Vec::new();
        loop {
            piece.clear();
            let len = file.by_ref().take(PIECE).read_to_end(&mut piece)? as u64;
            if len == 0 {
                break;
            }
            bytes += len;
            if bytes.div_ceil(PIECE) <= MOST_PIECES {
                sums.push(Crc32::of(&piece));
            }
        }
        if bytes.div_ceil(PIECE) > MOST_PIECES {
            sums.clear();
        }
        Ok(Self { bytes, piece: PIECE, sums })
    }

    /// Returns the number of bytes that are checked together.
    pub fn piece(&self) -> u64 {
        self.piece
    }

    /// Returns whether `bytes`, the current piece `number` of the file, match their checksum. If the file has
    /// grown, only its former part is checked. An incomplete piece passes, because the length reveals it.
    pub fn fits(&self, number: u64, bytes: &[u8]) -> bool {
        let sum = usize::try_from(number).ok().and_then(|number| self.sums.get(number));
        let len = self.bytes.saturating_sub(number.saturating_mul(self.piece)).min(self.piece);
        let piece = usize::try_from(len).ok().and_then(|len| bytes.get(..len));
        sum.zip(piece).is_none_or(|(&sum, piece)| Crc32::of(piece) == sum)
    }
}

/// Writes the checksums of these files of the folder.
pub(crate) fn write(folder: &OutputFolder, names: &[&str]) -> Result<(), Problem> {
    let mut text = String::from("# Lengths and checksums of the files here, so that changes are noticed.\n");
    // Writing to a string does not fail.
    let _ = writeln!(text, "format = {FORMAT}\npiece = {PIECE:#x}");
    for name in names {
        let path = folder.path().join(name);
        let sums = open_plain(&path).and_then(FileSums::read).map_err(|error| cannot_write(&path, &error))?;
        let _ = write!(text, "\n[[file]]\nname = {}\nbytes = {}\ncrc32 = \"", quoted(name), sums.bytes);
        for sum in &sums.sums {
            let _ = write!(text, "{sum:08x}");
        }
        text.push_str("\"\n");
    }
    folder.replace(CHECKSUMS_FILE, text.as_bytes())
}

/// Writes the file for a capture that is being recorded.
pub(crate) fn write_unfinished(folder: &OutputFolder) -> Result<(), Problem> {
    let text = format!("# This recording is not finished.\nformat = {FORMAT}\nfinished = false\n");
    folder.replace(CHECKSUMS_FILE, text.as_bytes())
}

/// Reads the file, if there is one.
pub(crate) fn read(dir: &Path, problems: &mut Vec<Problem>) -> Checksums {
    let file = dir.join(CHECKSUMS_FILE);
    let nothing = "nothing can be checked against it";
    let text = match read_text(&file) {
        Ok(text) => text,
        Err(error) => {
            problems.push(Problem::file_error(&file, format!("cannot read: {error}: {nothing}")));
            return Checksums::default();
        }
    };
    let (mut document, mut root) = match Document::new(&file, &text, problems) {
        Ok(read) => read,
        Err(problem) => {
            problems.push(Problem { message: format!("{}: {nothing}", problem.message), ..problem });
            return Checksums::default();
        }
    };
    match document.number(&mut root, "format") {
        Ok(Some((FORMAT, _))) | Err(Wrong) => {}
        Ok(found) => {
            let line = found.map(|(_, line)| line);
            document.log.error(line, format!("format = {FORMAT} is what this tracewright reads: {nothing}"));
            return Checksums::default();
        }
    }
    if let Ok(Some((false, line))) = document.flag(&mut root, "finished") {
        document.log.error(line, "the recording was not finished: the end is missing");
    }
    let piece = document.number(&mut root, "piece").ok().flatten().map_or(PIECE, |(piece, _)| piece);
    let tables = document.tables(&mut root, "file", "[[file]]");
    document.unknown(root, "format, finished, piece, [[file]]");
    let files = tables.into_iter().filter_map(|table| {
        let (name, sums) = sums(&mut document, table, piece).ok()?;
        Some((dir.join(name), sums))
    });
    Checksums { files: files.collect() }
}

fn sums(document: &mut Document<'_>, mut table: Table<'_>, piece: u64) -> Result<(String, FileSums), Wrong> {
    let line = table.line;
    let name = document.string(&mut table, "name")?.map(|(name, _)| name);
    let bytes = document.number(&mut table, "bytes")?.map(|(bytes, _)| bytes);
    let digits = document.string(&mut table, "crc32")?.map(|(digits, _)| digits).unwrap_or_default();
    document.unknown(table, "name, bytes, crc32");
    let missing = || (line, "a file has a name and a number of bytes: not checked".to_owned());
    let (name, bytes) = document.good(name.zip(bytes).ok_or_else(missing))?;
    let wrong = || (line, format!("{}: crc32 has not eight digits a piece: not checked", quote(&name)));
    let (words, rest) = digits.as_bytes().as_chunks::<8>();
    let word = |word: &[u8; 8]| u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok();
    let words: Option<Vec<_>> = words.iter().map(word).collect();
    let whole = |words: &Vec<u32>| {
        let pieces = if words.is_empty() { 0 } else { bytes.div_ceil(piece.max(1)) };
        rest.is_empty() && (1..=LARGEST_PIECE).contains(&piece) && words.len() as u64 == pieces
    };
    let sums = document.good(words.filter(whole).ok_or_else(wrong))?;
    Ok((name, FileSums { bytes, piece, sums }))
}
