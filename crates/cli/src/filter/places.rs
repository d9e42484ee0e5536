//! The places that are asked for: names and numbers as addresses of binaries.

use tracewright_profile::{Binary, Profile, Program, Span, inlined_into};

use super::FilterArgs;
use crate::output::Error;

impl FilterArgs {
    /// The numbers of those asked for.
    pub(super) fn binaries(&self, profile: &Profile) -> Result<Vec<u32>, Error> {
        let mut found = Vec::new();
        for asked in &self.binaries {
            let before = found.len();
            let all = (0..).zip(&profile.binaries);
            found.extend(all.filter(|(_, binary)| has_name(binary, asked)).map(|(number, _)| number));
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

    /// Where those asked for are, with what compilers put apart of them.
    pub(super) fn functions(&self, profile: &Profile, programs: &[&Program]) -> Result<Vec<Span>, Error> {
        let mut found = Vec::new();
        for name in &self.functions {
            let named = named(name, profile, programs);
            if named.is_empty() {
                return Err(unknown("--function", name, programs));
            }
            found.extend(named);
        }
        Ok(found)
    }

    /// Checks that each function asked for is a symbol, or is inlined somewhere.
    pub(super) fn check_functions(&self, profile: &Profile, programs: &[&Program]) -> Result<(), Error> {
        let is_known = |name: &String| {
            !named(name, profile, programs).is_empty()
                || !inlined_into(&binaries(profile, programs), &[], name).is_empty()
        };
        match self.functions.iter().find(|name| !is_known(name)) {
            Some(name) => Err(unknown("--function", name, programs)),
            None => Ok(()),
        }
    }

    pub(super) fn ranges(&self, profile: &Profile, programs: &[&Program]) -> Result<Vec<Span>, Error> {
        self.ranges.iter().map(|text| parse(text, profile, programs)).collect()
    }
}

/// Where the functions of this name are, with what compilers put apart of them.
fn named(name: &str, profile: &Profile, programs: &[&Program]) -> Vec<Span> {
    let mut found = Vec::new();
    for (binary, program) in binaries(profile, programs) {
        let functions = program.file(binary).map(|file| file.functions()).unwrap_or_default();
        let parts = functions.into_iter().filter(|part| is_called(part.name, name));
        found.extend(parts.map(|part| Span { binary: Some(binary), addresses: part.range }));
    }
    if found.is_empty() { spans(name, profile, programs) } else { found }
}

/// Whether a function is called so: as it is, without parameters, or what was put apart of it.
pub fn is_called(symbol: &str, name: &str) -> bool {
    let symbol = symbol.strip_suffix(".cold").unwrap_or(symbol);
    symbol == name || symbol.strip_prefix(name).is_some_and(|rest| rest.starts_with('('))
}

fn has_name(binary: &Binary, asked: &str) -> bool {
    let id = asked.strip_prefix("0x").unwrap_or(asked).to_ascii_lowercase();
    binary.name == asked
        || binary.file_name() == asked
        || id.len() >= 4 && binary.build_id_hex().starts_with(&id)
}

fn unknown(option: &str, name: &str, programs: &[&Program]) -> Error {
    let near = programs.iter().find_map(|program| crate::control::near(program.image(), name));
    let near = near.map_or(String::new(), |near| format!("; there is {near}"));
    Error::Message(format!("{option} {name}: no binary that is here has such a symbol{near}"))
}

/// `A..B`, each a number or a symbol, perhaps with an offset.
fn parse(text: &str, profile: &Profile, programs: &[&Program]) -> Result<Span, Error> {
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
        let found = spans(name, profile, programs);
        let span = found.first().ok_or_else(|| unknown("--range", name, programs))?;
        Ok((span.binary, span.addresses.start.wrapping_add(offset)))
    };
    let ((first, from), (last, to)) = (bound(from.trim())?, bound(to.trim())?);
    if first.is_some() && last.is_some() && first != last {
        return Err(wrong("the two symbols are in two binaries"));
    }
    if from >= to {
        return Err(wrong(&format!("{from:#x} is not before {to:#x}")));
    }
    Ok(Span { binary: first.or(last), addresses: from..to })
}

/// `0x1f` or `31`.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// All binaries, each as the first program has it that does.
pub fn binaries<'p>(profile: &Profile, programs: &[&'p Program]) -> Vec<(u32, &'p Program)> {
    let has = |binary: u32| programs.iter().find(|program| program.has(binary));
    (0..profile.binaries.len() as u32).filter_map(|binary| Some((binary, *has(binary)?))).collect()
}

/// Where a symbol is, in all binaries that have it.
fn spans(name: &str, profile: &Profile, programs: &[&Program]) -> Vec<Span> {
    let found = binaries(profile, programs).into_iter().filter_map(|(binary, program)| {
        let addresses = program.resolve(binary, name)?;
        // The lowest bit only says that it is T32.
        Some(Span { binary: Some(binary), addresses: addresses.start & !1..addresses.end })
    });
    found.collect()
}
