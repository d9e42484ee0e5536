//! Names of functions, ranges and binaries as a filter of places.

use std::fmt;

use super::{PlaceFilter, Span};
use crate::counts::{Binary, Profile};
use crate::program::Program;
use crate::walk::inlined_into;

/// Names of places. Each list restricts the places if it is not empty; a place must be named by each list that does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceNames {
    /// Functions, mangled or not; C++ functions also without parameters.
    pub functions: Vec<String>,
    /// Ranges `A..B`: numbers, or symbols with or without an offset. The second is not included.
    pub ranges: Vec<String>,
    /// Binaries: paths, names of files, or starts of build IDs.
    pub binaries: Vec<String>,
    /// Takes inlined functions for parts of the functions that they are inlined into. Otherwise they count as `functions`, too.
    pub no_inline: bool,
}

/// Most functions that a message names.
const MOST_NAMED: usize = 8;

/// A name that stands for no place.
#[derive(Clone, PartialEq, Eq)]
pub enum PlaceError {
    /// No binary has this name.
    Binary {
        /// The name.
        name: String,
        /// Names of the binaries.
        known: Vec<String>,
    },
    /// No binary has a function with this name.
    Function(String),
    /// The function is only inlined into others, and inlined functions are not told apart here.
    Inlined {
        /// The name.
        name: String,
        /// Functions that it is inlined into: those of them that ran, or all if none did. There are 8 at most.
        into: Vec<String>,
        /// How many more there are.
        more: usize,
    },
    /// No binary has a symbol with this name, which a range has.
    Symbol(String),
    /// A range makes no sense.
    Range {
        /// The range.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl PlaceError {
    fn inlined(name: &str, mut into: Vec<String>, profile: &Profile, programs: &[&Program]) -> Self {
        let has_run = |function: &String| {
            let spans = named(function, profile, programs);
            profile.blocks.keys().any(|code| {
                let place = code.start;
                let is_in = |span: &Span| {
                    span.binary.is_none_or(|binary| binary == place.binary)
                        && span.addresses.contains(&place.address)
                };
                spans.iter().any(is_in)
            })
        };
        if into.iter().any(has_run) {
            into.retain(has_run);
        }
        let more = into.len().saturating_sub(MOST_NAMED);
        into.truncate(MOST_NAMED);
        Self::Inlined { name: name.into(), into, more }
    }

    /// Returns the name of the function or symbol that no binary has.
    pub fn symbol(&self) -> Option<&str> {
        match self {
            Self::Function(name) | Self::Symbol(name) => Some(name),
            _ => None,
        }
    }
}

impl fmt::Debug for PlaceError {
    /// Writes what [`Display`](fmt::Display) does: `main` shows errors that it returns like this.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for PlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Binary { name, known } => {
                let known = if known.is_empty() { "none".into() } else { known.join(", ") };
                write!(f, "--binary {name}: no binary is called so; there are: {known}")
            }
            Self::Function(name) => {
                write!(f, "--function {name}: no binary that is here has such a symbol")
            }
            Self::Inlined { name, into, more } => {
                let (all, one) = (into.join(", "), if into.len() > 1 { "one of them" } else { "that" });
                let more = if *more > 0 { format!(" and {more} more") } else { String::new() };
                write!(
                    f,
                    "--function {name}: it has no code of its own: it is inlined into {all}{more}, name {one}"
                )
            }
            Self::Symbol(name) => write!(f, "--range {name}: no binary that is here has such a symbol"),
            Self::Range { text, reason } => write!(f, "--range {text}: {reason}"),
        }
    }
}

impl std::error::Error for PlaceError {}

