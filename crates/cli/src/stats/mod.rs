//! `tracewright stats`: what a capture's trace is made of.

use std::io::Write;

use clap::Args;
use serde_json::{Map, Value, json};
use tracewright::words;
use tracewright_core::text::Printable;
use tracewright_engine::{Counted, Counts, Distances, Kind, PacketsRead};
use tracewright_input::{Buffer, Capture, Protocol, Source};

use crate::args::{CaptureArgs, OffsetArgs, SelectArgs};
use crate::output::{Error, Outcome, Output, Readable};
use crate::packets::report_read;
use crate::table::{self, TableArgs};
use crate::terminal::{END, HEADING};
use crate::{json, progress, retirement};
use tracewright::csv::{Cell, Csv};

/// Count packets and bytes: by source, by kind, and how far apart synchronisation points are. Of a log of tracewright's plugin for QEMU:
/// instructions and bytes, by thread and by mapping.
#[derive(Args)]
#[command(after_help = "Examples:
  tracewright stats samples/two-cores
  tracewright stats juno/ --id 0x10
  tracewright stats juno/ --from 0x8000 --to 0x9000
  tracewright stats samples/etrace
  tracewright stats juno/ --json | jq '.sources[].packets'")]
pub struct Opts {
    #[command(flatten)]
    capture: CaptureArgs,

    #[command(flatten)]
    select: SelectArgs,

    #[command(flatten)]
    offsets: OffsetArgs,

    /// Only this thread, of a log of tracewright's plugin for QEMU.
    #[arg(long, value_name = "N")]
    thread: Option<u32>,

    #[command(flatten)]
    table: TableArgs,
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    if retirement::is_log(&opts.capture.capture) {
        if !opts.offsets.is_whole() {
            return Err(Error::Message("--from and --to are for captures: a log has no packets".into()));
        }
        return retirement::stats(&opts.capture.capture, opts.thread, opts.table);
    }
    if opts.thread.is_some() {
        return Err(Error::Message("--thread is for logs of tracewright's plugin for QEMU".into()));
    }
    let (trace, mut outcome) = opts.select.open(&opts.capture, false)?;
    let trace = opts.offsets.of(trace)?;
    let capture = trace.capture();
    let mut out = Output::stdout(opts.table.form());
    let (mut another, mut readable) = (false, Readable::default());
    let mut csv = Csv::new("buffer,source,id,protocol,kind,packets,bytes");
    for buffer in trace.buffers()? {
        let read = progress::on(&trace, buffer).count_packets(buffer)?;
        let counted = &read.value;
        let mut wanted = buffer.sources.clone();
        wanted.retain(|&source| {
            capture.sources[source].number().map_or(!counted.names_sources, |id| trace.is_chosen(id))
        });
        let is_whole = opts.offsets.is_whole();
        let stats = Stats { capture, buffer, counted, wanted, is_whole };
        if opts.table.is_csv() {
            stats.rows(&mut csv);
            out.write_all(csv.take().as_bytes())?;
        } else if opts.table.json {
            let mut object = stats.json();
            object["incomplete"] = read.reason_ids().into_iter().collect();
            out.write_all(json::line("stats", object).as_bytes())?;
        } else {
            if std::mem::replace(&mut another, true) {
                writeln!(out)?;
            }
            stats.text(&mut out)?;
        }
        out.flush()?;
        outcome = outcome.and(report_read(buffer, &read, true));
        readable.note(capture, buffer, &read);
    }
    readable.refuse_nothing()?;
    Ok(outcome)
}

/// The counts of one buffer.
struct Stats<'a> {
    capture: &'a Capture,
    buffer: &'a Buffer,
    counted: &'a Counted,
    /// The sources to show.
    wanted: Vec<usize>,
    /// Whether all of the file was counted.
    is_whole: bool,
}

/// Losses shown one by one.
const MOST_LOSSES: usize = 5;

