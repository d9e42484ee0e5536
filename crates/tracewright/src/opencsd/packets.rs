//! OpenCSD's listing of packets.

use std::fmt::Write as _;
use std::io::{self, Write};

use tracewright_core::text::Printable;
use tracewright_engine::{AnyPacket, Found, Line, Lost, Place, Role, SkippedRun, Skips, Source};
use tracewright_etm::packet::{Packet, opencsd};
use tracewright_input::{Buffer, Capture};

use crate::print::PacketPrinter;

/// Skipped bytes OpenCSD shows in a line.
const SKIPPED: usize = 8;
/// Skipped bytes of a run that OpenCSD shows in a line.
const RUN: usize = 16;
/// Zeros in a run after which OpenCSD shows eight of them: the others may belong to an A-Sync.
const MOST_ZEROS: usize = 13;

/// Printer of the packet lines of OpenCSD 1.8.0's `trc_pkt_lister`, byte for byte, without its banner. Read packets with
/// [`Options::like_opencsd`](crate::Options).
#[derive(Debug)]
pub struct OpenCsdPackets {
    /// Takes losses, for which OpenCSD's listing has no line.
    report: fn(&Lost),
    /// Without frames OpenCSD knows no ID.
    framed: bool,
    /// By source index in the capture.
    printers: Vec<opencsd::Printer>,
    line: Line,
    /// By source: skipped bytes not yet printed.
    skipped: Vec<Skipped>,
    /// By source: the run of bytes that were skipped just before.
    runs: Vec<Option<SkippedRun>>,
}

/// Skipped bytes of one source, gathered to lines as OpenCSD does.
#[derive(Clone, Debug, Default)]
struct Skipped {
    bytes: Vec<u8>,
    /// The line's index.
    index: u64,
    /// The index that follows the last full line: OpenCSD takes it for the next line's, though that may start in another
    /// frame.
    after_full: Option<u64>,
    /// The index of the next byte, if it is in the same run.
    next: u64,
    /// Whether the last byte is one of the zeros that begin the line.
    in_zeros: bool,
    /// Whether the last byte was the first after such zeros.
    ended_zeros: bool,
    /// Number of nibbles 0xf at the end of the line before.
    ones_before: u64,
}

impl OpenCsdPackets {
    /// Creates a printer. Losses go to `report`: OpenCSD's listing has no line for them.
    pub fn new(report: fn(&Lost)) -> Self {
        let (printers, skipped, runs) = (Vec::new(), Vec::new(), Vec::new());
        Self { report, framed: false, printers, line: Line::default(), skipped, runs }
    }

    /// Writes the line of a packet, or of skipped bytes if it is `None`.
    fn line(
        &mut self,
        out: &mut impl Write,
        source: &Source<'_>,
        index: u64,
        bytes: &[u8],
        packet: Option<&dyn AnyPacket>,
    ) -> io::Result<()> {
        let line = &mut self.line;
        line.clear();
        let id = if self.framed { source.id } else { 0 };
        line.text("Idx:").decimal(index).text("; ID:");
        let _ = write!(line, "{id:x}");
        line.text("; [");
        for byte in bytes {
            line.text("0x").hex_byte(*byte).text(" ");
        }
        line.text("];\t");
        let skipped = Packet::NotSync { len: bytes.len() as u64 };
        match (source.etm(), packet) {
            (Some(params), packet) => {
                let packet =
                    packet.and_then(|packet| packet.of_protocol().downcast_ref()).unwrap_or(&skipped);
                let _ = self.printers[source.index].write(line, packet, params);
            }
            (None, Some(packet)) => packet.opencsd(line),
            (None, None) => {
                line.text(source.opencsd_skipped());
            }
        }
        line.text("\n");
        out.write_all(line.bytes())
    }

    /// A run of bytes in a frame is a line.
    fn skipped_runs(
        &mut self,
        out: &mut impl Write,
        source: &Source<'_>,
        index: u64,
        bytes: &[u8],
    ) -> io::Result<()> {
        for (index, &byte) in (index..).zip(bytes) {
            let line = &self.skipped[source.index];
            let len = line.bytes.len();
            if line.index + len as u64 != index || len >= RUN {
                self.flush_skipped(out, source)?;
            }
            let line = &mut self.skipped[source.index];
            if line.bytes.is_empty() {
                line.index = index;
            }
            line.bytes.push(byte);
        }
        Ok(())
    }

