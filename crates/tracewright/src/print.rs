//! Packets as text: a [`PacketPrinter`] writes them in one style, and [`PrintPackets`] gives it those of a buffer.

use std::io::{self, Write};

use tracewright_engine::{Found, Line, Lost, Place, Source, Visitor};
use tracewright_input::{Buffer, Capture};

/// A printer of packets in one style.
pub trait PacketPrinter {
    /// Begins a buffer.
    fn buffer(&mut self, out: &mut impl Write, capture: &Capture, buffer: &Buffer) -> io::Result<()>;
    /// Prints a packet.
    fn packet(&mut self, out: &mut impl Write, found: &Found<'_>) -> io::Result<()>;
    /// Prints packets in a row that only fill the line.
    fn fillers(&mut self, _: &mut impl Write, _: &Fillers) -> io::Result<()> {
        Ok(())
    }
    /// Prints bytes of a source that were skipped while it was not synchronised.
    fn skipped(&mut self, _: &mut impl Write, _: &Source<'_>, _: Place, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }
    /// Prints bytes that belong to no source.
    fn lost(&mut self, out: &mut impl Write, lost: &Lost) -> io::Result<()>;
    /// Ends a buffer: the IDs of its sources, and the bytes that were read.
    fn end(&mut self, _: &mut impl Write, _: &Buffer, _ids: &[u16], _bytes: u64) -> io::Result<()> {
        Ok(())
    }
    /// Prints a barrier: what follows is a new recording.
    fn reset(&mut self, out: &mut impl Write, offset: u64) -> io::Result<()>;
}

/// Packets in a row that only fill the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fillers {
    /// Number of their source in the buffer; `None` if they belong to no source.
    pub id: Option<u16>,
    /// Offset in the trace file at which the first begins.
    pub offset: u64,
    /// Their kind.
    pub kind: &'static str,
    /// Number of packets.
    pub count: u64,
}

/// Visitor that prints the packets of a buffer. Printing stops where the output fails.
#[derive(Debug)]
pub struct PrintPackets<'a, W, P> {
    out: &'a mut W,
    printer: &'a mut P,
    capture: &'a Capture,
    buffer: &'a Buffer,
    fillers: Option<Fillers>,
    failed: io::Result<()>,
}

impl<'a, W: Write, P: PacketPrinter> PrintPackets<'a, W, P> {
    /// Creates a visitor for a buffer.
    pub fn new(out: &'a mut W, printer: &'a mut P, capture: &'a Capture, buffer: &'a Buffer) -> Self {
        Self { out, printer, capture, buffer, fillers: None, failed: Ok(()) }
    }

    /// Prints what is left.
    ///
    /// # Errors
    /// Fails if the output failed.
    pub fn finish(mut self) -> io::Result<()> {
        self.end_fillers();
        self.failed
    }

    fn print(&mut self, print: impl FnOnce(&mut P, &mut W) -> io::Result<()>) {
        if self.fillers.is_some() {
            self.end_fillers();
        }
        if self.failed.is_ok() {
            self.failed = print(self.printer, self.out);
        }
    }

    /// Prints a row of fillers as one line.
    fn end_fillers(&mut self) {
        if let Some(fillers) = self.fillers.take() {
            self.print(|printer, out| printer.fillers(out, &fillers));
        }
    }
}

impl<W: Write, P: PacketPrinter> Visitor for PrintPackets<'_, W, P> {
    fn opened(&mut self) {
        let Self { capture, buffer, .. } = *self;
        self.print(|printer, out| printer.buffer(out, capture, buffer));
    }

    fn packet(&mut self, found: &Found<'_>) {
        if found.is_filler {
            let (id, kind) = (found.source.map(|source| source.id), found.kind.name);
            if self.fillers.is_some_and(|before| (before.id, before.kind) != (id, kind)) {
                self.end_fillers();
            }
            let offset = found.place.offset;
            self.fillers.get_or_insert(Fillers { id, offset, kind, count: 0 }).count += 1;
        } else {
            self.print(|printer, out| printer.packet(out, found));
        }
    }

    fn skipped(&mut self, source: &Source<'_>, place: Place, bytes: &[u8]) {
        self.print(|printer, out| printer.skipped(out, source, place, bytes));
    }

    fn lost(&mut self, lost: &Lost) {
        self.print(|printer, out| printer.lost(out, lost));
    }

    fn reset(&mut self, offset: u64) {
        self.print(|printer, out| printer.reset(out, offset));
    }

    fn is_done(&self) -> bool {
        self.failed.is_err()
    }
}

/// One object per line, after the line that every listing begins with. Addresses, timestamps and other 64-bit values are hexadecimal strings: JSON numbers lose
/// bits above 53.
#[derive(Debug)]
pub struct JsonPackets {
    first: String,
    /// What all objects of a buffer begin with.
    start: String,
    line: Line,
}

impl JsonPackets {
    /// Creates a printer that writes this line before all others.
    pub fn new(first: String) -> Self {
        Self { first, start: String::new(), line: Line::default() }
    }
}

impl PacketPrinter for JsonPackets {
    fn buffer(&mut self, out: &mut impl Write, _: &Capture, buffer: &Buffer) -> io::Result<()> {
        if self.start.is_empty() {
            out.write_all(self.first.as_bytes())?;
        }
        self.start = format!(r#"{{"buffer":{},"offset":"#, serde_json::to_string(&buffer.name)?);
        Ok(())
    }

    fn packet(&mut self, out: &mut impl Write, found: &Found<'_>) -> io::Result<()> {
        let Self { start, line, .. } = self;
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
