//! `tracewright stats`: what a capture's trace is made of.

mod etrace;

use std::io::Write;

use clap::Args;
use serde_json::json;
use tracewright_core::TraceId;
use tracewright_core::text::Printable;
use tracewright_engine::{BufferReader, is_damage};
use tracewright_etm::packet::{Kind, Packet};
use tracewright_frames::Lost;
use tracewright_input::{Buffer, BufferFormat, Capture, Protocol, Source};

use crate::args::{CaptureArgs, SelectArgs};
use crate::etrace::is_etrace;
use crate::output::{Error, Form, Needs, Outcome, Output, report_problems};
use crate::packets::{listed, report_unread};
use crate::reader::{self, Found, Visitor};
use crate::{progress, retirement};

/// Count packets and bytes: by source, by kind, and how far apart synchronisation points are. Of a log of tracewright's plugin for QEMU:
/// instructions and bytes, by thread and by mapping.
#[derive(Args)]
#[command(after_help = "Examples:
  tracewright stats samples/two-cores
  tracewright stats juno/ --id 0x10
  tracewright stats samples/etrace
  tracewright stats juno/ --json | jq '.sources[].packets'")]
pub struct Opts {
    #[command(flatten)]
    capture: CaptureArgs,

    #[command(flatten)]
    select: SelectArgs,

    /// Only this thread, of a log of tracewright's plugin for QEMU.
    #[arg(long, value_name = "N")]
    thread: Option<u32>,

    /// One JSON object per buffer and line.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    if retirement::is_log(&opts.capture.capture) {
        return retirement::stats(&opts.capture.capture, opts.thread, opts.json);
    }
    if opts.thread.is_some() {
        return Err(Error::Message("--thread is for logs of tracewright's plugin for QEMU".into()));
    }
    let capture = opts.capture.open()?;
    let mut outcome = report_problems(&capture.problems, Needs::Trace);
    let mut out = Output::stdout(Form::json_if(opts.json));
    let mut another = false;
    for buffer in opts.select.buffers(&capture, false)? {
        if is_etrace(buffer) {
            let count = etrace::count(&capture, buffer, &opts.select)?;
            if opts.json {
                writeln!(out, "{}", count.json(&capture, buffer))?;
            } else {
                if std::mem::replace(&mut another, true) {
                    writeln!(out)?;
                }
                count.text(&mut out, &capture, buffer)?;
            }
            out.flush()?;
            count.report(&capture, buffer);
            outcome = outcome.and(Outcome::from_errors(count.errors()));
            continue;
        }
        let mut count = Count::new(capture.sources.len(), buffer);
        let options = reader::Options { unordered: true, ..reader::Options::default() };
        let bar = progress::of(buffer);
        let advance = |bytes| bar.inc(bytes);
        let input = BufferReader::open(buffer, &capture.checksums, &advance)?;
        let read = reader::read(&capture, buffer, input, options, &|id| opts.select.wants(id), &mut count)?;
        count.wanted.retain(|&source| capture.sources[source].id().is_none_or(|id| opts.select.wants(id)));
        if opts.json {
            writeln!(out, "{}", count.json(&capture, buffer, read.bytes))?;
        } else {
            if std::mem::replace(&mut another, true) {
                writeln!(out)?;
            }
            count.text(&mut out, &capture, buffer, read.bytes)?;
        }
        out.flush()?;
        report_unread(&capture, buffer, &listed(&count.unread));
        outcome = outcome.and(Outcome::from_errors(count.errors() + read.failures));
    }
    Ok(outcome)
}

/// The counts of one buffer.
struct Count {
    /// By source index.
    sources: Vec<SourceCount>,
    /// The sources to show.
    wanted: Vec<usize>,
    /// By trace ID: bytes nothing here can read.
    unread: [u64; 0x80],
    /// The first losses; how many, and how many bytes, there were in all.
    lost: Vec<Lost>,
    losses: u64,
    lost_bytes: u64,
    damages: u64,
}

/// Losses shown one by one.
const MOST_LOSSES: usize = 5;

#[derive(Clone)]
struct SourceCount {
    packets: [u64; Kind::COUNT],
    bytes: [u64; Kind::COUNT],
    syncs: SyncDistance,
}

/// How far synchronisation points are apart.
#[derive(Clone)]
struct SyncDistance {
    seen: u64,
    /// Position of the last.
    last: u64,
    least: u64,
    most: u64,
    total: u64,
}

