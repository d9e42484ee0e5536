//! Counts of a retirement log by thread and by mapped file.

use std::collections::HashMap;

use tracewright_core::Block;
use tracewright_hart::{HartSink, Trap};
use tracewright_qemu::read::{Log, Map, Totals};

use super::code::disjoint;

/// Counts of a retirement log.
#[derive(Debug, Default)]
pub struct LogCounts {
    /// The threads that were counted.
    pub threads: Vec<ThreadCounts>,
    /// Files in which anything ran, with their number of instructions, the most first.
    pub files: Vec<(String, u64)>,
    /// Problems of the log.
    pub problems: Vec<String>,
}

/// Counts of what a thread executed.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadCounts {
    /// Its index in the log; `None` for all threads together.
    pub index: Option<u32>,
    /// Instructions, and the bytes they take in the log.
    pub totals: Totals,
    /// Blocks.
    pub blocks: u64,
    /// Traps.
    pub traps: u64,
}

impl ThreadCounts {
    /// Returns the bits per instruction in the log.
    pub fn bits(&self) -> f64 {
        8.0 * self.totals.bytes as f64 / self.totals.instructions.max(1) as f64
    }
}

impl LogCounts {
    /// Counts one thread of a log, or all.
    pub fn new(log: &mut Log, thread: Option<u32>) -> Self {
        let mut counts = Self::default();
        let mut files = ByFile::new(log.definitions().maps());
        counts.problems.extend(log.damage().iter().map(ToString::to_string));
        let wanted = |index: &u32| thread.is_none_or(|thread| thread == *index);
        for index in log.threads().filter(wanted).collect::<Vec<_>>() {
            let mut count = Count { files, ..Count::default() };
            let failed = log.read(index, &mut count).err();
            counts.problems.extend(failed.map(|error| format!("thread {index}: {error}")));
            let Count { blocks, traps, .. } = count;
            counts.threads.push(ThreadCounts { index: Some(index), totals: log.totals(), blocks, traps });
            files = count.files;
        }
        counts.files = files.sorted();
        counts
    }

    /// Returns the sum of all threads.
    pub fn all(&self) -> ThreadCounts {
        let mut all = ThreadCounts::default();
        for thread in &self.threads {
            all.totals.instructions += thread.totals.instructions;
            all.totals.bytes += thread.totals.bytes;
            all.blocks += thread.blocks;
            all.traps += thread.traps;
        }
        all
    }
}

/// Instructions by file.
#[derive(Debug, Default)]
struct ByFile {
    /// Start addresses of mappings, each with the file that is there up to the next.
    starts: Vec<(u64, usize)>,
    /// Names and instructions; the first is code that is in no file.
    files: Vec<(String, u64)>,
    /// The piece that was looked up last: start, end, file.
    last: (u64, u64, usize),
}

impl ByFile {
    /// Builds the table. Later mappings replace earlier ones.
    fn new(maps: &[Map]) -> Self {
        let mut files = vec![("(memory without a file)".to_owned(), 0)];
        let mut numbers = HashMap::from([("", 0)]);
        let mapped = maps.iter().map(|Map { start, end, path, .. }| {
            let file = *numbers.entry(path.as_str()).or_insert_with(|| {
                files.push((path.clone(), 0));
                files.len() - 1
            });
            (*start..*end, file)
        });
        let starts =
            disjoint(mapped).flat_map(|(range, file)| [(range.start, file), (range.end, 0)]).collect();
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

    /// Returns the files where anything ran, the most instructions first.
    fn sorted(mut self) -> Vec<(String, u64)> {
        self.files.retain(|(_, count)| *count > 0);
        self.files.sort_by(|(name, count), (other, more)| more.cmp(count).then(name.cmp(other)));
        self.files
    }
}

/// A sink that counts what a thread executes.
#[derive(Debug, Default)]
struct Count {
    files: ByFile,
    blocks: u64,
    traps: u64,
}

impl HartSink for Count {
    #[inline]
    fn block(&mut self, block: &Block) {
        self.blocks += 1;
        self.files.add(block.start, block.count.into());
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
        let mut files = ByFile::new(&maps);
        for address in 0..0x70 {
            files.add(address, 1);
        }
        let expected = [("(memory without a file)", 0x10 + 0x18 + 0x10), ("b", 8 + 0x18), ("a", 0x10 + 8)];
        assert_eq!(files.sorted(), expected.map(|(name, count)| (name.to_owned(), count)));
    }
}
