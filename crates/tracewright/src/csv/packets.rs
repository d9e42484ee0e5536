//! Packets as a table: a row for each, with its fields.

use std::io::{self, Write};

use tracewright_engine::{Found, Lost};
use tracewright_input::{Buffer, Capture};

use super::{Cell, Csv};
use crate::compare::{Fields, Step, shown};
use crate::print::{Fillers, PacketPrinter};

/// Creates the table.
pub fn table() -> Csv<7> {
    Csv::new("buffer,offset,id,kind,hex,text,fields")
}

/// Adds a packet.
pub fn row(table: &mut Csv<7>, buffer: &str, packet: &Step) {
    let hex: String = packet.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let id = packet.id.map(u32::from);
    let (text, fields) = (packet.text.as_str(), joined(&packet.fields));
    table.row([
        buffer.into(),
        packet.offset.into(),
        id.into(),
        packet.kind.into(),
        hex.into(),
        text.into(),
        fields.into(),
    ]);
}

/// Adds a row without bytes.
fn note(table: &mut Csv<7>, buffer: &str, (offset, id): (u64, Option<u16>), kind: &str, text: &str) {
    let id = id.map(u32::from);
    table.row([
        buffer.into(),
        offset.into(),
        id.into(),
        kind.into(),
        Cell::Nothing,
        text.into(),
        Cell::Nothing,
    ]);
}

/// Returns fields as `name=value name=value`.
fn joined(fields: &Fields) -> String {
    let fields: Vec<_> =
        fields.iter().map(|(name, value)| format!("{name}={}", shown(value).replace(' ', "_"))).collect();
    fields.join(" ")
}

/// Comma-separated values: a row for each packet.
#[derive(Debug)]
pub struct Rows {
    csv: Csv<7>,
    buffer: String,
}

impl Default for Rows {
    fn default() -> Self {
        Self { csv: table(), buffer: String::new() }
    }
}

impl Rows {
    fn note(
        &mut self,
        out: &mut impl Write,
        at: (u64, Option<u16>),
        kind: &str,
        text: &str,
    ) -> io::Result<()> {
        note(&mut self.csv, &self.buffer, at, kind, text);
        out.write_all(self.csv.take().as_bytes())
    }
}

impl PacketPrinter for Rows {
    fn buffer(&mut self, out: &mut impl Write, _: &Capture, buffer: &Buffer) -> io::Result<()> {
        self.buffer.clone_from(&buffer.name);
        // The names of the columns, before the first buffer.
        out.write_all(self.csv.take().as_bytes())
    }

    fn packet(&mut self, out: &mut impl Write, packet: &Found<'_>) -> io::Result<()> {
        row(&mut self.csv, &self.buffer, &Step::of(packet));
        out.write_all(self.csv.take().as_bytes())
    }

    fn fillers(&mut self, out: &mut impl Write, fillers: &Fillers) -> io::Result<()> {
        let Fillers { id, offset, kind, count } = *fillers;
        self.note(out, (offset, id), kind, &format!("{count} packets"))
    }

    fn lost(&mut self, out: &mut impl Write, lost: &Lost) -> io::Result<()> {
        self.note(out, (lost.offset, None), "Lost", &format!("{} bytes, {}", lost.len, lost.reason))
    }

    fn reset(&mut self, out: &mut impl Write, offset: u64) -> io::Result<()> {
        self.note(out, (offset, None), "Barrier", "another recording starts")
    }
}
