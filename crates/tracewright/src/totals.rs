//! Totals of a buffer.

use std::ops::ControlFlow;

use tracewright_core::Element;
use tracewright_engine::{self as engine, At, Consumer, Engine, Problem, WantedBlocks};
use tracewright_input::Buffer;

use crate::{Error, Outcome, Trace};

/// Counts instructions and blocks, and nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Totals;

impl Consumer for Totals {
    const BLOCKS: WantedBlocks = WantedBlocks::Summed;
    type State = ();
    type Output = ();

    fn element(&self, _: &mut (), _: &mut (), _: &At<'_>, _: &Element) {}

    fn merge(&self, (): &mut (), (): ()) {}
}

impl Trace {
    /// Counts the instructions and blocks of a buffer. Sources whose trace the program does not explain are left out, unless that is
    /// [accepted](crate::OpenOptions::accept_mismatch); [`Outcome::diagnostics`] names them. With a filter, there is nothing to leave them
    /// out of, and they are an error.
    ///
    /// # Errors
    /// Fails if the trace cannot be read, or if the program explains that of no source.
    pub fn totals_of(&self, engine: &Engine, buffer: &Buffer) -> Result<Outcome<()>, Error> {
        let go_on = |(): &(), _| ControlFlow::Continue(());
        let mut outcome = self.decode_buffer(engine, buffer, &Totals, !self.is_filtered(), go_on)?;
        if !self.accepts_mismatch() {
            leave_out_unexplained(&mut outcome)?;
        }
        Ok(outcome)
    }
}

fn leave_out_unexplained(outcome: &mut Outcome<()>) -> Result<(), Error> {
    let doubts = outcome.diagnostics.iter().filter_map(|diagnostic| match &diagnostic.problem {
        Problem::WrongProgram(doubt) => Some(doubt.clone()),
        _ => None,
    });
    let doubts: Vec<_> = doubts.collect();
    let is_doubtful = |index: usize, id: u16| {
        doubts.iter().any(|doubt| (doubt.source.index, doubt.source.id) == (index, id))
    };
    let mut active = outcome.sources.iter().filter(|of| of.bytes > 0);
    if !doubts.is_empty() && active.all(|of| is_doubtful(of.source.index, of.source.id)) {
        return Err(engine::Error::WrongProgram(doubts).into());
    }
    for diagnostic in &mut outcome.diagnostics {
        if let Problem::WrongProgram(doubt) = &mut diagnostic.problem {
            doubt.is_left_out = true;
        }
    }
    for of in &mut outcome.sources {
        if is_doubtful(of.source.index, of.source.id) {
            outcome.tally.instructions -= std::mem::take(&mut of.tally.instructions);
            outcome.tally.blocks -= std::mem::take(&mut of.tally.blocks);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tracewright_engine::{Doubt, MissingCode, Named, SourceTally, Tally};

    use super::*;
    use crate::Diagnostic;

    /// What is not counted is said, also where another source is counted.
    #[test]
    fn a_source_that_is_left_out_is_told() {
        let named = |index: usize| Named { index, name: format!("core{index}"), id: 0x10 + index as u16 };
        let tally = |instructions: u64| Tally { instructions, blocks: 1, ..Tally::default() };
        let of = |index: usize, instructions: u64| SourceTally {
            source: named(index),
            bytes: 8,
            tally: tally(instructions),
            missing: MissingCode::default(),
        };
        let (mismatches, blocks, bytes_unfollowed) = (9, 1, 0);
        let doubt =
            Doubt { source: named(0), mismatches, blocks, bytes_unfollowed, first: None, is_left_out: false };
        let mut outcome = Outcome {
            tally: Tally { blocks: 2, ..tally(12) },
            sources: vec![of(0, 7), of(1, 5)],
            diagnostics: vec![Diagnostic { buffer: "etb".into(), problem: Problem::WrongProgram(doubt) }],
            ..Outcome::default()
        };
        leave_out_unexplained(&mut outcome).unwrap();
        assert_eq!((outcome.tally.instructions, outcome.tally.blocks), (5, 1));
        let said = outcome.diagnostics[0].to_string();
        assert!(said.contains("9 mismatches in 1 block: its instructions are not counted"), "{said}");
        assert!(said.ends_with("--accept-mismatch"), "{said}");
    }
}
