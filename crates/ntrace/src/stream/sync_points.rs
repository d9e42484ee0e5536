//! Places where decoding can start.

use crate::Params;
use crate::packet::{self, MAX_MESSAGE, Mseo};

/// Place where decoding can start: a message with a whole address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncPoint {
    /// Index of its first byte.
    pub offset: usize,
    /// ID of the source; 0 where there is only one.
    pub source: u16,
}

/// Iterator over the synchronisation points in a part of a stream, which may begin anywhere in a message.
#[derive(Clone, Debug)]
pub struct SyncPoints<'b> {
    params: Params,
    bytes: &'b [u8],
    at: usize,
}

impl<'b> SyncPoints<'b> {
    /// Creates an iterator over the points in `bytes`. The first one comes after the end of a message.
    pub fn new(params: &Params, bytes: &'b [u8]) -> Self {
        let mut points = Self { params: params.clone(), bytes, at: 0 };
        points.at = points.end_of_message(0);
        points
    }

    /// Returns the index after the next byte that ends a message, from `at` on.
    fn end_of_message(&self, at: usize) -> usize {
        let end = self.bytes[at..].iter().position(|&byte| Mseo::of(byte) == Mseo::Message);
        end.map_or(self.bytes.len(), |end| at + end + 1)
    }
}

impl Iterator for SyncPoints<'_> {
    type Item = SyncPoint;

    fn next(&mut self) -> Option<SyncPoint> {
        while self.at < self.bytes.len() {
            let offset = self.at;
            self.at = self.end_of_message(offset);
            let bytes = &self.bytes[offset..self.at];
            // TCODEs 9, 11, 12 and 29.
            let may_be = matches!(bytes[0], 0x24 | 0x2c | 0x30 | 0x74) && bytes.len() <= MAX_MESSAGE;
            let is_whole = bytes.split_last().is_some_and(|(last, others)| {
                Mseo::of(*last) == Mseo::Message
                    && others.iter().all(|&byte| Mseo::of(byte) != Mseo::Reserved)
            });
            if may_be
                && is_whole
                && let Ok(parsed) = packet::parse(bytes, &self.params)
                && parsed.packet.is_some_and(|packet| packet.sync().is_some())
            {
                return Some(SyncPoint { offset, source: parsed.source });
            }
        }
        None
    }
}
