//! E-Trace messages, as text and as JSON.

use std::fmt::Write as _;
use std::io::{self, Write};

use tracewright_core::text::Printable;
use tracewright_engine::BufferReader;
use tracewright_etrace::packet::{Address, BranchMap, Context, Packet, QualStatus, Support};
use tracewright_etrace::stream::Content;
use tracewright_input::{Buffer, Capture};

use super::text::split_words;
use crate::args::SelectArgs;
use crate::etrace::{self, Found, Kind, Strangers, Visitor};
use crate::line::Line;
use crate::output::{Error, printable_path};
use crate::progress;

/// Bytes shown on a line; the rest goes on in the next.
const BYTES: usize = 6;
/// Bytes of a record of PULP's.
const RECORD: usize = 40;

/// Prints all messages of a buffer. Returns how many errors there were.
pub fn print(
    out: &mut impl Write,
    capture: &Capture,
    buffer: &Buffer,
    select: &SelectArgs,
    json: bool,
) -> Result<u64, Error> {
    // Opened first: nothing is printed about a file that cannot be.
    let bar = progress::of(buffer);
    let advance = |bytes| bar.inc(bytes);
    let input = BufferReader::open(buffer, &capture.checksums, &advance)?;
    if !json {
        if capture.buffers.len() > 1 {
            writeln!(out, "buffer {} ({})", Printable(&buffer.name), printable_path(&buffer.path))?;
        }
        writeln!(out, "{:>10}  id  {:<17}  packet", "offset", "bytes")?;
    }
    let mut print = Print {
        out,
        select,
        json: json.then(|| serde_json::to_string(&buffer.name)).transpose().map_err(io::Error::from)?,
        strangers: Strangers::default(),
        line: Line::default(),
        words: String::new(),
        idle: None,
        errors: 0,
        failed: Ok(()),
    };
    let read = etrace::read(capture, buffer, input, &mut print)?;
    print.end_idle();
    print.failed?;
    print.out.flush()?;
    print.strangers.report(capture, buffer);
    Ok(print.errors + read.failures)
}

struct Print<'a, W> {
    out: &'a mut W,
    select: &'a SelectArgs,
    /// The buffer's name, for JSON.
    json: Option<String>,
    strangers: Strangers,
    line: Line,
    words: String,
    /// Where a row of idle packets began, and how many there were.
    idle: Option<(u64, u64)>,
    errors: u64,
    failed: io::Result<()>,
}

impl<W: Write> Print<'_, W> {
    /// A row of idle packets is one line.
    fn end_idle(&mut self) {
        let Some((offset, len)) = self.idle.take() else { return };
        self.line.clear();
        match &self.json {
            None => {
                let plural = if len == 1 { "" } else { "s" };
                self.line.hex(offset, 10).text("  --  ").blanks(3 * BYTES + 1);
                self.line.text("Idle: ").decimal(len).text(" packet").text(plural).text("\n");
            }
            Some(name) => {
                self.line.text(r#"{"buffer":"#).text(name).text(r#","offset":"#).decimal(offset);
                self.line.text(r#","kind":"Idle","len":"#).decimal(len).text("}\n");
            }
        }
        self.write();
    }

    fn write(&mut self) {
        if self.failed.is_ok() {
            self.failed = self.out.write_all(self.line.bytes());
        }
    }
}

impl<W: Write> Visitor for Print<'_, W> {
    fn message(&mut self, found: &Found<'_>) {
        let kind = Kind::of(found.message);
        // A buffer starts anywhere and stops anywhere: neither is an error.
        self.errors += u64::from(kind == Kind::Malformed);
        if kind.has_source() {
            if found.source.is_none() {
                self.strangers.add(found.message.source, found.bytes.len());
                return;
            }
            if !self.select.wants_number(found.message.source) {
                return;
            }
        }
        if kind == Kind::Idle && found.message.flow == 0 {
            self.idle.get_or_insert((found.offset, 0)).1 += 1;
            return;
        }
        self.end_idle();
        match &self.json {
            None => text(&mut self.line, &mut self.words, found, kind),
            Some(name) => json(&mut self.line, name, found, kind),
        }
        self.write();
    }

    fn is_done(&self) -> bool {
        self.failed.is_err()
    }
}

/// `offset id bytes packet`, at most 80 columns wide.
fn text(line: &mut Line, words: &mut String, found: &Found<'_>, kind: Kind) {
    words.clear();
    // Writing to a string does not fail.
    let _ = match &found.message.content {
        Content::Instruction(packet) => {
            write!(words, "{}: {}", packet.name(), packet.details(&found.options))
        }
        Content::Data(packet) => write!(words, "Data: {packet}"),
        Content::Other { kind } => write!(words, "Other: type {kind}"),
        Content::Malformed(why) => write!(words, "Malformed: {why}"),
        Content::NotSync { len } => write!(words, "Not synchronised: {len} bytes passed over"),
        _ => write!(words, "{}", kind.name()),
    };
    if let Some(time) = found.message.timestamp {
        let _ = write!(words, ", timestamp {time:#x}");
    }
    if found.message.flow != 0 {
        let _ = write!(words, ", flow {}", found.message.flow);
    }
    line.clear();
    line.hex(found.offset, 10);
    if kind.has_source() {
        let _ = write!(line, "  {:02x}  ", found.message.source);
    } else {
        line.text("  --  ");
    }
    // PULP's records are filled up in front.
    let zeros = found.bytes.iter().take_while(|&&byte| byte == 0).count();
    let is_filled = found.bytes.len() == RECORD && zeros > 2;
    let shown = if is_filled { &found.bytes[zeros..] } else { found.bytes };
    let (mut bytes, mut words) = (shown, words.as_str());
    let mut is_first = is_filled;
    loop {
        let dots = usize::from(std::mem::take(&mut is_first));
        let (now, later) = bytes.split_at(bytes.len().min(BYTES - dots));
        let (words_now, words_later) = split_words(words);
        line.text(if dots == 1 { ".. " } else { "" });
        for (i, byte) in now.iter().enumerate() {
            line.text(if i == 0 { "" } else { " " }).hex_byte(*byte);
        }
        if !words_now.is_empty() {
            let width = (3 * (now.len() + dots)).saturating_sub(1);
            line.blanks(3 * BYTES + 1 - width).text(words_now);
        }
        line.text("\n");
        (bytes, words) = (later, words_later);
        if bytes.is_empty() && words.is_empty() {
            return;
        }
        line.blanks(16);
    }
}

