use std::io::{self, Write};

use tracewright::print::{Fillers, PacketPrinter};
use tracewright_engine::{Found, Lost};
use tracewright_input::{Buffer, Capture};

use crate::json;
use tracewright_engine::Line;

/// One object per line, after the line that every listing begins with. Addresses, timestamps and other 64-bit values are hexadecimal strings: JSON numbers lose
/// bits above 53.
#[derive(Default)]
pub struct Json {
    /// What all objects of a buffer begin with.
    start: String,
    line: Line,
}

impl PacketPrinter for Json {
    fn buffer(&mut self, out: &mut impl Write, _: &Capture, buffer: &Buffer) -> io::Result<()> {
        if self.start.is_empty() {
            out.write_all(json::first_line("packets").as_bytes())?;
        }
        self.start = format!(r#"{{"buffer":{},"offset":"#, serde_json::to_string(&buffer.name)?);
        Ok(())
    }

    fn packet(&mut self, out: &mut impl Write, found: &Found<'_>) -> io::Result<()> {
        let Self { start, line } = self;
        let Found { source, place, bytes, kind, packet, .. } = *found;
        line.clear();
        line.text(start).decimal(place.offset);
        if let Some(source) = source {
            line.text(r#","id":"#).decimal(source.id.into());
        }
        line.text(r#","kind":""#).text(kind.name).text(r#"","hex":""#);
        for byte in bytes {
            line.hex_byte(*byte);
        }
        line.text("\"");
        packet.fields(line);
        line.text("}\n");
        out.write_all(line.bytes())
    }

    fn fillers(&mut self, out: &mut impl Write, fillers: &Fillers) -> io::Result<()> {
        let Fillers { id, offset, kind, count } = fillers;
        let id = id.map_or(String::new(), |id| format!(r#","id":{id}"#));
        writeln!(out, r#"{}{offset}{id},"kind":"{kind}","packets":{count}}}"#, self.start)
    }

    fn lost(&mut self, out: &mut impl Write, lost: &Lost) -> io::Result<()> {
        let Lost { offset, len, reason } = lost;
        writeln!(out, r#"{}{offset},"kind":"Lost","bytes":{len},"reason":"{reason}"}}"#, self.start)
    }

    fn reset(&mut self, out: &mut impl Write, offset: u64) -> io::Result<()> {
        writeln!(out, r#"{}{offset},"kind":"Barrier"}}"#, self.start)
    }
}
