//! Trace that was saved twice.
//!
//! The third version of the RISC-V driver copies from the start of the encoder's memory each time, so that each slice begins with all
//! that the slice before has. Later versions do not, but after the memory has wrapped, some bytes may be there again.

use tracewright_image::Bytes;

use super::buffers::name;
use super::faults::Faults;
use super::pieces::{Owner, Piece};
use super::recording::Recording;

/// Fewest bytes that are the same by no chance, where a slice may begin anywhere in a message.
const LEAST: usize = 64;
/// Bytes that are compared at the seam of two slices, at most.
const MOST: usize = 4 << 20;

/// Takes out what was saved twice, from pieces in the order of their owners.
pub(super) fn take_out(
    pieces: &mut Vec<Piece>,
    recording: &Recording<'_>,
    files: &[Bytes],
    faults: &mut Faults,
) {
    let mut from = 0;
    while from < pieces.len() {
        let owner = pieces[from].owner;
        let upto = from + pieces[from..].iter().take_while(|piece| piece.owner == owner).count();
        let repeated = in_one(&mut pieces[from..upto], recording, files);
        if repeated > 0 {
            told(owner, repeated, faults);
        }
        from = upto;
    }
    pieces.retain(|piece| piece.len > 0);
}

fn told(owner: Owner, bytes: u64, faults: &mut Faults) {
    faults.warning(format!(
        "{}: {bytes} bytes of trace were saved twice by the driver: they are read once",
        name(owner)
    ));
}

/// Shortens an owner's pieces. Returns how many bytes are there twice.
fn in_one(pieces: &mut [Piece], recording: &Recording<'_>, files: &[Bytes]) -> u64 {
    let all: Vec<&[u8]> = pieces.iter().map(|piece| bytes(piece, recording, files)).collect();
    // Only memory that never wrapped has all from its start, and a program that did the same again has not done more each time.
    let goes_on = |pair: &[&[u8]]| pair[1].len() > pair[0].len() && pair[1].starts_with(pair[0]);
    let is_third = all.len() > 1 && !all[0].is_empty() && all.windows(2).all(goes_on);
    let size = all.iter().map(|bytes| bytes.len()).max().unwrap_or(0);
    let again: Vec<usize> = all
        .windows(2)
        .map(|pair| match is_third {
            true => pair[0].len(),
            // The whole memory was copied.
            false if pair[1].len() == size && size.is_power_of_two() => overlap(pair[0], pair[1]),
            false => 0,
        })
        .collect();
    for (piece, &len) in pieces.iter_mut().skip(1).zip(&again) {
        piece.from += len as u64;
        piece.len -= len as u64;
    }
    again.iter().map(|&len| len as u64).sum()
}

fn bytes<'b>(piece: &Piece, recording: &Recording<'_>, files: &'b [Bytes]) -> &'b [u8] {
    let trace = &recording.traces[piece.trace];
    let start = trace.at.saturating_add(piece.from);
    let range = usize::try_from(start).ok().zip(usize::try_from(start.saturating_add(piece.len)).ok());
    let file = files.get(trace.file).filter(|_| !trace.packed).map_or(&[][..], Bytes::as_slice);
    range.and_then(|(start, end)| file.get(start..end)).unwrap_or_default()
}

/// Returns how many bytes at the end of `one` are those at the start of `other`, if they are so many that it is no chance.
fn overlap(one: &[u8], other: &[u8]) -> usize {
    let one = &one[one.len() - one.len().min(MOST).min(other.len())..];
    // How much of the start of `other` ends at each place (Knuth, Morris and Pratt).
    let mut borders = vec![0_usize; other.len().min(one.len())];
    let step = |borders: &[usize], mut len: usize, byte: u8| {
        while len > 0 && (len == borders.len() || other[len] != byte) {
            len = borders[len - 1];
        }
        if other.get(len) == Some(&byte) && len < borders.len() { len + 1 } else { len }
    };
    for at in 1..borders.len() {
        borders[at] = step(&borders, borders[at - 1], other[at]);
    }
    let len = one.iter().fold(0, |len, &byte| step(&borders, len, byte));
    if len >= LEAST { len } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_seam_is_found() {
        let bytes =
            |len: usize, seed: usize| (0..len).map(|at| (at * at * 7 + seed * 31) as u8).collect::<Vec<_>>();
        let (one, other) = (bytes(300, 1), bytes(300, 2));
        assert_eq!(overlap(&one, &other), 0);
        assert_eq!(overlap(&one, &one), 300);
        for seam in [64, 65, 200] {
            let next = [&one[300 - seam..], &other].concat();
            assert_eq!(overlap(&one, &next), seam);
        }
        assert_eq!(overlap(&one, &[&one[300 - 63..], &other].concat()), 0, "too few to be sure");
        assert_eq!(overlap(&[], &one), 0);
        assert_eq!(overlap(&one, &[]), 0);
        // As a twin: the naive way.
        let (one, other) = ([[1; 70], [2; 70]].concat(), [[2; 70], [1; 70]].concat());
        let naive = (0..=one.len()).rev().find(|&len| one[one.len() - len..] == other[..len]);
        assert_eq!(Some(overlap(&one, &other)), naive);
    }
}
