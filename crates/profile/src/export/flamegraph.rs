//! Flame graphs as SVG, drawn by inferno.

use std::fmt;

use inferno::flamegraph::{self, Options, TextTruncateDirection};

use super::folded::{self, Weight};
use crate::calls::CallTree;

/// Error of [drawing](write()) a flame graph.
#[non_exhaustive]
pub enum DrawError {
    /// Nothing ran.
    Empty,
    /// inferno failed.
    Inferno(Box<dyn std::error::Error + Send + Sync>),
}

impl fmt::Debug for DrawError {
    /// Writes what [`Display`](fmt::Display) does: `main` shows errors that it returns like this.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for DrawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("nothing ran: there is nothing to draw"),
            Self::Inferno(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for DrawError {}

/// Draws the flame graph of a call tree.
///
/// # Errors
/// Returns an error if nothing ran.
pub fn write(calls: &CallTree, weight: Weight, title: &str) -> Result<Vec<u8>, DrawError> {
    draw(&folded::write(calls, weight), weight, title)
}

/// Draws how the second of two runs differs from the first: widths are the weights of the second, red is more than in the first, blue
/// is less. Stacks that are only in the first have no width.
///
/// # Errors
/// Returns an error if nothing ran in the second.
pub fn difference(runs: [&CallTree; 2], weight: Weight, title: &str) -> Result<Vec<u8>, DrawError> {
    let folded = folded::difference(runs, weight);
    if folded.lines().all(|line| line.ends_with(" 0")) {
        return Err(DrawError::Empty);
    }
    draw(&folded, weight, title)
}

fn draw(folded: &str, weight: Weight, title: &str) -> Result<Vec<u8>, DrawError> {
    let mut options = Options::default();
    title.clone_into(&mut options.title);
    options.count_name = match weight {
        Weight::Instructions => "instructions".into(),
        Weight::Cycles => "cycles".into(),
    };
    // Colours depend on names only, so that the same run gives the same picture.
    options.hash = true;
    options.text_truncate_direction = TextTruncateDirection::Right;
    if folded.is_empty() {
        return Err(DrawError::Empty);
    }
    let mut svg = Vec::new();
    flamegraph::from_lines(&mut options, folded.lines(), &mut svg)
        .map_err(|error| DrawError::Inferno(error.into()))?;
    Ok(svg)
}
