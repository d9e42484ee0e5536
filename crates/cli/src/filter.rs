//! Which part of what ran: options that all verbs have that count.

use std::ops::Range as Addresses;

use clap::Args;
use tracewright_profile::{Binary, Place, Profile, Program};

use crate::decode::offset;
use crate::decode::part::Range;
use crate::output::Error;

/// Which part of what ran.
#[derive(Args, Clone, Debug, Default)]
pub struct FilterArgs {
    /// Only this function, mangled or not (repeat for more).
    #[arg(long = "function", value_name = "NAME", help_heading = "Only a part")]
    pub functions: Vec<String>,

    /// Only blocks that begin in these addresses of a binary: two numbers (with 0x) or symbols, as 0x1000..0x2000, main..exit or
    /// main+0x10..main+0x20; the second is not included (repeat for more).
    #[arg(long = "range", value_name = "A..B", help_heading = "Only a part")]
    pub ranges: Vec<String>,

    /// Only this binary: its path, the name of its file, or the start of its build ID (repeat for more).
    #[arg(long = "binary", value_name = "NAME", help_heading = "Only a part")]
    pub binaries: Vec<String>,

    /// Only what packets from this offset of the trace file on tell.
    #[arg(long, value_name = "OFFSET", value_parser = offset, default_value = "0", hide_default_value = true, help_heading = "Only a part")]
    pub from: u64,

    /// Only what packets before this offset of the trace file tell.
    #[arg(long, value_name = "OFFSET", value_parser = offset, help_heading = "Only a part")]
    pub to: Option<u64>,
}

impl FilterArgs {
    /// The part of the trace file.
    pub fn range(&self) -> Range {
        Range { from: self.from, to: self.to.unwrap_or(u64::MAX) }
    }

    /// Whether places are asked for, and not only a part of the trace file.
    pub fn any_places(&self) -> bool {
        !(self.functions.is_empty() && self.ranges.is_empty() && self.binaries.is_empty())
    }

    /// Why something that ran is not in the output: it is not asked for, or else for another reason.
    pub fn left_out(&self, otherwise: &'static str) -> &'static str {
        if self.any_places() { "not asked for (--function, --range, --binary)" } else { otherwise }
    }

    /// Keeps what is asked for: what one option of each kind asks for. Names that nothing has are errors.
    pub fn apply(&self, profile: &mut Profile, program: &Program) -> Result<(), Error> {
        if !self.any_places() {
            return Ok(());
        }
        let binaries = self.binaries(profile)?;
        let functions = self.functions(profile, program)?;
        let mut ranges = Vec::new();
        for text in &self.ranges {
            ranges.push(Span::parse(text, profile, program)?);
        }
        profile.retain(|place| {
            let is_in = |spans: &[Span]| spans.iter().any(|span| span.has(place));
            (self.binaries.is_empty() || binaries.contains(&place.binary))
                && (self.functions.is_empty() || is_in(&functions))
                && (self.ranges.is_empty() || is_in(&ranges))
        });
        profile.funnel.in_output = profile.instructions();
        Ok(())
    }

    /// The numbers of those asked for.
    fn binaries(&self, profile: &Profile) -> Result<Vec<u32>, Error> {
        let mut found = Vec::new();
        for asked in &self.binaries {
            let before = found.len();
            let all = (0..).zip(&profile.binaries);
            found.extend(all.filter(|(_, binary)| is_called(binary, asked)).map(|(number, _)| number));
            if found.len() == before {
                let mut names: Vec<_> = profile.binaries.iter().map(Binary::file_name).collect();
                names.sort_unstable();
                let there = if names.is_empty() { "none".into() } else { names.join(", ") };
                return Err(Error::Message(format!(
                    "--binary {asked}: no binary is called so; there are: {there}"
                )));
            }
        }
        Ok(found)
    }

    /// Where those asked for are.
    fn functions(&self, profile: &Profile, program: &Program) -> Result<Vec<Span>, Error> {
        let mut found = Vec::new();
        for name in &self.functions {
            let spans = spans(name, profile, program);
            if spans.is_empty() {
                return Err(unknown("--function", name, program));
            }
            found.extend(spans);
        }
        Ok(found)
    }
}

fn is_called(binary: &Binary, asked: &str) -> bool {
    let id = asked.strip_prefix("0x").unwrap_or(asked).to_ascii_lowercase();
    binary.name == asked
        || binary.file_name() == asked
        || id.len() >= 4 && binary.build_id_hex().starts_with(&id)
}

fn unknown(option: &str, name: &str, program: &Program) -> Error {
    let near = crate::control::near(program.image(), name);
    let near = near.map_or(String::new(), |near| format!("; there is {near}"));
    Error::Message(format!("{option} {name}: no binary that is here has such a symbol{near}"))
}

/// Addresses of a binary; of all, if they are given as numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    binary: Option<u32>,
    addresses: Addresses<u64>,
}

impl Span {
    fn has(&self, place: Place) -> bool {
        self.binary.is_none_or(|binary| binary == place.binary) && self.addresses.contains(&place.address)
    }

    /// `A..B`, each a number or a symbol, perhaps with an offset.
    fn parse(text: &str, profile: &Profile, program: &Program) -> Result<Self, Error> {
        let wrong = |why: &str| Error::Message(format!("--range {text}: {why}"));
        let Some((from, to)) = text.split_once("..") else {
            return Err(wrong("expected A..B, as 0x1000..0x2000 or main..exit"));
        };
        let bound = |text: &str| -> Result<(Option<u32>, u64), Error> {
            if let Some(number) = number(text) {
                return Ok((None, number));
            }
            let (name, offset) = match text.rsplit_once('+').map(|(name, offset)| (name, number(offset))) {
                Some((name, Some(offset))) => (name, offset),
                _ => (text, 0),
            };
            let found = spans(name, profile, program);
            let span = found.first().ok_or_else(|| unknown("--range", name, program))?;
            Ok((span.binary, span.addresses.start.wrapping_add(offset)))
        };
        let ((first, from), (last, to)) = (bound(from.trim())?, bound(to.trim())?);
        if first.is_some() && last.is_some() && first != last {
            return Err(wrong("the two symbols are in two binaries"));
        }
        if from >= to {
            return Err(wrong(&format!("{from:#x} is not before {to:#x}")));
        }
        Ok(Self { binary: first.or(last), addresses: from..to })
    }
}

/// `0x1f` or `31`.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Where a symbol is, in all binaries that have it.
fn spans(name: &str, profile: &Profile, program: &Program) -> Vec<Span> {
    let numbers = 0..profile.binaries.len() as u32;
    let found = numbers.filter_map(|binary| {
        let addresses = program.resolve(binary, name)?;
        // The lowest bit only says that it is T32.
        Some(Span { binary: Some(binary), addresses: addresses.start & !1..addresses.end })
    });
    found.collect()
}
