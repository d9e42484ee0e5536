//! `tracewright stats`: what a capture's trace is made of.

use std::io::Write;

use clap::Args;
use serde_json::json;
use tracewright_core::TraceId;
use tracewright_etm::packet::{Kind, Packet};
use tracewright_frames::Lost;
use tracewright_input::{Buffer, Capture};

use crate::args::{CaptureArgs, SelectArgs};
use crate::output::{Error, Outcome, report_problems, stdout};
use crate::packets::report_unread;
use crate::reader::{self, Place, SourceId, Visitor};

/// Count packets and bytes: by source, by kind, and how far apart synchronisation points are.
#[derive(Args)]
#[command(after_help = "Examples:
  tracewright stats samples/two-cores
  tracewright stats juno/ --id 0x10
  tracewright stats juno/ --json | jq .sources[].packets")]
pub struct Opts {
    #[command(flatten)]
    capture: CaptureArgs,

    #[command(flatten)]
    select: SelectArgs,

    /// One JSON object per buffer and line.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    let capture = opts.capture.open()?;
    let mut outcome = report_problems(&capture.problems);
    let mut out = stdout();
    for buffer in opts.select.buffers(&capture, false)? {
        let mut count = Count::new(capture.sources.len());
        let options = reader::Options { unordered: true, ..reader::Options::default() };
        let read = reader::read(&capture, buffer, options, &|id| opts.select.wants(id), &mut count)?;
        if opts.json {
            writeln!(out, "{}", count.json(&capture, buffer, read))?;
        } else {
            count.text(&mut out, &capture, buffer, read)?;
        }
        out.flush()?;
        report_unread(&capture, &buffer.name, &mut count.unread);
        outcome = outcome.and(Outcome::from_errors(count.errors()));
    }
    Ok(outcome)
}

/// The counts of one buffer.
struct Count {
    /// By source index.
    sources: Vec<SourceCount>,
    unread: [u64; 0x80],
    lost: Vec<Lost>,
    lost_more: u64,
}

/// Losses shown one by one.
const MOST_LOSSES: usize = 5;

#[derive(Clone)]
struct SourceCount {
    packets: [u64; Kind::COUNT],
    bytes: [u64; Kind::COUNT],
    /// Bytes since the last A-Sync began.
    since_sync: u64,
    syncs: SyncDistance,
}

/// Bytes from one A-Sync to the next.
#[derive(Clone, Default)]
struct SyncDistance {
    seen: u64,
    least: u64,
    most: u64,
    total: u64,
}

impl SourceCount {
    const NEW: Self = Self {
        packets: [0; Kind::COUNT],
        bytes: [0; Kind::COUNT],
        since_sync: 0,
        syncs: SyncDistance { seen: 0, least: u64::MAX, most: 0, total: 0 },
    };

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

impl SyncDistance {
    fn add(&mut self, distance: u64) {
        if self.seen > 0 {
            self.least = self.least.min(distance);
            self.most = self.most.max(distance);
            self.total += distance;
        }
        self.seen += 1;
    }

    /// Least, mean and most, if there are two A-Syncs.
    fn range(&self) -> Option<(u64, u64, u64)> {
        (self.seen > 1).then(|| (self.least, self.total / (self.seen - 1), self.most))
    }
}

impl Visitor for Count {
    #[inline]
    fn packet(&mut self, source: &SourceId<'_>, _place: Place, bytes: &[u8], packet: &Packet) {
        let count = &mut self.sources[source.index];
        let kind = packet.kind();
        let len = if let Packet::NotSync { len } = packet { *len } else { bytes.len() as u64 };
        count.packets[kind as usize] += 1;
        count.bytes[kind as usize] += len;
        if kind == Kind::Async {
            count.syncs.add(count.since_sync);
            count.since_sync = 0;
        }
        count.since_sync += len;
    }

    fn lost(&mut self, lost: &Lost) {
        if self.lost.len() < MOST_LOSSES {
            self.lost.push(*lost);
        } else {
            self.lost_more += 1;
        }
    }

