use std::io::{self, Write};

use tracewright::print::{Fillers, PacketPrinter};
use tracewright::words;
use tracewright_core::text::Printable;
use tracewright_engine::{Found, Halves, Lost};
use tracewright_input::{Buffer, Capture};

use crate::output::printable_path;
use crate::terminal::{END, HEADING, heading, width};
use tracewright_engine::Line;

/// Bytes shown on a line; the rest goes on in the next.
const BYTES: usize = 6;
/// Columns before the words.
const BEFORE: usize = 37;

/// `offset id bytes packet`, in as many lines as the terminal needs.
#[derive(Default)]
pub struct Text {
    words: Line,
    line: Line,
}

impl PacketPrinter for Text {
    fn buffer(&mut self, out: &mut impl Write, capture: &Capture, buffer: &Buffer) -> io::Result<()> {
        if capture.buffers.len() > 1 {
            writeln!(
                out,
                "{HEADING}buffer {}{END} ({})",
                Printable(&buffer.name),
                printable_path(&buffer.path)
            )?;
        }
        out.write_all(heading(&format!("{:>10}  id    {:<17}  packet", "offset", "bytes")).as_bytes())
    }

    fn packet(&mut self, out: &mut impl Write, found: &Found<'_>) -> io::Result<()> {
        let Self { words, line } = self;
        let Found { source, place, bytes, halves, padding, packet, .. } = *found;
        words.clear();
        packet.words(words);
        line.clear();
        begin(line, place.offset, source.map(|source| source.id));
        let room = width() - BEFORE;
        let mut dots = usize::from(padding > 0);
        let (mut bytes, mut words) = (&bytes[padding..], words.bytes());
        let mut halves = halves;
        loop {
            let (now, later) = bytes.split_at(bytes.len().min(BYTES - dots));
            let (words_now, words_later) = split_words(words, room);
            line.text(if dots == 1 { ".. " } else { "" });
            for (i, byte) in now.iter().enumerate() {
                line.text(if i == 0 { "" } else { " " });
                let ends_inside = halves.ends_inside && later.is_empty() && i + 1 == now.len();
                let begins_inside = std::mem::take(&mut halves.begins_inside);
                if begins_inside || ends_inside {
                    half_byte(line, *byte, Halves { begins_inside, ends_inside });
                } else {
                    line.hex_byte(*byte);
                }
            }
            if !words_now.is_empty() {
                let width = (3 * (now.len() + dots)).saturating_sub(1);
                line.blanks(3 * BYTES + 1 - width).append(words_now);
            }
            line.text("\n");
            (bytes, words, dots) = (later, words_later, 0);
            if bytes.is_empty() && words.is_empty() {
                return out.write_all(line.bytes());
            }
            line.blanks(18);
        }
    }

    fn fillers(&mut self, out: &mut impl Write, fillers: &Fillers) -> io::Result<()> {
        let Fillers { id, offset, kind, count } = *fillers;
        self.note(out, offset, id, &format!("{kind}: {}", words::count(count, "packet")))
    }

    fn lost(&mut self, out: &mut impl Write, lost: &Lost) -> io::Result<()> {
        let bytes = words::count(lost.len, "byte");
        self.note(out, lost.offset, None, &format!("Lost: {bytes}, {}", lost.reason))
    }

    fn reset(&mut self, out: &mut impl Write, offset: u64) -> io::Result<()> {
        self.note(out, offset, None, "Barrier: another recording starts")
    }
}

impl Text {
    /// Writes words without bytes.
    fn note(&mut self, out: &mut impl Write, offset: u64, id: Option<u16>, words: &str) -> io::Result<()> {
        let line = &mut self.line;
        line.clear();
        begin(line, offset, id);
        line.blanks(3 * BYTES + 1);
        let mut words = words.as_bytes();
        loop {
            let (now, later) = split_words(words, width() - BEFORE);
            line.append(now);
            line.text("\n");
            if later.is_empty() {
                return out.write_all(line.bytes());
            }
            line.blanks(BEFORE);
            words = later;
        }
    }
}

/// Writes the first columns: offset and trace ID.
fn begin(line: &mut Line, offset: u64, id: Option<u16>) {
    line.hex(offset, 10).text("  ");
    match id {
        Some(id @ 0..=0xff) => line.text("0x").hex_byte(id as u8),
        Some(id) => line.text(&format!("{id:#04x}")),
        None => line.text("--  "),
    };
    line.text("  ");
}

/// Writes a byte. The half that belongs to another packet is a dot.
fn half_byte(line: &mut Line, byte: u8, halves: Halves) {
    let (high, low) = (format!("{:x}", byte >> 4), format!("{:x}", byte & 0xf));
    line.text(if halves.ends_inside { "." } else { &high });
    line.text(if halves.begins_inside { "." } else { &low });
}

/// What fits on a line, and the rest. Breaks after a comma if there is one, else at a blank.
fn split_words(words: &[u8], room: usize) -> (&[u8], &[u8]) {
    if words.len() <= room {
        return (words, b"");
    }
    let text = str::from_utf8(words).unwrap_or_default();
    let Some((end, _)) = text.char_indices().nth(room) else { return (words, b"") };
    let head = &text[..end];
    let at = head.rfind(", ").map(|comma| comma + 1).or(head.rfind(' ')).unwrap_or(head.len());
    (&words[..at], words[at..].trim_ascii_start())
}
