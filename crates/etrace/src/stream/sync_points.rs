//! Positions where reading can start.

use super::frame::Body;
use super::sources::Sources;
use super::{Config, Encapsulation};
use crate::packet::{self, Packet};
use crate::{Options, data};

/// A synchronisation packet (format 3, subformat 0 or 1) in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncPoint {
    /// Offset of its message.
    pub offset: usize,
    /// ID of its source.
    pub source: u16,
    /// Options of its source at this point.
    pub options: Options,
    /// Options of data trace at this point.
    pub data: data::Options,
}

/// Iterator over the synchronisation packets in bytes that begin with a message. It does not parse the
/// packets between them, so the result holds only if no byte is damaged: code that splits a stream here must
/// check it.
#[derive(Clone, Debug)]
pub struct SyncPoints<'a> {
    config: &'a Config,
    bytes: &'a [u8],
    at: usize,
    sources: Sources,
}

impl<'a> SyncPoints<'a> {
    /// Creates an iterator over the synchronisation packets in `bytes`.
    pub fn new(config: &'a Config, bytes: &'a [u8]) -> Self {
        Self { config, bytes, at: 0, sources: Sources::default() }
    }

    /// Resumes at `offset`, where a message begins, if that is further ahead.
    pub fn skip_to(&mut self, offset: usize) {
        self.at = self.at.max(offset);
    }

    /// Returns whether the message may be a packet of format 3 and needs a closer look.
    #[inline]
    fn is_format_3(&self, message: &[u8]) -> bool {
        let (skip, header) = match self.config.encapsulation {
            Encapsulation::Standard { source_bits, timestamp_bytes, type_bits } => {
                let timestamp = if message[0] & 0x80 != 0 { 8 * usize::from(timestamp_bytes) } else { 0 };
                (usize::from(source_bits) + timestamp + usize::from(type_bits), message[0])
            }
            Encapsulation::Smi => (if message[0] & 0x80 != 0 { 16 } else { 0 }, message[0]),
            Encapsulation::Pulp => return true,
        };
        let (byte, bit) = (1 + skip / 8, skip % 8);
        let byte_at = |at| message.get(at).copied().map_or(0xffff, u16::from);
        header & 0x1f != 0 && (byte_at(byte) | byte_at(byte + 1) << 8) >> bit & 3 == 3
    }
}

impl Iterator for SyncPoints<'_> {
    type Item = SyncPoint;

    fn next(&mut self) -> Option<SyncPoint> {
        loop {
            let offset = self.at;
            let rest = self.bytes.get(offset..)?;
            let len = self.config.encapsulation.message_len(*rest.first()?)?;
            let message = rest.get(..len)?;
            self.at += len;
            if !self.is_format_3(message) {
                continue;
            }
            let Ok(frame) = self.config.encapsulation.frame(message) else { continue };
            let Body::Instruction(mut reader) = frame.body else { continue };
            let (options, data) = self.sources.options(frame.source, self.config);
            match packet::read(&mut reader, &self.config.params, &options) {
                Ok(Packet::Start(_) | Packet::Trap(_)) => {
                    return Some(SyncPoint { offset, source: frame.source, options, data });
                }
                Ok(Packet::Support(support)) => self.sources.support(frame.source, &support),
                _ => {}
            }
        }
    }
}