impl PlaceNames {
    /// Returns whether no places are named, which means all.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty() && self.ranges.is_empty() && self.binaries.is_empty()
    }

    /// Finds the places; `None` if none are named.
    ///
    /// # Errors
    /// Fails if nothing has one of the names.
    pub fn find(&self, profile: &Profile, programs: &[&Program]) -> Result<Option<PlaceFilter>, PlaceError> {
        if self.is_empty() {
            return Ok(None);
        }
        let asked = |any: &[String]| !any.is_empty();
        let mut places = PlaceFilter {
            binaries: asked(&self.binaries).then(|| self.find_binaries(profile)).transpose()?,
            ranges: asked(&self.ranges).then(|| self.find_ranges(profile, programs)).transpose()?,
            ..PlaceFilter::default()
        };
        if asked(&self.functions) {
            places.functions = Some(self.find_functions(profile, programs, &mut places)?);
        }
        Ok(Some(places))
    }

    /// Finds the places that are named by other means than functions.
    ///
    /// # Errors
    /// Fails if nothing has one of the names, also of functions.
    pub fn find_of_any_function(
        &self,
        profile: &Profile,
        programs: &[&Program],
    ) -> Result<Option<PlaceFilter>, PlaceError> {
        let is_known = |name: &String| {
            !named(name, profile, programs).is_empty()
                || !inlined_into(&binaries(profile, programs), &[], name).is_empty()
        };
        if let Some(name) = self.functions.iter().find(|name| !is_known(name)) {
            return Err(PlaceError::Function(name.clone()));
        }
        Self { functions: Vec::new(), ..self.clone() }.find(profile, programs)
    }

    fn find_binaries(&self, profile: &Profile) -> Result<Vec<u32>, PlaceError> {
        let mut found = Vec::new();
        for asked in &self.binaries {
            let before = found.len();
            let all = (0..).zip(&profile.binaries);
            found.extend(all.filter(|(_, binary)| has_name(binary, asked)).map(|(number, _)| number));
            if found.len() == before {
                let names = profile.binaries.iter().map(|binary| binary.file_name().to_owned());
                let mut known: Vec<_> = names.collect();
                known.sort_unstable();
                return Err(PlaceError::Binary { name: asked.clone(), known });
            }
        }
        Ok(found)
    }

    /// Finds functions, with the parts of them that compilers put elsewhere. Adds to `places` those that may be inlined.
    fn find_functions(
        &self,
        profile: &Profile,
        programs: &[&Program],
        places: &mut PlaceFilter,
    ) -> Result<Vec<Span>, PlaceError> {
        let mut found = Vec::new();
        for name in &self.functions {
            let named = named(name, profile, programs);
            let shows_inlined = programs.iter().any(|program| program.shows_inlined());
            if named.is_empty() {
                let into = inlined_into(&binaries(profile, programs), &[], name);
                if into.is_empty() {
                    return Err(PlaceError::Function(name.clone()));
                }
                if !shows_inlined {
                    let all = into.into_keys().collect();
                    return Err(PlaceError::inlined(name, all, profile, programs));
                }
            }
            if shows_inlined {
                places.inlined.push(name.clone());
            }
            found.extend(named);
        }
        Ok(found)
    }

    fn find_ranges(&self, profile: &Profile, programs: &[&Program]) -> Result<Vec<Span>, PlaceError> {
        self.ranges.iter().map(|text| parse(text, profile, programs)).collect()
    }
}

/// Returns where the functions of this name are, with the parts of them that compilers put elsewhere.
fn named(name: &str, profile: &Profile, programs: &[&Program]) -> Vec<Span> {
    let mut found = Vec::new();
    for (binary, program) in binaries(profile, programs) {
        let functions = program.file(binary).map(|file| file.functions()).unwrap_or_default();
        let parts = functions.into_iter().filter(|part| is_called(part.name, name));
        found.extend(parts.map(|part| Span { binary: Some(binary), addresses: part.range }));
        let called = program.all_called(binary).filter(|(_, called)| called == name);
        found.extend(called.map(|(addresses, _)| Span { binary: Some(binary), addresses }));
    }
    if found.is_empty() { spans(name, profile, programs) } else { found }
}

/// Returns whether a function is called so: as it is, without parameters, or what was put apart of it.
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

/// `A..B`, each a number or a symbol, perhaps with an offset.
fn parse(text: &str, profile: &Profile, programs: &[&Program]) -> Result<Span, PlaceError> {
    let wrong = |reason: &str| PlaceError::Range { text: text.into(), reason: reason.into() };
    let Some((from, to)) = text.split_once("..") else {
        return Err(wrong("expected A..B, as 0x1000..0x2000 or main..exit"));
    };
    let bound = |text: &str| -> Result<(Option<u32>, u64), PlaceError> {
        if let Some(number) = number(text) {
            return Ok((None, number));
        }
        let called = binaries(profile, programs).into_iter().find_map(|(binary, program)| {
            let (range, _) = program.all_called(binary).find(|(_, name)| name == text)?;
            Some((Some(binary), range.start))
        });
        if let Some(called) = called {
            return Ok(called);
        }
        let (name, offset) = match text.rsplit_once('+').map(|(name, offset)| (name, number(offset))) {
            Some((name, Some(offset))) => (name, offset),
            _ => (text, 0),
        };
        let found = spans(name, profile, programs);
        // As code without symbols is named: app+0x1a20.
        let in_file = || {
            let binary = |binary: &u32| profile.binaries[*binary as usize].file_name() == name;
            let mut all = binaries(profile, programs).into_iter().filter(|(number, _)| binary(number));
            all.find_map(|(number, program)| Some((Some(number), program.address_in(number, offset)?)))
        };
        if found.is_empty()
            && let Some(found) = in_file()
        {
            return Ok(found);
        }
        let span = found.first().ok_or_else(|| PlaceError::Symbol(name.into()))?;
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

/// Returns all binaries, each with the first program that has it.
pub fn binaries<'p>(profile: &Profile, programs: &[&'p Program]) -> Vec<(u32, &'p Program)> {
    let has = |binary: u32| programs.iter().find(|program| program.has(binary));
    (0..profile.binaries.len() as u32).filter_map(|binary| Some((binary, *has(binary)?))).collect()
}

/// Returns where a symbol is, in all binaries that have it.
fn spans(name: &str, profile: &Profile, programs: &[&Program]) -> Vec<Span> {
    let found = binaries(profile, programs).into_iter().filter_map(|(binary, program)| {
        let addresses = program.resolve(binary, name)?;
        // The lowest bit only says that it is T32.
        Some(Span { binary: Some(binary), addresses: addresses.start & !1..addresses.end })
    });
    found.collect()
}