    /// A run of bytes in a frame is a line, which also ends before a zero. Zeros go on in the next frame.
    fn skipped_zeros(
        &mut self,
        out: &mut impl Write,
        source: &Source<'_>,
        index: u64,
        bytes: &[u8],
    ) -> io::Result<()> {
        for (index, &byte) in (index..).zip(bytes) {
            let line = &self.skipped[source.index];
            if line.next != index && !line.in_zeros {
                // OpenCSD forgets to end a line at the byte that ends zeros, and takes the index of the next run for the line's.
                if !line.ended_zeros {
                    self.flush_skipped(out, source)?;
                }
                self.skipped[source.index].index = index;
            }
            if byte == 0 && !self.skipped[source.index].in_zeros {
                self.flush_skipped(out, source)?;
            }
            let line = &mut self.skipped[source.index];
            line.next = index + 1;
            if line.bytes.is_empty() {
                line.index = index;
                line.in_zeros = byte == 0;
            }
            let in_zeros = line.in_zeros;
            line.bytes.push(byte);
            line.in_zeros = in_zeros && byte == 0;
            line.ended_zeros = in_zeros && byte != 0;
            if line.in_zeros && line.bytes.len() == MOST_ZEROS {
                let bytes: Vec<u8> = line.bytes.drain(..SKIPPED).collect();
                let start = line.index;
                line.index += SKIPPED as u64;
                self.line(out, source, start, &bytes, None)?;
            } else if !in_zeros && line.bytes.len() == RUN {
                self.flush_skipped(out, source)?;
                self.skipped[source.index].next = index + 1;
            }
        }
        Ok(())
    }

    /// As OpenCSD's packet stage of ITM does: see [`Skips::EightsAndRuns`].
    fn skipped_eights(
        &mut self,
        out: &mut impl Write,
        source: &Source<'_>,
        index: u64,
        bytes: &[u8],
    ) -> io::Result<()> {
        for (index, &byte) in (index..).zip(bytes) {
            let line = &self.skipped[source.index];
            if line.next != index && !line.in_zeros {
                self.flush_skipped(out, source)?;
                self.skipped[source.index].index = index;
            }
            let line = &self.skipped[source.index];
            let in_zeros = line.in_zeros;
            // The byte that ends zeros does not end the line.
            let (is_full, start) = (line.bytes.len() >= SKIPPED && !line.ended_zeros, line.index);
            if !in_zeros && (byte == 0 || is_full) {
                self.flush_skipped(out, source)?;
                self.skipped[source.index].index = if byte == 0 { index } else { start };
            }
            let line = &mut self.skipped[source.index];
            line.next = index + 1;
            line.in_zeros = byte == 0 && (in_zeros || line.bytes.is_empty());
            line.ended_zeros = in_zeros && byte != 0;
            line.bytes.push(byte);
        }
        Ok(())
    }

    /// Ends the line of skipped bytes, and returns them.
    fn flush_skipped(&mut self, out: &mut impl Write, source: &Source<'_>) -> io::Result<Option<SkippedRun>> {
        let Skipped { bytes, index, ones_before, .. } = std::mem::take(&mut self.skipped[source.index]);
        if bytes.is_empty() {
            self.skipped[source.index].ones_before = ones_before;
            return Ok(None);
        }
        self.line(out, source, index, &bytes, None)?;
        let run = SkippedRun { index, bytes, ones_before };
        self.skipped[source.index].ones_before = run.ones();
        Ok(Some(run))
    }
}

/// ITM packets.
impl OpenCsdPackets {
    /// Zeros before a synchronisation packet belong to it, and are not shown otherwise.
    fn itm(&mut self, out: &mut impl Write, source: &Source<'_>, found: &Found<'_>) -> io::Result<()> {
        let line = &self.skipped[source.index];
        match (line.in_zeros, found.kind.role) {
            (true, Role::Skipped) => return Ok(()),
            (false, role) => {
                self.flush_skipped(out, source)?;
                if role == Role::Skipped {
                    return Ok(());
                }
            }
            (true, _) => {}
        }
        let Skipped { mut bytes, index, .. } = std::mem::take(&mut self.skipped[source.index]);
        let index = if bytes.is_empty() { found.place.opencsd_index } else { index };
        bytes.extend(found.bytes);
        // OpenCSD clears the flags of a global timestamp before it shows the byte.
        if let [0x94, _, _, _, flags] = &mut bytes[..] {
            *flags &= 0x1f;
        }
        self.line(out, source, index, &bytes, Some(found.packet))
    }
}

