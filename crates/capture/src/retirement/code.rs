//! Code that was executed, and the mapped files that it is from.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use tracewright_input::Mapping;

use super::file_that_ran;

/// Bytes of a page. They are few, so that scattered code takes little memory.
const PAGE: usize = 64;

/// Code as it was executed, by page. Code that changed is left out, so that a reader reports it as missing.
#[derive(Default)]
pub struct CodePages {
    pages: BTreeMap<u64, Page>,
    /// The first address where the code changed, if any.
    pub changed: Option<u64>,
}

struct Page {
    bytes: [u8; PAGE],
    /// Which bytes of the page are known.
    known: [bool; PAGE],
    /// Which bytes of the page changed.
    changed: [bool; PAGE],
}

/// Memory that goes into a capture; never empty.
#[derive(Debug, PartialEq, Eq)]
pub struct Piece {
    pub address: u64,
    pub bytes: Vec<u8>,
}

/// A mapped file that is not used, and why.
#[derive(Debug, PartialEq, Eq)]
pub struct Missing {
    pub path: PathBuf,
    pub why: String,
}

impl<B: AsRef<[u8]>> FromIterator<(u64, B)> for CodePages {
    fn from_iter<I: IntoIterator<Item = (u64, B)>>(pieces: I) -> Self {
        let mut code = Self::default();
        code.extend(pieces);
        code
    }
}

impl<B: AsRef<[u8]>> Extend<(u64, B)> for CodePages {
    fn extend<I: IntoIterator<Item = (u64, B)>>(&mut self, pieces: I) {
        pieces.into_iter().for_each(|(start, bytes)| self.add(start, bytes.as_ref()));
    }
}

impl CodePages {
    /// Adds bytes that were executed at `start`.
    fn add(&mut self, start: u64, code: &[u8]) {
        for (index, &byte) in (0..).zip(code) {
            let at = start.wrapping_add(index);
            let page = self.pages.entry(at / PAGE as u64).or_insert_with(|| Page {
                bytes: [0; PAGE],
                known: [false; PAGE],
                changed: [false; PAGE],
            });
            let offset = at as usize % PAGE;
            if page.known[offset] && page.bytes[offset] != byte {
                self.changed = self.changed.or(Some(at));
                page.changed[offset] = true;
            }
            page.bytes[offset] = byte;
            page.known[offset] = !page.changed[offset];
        }
    }

    /// Returns two bytes that were executed at an address; `None` if one of them did not run, or changed.
    pub fn halfword(&self, at: u64) -> Option<[u8; 2]> {
        let byte = |at: u64| {
            let (page, offset) = (self.pages.get(&(at / PAGE as u64))?, at as usize % PAGE);
            page.known[offset].then_some(page.bytes[offset])
        };
        Some([byte(at)?, byte(at.wrapping_add(1))?])
    }

    /// Takes the code that lies in mapped files. Returns a piece for each mapping in which anything ran: bytes that ran as they ran, all
    /// others as in the file. Paths are relative to `dir`.
    pub fn mapped(&mut self, dir: &Path, mappings: &[Mapping]) -> (Vec<Piece>, Vec<Missing>) {
        let (mut pieces, mut missing) = (Vec::new(), Vec::<Missing>::new());
        for (range, mapping) in disjoint(mappings.iter().map(|mapping| (mapping.start..mapping.end, mapping)))
        {
            let Some(path) = &mapping.path else { continue };
            if !self.any(&range) || missing.iter().any(|missing| missing.path == *path) {
                continue;
            }
            let offset = mapping.offset.wrapping_add(range.start - mapping.start);
            match read(&dir.join(path), mapping.build_id.as_deref(), offset, range.end - range.start) {
                Ok(mut bytes) => {
                    self.move_into(range.start, &mut bytes);
                    if !bytes.is_empty() {
                        pieces.push(Piece { address: range.start, bytes });
                    }
                }
                Err(why) => missing.push(Missing { path: path.clone(), why }),
            }
        }
        (pieces, missing)
    }

    /// Returns the rest: code that no file has. OpenCSD reads four bytes for every T32 instruction, also for the last of a piece, so
    /// `has_t32` adds two zero bytes.
    pub fn rest(self, has_t32: bool) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        for (number, page) in self.pages {
            let bytes = addresses(number).zip(page.bytes).zip(page.known);
            for (at, byte) in bytes.filter_map(|(byte, known)| known.then_some(byte)) {
                match pieces.last_mut() {
                    Some(piece) if at - piece.address == piece.bytes.len() as u64 => piece.bytes.push(byte),
                    _ => pieces.push(Piece { address: at, bytes: vec![byte] }),
                }
            }
        }
        if has_t32 {
            let mut next = u64::MAX;
            for piece in pieces.iter_mut().rev() {
                let room = (next - piece.address).saturating_sub(piece.bytes.len() as u64);
                piece.bytes.extend([0; 2].iter().take(room as usize));
                next = piece.address;
            }
        }
        pieces
    }

    /// Returns whether anything was executed in a range.
    fn any(&self, range: &Range<u64>) -> bool {
        let pages = self.pages.range(range.start / PAGE as u64..=(range.end - 1) / PAGE as u64);
        pages.into_iter().any(|(&number, page)| {
            addresses(number).zip(page.known).any(|(at, known)| known && range.contains(&at))
        })
    }

    /// Moves executed code into `bytes`, which are at address `start`.
    fn move_into(&mut self, start: u64, bytes: &mut [u8]) {
        let Some(last) = (bytes.len() as u64).checked_sub(1) else { return };
        let pages = self.pages.range_mut(start / PAGE as u64..=(start + last) / PAGE as u64);
        for (&number, page) in pages {
            for (at, (byte, known)) in addresses(number).zip(page.bytes.iter().zip(&mut page.known)) {
                if let Some(to) = at.checked_sub(start).and_then(|at| bytes.get_mut(at as usize))
                    && std::mem::take(known)
                {
                    *to = *byte;
                }
            }
        }
    }
}

