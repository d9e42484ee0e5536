//! What an E-Trace buffer is made of.

use std::io::Write;

use serde_json::{Value, json};
use tracewright_core::text::Printable;
use tracewright_engine::BufferReader;
use tracewright_etrace::stream::Content;
use tracewright_input::{Buffer, Capture};

use super::{SyncDistance, percent};
use crate::args::SelectArgs;
use crate::etrace::{self, Found, Kind, Strangers, Visitor};
use crate::output::Error;
use crate::progress;

/// The counts of one buffer.
pub struct Count {
    /// By source index.
    sources: Vec<SourceCount>,
    /// What belongs to no source.
    rest: SourceCount,
    /// The sources to show.
    wanted: Vec<usize>,
    strangers: Strangers,
    read: u64,
    failures: u64,
}

#[derive(Clone)]
struct SourceCount {
    packets: [u64; Kind::COUNT],
    bytes: [u64; Kind::COUNT],
    syncs: SyncDistance,
    /// Packets from one synchronisation packet to the next.
    packets_apart: SyncDistance,
    timestamps: u64,
}

impl SourceCount {
    const NEW: Self = Self {
        packets: [0; Kind::COUNT],
        bytes: [0; Kind::COUNT],
        syncs: SyncDistance::NEW,
        packets_apart: SyncDistance::NEW,
        timestamps: 0,
    };

    fn add(&mut self, found: &Found<'_>, kind: Kind) {
        let len = match found.message.content {
            Content::NotSync { len } => len,
            _ => found.bytes.len() as u64,
        };
        if kind.is_sync() {
            self.syncs.add(found.offset);
            self.packets_apart.add(self.packets.iter().sum());
        }
        self.packets[kind as usize] += 1;
        self.bytes[kind as usize] += len;
        self.timestamps += u64::from(found.message.timestamp.is_some());
    }

    fn total(&self) -> (u64, u64) {
        (self.packets.iter().sum(), self.bytes.iter().sum())
    }

    /// Kinds that occur, most bytes first.
    fn kinds(&self) -> Vec<(Kind, u64, u64)> {
        let rows =
            Kind::ALL.iter().map(|&kind| (kind, self.packets[kind as usize], self.bytes[kind as usize]));
        let mut rows: Vec<_> = rows.filter(|&(_, packets, _)| packets > 0).collect();
        rows.sort_by_key(|&(kind, _, bytes)| (std::cmp::Reverse(bytes), kind));
        rows
    }
}

impl Visitor for Count {
    #[inline]
    fn message(&mut self, found: &Found<'_>) {
        let kind = Kind::of(found.message);
        match found.source {
            Some(source) => self.sources[source].add(found, kind),
            None if kind.has_source() => self.strangers.add(found.message.source, found.bytes.len()),
            None => self.rest.add(found, kind),
        }
    }
}

/// Counts a buffer.
pub fn count(capture: &Capture, buffer: &Buffer, select: &SelectArgs) -> Result<Count, Error> {
    let is_wanted = |&&source: &&usize| {
        capture.sources[source].number().is_some_and(|number| select.wants_number(number))
    };
    let mut count = Count {
        sources: vec![SourceCount::NEW; capture.sources.len()],
        rest: SourceCount::NEW,
        wanted: buffer.sources.iter().filter(is_wanted).copied().collect(),
        strangers: Strangers::default(),
        read: 0,
        failures: 0,
    };
    let bar = progress::of(buffer);
    let advance = |bytes| bar.inc(bytes);
    let input = BufferReader::open(buffer, &capture.checksums, &advance)?;
    let read = etrace::read(capture, buffer, input, &mut count)?;
    (count.read, count.failures) = (read.bytes, read.failures);
    Ok(count)
}

impl Count {
    /// Messages that are none, and all that was reported while reading.
    pub fn errors(&self) -> u64 {
        self.rest.packets[Kind::Malformed as usize] + self.failures
    }

    /// Says what could not be read.
    pub fn report(&self, capture: &Capture, buffer: &Buffer) {
        self.strangers.report(capture, buffer);
    }

