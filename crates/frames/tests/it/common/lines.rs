//! Lines of input and expected events, with data in runs of one source.

use tracewright_frames::{Format, Lost, LostReason};

use super::{Event, deframe_whole};

pub const FSYNC: [u8; 4] = [0xff, 0xff, 0xff, 0x7f];

/// The event that a line expects.
#[derive(Debug, PartialEq, Eq)]
pub enum Out {
    Data(u8, Vec<u8>),
    /// Offset, length, reason.
    Lost(u64, u64, LostReason),
    Reset(u64),
}

pub fn data(id: u8, bytes: impl AsRef<[u8]>) -> Out {
    Out::Data(id, bytes.as_ref().to_vec())
}

pub fn check(format: Format, input: &[u8], expected: &[Out]) {
    let mut out = Vec::new();
    for event in deframe_whole(format, input) {
        match (event, out.last_mut()) {
            (Event::Data { id, byte, .. }, Some(Out::Data(last, bytes))) if *last == id => bytes.push(byte),
            (Event::Data { id, byte, .. }, _) => out.push(Out::Data(id, vec![byte])),
            (Event::Lost(Lost { offset, len, reason }), _) => out.push(Out::Lost(offset, len, reason)),
            (Event::Reset(offset), _) => out.push(Out::Reset(offset)),
        }
    }
    assert_eq!(out, expected);
}

/// Returns a frame of 15 data bytes, all even, so that only the ID is special.
pub fn frame(id: u8) -> [u8; 16] {
    [id << 1 | 1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 0]
}

/// The data in [`frame`].
pub const DATA: [u8; 14] = [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28];
