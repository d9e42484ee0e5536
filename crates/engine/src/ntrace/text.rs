//! N-Trace messages as text and as members of JSON objects.

use std::fmt::Write as _;

use tracewright_ntrace::packet::{self, Value};
use tracewright_ntrace::stream::{Content, Message};

use crate::line::Line;
use crate::syntax::{Kind, Role};

/// Kinds beside those of packets, which come first.
const OTHERS: [Kind; 5] = [
    Kind::new("Other", Role::Plain),
    Kind::new("Idle", Role::Plain),
    Kind::new("Malformed", Role::Malformed),
    Kind::new("Incomplete", Role::Incomplete),
    Kind::new("Not synchronised", Role::Skipped),
];

/// All kinds of messages.
pub const KINDS: &[Kind] = &{
    let mut kinds = [OTHERS[0]; packet::KINDS.len() + OTHERS.len()];
    let mut index = 0;
    while index < kinds.len() {
        kinds[index] = match index.checked_sub(packet::KINDS.len()) {
            Some(other) => OTHERS[other],
            None => {
                let (tcode, name) = packet::KINDS[index];
                Kind::new(name, if matches!(tcode, 9 | 11 | 12 | 29) { Role::Sync } else { Role::Plain })
            }
        };
        index += 1;
    }
    kinds
};

/// Returns the kind of a message.
#[inline]
pub fn kind(message: &Message) -> usize {
    let other = match &message.content {
        Content::Packet(packet) => return packet.kind(),
        Content::Other { .. } => 0,
        Content::Idle { .. } => 1,
        Content::Malformed(_) => 2,
        Content::Incomplete => 3,
        Content::NotSync { .. } => 4,
    };
    packet::KINDS.len() + other
}

/// Writes the contents of a message as text.
pub fn words(line: &mut Line, message: &Message) -> std::fmt::Result {
    match &message.content {
        Content::Packet(packet) => write!(line, "{packet}")?,
        Content::Other { tcode, .. } => write!(line, "Other: TCODE {tcode}")?,
        Content::Malformed(why) => write!(line, "Malformed: {why}")?,
        Content::NotSync { len } => write!(line, "Not synchronised: {len} bytes passed over")?,
        Content::Idle { len } => write!(line, "Idle: {len} bytes")?,
        Content::Incomplete => write!(line, "Incomplete")?,
    }
    message.timestamp.map_or(Ok(()), |time| write!(line, " tstamp={time:#x}"))
}

/// Writes a message's own fields. All text here is ours and needs no escaping. Values that may have more than 53 bits are hexadecimal
/// strings: JSON numbers lose the others.
pub fn fields(line: &mut Line, message: &Message) -> std::fmt::Result {
    if let Some(time) = message.timestamp {
        write!(line, r#","timestamp":"{time:#x}""#)?;
    }
    match &message.content {
        Content::Packet(packet) => {
            packet.fields(|name, value| {
                // Writing to a line does not fail.
                let _ = match value {
                    Value::Code(code) => write!(line, r#","{name}":{code}"#),
                    Value::Number(number) => write!(line, r#","{name}":"{number:#x}""#),
                };
            });
            match packet.history() {
                Some(history) => write!(line, r#","branches":"{history}""#),
                None => Ok(()),
            }
        }
        Content::Other { tcode, .. } => write!(line, r#","tcode":{tcode}"#),
        Content::Malformed(why) => write!(line, r#","reason":"{why}""#),
        Content::NotSync { len } | Content::Idle { len } => write!(line, r#","bytes":{len}"#),
        Content::Incomplete => Ok(()),
    }
}
