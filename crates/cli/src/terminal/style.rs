//! Text with styles. Characters that no other text has stand for them until it is written: only then it is known whether there are
//! colours.

/// How text looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The names of columns, the names of things that are described.
    Heading,
    /// What matters most.
    Hot,
    /// That something is wrong.
    Error,
}

/// Begins a heading of a table, that [`END`] ends.
pub const HEADING: char = '\u{91}';
const HOT: char = '\u{92}';
/// Ends a style.
pub const END: char = '\u{9c}';

/// Part of all from which on it is hot.
const MUCH: f64 = 0.1;

impl Style {
    /// Returns what switches it on.
    const fn on(self) -> &'static str {
        match self {
            Self::Heading => "\x1b[1m",
            Self::Hot => "\x1b[31m",
            Self::Error => "\x1b[1;31m",
        }
    }

    /// Returns text with the style, for a terminal with colours.
    pub fn paint(self, text: &str) -> String {
        format!("{}{text}{OFF}", self.on())
    }
}

/// Switches all styles off.
const OFF: &str = "\x1b[0m";

/// Returns what a character switches in text that is written as [`Form::Table`](crate::output::Form::Table), if it stands for a style.
/// Names from files do not have it: control characters are escaped in them.
pub fn switch(letter: char) -> Option<&'static str> {
    match letter {
        HEADING => Some(Style::Heading.on()),
        HOT => Some(Style::Hot.on()),
        END => Some(OFF),
        _ => None,
    }
}

/// Returns nothing for a character that stands for a style, for text without colours.
pub fn leave_out(letter: char) -> Option<&'static str> {
    switch(letter).map(|_| "")
}

/// Returns lines that name the columns of what follows them.
pub fn heading(lines: &str) -> String {
    format!("{HEADING}{}{END}\n", lines.trim_end())
}

/// Returns a cell of a table that tells a part of all, hot if that is much.
pub fn hot(part: u64, all: u64, cell: String) -> String {
    if part > 0 && part as f64 >= MUCH * all as f64 { format!("{HOT}{cell}{END}") } else { cell }
}