impl Stats<'_> {
    /// The sources to show, each with its counts.
    fn sources(&self) -> impl Iterator<Item = (&Source, Option<&Counts>)> {
        self.wanted.iter().map(|&index| {
            let counts = self.counted.sources.iter().find(|(source, _)| *source == index);
            (&self.capture.sources[index], counts.map(|(_, counts)| counts))
        })
    }

    /// Bytes of a source that nothing here can read.
    fn unread_of(&self, source: &Source) -> Option<u64> {
        let unsupported = matches!(source.protocol, Protocol::Unsupported(..));
        let unread = || self.counted.read.unread.get(&source.number().unwrap_or(0)).copied().unwrap_or(0);
        unsupported.then(unread)
    }

    fn text(&self, out: &mut impl Write) -> std::io::Result<()> {
        let Counted { read: PacketsRead { bytes: read, unread, .. }, lost, losses, lost_bytes, .. } =
            self.counted;
        let name = if self.buffer.name == "-" { "standard input" } else { &self.buffer.name };
        writeln!(out, "{HEADING}buffer {}{END}: {}", Printable(name), words::count(*read, "byte"))?;
        for lost in lost.iter().take(MOST_LOSSES) {
            writeln!(out, "  {lost}")?;
        }
        if *losses > MOST_LOSSES as u64 {
            writeln!(out, "  {losses} losses in all, {lost_bytes} bytes")?;
        }
        for (source, counts) in self.sources() {
            let id = source.number().map_or("unknown".into(), |id| format!("{id:#04x}"));
            let unread = self.unread_of(source);
            let (packets, bytes) = counts.map_or((0, unread.unwrap_or(0)), Counts::total);
            let packets_text =
                if unread.is_none() { words::count(packets, "packet") + ", " } else { String::new() };
            let (name, share) = (Printable(&source.name), percent(bytes, *read));
            writeln!(
                out,
                "\n{HEADING}source {name} (ID {id}){END}: {packets_text}{}, {share} of the buffer",
                words::count(bytes, "byte")
            )?;
            if unread.is_some() {
                let protocol = source.protocol_name();
                writeln!(out, "  not read: tracewright cannot read {} yet", Printable(&protocol))?;
            } else if let Some(counts) = counts.filter(|_| bytes > 0) {
                self.source_text(out, counts)?;
            }
        }
        if let Some(counts) = &self.counted.no_source {
            let (kinds, (_, bytes)) = (counts.kinds(), counts.total());
            if !kinds.is_empty() {
                writeln!(
                    out,
                    "\nno source's: {}, {} of the buffer",
                    words::count(bytes, "byte"),
                    percent(bytes, *read)
                )?;
                rows(out, &kinds, bytes)?;
            }
        }
        let has_frames = self.buffer.format.is_framed() && !self.buffer.format.is_sampled();
        // With all sources shown, say where the rest went. A packet may end outside a part of the file.
        if self.is_whole && has_frames && self.wanted.len() == self.buffer.sources.len() {
            let data: u64 = self.counted.sources.iter().map(|(_, counts)| counts.total().1).sum();
            let frames = read.saturating_sub(data + unread.values().sum::<u64>() + lost_bytes);
            writeln!(
                out,
                "\nframes: {} of IDs, auxiliary bits, syncs and padding, {}",
                words::count(frames, "byte"),
                percent(frames, *read)
            )?;
        }
        Ok(())
    }

    fn source_text(&self, out: &mut impl Write, counts: &Counts) -> std::io::Result<()> {
        let (packets, bytes) = counts.total();
        let Counts { syncs, packets_apart, synchronisation: (what, note), .. } = counts;
        let seen = syncs.seen;
        let plural = if seen == 1 { "" } else { "s" };
        if self.counted.names_sources {
            writeln!(out, "  {:.2} bytes a packet, encapsulation included", bytes as f64 / packets as f64)?;
            writeln!(out, "  {seen} {what}{plural}{note}")?;
            for (what, distance) in [("bytes", syncs), ("packets", packets_apart)] {
                match distance.range() {
                    Some((least, _, most)) if least == most => writeln!(out, "    {least} {what} apart")?,
                    Some((least, mean, most)) => {
                        writeln!(out, "    {least} to {most} {what} apart, {mean} on average")?;
                    }
                    None => {}
                }
            }
            if counts.timestamps > 0 {
                writeln!(out, "  {} with a timestamp", words::count(counts.timestamps, "packet"))?;
            }
        } else if let Some((least, mean, most)) = syncs.range() {
            writeln!(out, "  {seen} {what}s, {least} to {most} bytes apart, {mean} on average")?;
        } else {
            writeln!(out, "  {seen} {what}{plural}")?;
        }
        rows(out, &counts.kinds(), bytes)
    }

    /// A row for each kind of packets of each source; of a source that cannot be read, its bytes.
    fn rows(&self, csv: &mut Csv<7>) {
        let mut row = |source: Option<&Source>, kind: Cell<'_>, packets: Option<u64>, bytes: u64| {
            csv.row([
                self.buffer.name.as_str().into(),
                source.map(|source| source.name.as_str()).into(),
                source.and_then(Source::number).map(u32::from).into(),
                source.map(Source::protocol_name).into(),
                kind,
                packets.into(),
                bytes.into(),
            ]);
        };
        for (source, counts) in self.sources() {
            if let Some(unread) = self.unread_of(source) {
                row(Some(source), Cell::Nothing, None, unread);
            }
            for (kind, packets, bytes) in counts.map(Counts::kinds).unwrap_or_default() {
                row(Some(source), kind.name.into(), Some(packets), bytes);
            }
        }
        for (kind, packets, bytes) in self.counted.no_source.as_ref().map(Counts::kinds).unwrap_or_default() {
            row(None, kind.name.into(), Some(packets), bytes);
        }
    }

    fn json(&self) -> Value {
        let Counted { read: PacketsRead { bytes: read, .. }, names_sources, .. } = *self.counted;
        let sources = self.sources().map(|(source, counts)| {
            let unread = self.unread_of(source);
            let (packets, bytes) = counts.map_or((0, unread.unwrap_or(0)), Counts::total);
            let mut object = json!({
                "name": source.name,
                "id": source.number(),
                "protocol": source.protocol_name(),
                "packets": packets,
                "bytes": bytes,
                "share": bytes as f64 / read.max(1) as f64,
                "syncs": counts.map_or(0, |counts| counts.syncs.seen),
                "sync_distance": counts.and_then(|counts| distance(&counts.syncs)),
                "kinds": counts.map_or_else(Map::new, |counts| kinds_json(counts.kinds())),
            });
            if names_sources {
                object["bytes_per_packet"] = (bytes as f64 / packets.max(1) as f64).into();
                object["sync_distance_packets"] =
                    counts.and_then(|counts| distance(&counts.packets_apart)).into();
                object["timestamps"] = counts.map_or(0, |counts| counts.timestamps).into();
            } else {
                object["unread_bytes"] = unread.unwrap_or(0).into();
                object["skipped_bytes"] = counts.map_or(0, Counts::skipped).into();
            }
            object
        });
        let known: Vec<_> =
            self.buffer.sources.iter().filter_map(|&source| self.capture.sources[source].number()).collect();
        let strangers = self.counted.read.unread.iter().filter(|(id, _)| !known.contains(id));
        let mut object = json!({
            "buffer": self.buffer.name,
            "bytes": read,
            "sources": sources.collect::<Vec<_>>(),
            "other_ids": strangers.map(|(id, len)| json!({"id": id, "bytes": len})).collect::<Vec<_>>(),
        });
        if names_sources {
            let no_source = self.counted.no_source.as_ref();
            object["no_source"] = no_source.map_or_else(Map::new, |counts| kinds_json(counts.kinds())).into();
        } else {
            let lost = self.counted.lost.iter().take(MOST_LOSSES).map(
                |lost| json!({"offset": lost.offset, "bytes": lost.len, "reason": lost.reason.to_string()}),
            );
            object["losses"] = self.counted.losses.into();
            object["lost_bytes"] = self.counted.lost_bytes.into();
            object["lost"] = lost.collect();
        }
        object
    }
}

