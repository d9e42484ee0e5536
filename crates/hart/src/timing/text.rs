//! Text form of configurations.

use std::fmt::{self, Write};

use super::Config;
use super::config::CacheConfig;
use super::fields::{FIELDS, Values};
use super::presets::PRESETS;

/// Error of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Line of the text, from 1; 0 if it is about no single line.
    pub line: u32,
    /// The problem.
    pub problem: ConfigProblem,
}

/// Problem of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigProblem {
    /// The line is not `name = value`.
    NoValue,
    /// There is no such field.
    UnknownName {
        /// Name as written, cut to 40 characters.
        name: String,
        /// The most similar known name.
        nearest: &'static str,
    },
    /// There is no such preset.
    UnknownPreset {
        /// Name as written, cut to 40 characters.
        name: String,
    },
    /// `preset` comes after other fields, which it would override.
    PresetNotFirst,
    /// A field is given twice.
    Twice {
        /// Name of the field.
        name: &'static str,
    },
    /// The field cannot have this value.
    BadValue {
        /// Name of the field.
        name: &'static str,
        /// Value as written, cut to 40 characters.
        value: String,
        /// Description of allowed values.
        allowed: String,
    },
    /// The number of sets of a cache is not a power of two.
    BadSets {
        /// `icache` or `dcache`.
        cache: &'static str,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line != 0 {
            write!(f, "line {}: ", self.line)?;
        }
        match &self.problem {
            ConfigProblem::NoValue => write!(f, "expected `name = value`"),
            ConfigProblem::UnknownName { name, nearest } => {
                write!(f, "unknown name `{name}`; did you mean `{nearest}`? Known are: preset")?;
                FIELDS.iter().try_for_each(|field| write!(f, ", {}", field.name))
            }
            ConfigProblem::UnknownPreset { name } => {
                let names: Vec<_> = Config::preset_names().collect();
                write!(f, "unknown preset `{name}`; known are: {}", names.join(", "))
            }
            ConfigProblem::PresetNotFirst => write!(f, "`preset` must come before all other names"),
            ConfigProblem::Twice { name } => write!(f, "`{name}` is given twice"),
            ConfigProblem::BadValue { name, value, allowed } => {
                write!(f, "`{name}` cannot be `{value}`: {allowed}")
            }
            ConfigProblem::BadSets { cache } => {
                write!(f, "{cache}_size / ({cache}_ways * {cache}_line) must be a power of two")
            }
        }
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// Parses what [`to_text`](Self::to_text) writes: lines `name = value`; `#` begins a comment; numbers may end in
    /// `K` or `M`. `preset = NAME` may come first. Missing fields are as in the preset, or as in [`Default`].
    ///
    /// # Errors
    /// Returns the first problem, with its line.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        let mut given = [false; FIELDS.len()];
        let mut is_first = true;
        for (number, line) in (1u32..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            config
                .line(line, is_first, &mut given)
                .map_err(|problem| ConfigError { line: number, problem })?;
            is_first = false;
        }
        config.check()?;
        Ok(config)
    }

    fn line(&mut self, line: &str, is_first: bool, given: &mut [bool]) -> Result<(), ConfigProblem> {
        let (name, value) = line.split_once('=').ok_or(ConfigProblem::NoValue)?;
        let (name, value) = (name.trim(), value.trim());
        if name == "preset" {
            if !is_first {
                return Err(ConfigProblem::PresetNotFirst);
            }
            *self =
                Self::preset(value).ok_or_else(|| ConfigProblem::UnknownPreset { name: shortened(value) })?;
            return Ok(());
        }
        let Some(i) = FIELDS.iter().position(|field| field.name == name) else {
            return Err(ConfigProblem::UnknownName { name: shortened(name), nearest: nearest(name) });
        };
        let field = &FIELDS[i];
        if std::mem::replace(&mut given[i], true) {
            return Err(ConfigProblem::Twice { name: field.name });
        }
        match read(&field.values, value).filter(|&value| field.values.allow(value)) {
            Some(value) => (field.set)(self, value),
            None => {
                let (value, allowed) = (shortened(value), field.values.to_string());
                return Err(ConfigProblem::BadValue { name: field.name, value, allowed });
            }
        }
        Ok(())
    }

    /// Checks that all fields are within their bounds, as they are after [`parse`](Self::parse).
    ///
    /// # Errors
    /// Returns the first field that is not.
    pub fn check(&self) -> Result<(), ConfigError> {
        let error = |problem| Err(ConfigError { line: 0, problem });
        for field in FIELDS {
            let value = (field.get)(self);
            if !field.values.allow(value) {
                let (value, allowed) = (value.to_string(), field.values.to_string());
                return error(ConfigProblem::BadValue { name: field.name, value, allowed });
            }
        }
        for (cache, CacheConfig { size, ways, line, .. }) in
            [("icache", self.icache), ("dcache", self.dcache)]
        {
            let set = ways * line;
            if size != 0 && !(size.is_multiple_of(set) && (size / set).is_power_of_two()) {
                return error(ConfigProblem::BadSets { cache });
            }
        }
        Ok(())
    }

    /// Formats all fields with their meanings, to be edited and [parsed](Self::parse) again.
    pub fn to_text(&self) -> String {
        let mut text =
            String::from("# Timing model of a processor. `preset = NAME` may come first; NAME is one of:\n");
        let names: Vec<_> = PRESETS.iter().map(|preset| preset.0).collect();
        // Writing to a string does not fail.
        let _ = writeln!(text, "# {}.\n", names.join(", "));
        for field in FIELDS {
            let value = (field.get)(self);
            let value = match field.values {
                Values::Words(words) => words[value as usize % words.len()].to_string(),
                _ => value.to_string(),
            };
            let _ = writeln!(text, "{:<19} = {value:<8} # {} ({})", field.name, field.about, field.values);
        }
        text
    }
}

/// Parses the value of a field.
fn read(values: &Values, text: &str) -> Option<u32> {
    if let Values::Words(words) = values {
        return words.iter().position(|&word| word == text).map(|i| i as u32);
    }
    let (digits, unit) = match text.as_bytes().last()? {
        b'K' | b'k' => (&text[..text.len() - 1], 1 << 10),
        b'M' | b'm' => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u32>().ok()?.checked_mul(unit)
}

/// Returns the first 40 characters, since an error is for people and a file may be anything.
fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Returns the known name with the smallest edit distance.
fn nearest(name: &str) -> &'static str {
    let name = shortened(name);
    let names = FIELDS.iter().map(|field| field.name).chain(["preset"]);
    names.min_by_key(|known| distance(known, &name)).unwrap_or("preset")
}

/// Returns the Levenshtein distance of two strings.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