impl PacketPrinter for OpenCsdPackets {
    fn buffer(&mut self, out: &mut impl Write, capture: &Capture, buffer: &Buffer) -> io::Result<()> {
        self.printers = vec![opencsd::Printer::default(); capture.sources.len()];
        self.skipped = vec![Skipped::default(); capture.sources.len()];
        self.runs = vec![None; capture.sources.len()];
        writeln!(out, "Using {} as trace source", Printable(&buffer.name))?;
        self.framed = buffer.format.is_framed();
        for &source in &buffer.sources {
            let source = Source::new(capture, source);
            if let Some(name) = source.opencsd_protocol() {
                let id = if self.framed { source.id } else { 0 };
                writeln!(out, "Trace Packet Lister : Protocol printer {name} on Trace ID 0x{id:x}")?;
            }
        }
        Ok(())
    }

    fn packet(&mut self, out: &mut impl Write, found: &Found<'_>) -> io::Result<()> {
        let Some(source) = found.source.filter(|source| source.opencsd_protocol().is_some()) else {
            return Ok(());
        };
        if source.itm().is_some() {
            return self.itm(out, source, found);
        }
        let run = self.flush_skipped(out, source)?;
        if found.kind.role != Role::Skipped {
            self.skipped[source.index].ones_before = 0;
        }
        // Skipped bytes have been shown.
        if found.kind.role == Role::Skipped {
            self.runs[source.index] = run;
            return Ok(());
        }
        let run = self.runs[source.index].take().or(run);
        let Found { place, bytes, halves, .. } = *found;
        let start = place.opencsd_index + u64::from(halves.begins_inside);
        let run = run.filter(|run| run.index + run.bytes.len() as u64 == start);
        let mut shown = Vec::new();
        let index = found.packet.opencsd_bytes(place.opencsd_index, bytes, run.as_ref(), &mut shown);
        self.line(out, source, index, &shown, Some(found.packet))
    }

    /// OpenCSD ends a line of skipped bytes at eight, and before a zero, with which an A-Sync might start; but not within
    /// zeros, nor at the byte that ends them.
    fn skipped(
        &mut self,
        out: &mut impl Write,
        source: &Source<'_>,
        place: Place,
        bytes: &[u8],
    ) -> io::Result<()> {
        match source.opencsd_skips() {
            Skips::Eights => {}
            Skips::EightsAndRuns => {
                return self.skipped_eights(out, source, place.opencsd_index, bytes);
            }
            Skips::Runs => return self.skipped_runs(out, source, place.opencsd_index, bytes),
            Skips::RunsAndZeros => return self.skipped_zeros(out, source, place.opencsd_index, bytes),
        }
        for (i, &byte) in bytes.iter().enumerate() {
            let index = place.opencsd_index + i as u64;
            let after_zero = self.skipped[source.index].bytes.last() == Some(&0);
            if byte == 0 && !after_zero {
                self.flush_skipped(out, source)?;
            }
            let line = &mut self.skipped[source.index];
            if line.bytes.is_empty() {
                let after_full = line.after_full.take().filter(|_| byte != 0);
                line.index = after_full.unwrap_or(index);
            }
            line.bytes.push(byte);
            if byte != 0 && !after_zero && line.bytes.len() >= SKIPPED {
                self.flush_skipped(out, source)?;
                self.skipped[source.index].after_full = Some(index + 1);
            }
        }
        Ok(())
    }

    fn lost(&mut self, _out: &mut impl Write, lost: &Lost) -> io::Result<()> {
        (self.report)(lost);
        Ok(())
    }

    fn reset(&mut self, _out: &mut impl Write, _offset: u64) -> io::Result<()> {
        self.printers.fill(opencsd::Printer::default());
        Ok(())
    }

    fn end(&mut self, out: &mut impl Write, _: &Buffer, ids: &[u16], bytes: u64) -> io::Result<()> {
        for id in ids.iter().take(if self.framed { usize::MAX } else { 1 }) {
            writeln!(out, "ID:{:x}\tEND OF TRACE DATA", if self.framed { *id } else { 0 })?;
        }
        writeln!(out, "Trace Packet Lister : Trace buffer done, processed {bytes} bytes.")
    }
}
