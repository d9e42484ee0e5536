//! TACIT packets as text and as members of JSON objects.

use std::fmt::Write as _;

use tracewright_tacit::packet::{self, Value};
use tracewright_tacit::stream::Item;

use crate::line::Line;
use crate::syntax::{Kind, Role};

/// Kinds beside those of packets, which come first.
const OTHERS: [Kind; 3] = [
    Kind::new("Malformed", Role::Malformed),
    Kind::new("Incomplete", Role::Incomplete),
    Kind::new("Not synchronised", Role::Skipped),
];

/// Index of synchronisation packets.
const SYNC: usize = 7;

/// All kinds of items.
pub const KINDS: &[Kind] = &{
    let mut kinds = [OTHERS[0]; packet::KINDS.len() + OTHERS.len()];
    let mut index = 0;
    while index < kinds.len() {
        kinds[index] = match index.checked_sub(packet::KINDS.len()) {
            Some(other) => OTHERS[other],
            None => Kind::new(packet::KINDS[index], if index == SYNC { Role::Sync } else { Role::Plain }),
        };
        index += 1;
    }
    kinds
};

/// Returns the kind of an item.
#[inline]
pub fn kind(item: &Item) -> usize {
    let other = match item {
        Item::Packet(packet) => return packet.kind(),
        Item::Malformed(_) => 0,
        Item::Incomplete => 1,
        Item::NotSync { .. } => 2,
    };
    packet::KINDS.len() + other
}

/// Writes the contents of an item as text.
pub fn words(line: &mut Line, item: &Item) -> std::fmt::Result {
    match item {
        Item::Packet(packet) => write!(line, "{packet}"),
        Item::Malformed(why) => write!(line, "Malformed: {why}"),
        Item::NotSync { len } => write!(line, "Not synchronised: {len} bytes passed over"),
        Item::Incomplete => write!(line, "Incomplete"),
    }
}

/// Writes an item's own fields. All text here is ours and needs no escaping. Values that may have more than 53 bits are hexadecimal
/// strings: JSON numbers lose the others.
pub fn fields(line: &mut Line, item: &Item) -> std::fmt::Result {
    match item {
        Item::Packet(packet) => {
            packet.fields(|name, value| {
                // Writing to a line does not fail.
                let _ = match value {
                    Value::Word(word) => write!(line, r#","{name}":"{word}""#),
                    Value::Count(number) | Value::Bits(number) => {
                        write!(line, r#","{name}":"{number:#x}""#)
                    }
                };
            });
            Ok(())
        }
        Item::Malformed(why) => write!(line, r#","reason":"{why}""#),
        Item::NotSync { len } => write!(line, r#","bytes":{len}"#),
        Item::Incomplete => Ok(()),
    }
}
