use std::io::{self, Write};

use tracewright::print::{Fillers, PacketPrinter};
use tracewright_engine::{Found, Lost};
use tracewright_input::{Buffer, Capture};

use tracewright::csv::{Cell, Csv};
use tracewright_engine::Line;

/// Comma-separated values: a row for each packet.
pub struct Rows {
    csv: Csv<6>,
    buffer: String,
    line: Line,
}

impl Default for Rows {
    fn default() -> Self {
        let csv = Csv::new("buffer,offset,id,kind,hex,text");
        Self { csv, buffer: String::new(), line: Line::default() }
    }
}

impl Rows {
    /// Writes a row without bytes.
    fn note(
        &mut self,
        out: &mut impl Write,
        (offset, id): (u64, Option<u16>),
        kind: &str,
        text: String,
    ) -> io::Result<()> {
        let buffer = self.buffer.as_str().into();
        let id = id.map(u32::from).into();
        self.csv.row([buffer, offset.into(), id, kind.into(), Cell::Nothing, text.into()]);
        out.write_all(self.csv.take().as_bytes())
    }
}

impl PacketPrinter for Rows {
    fn buffer(&mut self, out: &mut impl Write, _: &Capture, buffer: &Buffer) -> io::Result<()> {
        self.buffer.clone_from(&buffer.name);
        // The names of the columns, before the first buffer.
        out.write_all(self.csv.take().as_bytes())
    }

    fn packet(&mut self, out: &mut impl Write, found: &Found<'_>) -> io::Result<()> {
        let Self { csv, buffer, line } = self;
        let Found { source, place, bytes, kind, packet, .. } = *found;
        line.clear();
        packet.words(line);
        let text = String::from_utf8_lossy(line.bytes());
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let id = source.map(|source| u32::from(source.id));
        csv.row([
            buffer.as_str().into(),
            place.offset.into(),
            id.into(),
            kind.name.into(),
            hex.into(),
            (*text).into(),
        ]);
        out.write_all(csv.take().as_bytes())
    }

    fn fillers(&mut self, out: &mut impl Write, fillers: &Fillers) -> io::Result<()> {
        let Fillers { id, offset, kind, count } = *fillers;
        self.note(out, (offset, id), kind, format!("{count} packets"))
    }

    fn lost(&mut self, out: &mut impl Write, lost: &Lost) -> io::Result<()> {
        self.note(out, (lost.offset, None), "Lost", format!("{} bytes, {}", lost.len, lost.reason))
    }

    fn reset(&mut self, out: &mut impl Write, offset: u64) -> io::Result<()> {
        self.note(out, (offset, None), "Barrier", "another recording starts".into())
    }
}
