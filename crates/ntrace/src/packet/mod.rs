//! Messages as values: parse, emit, text.
//!
//! A message is the bytes from its TCODE to the byte that ends it. [`parse`] and [`emit`] are each other's reverse, but for leading
//! zeros of fields that are not addresses: no encoder sends them, so [`emit`] does not either.

mod bytes;
mod fields;
mod malformed;
mod table;
mod text;
mod types;
mod word;

pub(crate) use bytes::Mseo;
pub use bytes::{MAX_MESSAGE, MessageBytes};
pub use fields::Value;
pub use malformed::Malformed;
pub use table::{KINDS, Packet};
pub use types::{Address, History, Process, Values};
pub(crate) use word::SHORT;

use crate::Params;
use bytes::{Fields, Source};
use word::Word;

/// Bits of TCODE.
const TCODE: u32 = 6;

/// A message with what all messages have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// Number of the message.
    pub tcode: u8,
    /// ID of the source; 0 where there is only one.
    pub source: u16,
    /// The message, or `None` if it is reserved or a vendor's.
    pub packet: Option<Packet>,
    /// Timestamp, if the message has one.
    pub timestamp: Option<u64>,
}

/// Returns whether vendors define the message with this number.
pub const fn is_vendor(tcode: u8) -> bool {
    matches!(tcode, 56..=62)
}

/// Parses one whole message: only its last byte ends a message.
///
/// # Errors
/// Fails if a field is missing or too large, or if there is more than one timestamp after the fields.
pub fn parse(bytes: &[u8], params: &Params) -> Result<Parsed, Malformed> {
    read(&mut Fields::new(bytes), params)
}

/// Parses the message that eight bytes begin with, the first one lowest. Returns its length too; `None` if it is longer, or malformed.
#[inline(always)]
pub(crate) fn parse_short(word: u64, params: &Params) -> Option<(Parsed, usize)> {
    let (mut fields, len) = Word::new(word)?;
    Some((read(&mut fields, params).ok()?, len))
}

#[inline(always)]
fn read(fields: &mut impl Source, params: &Params) -> Result<Parsed, Malformed> {
    let tcode = fields.fixed(TCODE, "tcode")? as u8;
    let source = fields.fixed(params.src_bits.into(), "src")? as u16;
    let packet = Packet::read(tcode, params.dialect, fields)?;
    let timestamp = match packet {
        Some(_) if !fields.is_done() => Some(fields.variable("tstamp")?.0),
        _ => None,
    };
    match packet {
        Some(_) if !fields.is_done() => Err(Malformed::Long),
        _ => Ok(Parsed { tcode, source, packet, timestamp }),
    }
}

/// Returns the ID of the source of the message that `bytes` begin with, whatever the message is; `None` if they are too few.
pub fn source_of(bytes: &[u8], params: &Params) -> Option<u16> {
    let mut fields = Fields::new(bytes);
    fields.fixed(TCODE, "tcode").ok()?;
    Some(fields.fixed(params.src_bits.into(), "src").ok()? as u16)
}

/// Appends a message to `bytes`, which are empty.
///
/// # Errors
/// Fails if a value does not fit its field, or if an optional field is there in spite of the field before it, or is not.
pub fn emit(
    packet: &Packet,
    source: u16,
    timestamp: Option<u64>,
    params: &Params,
    bytes: &mut MessageBytes,
) -> Result<(), Malformed> {
    bytes.fixed(packet.tcode().into(), TCODE, "tcode")?;
    bytes.fixed(source.into(), params.src_bits.into(), "src")?;
    packet.write(bytes)?;
    if let Some(timestamp) = timestamp {
        bytes.variable(timestamp)?;
    }
    bytes.end();
    Ok(())
}
