//! Text of channels as comma-separated values.

use super::{Cell, Csv};
use crate::channel_text::{ChannelText, TextKind};
use crate::words;

/// Returns a table without rows.
pub fn table() -> Csv<7> {
    Csv::new("buffer,offset,id,kind,master,channel,text")
}

/// Adds a row for a line of a buffer's text, or for a gap.
pub fn row(csv: &mut Csv<7>, buffer: &str, ChannelText { id, offset, kind, .. }: &ChannelText) {
    let (kind, master, channel, text) = match kind {
        TextKind::Line { master, channel, text } => {
            ("text", master.map(u32::from), Some(*channel), text.as_str())
        }
        TextKind::Gap { reason, .. } => ("gap", None, None, words::gap(*reason)),
    };
    csv.row([
        buffer.into(),
        (*offset).into(),
        Cell::Number((*id).into()),
        kind.into(),
        master.into(),
        channel.into(),
        text.into(),
    ]);
}
