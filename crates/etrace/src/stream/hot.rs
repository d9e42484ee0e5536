//! Fast path for the most frequent messages: short ones without a timestamp.

use super::sources::Sources;
use super::{Config, Content, Encapsulation, EtraceSink, Message};
use crate::Params;
use crate::packet;

/// Header bits and widths that the fast path needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hot {
    packet: packet::Hot,
    /// Header bits that must have a fixed value.
    mask: u8,
    header: u8,
    /// Position of the flow indicator in the header.
    flow: u8,
    source_bits: u32,
    type_bits: u32,
}

impl Hot {
    /// Creates a fast path, or returns `None` if this configuration has none.
    pub(super) fn new(params: &Params, encapsulation: &Encapsulation) -> Option<Self> {
        let packet = packet::Hot::new(params)?;
        let (mask, header, flow, source_bits, type_bits) = match *encapsulation {
            Encapsulation::Standard { source_bits, type_bits, .. } => (0x80, 0, 0x60, source_bits, type_bits),
            Encapsulation::Smi => (0xe0, 0x40, 0, 0, 0),
            Encapsulation::Pulp => return None,
        };
        let (source_bits, type_bits) = (source_bits.into(), type_bits.into());
        Some(Self { packet, mask, header, flow, source_bits, type_bits })
    }

    /// Reads messages from `bytes`, which begin at stream position `position`. Stops at a message that needs
    /// the general parser, or near the end. Returns the offset where it stopped.
    #[inline]
    pub(super) fn run(
        &self,
        bytes: &[u8],
        position: u64,
        config: &Config,
        sources: &Sources,
        sink: &mut impl EtraceSink,
    ) -> usize {
        match (self.source_bits, self.type_bits) {
            (0, 0) => self.run_as::<true>(bytes, position, config, sources, sink),
            _ => self.run_as::<false>(bytes, position, config, sources, sink),
        }
    }

    /// Reads messages; `ALONE` if there is only one source and only instruction trace.
    #[inline]
    fn run_as<const ALONE: bool>(
        &self,
        bytes: &[u8],
        position: u64,
        config: &Config,
        sources: &Sources,
        sink: &mut impl EtraceSink,
    ) -> usize {
        let Self { packet, mask, header: expected, flow, .. } = *self;
        let (source_bits, type_bits) = if ALONE { (0, 0) } else { (self.source_bits, self.type_bits) };
        // Messages read here never change options.
        let (mut source, (mut options, _)) = (0, sources.options(0, config));
        let mut at = 0;
        while let Some(&[header, ref word @ ..]) = bytes.get(at..).and_then(<[u8]>::first_chunk::<9>) {
            let length = usize::from(header & 0x1f);
            let len = length + (source_bits / 8) as usize;
            if header & mask != expected || length == 0 || len > 8 {
                break;
            }
            let bits = 8 * len as u32;
            let word = ((u64::from_le_bytes(*word) << (64 - bits)) as i64) >> (64 - bits);
            let from = (word & ((1 << source_bits) - 1)) as u16;
            let word = word >> source_bits;
            if word & ((1 << type_bits) - 1) != 0 {
                break;
            }
            let word = (word >> type_bits) as u64;
            if ALONE && sink.short(position + at as u64, word, len as u32) {
                at += 1 + len;
                continue;
            }
            if from != source {
                (source, (options, _)) = (from, sources.options(from, config));
            }
            // A message may end before its payload begins; the payload is then all sign bits.
            let bits = bits.saturating_sub(source_bits + type_bits);
            let Some(packet) = packet.read(word, bits, &options) else { break };
            let content = Content::Instruction(packet);
            let message = Message { source, flow: (header & flow) >> 5, timestamp: None, content };
            sink.message(position + at as u64, &bytes[at..=at + len], &message);
            at += 1 + len;
        }
        at
    }
}
