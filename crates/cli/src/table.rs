//! How tables are written: for people, as comma-separated values, or as JSON; and the cells that several have.

use clap::{Args, ValueEnum};

use crate::output::Form;
use crate::terminal::hot;

/// How a table is written.
#[derive(Args, Clone, Copy, Debug)]
pub struct TableArgs {
    /// What is written.
    #[arg(long, value_enum, default_value_t, conflicts_with = "json")]
    pub format: TableFormat,

    /// Write JSON, for programs; the book lists its fields.
    #[arg(long)]
    pub json: bool,
}

/// How a table is written, if not as JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// A table for people.
    #[default]
    Table,
    /// Comma-separated values, all rows, for spreadsheets and scripts.
    Csv,
}

impl TableArgs {
    /// Whether comma-separated values are asked for.
    pub fn is_csv(self) -> bool {
        self.format == TableFormat::Csv
    }

    /// Returns what the output is.
    pub fn form(self) -> Form {
        match self.format {
            _ if self.json => Form::Json,
            TableFormat::Csv => Form::Text,
            TableFormat::Table => Form::Table,
        }
    }
}

/// `12.3` in six columns, hot if it is much.
pub fn share(part: u64, all: u64) -> String {
    hot(part, all, format!("{:>6}", percent(part, all)))
}

/// `12.3`.
pub fn percent(part: u64, all: u64) -> String {
    format!("{:.1}", 100.0 * part as f64 / all.max(1) as f64)
}

/// `1.23`, or `-` of nothing.
pub fn ratio(cycles: u64, instructions: u64) -> String {
    if instructions == 0 {
        return "-".into();
    }
    format!("{:.2}", cycles as f64 / instructions as f64)
}
