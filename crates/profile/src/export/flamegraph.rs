//! Flame graphs as SVG, drawn by inferno: a picture to open in a browser, to search and to zoom.

use inferno::flamegraph::{self, Options, TextTruncateDirection};

use super::folded::{self, Weight};
use crate::calls::CallTree;

/// The picture.
///
/// # Errors
/// If nothing ran.
pub fn write(calls: &CallTree, weight: Weight, title: &str) -> Result<Vec<u8>, String> {
    let folded = folded::write(calls, weight);
    let mut options = Options::default();
    title.clone_into(&mut options.title);
    options.count_name = match weight {
        Weight::Instructions => "instructions".into(),
        Weight::Cycles => "cycles".into(),
    };
    // The same run gives the same picture.
    options.hash = true;
    options.text_truncate_direction = TextTruncateDirection::Right;
    if folded.is_empty() {
        return Err("nothing ran: there is nothing to draw".into());
    }
    let mut svg = Vec::new();
    flamegraph::from_lines(&mut options, folded.lines(), &mut svg).map_err(|error| error.to_string())?;
    Ok(svg)
}
