//! Framing of one message: the encapsulation around a payload.

use super::Encapsulation;
use crate::bits::Reader;
use crate::packet::Malformed;

/// Length of the longest message: source and timestamp at their widest.
pub(super) const MAX_MESSAGE: usize = 1 + 2 + 8 + 31;

/// Length of a PULP record.
pub(super) const RECORD: usize = 40;

/// Header of a message and the place of its payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) source: u16,
    pub(super) flow: u8,
    pub(super) timestamp: Option<u64>,
    pub(super) body: Body,
}

/// Kind of a message.
#[derive(Clone, Copy, Debug)]
pub(super) enum Body {
    Idle,
    Alignment,
    Instruction(Reader),
    Data(Reader),
    Other(u8),
}

impl Encapsulation {
    /// Returns the length of the message that starts with this byte, or `None` if no message does.
    #[inline]
    pub(super) fn message_len(&self, first: u8) -> Option<usize> {
        let length = usize::from(first & 0x1f);
        let extend = first & 0x80 != 0;
        match *self {
            Self::Standard { source_bits, timestamp_bytes, .. } => Some(if length == 0 {
                1
            } else {
                1 + usize::from(source_bits / 8) + if extend { timestamp_bytes.into() } else { 0 } + length
            }),
            Self::Smi if length == 0 => None,
            Self::Smi => Some(1 + if extend { 2 } else { 0 } + length),
            Self::Pulp => Some(RECORD),
        }
    }

    /// Returns how many null packets in a row prove where packets begin; 0 if the encapsulation has no null
    /// packets.
    pub(super) fn nulls(&self) -> u32 {
        match *self {
            Self::Standard { source_bits, timestamp_bytes, .. } => {
                31 + u32::from(timestamp_bytes) + u32::from(source_bits) / 8 + 1
            }
            Self::Smi | Self::Pulp => 0,
        }
    }

    /// Reads the header of the message that fills `bytes`.
    #[inline]
    pub(super) fn frame(&self, bytes: &[u8]) -> Result<Frame, Malformed> {
        let Some((&header, rest)) = bytes.split_first() else { return Err(Malformed::Length) };
        match *self {
            Self::Standard { source_bits, timestamp_bytes, type_bits } => {
                Ok(standard(source_bits, timestamp_bytes, type_bits, header, rest))
            }
            Self::Smi => {
                let (tag, payload) = match rest {
                    [low, high, payload @ ..] if header & 0x80 != 0 => {
                        (Some(u64::from(u16::from_le_bytes([*low, *high]))), payload)
                    }
                    _ => (None, rest),
                };
                if payload.is_empty() {
                    return Err(Malformed::Length);
                }
                let kind = header >> 5 & 3;
                let body = match kind {
                    2 => Body::Instruction(Reader::new(payload, 0)),
                    3 => Body::Data(Reader::new(payload, 0)),
                    _ => Body::Other(kind),
                };
                Ok(Frame { source: 0, flow: 0, timestamp: tag, body })
            }
            Self::Pulp => {
                let mut record = [0; RECORD];
                record.iter_mut().zip(bytes.iter().rev()).for_each(|(to, from)| *to = *from);
                let header = record[0];
                let len = 1 + if header & 0x80 != 0 { 8 } else { 0 } + usize::from(header & 0x1f);
                if header & 0x1f == 0 {
                    return Err(Malformed::Length);
                }
                if record[len..].iter().any(|&byte| byte != 0) {
                    return Err(Malformed::Field("padding"));
                }
                Ok(standard(0, 8, 0, header, &record[1..len]))
            }
        }
    }
}

/// Reads the header of a message in the standard encapsulation.
#[inline]
fn standard(source_bits: u8, timestamp_bytes: u8, type_bits: u8, header: u8, rest: &[u8]) -> Frame {
    let flow = header >> 5 & 3;
    let extend = header & 0x80 != 0;
    if header & 0x1f == 0 {
        let body = if extend { Body::Alignment } else { Body::Idle };
        return Frame { source: 0, flow, timestamp: None, body };
    }
    let mut reader = Reader::new(rest, 0);
    let source = reader.take(source_bits.into()) as u16;
    let timestamp = extend.then(|| reader.take(8 * u32::from(timestamp_bytes)));
    let body = match reader.take(type_bits.into()) as u8 {
        0 => Body::Instruction(reader),
        1 => Body::Data(reader),
        kind => Body::Other(kind),
    };
    Frame { source, flow, timestamp, body }
}