    pub fn text(&self, out: &mut impl Write, capture: &Capture, buffer: &Buffer) -> std::io::Result<()> {
        let name = if buffer.name == "-" { "standard input" } else { &buffer.name };
        writeln!(out, "buffer {}: {} bytes", Printable(name), self.read)?;
        for &index in &self.wanted {
            let (source, count) = (&capture.sources[index], &self.sources[index]);
            let id = source.number().unwrap_or(0);
            let (packets, bytes) = count.total();
            let share = percent(bytes, self.read);
            writeln!(
                out,
                "\nsource {} (ID {id:#04x}): {packets} packets, {bytes} bytes, {share} of the buffer",
                Printable(&source.name)
            )?;
            if packets > 0 {
                self.source_text(out, count, packets, bytes)?;
            }
        }
        let (messages, bytes) = self.rest.total();
        if messages > 0 {
            writeln!(out, "\nno source's: {bytes} bytes, {} of the buffer", percent(bytes, self.read))?;
            rows(out, &self.rest, messages, bytes)?;
        }
        Ok(())
    }

    fn source_text(
        &self,
        out: &mut impl Write,
        count: &SourceCount,
        packets: u64,
        bytes: u64,
    ) -> std::io::Result<()> {
        writeln!(out, "  {:.2} bytes a packet, encapsulation included", bytes as f64 / packets as f64)?;
        let seen = count.syncs.seen;
        let plural = if seen == 1 { "" } else { "s" };
        writeln!(out, "  {seen} synchronisation packet{plural} (formats 3.0 and 3.1)")?;
        for (what, distance) in [("bytes", &count.syncs), ("packets", &count.packets_apart)] {
            match distance.range() {
                Some((least, _, most)) if least == most => writeln!(out, "    {least} {what} apart")?,
                Some((least, mean, most)) => {
                    writeln!(out, "    {least} to {most} {what} apart, {mean} on average")?;
                }
                None => {}
            }
        }
        if count.timestamps > 0 {
            writeln!(out, "  {} packets with a timestamp", count.timestamps)?;
        }
        rows(out, count, packets, bytes)
    }

    pub fn json(&self, capture: &Capture, buffer: &Buffer) -> Value {
        let kinds = |count: &SourceCount| {
            let kinds = count.kinds().into_iter();
            kinds
                .map(|(kind, packets, bytes)| {
                    (kind.name().to_owned(), json!({"packets": packets, "bytes": bytes}))
                })
                .collect::<serde_json::Map<_, _>>()
        };
        let distance = |distance: &SyncDistance| {
            distance.range().map(|(least, mean, most)| json!({"least": least, "mean": mean, "most": most}))
        };
        let sources = self.wanted.iter().map(|&index| {
            let (source, count) = (&capture.sources[index], &self.sources[index]);
            let (packets, bytes) = count.total();
            json!({
                "name": source.name,
                "id": source.number(),
                "protocol": source.protocol_name(),
                "packets": packets,
                "bytes": bytes,
                "share": bytes as f64 / self.read.max(1) as f64,
                "bytes_per_packet": bytes as f64 / packets.max(1) as f64,
                "syncs": count.syncs.seen,
                "sync_distance": distance(&count.syncs),
                "sync_distance_packets": distance(&count.packets_apart),
                "timestamps": count.timestamps,
                "kinds": kinds(count),
            })
        });
        let strangers = self.strangers.sorted();
        let strangers = strangers.iter().map(|(id, bytes)| json!({"id": id, "bytes": bytes}));
        json!({
            "buffer": buffer.name,
            "bytes": self.read,
            "sources": sources.collect::<Vec<_>>(),
            "other_ids": strangers.collect::<Vec<_>>(),
            "no_source": kinds(&self.rest),
        })
    }
}

fn rows(out: &mut impl Write, count: &SourceCount, packets: u64, bytes: u64) -> std::io::Result<()> {
    writeln!(out, "  {:<28}{:>12}{:>9}{:>14}{:>9}", "kind", "packets", "share", "bytes", "share")?;
    for (kind, of_kind, bytes_of_kind) in count.kinds() {
        let (packet_share, byte_share) = (percent(of_kind, packets), percent(bytes_of_kind, bytes));
        let name = kind.name();
        writeln!(out, "  {name:<28}{of_kind:>12}{packet_share:>9}{bytes_of_kind:>14}{byte_share:>9}")?;
    }
    Ok(())
}
