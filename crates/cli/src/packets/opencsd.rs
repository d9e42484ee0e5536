use std::fmt::Write as _;
use std::io::{self, Write};

use tracewright_core::TraceId;
use tracewright_etm::packet::{Kind, Packet, opencsd};
use tracewright_frames::Lost;
use tracewright_input::{Buffer, BufferFormat, Capture, Protocol};

use super::Printer;
use crate::reader::{Place, SourceId};

/// Skipped bytes OpenCSD shows in a line.
const SKIPPED: usize = 8;

/// What `trc_pkt_lister` of OpenCSD 1.8.0 prints, without its banner.
#[derive(Default)]
pub struct OpenCsd {
    /// By source index in the capture.
    printers: Vec<opencsd::Printer>,
    line: String,
    /// Skipped bytes not yet printed, by source, with the place of the first.
    pending: Vec<(Place, Vec<u8>)>,
}

impl OpenCsd {
    fn line(
        &mut self,
        out: &mut impl Write,
        source: &SourceId<'_>,
        place: Place,
        bytes: &[u8],
        packet: &Packet,
    ) -> io::Result<()> {
        let line = &mut self.line;
        line.clear();
        let _ = write!(line, "Idx:{}; ID:{:x}; [", place.opencsd_index, source.id.get());
        for byte in bytes {
            let _ = write!(line, "0x{byte:02x} ");
        }
        line.push_str("];\t");
        let _ = self.printers[source.index].write(line, packet, source.params);
        line.push('\n');
        out.write_all(line.as_bytes())
    }

    fn flush_skipped(&mut self, out: &mut impl Write, source: &SourceId<'_>) -> io::Result<()> {
        let (place, bytes) = std::mem::take(&mut self.pending[source.index]);
        if bytes.is_empty() {
            return Ok(());
        }
        let packet = Packet::NotSync { len: bytes.len() as u64 };
        self.line(out, source, place, &bytes, &packet)
    }
}

impl Printer for OpenCsd {
    fn buffer(&mut self, out: &mut impl Write, capture: &Capture, buffer: &Buffer) -> io::Result<()> {
        self.printers = vec![opencsd::Printer::default(); capture.sources.len()];
        self.pending = vec![Default::default(); capture.sources.len()];
        writeln!(out, "Using {} as trace source", buffer.name)?;
        let framed = buffer.format != BufferFormat::SourceData;
        for &source in &buffer.sources {
            if let Protocol::Etm(params) = &capture.sources[source].protocol {
                let name = if params.is_ete() { "ETE" } else { "ETMV4I" };
                let id = if framed { params.id().get() } else { 0 };
                writeln!(out, "Trace Packet Lister : Protocol printer {name} on Trace ID 0x{id:x}")?;
            }
        }
        Ok(())
    }

    fn packet(
        &mut self,
        out: &mut impl Write,
        source: &SourceId<'_>,
        place: Place,
        bytes: &[u8],
        packet: &Packet,
    ) -> io::Result<()> {
        self.flush_skipped(out, source)?;
        if packet.kind() == Kind::NotSync {
            return Ok(());
        }
        self.line(out, source, place, bytes, packet)
    }

    /// OpenCSD shows skipped bytes eight at a time, a zero always at the start of a line.
    fn skipped(
        &mut self,
        out: &mut impl Write,
        source: &SourceId<'_>,
        place: Place,
        bytes: &[u8],
    ) -> io::Result<()> {
        for (i, &byte) in bytes.iter().enumerate() {
            let len = self.pending[source.index].1.len();
            if len == SKIPPED || (byte == 0 && len > 0) {
                self.flush_skipped(out, source)?;
            }
            let (start, pending) = &mut self.pending[source.index];
            if pending.is_empty() {
                let offset = place.offset + i as u64;
                *start = Place { offset, opencsd_index: place.opencsd_index + i as u64 };
            }
            pending.push(byte);
        }
        Ok(())
    }

    fn lost(&mut self, _out: &mut impl Write, lost: &Lost) -> io::Result<()> {
        // OpenCSD's listing has no line for it.
        crate::output::report(&lost.to_string());
        Ok(())
    }

    fn end(&mut self, out: &mut impl Write, ids: &[TraceId], bytes: u64) -> io::Result<()> {
        for id in ids {
            writeln!(out, "ID:{:x}\tEND OF TRACE DATA", id.get())?;
        }
        writeln!(out, "Trace Packet Lister : Trace buffer done, processed {bytes} bytes.")
    }
}
