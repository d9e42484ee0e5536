//! Sums of coverage over files.

use std::ops::{AddAssign, RangeInclusive};

use super::{Coverage, File, Part};

/// Coverage of several files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Covered lines.
    pub lines: Part,
    /// Covered outcomes of conditional branches.
    pub branches: Part,
    /// Functions that ran.
    pub functions: Part,
    /// Covered instructions.
    pub instructions: Part,
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.lines += other.lines;
        self.branches += other.branches;
        self.functions += other.functions;
        self.instructions += other.instructions;
    }
}

impl Coverage {
    /// Returns the sums of a file.
    pub fn file_totals(&self, file: u32) -> Totals {
        let of = &self.files[file as usize];
        let (lines, branches, instructions) = (of.lines(), of.branches(), of.instructions);
        Totals { lines, branches, functions: self.functions_part(file), instructions }
    }

    /// Returns the sums of all source files: what is in lcov's text.
    pub fn source_totals(&self) -> Totals {
        self.totals_of(|file| file.is_source)
    }

    /// Returns the sums of all files.
    pub fn totals(&self) -> Totals {
        self.totals_of(|_| true)
    }

    fn totals_of(&self, is_wanted: impl Fn(&File) -> bool) -> Totals {
        let mut totals = Totals::default();
        let files = (0..).zip(&self.files).filter(|(_, file)| is_wanted(file));
        files.for_each(|(number, _)| totals += self.file_totals(number));
        totals
    }
}

impl File {
    /// Returns the lines with code that never ran. Those between which no other line has code are one range.
    pub fn missed_lines(&self) -> Vec<RangeInclusive<u32>> {
        let mut runs: Vec<RangeInclusive<u32>> = Vec::new();
        let mut goes_on = false;
        for (&line, &count) in &self.lines {
            match runs.last_mut().filter(|_| goes_on && count == 0) {
                Some(run) => *run = *run.start()..=line,
                None if count == 0 => runs.push(line..=line),
                None => {}
            }
            goes_on = count == 0;
        }
        runs
    }
}
