use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::Path;

use serde_json::json;
use tracewright_core::Block;
use tracewright_core::text::Printable;
use tracewright_hart::{HartSink, Trap};
use tracewright_qemu::read::{Log, Map, Totals};

use super::open;
use crate::output::{Error, Form, Outcome, Output, printable_path, report};
use crate::record::grouped;

/// Counts what a retirement log holds, by thread and by mapping.
pub fn stats(path: &Path, thread: Option<u32>, as_json: bool) -> Result<Outcome, Error> {
    let mut log = open(path)?;
    let mut places = Places::new(log.definitions().maps());
    let mut errors: Vec<String> = log.damage().iter().map(ToString::to_string).collect();
    let mut rows = Vec::new();
    for index in
        log.threads().filter(|&index| thread.is_none_or(|wanted| wanted == index)).collect::<Vec<_>>()
    {
        let mut count = Count { places, ..Count::default() };
        errors.extend(log.read(index, &mut count).err().map(|error| format!("thread {index}: {error}")));
        rows.push((Some(index), log.totals(), count.blocks, count.traps));
        places = count.places;
    }
    if rows.is_empty() {
        let what = thread.map_or("no thread".into(), |thread| format!("no thread {thread}"));
        return Err(Error::Message(format!("{}: the log has {what}", path.display())));
    }
    let mut out = Output::stdout(Form::json_if(as_json));
    if as_json {
        writeln!(out, "{}", json(path, &log, &rows, &places))?;
    } else {
        text(&mut out, path, &log, &rows, &places)?;
    }
    out.flush()?;
    for error in &errors {
        report(&format!("{}: {error}", path.display()));
    }
    Ok(Outcome::from_errors(errors.len() as u64))
}

/// A thread, or all: which, what it came to, blocks, traps.
type Row = (Option<u32>, Totals, u64, u64);

fn text(out: &mut impl Write, path: &Path, log: &Log, rows: &[Row], places: &Places) -> std::io::Result<()> {
    let count = log.definitions().translations().len() as u64;
    writeln!(
        out,
        "retirement log {}: {}, {} translations",
        printable_path(path),
        log.header().target.name(),
        grouped(count)
    )?;
    writeln!(
        out,
        "  thread {:>17} {:>15} {:>10} {:>13} {:>8}",
        "instructions", "blocks", "traps", "bytes", "bits/i"
    )?;
    for (index, totals, blocks, traps) in rows.iter().chain(&sum(rows)) {
        let name = index.map_or("all".into(), |index| index.to_string());
        writeln!(
            out,
            "  {name:<6} {:>17} {:>15} {:>10} {:>13} {:>8.4}",
            grouped(totals.instructions),
            grouped(*blocks),
            grouped(*traps),
            grouped(totals.bytes),
            bits(totals)
        )?;
    }
    writeln!(out, "  instructions by mapping")?;
    for (name, instructions) in places.sorted() {
        let share = 100.0 * instructions as f64
            / rows.iter().map(|row| row.1.instructions).sum::<u64>().max(1) as f64;
        writeln!(out, "  {:>24} {share:>6.2}%  {}", grouped(instructions), Printable(name))?;
    }
    Ok(())
}

/// All threads together, if there are several.
fn sum(rows: &[Row]) -> Option<Row> {
    let mut all = Totals::default();
    let (mut blocks, mut traps) = (0, 0);
    for (_, totals, more_blocks, more_traps) in rows {
        all.instructions += totals.instructions;
        all.bytes += totals.bytes;
        blocks += more_blocks;
        traps += more_traps;
    }
    (rows.len() > 1).then_some((None, all, blocks, traps))
}

fn bits(totals: &Totals) -> f64 {
    8.0 * totals.bytes as f64 / totals.instructions.max(1) as f64
}

fn json(path: &Path, log: &Log, rows: &[Row], places: &Places) -> serde_json::Value {
    let threads = rows.iter().map(|(index, totals, blocks, traps)| {
        json!({
            "index": index, "instructions": totals.instructions, "blocks": blocks, "traps": traps,
            "translations": totals.translations, "bytes": totals.bytes, "bits_per_instruction": bits(totals),
        })
    });
    let mappings = places.sorted().into_iter();
    let mappings = mappings.map(|(name, instructions)| json!({"path": name, "instructions": instructions}));
    json!({
        "log": path.display().to_string(), "kind": "retirement", "processor": log.header().target.name(),
        "translations": log.definitions().translations().len(),
        "threads": threads.collect::<Vec<_>>(), "mappings": mappings.collect::<Vec<_>>(),
    })
}