/// An object. Addresses and other 64-bit values are hexadecimal strings: JSON numbers lose bits above 53.
fn json(line: &mut Line, buffer: &str, found: &Found<'_>, kind: Kind) {
    line.clear();
    line.text(r#"{"buffer":"#).text(buffer).text(r#","offset":"#).decimal(found.offset);
    if kind.has_source() {
        line.text(r#","id":"#).decimal(found.message.source.into());
    }
    line.text(r#","kind":""#).text(kind.name()).text(r#"","bytes":""#);
    for byte in found.bytes {
        line.hex_byte(*byte);
    }
    line.text("\"");
    // Writing to a line does not fail.
    let _ = fields(line, found);
    line.text("}\n");
}

/// The message's own fields, each with a comma before it. All text here is ours and needs no escaping.
fn fields(line: &mut Line, found: &Found<'_>) -> std::fmt::Result {
    if let Some(time) = found.message.timestamp {
        write!(line, r#","timestamp":"{time:#x}""#)?;
    }
    if found.message.flow != 0 {
        write!(line, r#","flow":{}"#, found.message.flow)?;
    }
    match &found.message.content {
        Content::Instruction(packet) => packet_fields(line, found, packet),
        Content::Data(packet) => write!(line, r#","data":"{packet}""#),
        Content::Other { kind } => write!(line, r#","type":{kind}"#),
        Content::Malformed(why) => write!(line, r#","why":"{why}""#),
        Content::NotSync { len } => write!(line, r#","len":{len}"#),
        _ => Ok(()),
    }
}

fn packet_fields(line: &mut Line, found: &Found<'_>, packet: &Packet) -> std::fmt::Result {
    match packet {
        Packet::Start(start) => {
            write!(line, r#","address":"{:#x}","branch_taken":{}"#, start.address, start.taken)?;
            context(line, &start.context)
        }
        Packet::Trap(trap) => {
            let (ecause, interrupt, thaddr) = (trap.ecause, trap.interrupt, trap.thaddr);
            write!(line, r#","ecause":{ecause},"interrupt":{interrupt},"thaddr":{thaddr}"#)?;
            if let Some(address) = trap.address {
                write!(line, r#","address":"{address:#x}""#)?;
            }
            if let Some(tval) = trap.tval {
                write!(line, r#","tval":"{tval:#x}""#)?;
            }
            write!(line, r#","branch_taken":{}"#, trap.taken)?;
            context(line, &trap.context)
        }
        Packet::Context(told) => context(line, told),
        Packet::Support(told) => support(line, told),
        Packet::Address(told) => address(line, found, told),
        Packet::Branches(map, told) => {
            branches(line, *map)?;
            told.as_ref().map_or(Ok(()), |told| address(line, found, told))
        }
        Packet::BranchCount(count) => {
            write!(line, r#","count":{},"failed":{}"#, count.count, count.failed)?;
            count.address.as_ref().map_or(Ok(()), |told| address(line, found, told))
        }
        Packet::JumpTarget { index, branches: map, returns } => {
            write!(line, r#","index":{index}"#)?;
            branches(line, *map)?;
            self::returns(line, *returns)
        }
    }
}

fn branches(line: &mut Line, map: BranchMap) -> std::fmt::Result {
    write!(line, r#","branches":"{map:?}""#)
}

fn returns(line: &mut Line, returns: Option<u32>) -> std::fmt::Result {
    returns.map_or(Ok(()), |returns| write!(line, r#","returns":{returns}"#))
}

fn address(line: &mut Line, found: &Found<'_>, address: &Address) -> std::fmt::Result {
    if found.options.full_address {
        write!(line, r#","address":"{:#x}""#, address.value)?;
    } else {
        // Differences of 53 bits and more are no trace's of any program, but bytes may say so.
        write!(line, r#","difference":"{}""#, address.value as i64)?;
    }
    write!(line, r#","notify":{},"updiscon":{}"#, address.notify, address.updiscon)?;
    returns(line, address.returns)
}

fn context(line: &mut Line, context: &Context) -> std::fmt::Result {
    let Context { privilege, time, context } = context;
    write!(line, r#","privilege":{privilege},"context":{context},"time":"{time:#x}""#)
}

fn support(line: &mut Line, support: &Support) -> std::fmt::Result {
    let status = match support.qual_status {
        QualStatus::NoChange => "no_change",
        QualStatus::EndedRep => "ended_rep",
        QualStatus::TraceLost => "trace_lost",
        QualStatus::EndedNtr => "ended_ntr",
    };
    let (ienable, mode) = (support.ienable, support.encoder_mode);
    write!(line, r#","ienable":{ienable},"encoder_mode":{mode},"qual_status":"{status}""#)?;
    for (name, on) in support.ioptions.names() {
        write!(line, r#","{name}":{on}"#)?;
    }
    write!(line, r#","denable":{},"dloss":{}"#, support.denable, support.dloss)?;
    support.doptions.names().try_for_each(|(name, on)| write!(line, r#","{name}":{on}"#))
}
