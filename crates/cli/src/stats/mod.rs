//! `tracewright stats`: what a capture's trace is made of.

use std::io::Write;

use clap::Args;
use serde_json::{Map, Value, json};
use tracewright_core::text::Printable;
use tracewright_engine::{Counted, Counts, Distances, Kind, Role};
use tracewright_input::{Buffer, Capture, Protocol, Source};

use crate::args::{CaptureArgs, SelectArgs};
use crate::output::{Error, Form, Outcome, Output, report_problem};
use crate::packets::report_unread;
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
    let (trace, mut outcome) = opts.select.open(&opts.capture, false)?;
    let capture = trace.capture();
    let mut out = Output::stdout(Form::json_if(opts.json));
    let mut another = false;
    for buffer in trace.buffers()? {
        let counted = progress::on(&trace, buffer).count_packets(buffer)?;
        for problem in &counted.problems {
            report_problem(buffer, problem);
        }
        let mut wanted = buffer.sources.clone();
        wanted.retain(|&source| {
            capture.sources[source].number().map_or(!counted.names_sources, |id| trace.is_chosen(id))
        });
        let stats = Stats { capture, buffer, counted: &counted, wanted };
        if opts.json {
            writeln!(out, "{}", stats.json())?;
        } else {
            if std::mem::replace(&mut another, true) {
                writeln!(out)?;
            }
            stats.text(&mut out)?;
        }
        out.flush()?;
        outcome = outcome.and(Outcome::from_errors(counted.errors()));
        report_unread(capture, buffer, counted.unread);
    }
    Ok(outcome)
}

/// The counts of one buffer.
struct Stats<'a> {
    capture: &'a Capture,
    buffer: &'a Buffer,
    counted: &'a Counted,
    /// The sources to show.
    wanted: Vec<usize>,
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
        let unread = || self.counted.unread.get(&source.number().unwrap_or(0)).copied().unwrap_or(0);
        unsupported.then(unread)
    }

    fn text(&self, out: &mut impl Write) -> std::io::Result<()> {
        let Counted { bytes: read, lost, losses, lost_bytes, .. } = self.counted;
        let name = if self.buffer.name == "-" { "standard input" } else { &self.buffer.name };
        writeln!(out, "buffer {}: {read} bytes", Printable(name))?;
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
            let packets_text = if unread.is_none() { format!("{packets} packets, ") } else { String::new() };
            let (name, share) = (Printable(&source.name), percent(bytes, *read));
            writeln!(out, "\nsource {name} (ID {id}): {packets_text}{bytes} bytes, {share} of the buffer")?;
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
                writeln!(out, "\nno source's: {bytes} bytes, {} of the buffer", percent(bytes, *read))?;
                rows(out, &kinds, bytes)?;
            }
        }
        // With all sources shown, say where the rest went.
        if self.buffer.format.is_framed() && self.wanted.len() == self.buffer.sources.len() {
            let data: u64 = self.counted.sources.iter().map(|(_, counts)| counts.total().1).sum();
            let frames = read.saturating_sub(data + self.counted.unread.values().sum::<u64>() + lost_bytes);
            writeln!(
                out,
                "\nframes: {frames} bytes of IDs, auxiliary bits, syncs and padding, {}",
                percent(frames, *read)
            )?;
        }
        Ok(())
    }

    fn source_text(&self, out: &mut impl Write, counts: &Counts) -> std::io::Result<()> {
        let ((packets, bytes), skipped) = (counts.total(), counts.skipped());
        let Counts { syncs, packets_apart, synchronisation: (what, note), .. } = counts;
        let seen = syncs.seen;
        let plural = if seen == 1 { "" } else { "s" };
        if skipped > 0 {
            writeln!(out, "  {skipped} bytes skipped while not synchronised, {}", percent(skipped, bytes))?;
        }
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
                writeln!(out, "  {} packets with a timestamp", counts.timestamps)?;
            }
        } else if let Some((least, mean, most)) = syncs.range() {
            writeln!(out, "  {seen} {what}s, {least} to {most} bytes apart, {mean} on average")?;
        } else {
            writeln!(out, "  {seen} {what}{plural}")?;
        }
        rows(out, &packet_kinds(counts), bytes)
    }

    fn json(&self) -> Value {
        let Counted { bytes: read, names_sources, .. } = *self.counted;
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
                "kinds": counts.map_or_else(Map::new, |counts| kinds_json(packet_kinds(counts))),
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
        let strangers = self.counted.unread.iter().filter(|(id, _)| !known.contains(id));
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
                |lost| json!({"offset": lost.offset, "len": lost.len, "reason": lost.reason.to_string()}),
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

/// The kinds of a source's packets: bytes passed over are none.
fn packet_kinds(counts: &Counts) -> Vec<Row> {
    counts.kinds().into_iter().filter(|(kind, ..)| kind.role != Role::Skipped).collect()
}

fn rows(out: &mut impl Write, kinds: &[Row], bytes: u64) -> std::io::Result<()> {
    let packets = kinds.iter().map(|(_, packets, _)| packets).sum();
    writeln!(out, "  {:<28}{:>12}{:>9}{:>14}{:>9}", "kind", "packets", "share", "bytes", "share")?;
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
    format!("{:.1}%", 100.0 * part as f64 / whole.max(1) as f64)
}
