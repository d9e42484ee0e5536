use std::fmt::Write as _;
use std::io::{self, Write};

use tracewright_etm::packet::Packet;
use tracewright_frames::Lost;
use tracewright_input::{Buffer, Capture};

use super::Printer;
use crate::reader::{Place, SourceId};

/// Bytes shown on a line; longer packets go on in the next.
const BYTES: usize = 8;

/// `offset id bytes packet`, 80 columns wide for nearly all packets.
#[derive(Default)]
pub struct Text {
    details: String,
}

impl Printer for Text {
    fn buffer(&mut self, out: &mut impl Write, capture: &Capture, buffer: &Buffer) -> io::Result<()> {
        if capture.buffers.len() > 1 {
            writeln!(out, "buffer {} ({})", buffer.name, buffer.path.display())?;
        }
        writeln!(out, "{:>10}  id  {:<23}  packet", "offset", "bytes")
    }

    fn packet(
        &mut self,
        out: &mut impl Write,
        source: &SourceId<'_>,
        place: Place,
        bytes: &[u8],
        packet: &Packet,
    ) -> io::Result<()> {
        write!(out, "{:#10x}  {:02x}  ", place.offset, source.id.get())?;
        let mut lines = bytes.chunks(BYTES);
        hex(out, lines.next().unwrap_or_default())?;
        write!(out, "  {}", packet.kind().name())?;
        self.details.clear();
        if write!(self.details, "{}", packet.details(source.params)).is_ok() && !self.details.is_empty() {
            write!(out, ": {}", self.details)?;
        }
        out.write_all(b"\n")?;
        for line in lines {
            write!(out, "{:16}", "")?;
            hex(out, line)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    fn lost(&mut self, out: &mut impl Write, lost: &Lost) -> io::Result<()> {
        writeln!(out, "{:#10x}  --  {:23}  Lost: {} bytes, {}", lost.offset, "", lost.len, lost.reason)
    }
}

/// Two digits a byte, padded to a full line unless nothing would follow.
fn hex(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut line = [b' '; BYTES * 3 - 1];
    for (i, byte) in bytes.iter().enumerate().take(BYTES) {
        line[3 * i] = DIGITS[usize::from(byte >> 4)];
        line[3 * i + 1] = DIGITS[usize::from(byte & 0xf)];
    }
    out.write_all(&line)
}