/// Returns the addresses of a page.
fn addresses(number: u64) -> impl Iterator<Item = u64> {
    let first = number * PAGE as u64;
    (0..PAGE as u64).map(move |offset| first + offset)
}

/// Reads a part of a file, up to its end. Fails if it is no longer the file that was mapped.
fn read(path: &Path, id: Option<&str>, offset: u64, len: u64) -> Result<Vec<u8>, String> {
    let file = file_that_ran(path, id)?;
    let bytes = file.as_slice();
    let start = usize::try_from(offset).map_or(bytes.len(), |offset| offset.min(bytes.len()));
    let len = usize::try_from(len).map_or(usize::MAX, |len| len).min(bytes.len() - start);
    Ok(bytes[start..start + len].to_vec())
}

/// Returns ranges without overlaps, by address, each with the value that came with it. Later ranges replace earlier ones.
pub(super) fn disjoint<T: Copy>(
    ranges: impl Iterator<Item = (Range<u64>, T)>,
) -> impl Iterator<Item = (Range<u64>, T)> {
    let mut pieces: BTreeMap<u64, (u64, T)> = BTreeMap::new();
    for (Range { start, end }, value) in ranges.filter(|(range, _)| !range.is_empty()) {
        let before = pieces.range(..end).rev();
        let hit: Vec<_> =
            before.take_while(|(_, (last, _))| *last > start).map(|(&at, &of)| (at, of)).collect();
        for (first, (last, other)) in hit {
            pieces.remove(&first);
            if first < start {
                pieces.insert(first, (start, other));
            }
            if last > end {
                pieces.insert(end, (last, other));
            }
        }
        pieces.insert(start, (end, value));
    }
    pieces.into_iter().map(|(start, (end, value))| (start..end, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(start: u64, end: u64, offset: u64, path: Option<&Path>) -> Mapping {
        Mapping { start, end, offset, path: path.map(Into::into), build_id: None }
    }

    #[test]
    fn later_mappings_replace_earlier_ones() {
        let mappings = [(0x10..0x50, 0), (0x20..0x30, 1), (0x28..0x40, 2), (0x30..0x30, 3)];
        assert_eq!(
            disjoint(mappings.into_iter()).collect::<Vec<_>>(),
            [(0x10..0x20, 0), (0x20..0x28, 1), (0x28..0x40, 2), (0x40..0x50, 0)]
        );
    }

    #[test]
    fn what_ran_counts_more_than_the_file() {
        let path = std::env::temp_dir().join(format!("tracewright-memory-{}", std::process::id()));
        std::fs::write(&path, (0..64).collect::<Vec<u8>>()).unwrap();
        let ran: [(u64, &[u8]); 7] = [
            (0x1004, &[4, 99]),
            (0x8000, &[5, 6]),
            (0x8000, &[5, 7]),
            (0x8000, &[5, 6]),
            (0x0ffe, &[7, 8]),
            (0x103e, &[1, 2, 3]),
            (0x8000, &[5]),
        ];
        let mut code = CodePages::from_iter(ran);
        assert_eq!(code.changed, Some(0x8001));
        assert_eq!([0x1004, 0x103f, 0x8000].map(|at| code.halfword(at)), [Some([4, 99]), Some([2, 3]), None]);
        let gone = Path::new("/nowhere/x");
        let mappings = [
            mapping(0x1000, 0x2000, 2, Some(&path)),
            mapping(0x3000, 0x4000, 0, Some(&path)),
            mapping(0x8000, 0x9000, 0, Some(gone)),
        ];
        let (pieces, missing) = code.mapped(Path::new(""), &mappings);
        std::fs::remove_file(&path).unwrap();
        let mut expected: Vec<u8> = (2..64).collect();
        expected[4..6].copy_from_slice(&[4, 99]);
        assert_eq!(pieces, [Piece { address: 0x1000, bytes: expected }]);
        assert_eq!((missing.len(), missing[0].path.as_path()), (1, gone));
        // The file has no more bytes than up to 0x103e.
        let rest = [(0xffe, vec![7, 8]), (0x103e, vec![1, 2, 3]), (0x8000, vec![5])];
        let rest = rest.map(|(address, bytes)| Piece { address, bytes });
        assert_eq!(code.rest(false), rest);
    }

    #[test]
    fn the_last_page_of_all_addresses() {
        let ran = || CodePages::from_iter([(u64::MAX - 1, &[1, 2][..])]);
        assert_eq!(ran().rest(true), [Piece { address: u64::MAX - 1, bytes: vec![1, 2] }]);
        assert!(ran().any(&(u64::MAX - 1..u64::MAX)));
        let mut bytes = [0; 4];
        ran().move_into(u64::MAX - 3, &mut bytes);
        assert_eq!(bytes, [0, 0, 1, 2]);
    }

    #[test]
    fn there_is_room_for_reading_on_behind_t32() {
        let code = CodePages::from_iter([(0x10, &[1, 2][..]), (0x13, &[3])]);
        let expected = [(0x10, vec![1, 2, 0]), (0x13, vec![3, 0, 0])];
        assert_eq!(code.rest(true), expected.map(|(address, bytes)| Piece { address, bytes }));
    }
}