    fn unread(&mut self, id: TraceId, len: u64) {
        self.unread[usize::from(id.get())] += len;
    }
}

impl Count {
    fn new(sources: usize) -> Self {
        Self { sources: vec![SourceCount::NEW; sources], unread: [0; 0x80], lost: Vec::new(), lost_more: 0 }
    }

    fn errors(&self) -> u64 {
        let packets = self.sources.iter().map(|source| {
            [Kind::Reserved, Kind::ReservedForConfig, Kind::Malformed]
                .iter()
                .map(|&kind| source.packets[kind as usize])
                .sum::<u64>()
        });
        let lost = self.lost.iter().filter(|lost| reader::is_damage(lost)).count() as u64;
        packets.sum::<u64>() + lost + self.lost_more
    }

    fn text(
        &self,
        out: &mut impl Write,
        capture: &Capture,
        buffer: &Buffer,
        read: u64,
    ) -> std::io::Result<()> {
        writeln!(out, "buffer {}: {read} bytes", buffer.name)?;
        for lost in &self.lost {
            writeln!(out, "  {lost}")?;
        }
        if self.lost_more > 0 {
            writeln!(out, "  and {} more losses", self.lost_more)?;
        }
        for (index, count) in self.sources.iter().enumerate() {
            if !buffer.sources.contains(&index) {
                continue;
            }
            let source = &capture.sources[index];
            let (packets, bytes) = count.total();
            let id = source.id().map_or("??".into(), |id| id.to_string());
            writeln!(
                out,
                "\nsource {} (ID {id}): {packets} packets, {bytes} bytes, {} of the buffer",
                source.name,
                percent(bytes, read)
            )?;
            if packets == 0 {
                continue;
            }
            match count.syncs.range() {
                Some((least, mean, most)) => {
                    writeln!(
                        out,
                        "  {} A-Syncs, {least} to {most} bytes apart, {mean} on average",
                        count.syncs.seen
                    )?;
                }
                None => writeln!(
                    out,
                    "  {} A-Sync{}",
                    count.syncs.seen,
                    if count.syncs.seen == 1 { "" } else { "s" }
                )?,
            }
            writeln!(out, "  {:<28}{:>12}{:>9}{:>14}{:>9}", "kind", "packets", "", "bytes", "")?;
            for (kind, of_kind, bytes_of_kind) in count.kinds() {
                let (packet_share, byte_share) = (percent(of_kind, packets), percent(bytes_of_kind, bytes));
                writeln!(
                    out,
                    "  {:<28}{of_kind:>12}{packet_share:>9}{bytes_of_kind:>14}{byte_share:>9}",
                    kind.name()
                )?;
            }
        }
        Ok(())
    }

    fn json(&self, capture: &Capture, buffer: &Buffer, read: u64) -> serde_json::Value {
        let sources = self.sources.iter().enumerate().filter(|(index, _)| buffer.sources.contains(index));
        let sources = sources.map(|(index, count)| {
            let source = &capture.sources[index];
            let (packets, bytes) = count.total();
            let kinds: serde_json::Map<_, _> = count
                .kinds()
                .into_iter()
                .map(|(kind, packets, bytes)| (kind.name().to_owned(), json!({"packets": packets, "bytes": bytes})))
                .collect();
            let range = count.syncs.range();
            json!({
                "name": source.name,
                "id": source.id().map(TraceId::get),
                "packets": packets,
                "bytes": bytes,
                "share": bytes as f64 / (read.max(1)) as f64,
                "syncs": count.syncs.seen,
                "sync_distance": range.map(|(least, mean, most)| json!({"least": least, "mean": mean, "most": most})),
                "kinds": kinds,
            })
        });
        let lost: Vec<_> = self
            .lost
            .iter()
            .map(|lost| json!({"offset": lost.offset, "len": lost.len, "reason": lost.reason.to_string()}))
            .collect();
        json!({
            "buffer": buffer.name,
            "bytes": read,
            "sources": sources.collect::<Vec<_>>(),
            "lost": lost,
            "lost_more": self.lost_more,
        })
    }
}

/// `12.3%`
fn percent(part: u64, whole: u64) -> String {
    format!("{:.1}%", 100.0 * part as f64 / whole.max(1) as f64)
}
