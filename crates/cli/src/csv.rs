//! Tables as comma-separated values, for spreadsheets and scripts: quoted as RFC 4180 says, a line each, the names of the columns first.
//! Lines end as they do in all our text, without a carriage return; what is not known is empty.
//!
//! Text comes from files that anybody may have written. What must not be printed is escaped, and text that a spreadsheet would take for
//! a formula (it begins with `=`, `@`, `+` or `-`) gets an apostrophe before it, which spreadsheets do not show.

use std::borrow::Cow;
use std::fmt::Write;

use tracewright_core::text::Printable;

/// A table with so many columns.
pub struct Csv<const N: usize>(String);

impl<const N: usize> Csv<N> {
    pub fn new(columns: [&str; N]) -> Self {
        let mut csv = Self(String::new());
        csv.row(columns.map(Cell::from));
        csv
    }

    pub fn row(&mut self, cells: [Cell<'_>; N]) {
        for (number, cell) in cells.into_iter().enumerate() {
            if number > 0 {
                self.0.push(',');
            }
            match cell {
                Cell::Nothing => {}
                Cell::Number(number) => {
                    let _ = write!(self.0, "{number}");
                }
                Cell::Fraction(number) => {
                    let _ = write!(self.0, "{number}");
                }
                Cell::Text(text) => self.text(&text),
            }
        }
        self.0.push('\n');
    }

    fn text(&mut self, text: &str) {
        let guard = if text.starts_with(['=', '@', '+', '-']) { "'" } else { "" };
        let text = format!("{guard}{}", Printable(text));
        let _ = match text.contains([',', '"']) {
            true => write!(self.0, "\"{}\"", text.replace('"', "\"\"")),
            false => self.0.write_str(&text),
        };
    }

    /// Returns the rows since the last call.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.0)
    }

    pub fn finish(self) -> String {
        self.0
    }
}

/// What is in a row and a column.
pub enum Cell<'t> {
    Nothing,
    Number(u64),
    Fraction(f64),
    Text(Cow<'t, str>),
}

impl Cell<'static> {
    pub fn address(address: u64) -> Self {
        format!("{address:#x}").into()
    }
}

impl<'t> From<&'t str> for Cell<'t> {
    fn from(text: &'t str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<u64> for Cell<'_> {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Cell<'_> {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<f64> for Cell<'_> {
    fn from(number: f64) -> Self {
        Self::Fraction(number)
    }
}

impl From<bool> for Cell<'_> {
    fn from(is_so: bool) -> Self {
        if is_so { "true" } else { "false" }.into()
    }
}

impl<'t, T: Into<Cell<'t>>> From<Option<T>> for Cell<'t> {
    fn from(cell: Option<T>) -> Self {
        cell.map_or(Self::Nothing, T::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_taken_for_something_else_is_quoted() {
        let mut csv = Csv::new(["name", "count"]);
        csv.row(["std::map<int, char>::at".into(), 3_u64.into()]);
        csv.row(["operator\"\"_s".into(), None::<u64>.into()]);
        csv.row(["two\nlines".into(), true.into()]);
        csv.row(["=cmd(),\t".into(), (-1.5).into()]);
        csv.row(["@sum".into(), 0_u64.into()]);
        csv.row(["-[NSView draw]".into(), 0_u64.into()]);
        let expected = "name,count\n\"std::map<int, char>::at\",3\n\"operator\"\"\"\"_s\",\ntwo\\x0alines,true\n\
            \"'=cmd(),\\x09\",-1.5\n'@sum,0\n'-[NSView draw],0\n";
        assert_eq!(csv.finish(), expected);
    }
}