impl SourceCount {
    const NEW: Self = Self { packets: [0; Kind::COUNT], bytes: [0; Kind::COUNT], syncs: SyncDistance::NEW };

    /// Packets and bytes; skipped bytes are no packet.
    fn total(&self) -> (u64, u64) {
        let packets: u64 = self.packets.iter().sum();
        (packets - self.packets[Kind::NotSync as usize], self.bytes.iter().sum())
    }

    /// Kinds of packets that occur, most bytes first.
    fn kinds(&self) -> Vec<(Kind, u64, u64)> {
        let rows =
            Kind::ALL.iter().map(|&kind| (kind, self.packets[kind as usize], self.bytes[kind as usize]));
        let mut rows: Vec<_> =
            rows.filter(|&(kind, packets, _)| packets > 0 && kind != Kind::NotSync).collect();
        rows.sort_by_key(|&(kind, _, bytes)| (std::cmp::Reverse(bytes), kind));
        rows
    }
}

impl SyncDistance {
    const NEW: Self = Self { seen: 0, last: 0, least: u64::MAX, most: 0, total: 0 };

    fn add(&mut self, position: u64) {
        if self.seen > 0 {
            let distance = position - self.last;
            self.least = self.least.min(distance);
            self.most = self.most.max(distance);
            self.total += distance;
        }
        self.seen += 1;
        self.last = position;
    }

    /// Least, mean and most, if there are two.
    fn range(&self) -> Option<(u64, u64, u64)> {
        (self.seen > 1).then(|| (self.least, self.total / (self.seen - 1), self.most))
    }
}

impl Visitor for Count {
    // Into the parser's loop, where each call knows its kind of packet.
    #[inline(always)]
    fn packet(&mut self, found: &Found<'_>) {
        let Found { source, place, bytes, packet } = *found;
        let count = &mut self.sources[source.index];
        let kind = packet.kind();
        let len = if let Packet::NotSync { len } = packet { *len } else { bytes.len() as u64 };
        count.packets[kind as usize] += 1;
        count.bytes[kind as usize] += len;
        if kind == Kind::Async {
            count.syncs.add(place.offset);
        }
    }

    fn lost(&mut self, lost: &Lost) {
        if self.lost.len() < MOST_LOSSES {
            self.lost.push(*lost);
        }
        self.losses += 1;
        self.lost_bytes += lost.len;
        self.damages += u64::from(is_damage(lost));
    }

    fn unread(&mut self, id: TraceId, len: u64) {
        self.unread[usize::from(id.get())] += len;
    }
}

impl Count {
    fn new(sources: usize, buffer: &Buffer) -> Self {
        Self {
            sources: vec![SourceCount::NEW; sources],
            wanted: buffer.sources.clone(),
            unread: [0; 0x80],
            lost: Vec::new(),
            losses: 0,
            lost_bytes: 0,
            damages: 0,
        }
    }

    fn errors(&self) -> u64 {
        let errors = [Kind::Reserved, Kind::ReservedForConfig, Kind::Malformed];
        let of_source =
            |source: &SourceCount| errors.iter().map(|&kind| source.packets[kind as usize]).sum::<u64>();
        self.sources.iter().map(of_source).sum::<u64>() + self.damages
    }

    /// Bytes of a source that nothing here can read.
    fn unread_of(&self, source: &Source) -> Option<u64> {
        let id = source.id().unwrap_or(TraceId::NULL);
        let unsupported = matches!(source.protocol, Protocol::Unsupported(..));
        unsupported.then(|| self.unread[usize::from(id.get())])
    }

    fn text(
        &self,
        out: &mut impl Write,
        capture: &Capture,
        buffer: &Buffer,
        read: u64,
    ) -> std::io::Result<()> {
        let name = if buffer.name == "-" { "standard input" } else { &buffer.name };
        writeln!(out, "buffer {}: {read} bytes", Printable(name))?;
        for lost in &self.lost {
            writeln!(out, "  {lost}")?;
        }
        if self.losses > self.lost.len() as u64 {
            writeln!(out, "  {} losses in all, {} bytes", self.losses, self.lost_bytes)?;
        }
        for &index in &self.wanted {
            let source = &capture.sources[index];
            let id = source.id().map_or("unknown".into(), |id| id.to_string());
            if let Some(unread) = self.unread_of(source) {
                let share = percent(unread, read);
                let name = Printable(&source.name);
                writeln!(out, "\nsource {name} (ID {id}): {unread} bytes, {share} of the buffer")?;
                let protocol = source.protocol_name();
                writeln!(out, "  not read: tracewright cannot read {} yet", Printable(&protocol))?;
                continue;
            }
            self.source_text(out, source, &id, &self.sources[index], read)?;
        }
        // With all sources shown, say where the rest went.
        if buffer.format != BufferFormat::SourceData && self.wanted.len() == buffer.sources.len() {
            let data: u64 = self.sources.iter().map(|count| count.total().1).sum();
            let frames = read.saturating_sub(data + self.unread.iter().sum::<u64>() + self.lost_bytes);
            writeln!(
                out,
                "\nframes: {frames} bytes of IDs, auxiliary bits, syncs and padding, {}",
                percent(frames, read)
            )?;
        }
        Ok(())
    }

