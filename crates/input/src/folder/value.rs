//! TOML values with their lines. Values are taken one by one, so that unknown keys remain visible.

use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::problem::{Log, Problem, quote};

/// Reader of a document, with its line table and problem log.
pub(super) struct Document<'a> {
    /// Start of each line.
    lines: Rc<[usize]>,
    pub(super) log: Log<'a>,
}

/// Table without the values that were taken out of it.
pub(super) struct Table<'i> {
    entries: DeTable<'i>,
    /// First line of the table.
    pub(super) line: u32,
    /// Name of the table for messages: `[[source]]`.
    what: &'static str,
}

/// Error for a value of the wrong kind, which has already been reported.
#[derive(Debug)]
pub(super) struct Wrong;

/// Value of a key with its line.
pub(super) type Taken<T> = Result<Option<(T, u32)>, Wrong>;

impl<'a> Document<'a> {
    /// Parses `text`.
    ///
    /// # Errors
    /// Fails if the text is not TOML. Continuing would mean guessing: a missing width makes the whole trace
    /// wrong.
    pub(super) fn new<'i>(
        file: &'a Path,
        text: &'i str,
        problems: &'a mut Vec<Problem>,
    ) -> Result<(Self, Table<'i>), Problem> {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let document = Self { lines, log: Log::new(file, problems) };
        match DeTable::parse(text) {
            Ok(entries) => Ok((document, Table { entries: entries.into_inner(), line: 1, what: "the file" })),
            Err(error) => {
                let line = error.span().map(|span| document.line(span));
                let why = error.message().lines().collect::<Vec<_>>().join(", ");
                Err(Problem { line, ..Problem::file_error(file, format!("not TOML: {why}")) })
            }
        }
    }

    /// Returns the same reader, for problems with memory images.
    pub(super) fn memory(&mut self) -> Document<'_> {
        Document { lines: Rc::clone(&self.lines), log: self.log.memory() }
    }

    /// Returns the same reader, for problems with code that is not there.
    pub(super) fn missing_code(&mut self) -> Document<'_> {
        Document { lines: Rc::clone(&self.lines), log: self.log.missing_code() }
    }

    /// Returns the value of a result, or reports its error at its line.
    pub(super) fn good<T>(&mut self, result: Result<T, (u32, String)>) -> Result<T, Wrong> {
        result.map_err(|(line, message)| {
            self.log.error(line, message);
            Wrong
        })
    }

    fn line(&self, span: Range<usize>) -> u32 {
        let line = self.lines.partition_point(|&start| start <= span.start);
        u32::try_from(line).unwrap_or(u32::MAX)
    }

    pub(super) fn string(&mut self, table: &mut Table<'_>, key: &str) -> Taken<String> {
        let Some((line, value)) = self.take(table, key) else { return Ok(None) };
        match value {
            DeValue::String(text) => Ok(Some((text.into_owned(), line))),
            other => self.wrong(line, key, "a text in quotes", &other),
        }
    }

    pub(super) fn number(&mut self, table: &mut Table<'_>, key: &str) -> Taken<u64> {
        let Some((line, value)) = self.take(table, key) else { return Ok(None) };
        let number = match &value {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        match number {
            Some(number) => Ok(Some((number, line))),
            None => self.wrong(line, key, "a number from 0 on", &value),
        }
    }

    pub(super) fn flag(&mut self, table: &mut Table<'_>, key: &str) -> Taken<bool> {
        let Some((line, value)) = self.take(table, key) else { return Ok(None) };
        match value {
            DeValue::Boolean(value) => Ok(Some((value, line))),
            other => self.wrong(line, key, "true or false", &other),
        }
    }

    pub(super) fn strings(&mut self, table: &mut Table<'_>, key: &str) -> Taken<Vec<String>> {
        let Some((line, value)) = self.take(table, key) else { return Ok(None) };
        let DeValue::Array(array) = value else { return self.wrong(line, key, "a list of names", &value) };
        let mut strings = Vec::new();
        for item in array {
            match item.into_inner() {
                DeValue::String(text) => strings.push(text.into_owned()),
                other => return self.wrong(line, key, "a list of names", &other),
            }
        }
        Ok(Some((strings, line)))
    }

    pub(super) fn table<'i>(
        &mut self,
        table: &mut Table<'i>,
        key: &str,
        what: &'static str,
    ) -> Result<Option<Table<'i>>, Wrong> {
        let Some((line, value)) = self.take(table, key) else { return Ok(None) };
        match value {
            DeValue::Table(entries) => Ok(Some(Table { entries, line, what })),
            other => self.wrong(line, key, "a table", &other),
        }
    }

    /// Takes all tables of an array of tables.
    pub(super) fn tables<'i>(
        &mut self,
        table: &mut Table<'i>,
        key: &str,
        what: &'static str,
    ) -> Vec<Table<'i>> {
        let Some((line, value)) = self.take(table, key) else { return Vec::new() };
        let DeValue::Array(array) = value else {
            let message = format!("{key} is {}: expected {what} tables: skipped", value.type_str());
            self.log.error(line, message);
            return Vec::new();
        };
        let mut tables = Vec::new();
        for item in array {
            let line = self.line(item.span());
            match item.into_inner() {
                DeValue::Table(entries) => tables.push(Table { entries, line, what }),
                other => {
                    let message =
                        format!("{key} holds {}: expected {what} tables: skipped", other.type_str());
                    self.log.error(line, message);
                }
            }
        }
        tables
    }

    /// Takes all remaining entries: names, and values as text.
    pub(super) fn rest(&mut self, table: Table<'_>) -> Result<Vec<(String, String, u32)>, Wrong> {
        let mut rest = Vec::new();
        for (key, value) in table.entries {
            let line = self.line(key.span());
            let text = match value.into_inner() {
                DeValue::String(text) => text.into_owned(),
                DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
                    Ok(number) => number.to_string(),
                    Err(_) => number.to_string(),
                },
                DeValue::Boolean(value) => value.to_string(),
                other => return self.wrong(line, key.get_ref(), "a number, or true or false", &other),
            };
            rest.push((key.into_inner().into_owned(), text, line));
        }
        Ok(rest)
    }

    /// Warns about keys that were not taken.
    pub(super) fn unknown(&mut self, table: Table<'_>, expected: &str) {
        for (key, _) in table.entries {
            let line = self.line(key.span());
            let (name, what) = (quote(key.get_ref()), table.what);
            self.log.warning(line, format!("{what} has no key {name}: passed over; there are {expected}"));
        }
    }

    fn take<'i>(&self, table: &mut Table<'i>, key: &str) -> Option<(u32, DeValue<'i>)> {
        let (key, value): (Spanned<_>, Spanned<_>) = table.entries.remove_entry(key)?;
        Some((self.line(key.span()), value.into_inner()))
    }

    fn wrong<T>(&mut self, line: u32, key: &str, expected: &str, found: &DeValue<'_>) -> Result<T, Wrong> {
        let found = match found {
            DeValue::Integer(number) => number.to_string(),
            other => other.type_str().to_owned(),
        };
        self.log.error(line, format!("{key}: expected {expected}, found {}", quote(&found)));
        Err(Wrong)
    }
}
