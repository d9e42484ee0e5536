use std::io::{self, Write};

use tracewright_engine::Found;
use tracewright_frames::Lost;
use tracewright_input::{Buffer, Capture};

use super::Printer;
use crate::line::Line;

/// One object per line. Addresses, timestamps and other 64-bit values are hexadecimal strings: JSON numbers lose
/// bits above 53.
#[derive(Default)]
pub struct Json {
    buffer: String,
    line: Line,
}

impl Printer for Json {
    fn buffer(&mut self, _: &mut impl Write, _: &Capture, buffer: &Buffer) -> io::Result<()> {
        self.buffer = serde_json::to_string(&buffer.name)?;
        Ok(())
    }

    fn packet(&mut self, out: &mut impl Write, found: &Found<'_>) -> io::Result<()> {
        let Self { buffer, line } = self;
        let Found { source, place, bytes, packet } = *found;
        line.clear();
        line.text(r#"{"buffer":"#).text(buffer).text(r#","offset":"#).decimal(place.offset);
        if let Some(source) = source {
            line.text(r#","id":"#).decimal(source.id.into());
        }
        line.text(r#","kind":""#).text(packet.kind().name).text(r#"","bytes":""#);
        for byte in bytes {
            line.hex_byte(*byte);
        }
        line.text("\"");
        packet.fields(line);
        line.text("}\n");
        out.write_all(line.bytes())
    }

    fn fillers(&mut self, out: &mut impl Write, offset: u64, kind: &str, count: u64) -> io::Result<()> {
        let buffer = &self.buffer;
        writeln!(out, r#"{{"buffer":{buffer},"offset":{offset},"kind":"{kind}","len":{count}}}"#)
    }

    fn lost(&mut self, out: &mut impl Write, lost: &Lost) -> io::Result<()> {
        let Lost { offset, len, reason } = lost;
        let buffer = &self.buffer;
        writeln!(
            out,
            r#"{{"buffer":{buffer},"offset":{offset},"kind":"Lost","len":{len},"reason":"{reason}"}}"#
        )
    }

    fn reset(&mut self, out: &mut impl Write, offset: u64) -> io::Result<()> {
        writeln!(out, r#"{{"buffer":{},"offset":{offset},"kind":"Barrier"}}"#, self.buffer)
    }
}
