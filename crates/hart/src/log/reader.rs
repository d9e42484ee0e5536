use std::io::BufRead;

use tracewright_isa::riscv::Xlen;

use super::commit::{Event, Join};
use super::lines::Lines;
use super::sequence::Sequence;
use super::{Kind, LineProblem, LogError, csv, qemu, rvfi, spike};
use crate::Retired;

/// Reader of another simulator's log, for one hart.
///
/// It takes any text, line by line, in bounded memory.
#[derive(Debug)]
pub struct Reader<R, F> {
    kind: Kind,
    lines: Lines<R>,
    code: F,
    state: State,
    join: Join,
    sequence: Sequence,
    /// Set if each instruction must follow from the one before it.
    is_strict: bool,
    gap: Option<LogError>,
}

/// State that the parsers of lines share.
#[derive(Debug)]
pub(super) struct State {
    pub xlen: Xlen,
    /// Hart of the last line, since lines of old versions of Spike do not have it.
    pub last_hart: u64,
    hart: Option<u64>,
    skipped: u64,
    of_others: u64,
}

impl State {
    /// Counts a line that is not about an instruction.
    pub fn skip(&mut self) -> Option<Event> {
        self.skipped += 1;
        None
    }

    /// Returns whether a line is about the hart to read, which is the first if none was selected.
    pub fn is_of(&mut self, hart: u64) -> bool {
        let is_it = *self.hart.get_or_insert(hart) == hart;
        self.of_others += u64::from(!is_it);
        is_it
    }
}

impl<R: BufRead, F: FnMut(u64) -> Option<u32>> Reader<R, F> {
    /// Creates a reader of the first hart in `input`, a log of this kind. All lines of [`Kind::Own`] and
    /// [`Kind::Retirement`] are skipped: those have readers of their own.
    ///
    /// `code` returns the four bytes at an address, or the two of a compressed instruction. Only QEMU's log, which has
    /// no instructions, needs it.
    pub fn new(kind: Kind, xlen: Xlen, input: R, code: F) -> Self {
        let state = State { xlen, last_hart: 0, hart: None, skipped: 0, of_others: 0 };
        let (lines, join, sequence) = (Lines::new(input), Join::new(xlen), Sequence::new(xlen));
        Self { kind, lines, code, state, join, sequence, is_strict: false, gap: None }
    }

    /// Selects another hart.
    #[must_use]
    pub fn with_hart(mut self, hart: u64) -> Self {
        self.state.hart = Some(hart);
        self
    }

    /// Makes an instruction that does not follow from the one before it an error in logs of [`Kind::Csv`]. In others it stays a
    /// [`gap`](Self::gap): their simulators leave out traps, and what they were not asked for.
    #[must_use]
    pub fn in_sequence(mut self) -> Self {
        self.is_strict = self.kind == Kind::Csv;
        self
    }

    /// Returns why the instruction that was returned last does not follow from the one before it, if it does not: the log lacks
    /// instructions or a trap.
    pub fn gap(&self) -> Option<&LogError> {
        self.gap.as_ref()
    }

    /// Returns the number of lines that are not about instructions.
    pub fn skipped(&self) -> u64 {
        self.state.skipped
    }

    /// Returns the number of lines about other harts.
    pub fn of_others(&self) -> u64 {
        self.state.of_others
    }

    /// Returns the next instruction or trap; `None` at the end.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, a line is malformed or does not follow
    /// ([`in_sequence`](Self::in_sequence)), or `code` has no instruction at an address. The next call continues with the next line.
    #[expect(clippy::should_implement_trait, reason = "an iterator's errors come inside out")]
    pub fn next(&mut self) -> Result<Option<Retired>, LogError> {
        loop {
            let event = match self.join.after_interrupt() {
                Some(event) => Some(event),
                None => self.event().map_err(|problem| LogError { line: self.lines.number(), problem })?,
            };
            let is_end = event.is_none();
            let retired = match event {
                Some(event) => self.join.take(event, self.lines.number()),
                None => self.join.finish(),
            };
            let Some((line, retired)) = retired else {
                if is_end {
                    return Ok(None);
                }
                continue;
            };
            let gap = self.sequence.check(line, &retired).map_err(|problem| LogError { line, problem });
            self.gap = if self.is_strict { gap.map(|()| None)? } else { gap.err() };
            return Ok(Some(retired));
        }
    }

    /// Returns the content of the next line that has any.
    fn event(&mut self) -> Result<Option<Event>, LineProblem> {
        while self.lines.advance()? {
            let line = self.lines.line();
            let event = match self.kind {
                Kind::Spike => spike::event(line, &mut self.state)?,
                Kind::Rvfi => rvfi::event(line, &mut self.state)?,
                Kind::Csv if self.lines.number() == 1 => csv::check_header(line)?,
                Kind::Csv => csv::event(line, &mut self.state)?,
                Kind::Qemu => qemu::event(line, &mut self.state, &mut self.code)?,
                Kind::Own | Kind::Retirement => self.state.skip(),
            };
            if event.is_some() {
                return Ok(event);
            }
        }
        Ok(None)
    }
}