/// A kind of packets, how many there are, and their bytes.
type Row = (&'static Kind, u64, u64);

fn rows(out: &mut impl Write, kinds: &[Row], bytes: u64) -> std::io::Result<()> {
    let packets = kinds.iter().map(|(_, packets, _)| packets).sum();
    writeln!(
        out,
        "{HEADING}  {:<28}{:>12}{:>9}{:>14}{:>9}{END}",
        "kind", "packets", "share", "bytes", "share"
    )?;
    for &(Kind { name, .. }, of_kind, bytes_of_kind) in kinds {
        let (packet_share, byte_share) = (percent(of_kind, packets), percent(bytes_of_kind, bytes));
        writeln!(out, "  {name:<28}{of_kind:>12}{packet_share:>9}{bytes_of_kind:>14}{byte_share:>9}")?;
    }
    Ok(())
}

fn kinds_json(kinds: Vec<Row>) -> Map<String, Value> {
    let json = |(kind, packets, bytes): Row| (kind.name.into(), json!({"packets": packets, "bytes": bytes}));
    kinds.into_iter().map(json).collect()
}

fn distance(distance: &Distances) -> Option<Value> {
    distance.range().map(|(least, mean, most)| json!({"least": least, "mean": mean, "most": most}))
}

/// `12.3%`
fn percent(part: u64, whole: u64) -> String {
    format!("{}%", table::percent(part, whole))
}