/// Instructions by file.
#[derive(Debug, Default)]
struct Places {
    /// Where mappings begin, each with the file that is there up to the next.
    starts: Vec<(u64, usize)>,
    /// Names and instructions; the first is what is in no file.
    files: Vec<(String, u64)>,
    /// The piece that was looked up last: start, end, file.
    last: (u64, u64, usize),
}

impl Places {
    /// Later mappings replace earlier ones.
    fn new(maps: &[Map]) -> Self {
        let mut files = vec![("(memory without a file)".to_owned(), 0)];
        let mut numbers = HashMap::from([("", 0)]);
        // Pieces that do not overlap: where each ends, and its file.
        let mut pieces: BTreeMap<u64, (u64, usize)> = BTreeMap::new();
        for Map { start, end, path, .. } in maps.iter().filter(|map| map.start < map.end) {
            let file = *numbers.entry(path.as_str()).or_insert_with(|| {
                files.push((path.clone(), 0));
                files.len() - 1
            });
            let before = pieces.range(..end).rev();
            let hit: Vec<_> =
                before.take_while(|(_, (last, _))| last > start).map(|(&at, &of)| (at, of)).collect();
            for (at, (last, other)) in hit {
                pieces.remove(&at);
                if at < *start {
                    pieces.insert(at, (*start, other));
                }
                if last > *end {
                    pieces.insert(*end, (last, other));
                }
            }
            pieces.insert(*start, (*end, file));
        }
        let mut starts = Vec::with_capacity(2 * pieces.len());
        for (start, (end, file)) in pieces {
            starts.push((start, file));
            starts.push((end, 0));
        }
        Self { starts, files, last: (0, 0, 0) }
    }

    #[inline]
    fn add(&mut self, address: u64, instructions: u64) {
        let (start, end, file) = self.last;
        let file = if (start..end).contains(&address) { file } else { self.find(address) };
        if let Some((_, count)) = self.files.get_mut(file) {
            *count += instructions;
        }
    }

    fn find(&mut self, address: u64) -> usize {
        let after = self.starts.partition_point(|&(start, _)| start <= address);
        let (start, file) = after.checked_sub(1).map_or((0, 0), |at| self.starts[at]);
        let end = self.starts.get(after).map_or(u64::MAX, |&(start, _)| start);
        self.last = (start, end, file);
        file
    }

    /// Those where anything ran, the most first.
    fn sorted(&self) -> Vec<(&str, u64)> {
        let files = self.files.iter().filter(|(_, count)| *count > 0);
        let mut sorted: Vec<_> = files.map(|(name, count)| (name.as_str(), *count)).collect();
        sorted.sort_by_key(|&(name, count)| (std::cmp::Reverse(count), name));
        sorted
    }
}

/// Counts what a thread executes.
#[derive(Debug, Default)]
struct Count {
    places: Places,
    blocks: u64,
    traps: u64,
}

impl HartSink for Count {
    #[inline]
    fn block(&mut self, block: &Block) {
        self.blocks += 1;
        self.places.add(block.start, block.count.into());
    }

    fn trap(&mut self, _: &Trap) {
        self.traps += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_mappings_replace_earlier_ones() {
        let map =
            |start, end, path: &str| Map { start, end, offset: 0, path: path.into(), build_id: Vec::new() };
        let maps = [map(0x10, 0x50, "a"), map(0x20, 0x30, "b"), map(0x28, 0x40, ""), map(0x48, 0x60, "b")];
        let mut places = Places::new(&maps);
        for address in 0..0x70 {
            places.add(address, 1);
        }
        let expected = [("(memory without a file)", 0x10 + 0x18 + 0x10), ("a", 0x10 + 8), ("b", 8 + 0x18)];
        let mut found = places.sorted();
        found.sort_unstable();
        assert_eq!(found, expected);
    }
}