    fn source_text(
        &self,
        out: &mut impl Write,
        source: &Source,
        id: &str,
        count: &SourceCount,
        read: u64,
    ) -> std::io::Result<()> {
        let (packets, bytes) = count.total();
        let share = percent(bytes, read);
        writeln!(
            out,
            "\nsource {} (ID {id}): {packets} packets, {bytes} bytes, {share} of the buffer",
            Printable(&source.name)
        )?;
        if bytes == 0 {
            return Ok(());
        }
        let skipped = count.bytes[Kind::NotSync as usize];
        if skipped > 0 {
            writeln!(out, "  {skipped} bytes skipped while not synchronised, {}", percent(skipped, bytes))?;
        }
        let seen = count.syncs.seen;
        match count.syncs.range() {
            Some((least, mean, most)) => {
                writeln!(out, "  {seen} A-Syncs, {least} to {most} bytes apart, {mean} on average")?;
            }
            None => writeln!(out, "  {seen} A-Sync{}", if seen == 1 { "" } else { "s" })?,
        }
        writeln!(out, "  {:<28}{:>12}{:>9}{:>14}{:>9}", "kind", "packets", "share", "bytes", "share")?;
        for (kind, of_kind, bytes_of_kind) in count.kinds() {
            let (packet_share, byte_share) = (percent(of_kind, packets), percent(bytes_of_kind, bytes));
            let name = kind.name();
            writeln!(out, "  {name:<28}{of_kind:>12}{packet_share:>9}{bytes_of_kind:>14}{byte_share:>9}")?;
        }
        Ok(())
    }

    fn json(&self, capture: &Capture, buffer: &Buffer, read: u64) -> serde_json::Value {
        let sources = self.wanted.iter().map(|&index| {
            let (source, count) = (&capture.sources[index], &self.sources[index]);
            let (packets, bytes) = count.total();
            let unread = self.unread_of(source);
            let kinds = count.kinds().into_iter();
            let kinds: serde_json::Map<_, _> = kinds
                .map(|(kind, packets, bytes)| {
                    (kind.name().into(), json!({"packets": packets, "bytes": bytes}))
                })
                .collect();
            let range = count.syncs.range();
            json!({
                "name": source.name,
                "id": source.id().map(TraceId::get),
                "protocol": source.protocol_name(),
                "packets": packets,
                "bytes": unread.unwrap_or(bytes),
                "unread_bytes": unread.unwrap_or(0),
                "skipped_bytes": count.bytes[Kind::NotSync as usize],
                "share": unread.unwrap_or(bytes) as f64 / (read.max(1)) as f64,
                "syncs": count.syncs.seen,
                "sync_distance":
                    range.map(|(least, mean, most)| json!({"least": least, "mean": mean, "most": most})),
                "kinds": kinds,
            })
        });
        let lost = self
            .lost
            .iter()
            .map(|lost| json!({"offset": lost.offset, "len": lost.len, "reason": lost.reason.to_string()}));
        let known: Vec<_> =
            buffer.sources.iter().filter_map(|&source| capture.sources[source].id()).collect();
        let strangers = (0..).map(TraceId::from_low_bits).zip(&self.unread);
        let strangers = strangers.filter(|(id, len)| **len > 0 && !known.contains(id));
        json!({
            "buffer": buffer.name,
            "bytes": read,
            "sources": sources.collect::<Vec<_>>(),
            "other_ids": strangers.map(|(id, len)| json!({"id": id.get(), "bytes": len})).collect::<Vec<_>>(),
            "losses": self.losses,
            "lost_bytes": self.lost_bytes,
            "lost": lost.collect::<Vec<_>>(),
        })
    }
}

/// `12.3%`
fn percent(part: u64, whole: u64) -> String {
    format!("{:.1}%", 100.0 * part as f64 / whole.max(1) as f64)
}
