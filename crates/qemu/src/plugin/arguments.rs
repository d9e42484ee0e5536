use std::fmt;
use std::path::PathBuf;

use crate::live::{MOST_SLOTS, SLOTS};

/// Arguments of the plugin: `-plugin LIB,name=value,...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// File of the log.
    pub log: PathBuf,
    /// Socket of a recorder that reads the log while it is written.
    pub socket: Option<PathBuf>,
    /// Number of chunks at once, if there is a recorder.
    pub slots: u32,
    /// Recorded part of memory accesses.
    pub data: Data,
    /// Number of instructions recorded of each thread.
    pub instructions: u64,
    /// Place where recording of all threads begins as soon as one gets there. If `None`, recording begins at the first
    /// instruction.
    pub start: Option<Place>,
    /// Place where recording stops; that instruction is not recorded.
    pub stop: Option<Place>,
    /// Set if forked processes are recorded, too.
    pub follows_forks: bool,
}

/// Recorded part of memory accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Nothing.
    None,
    /// Addresses.
    Addresses,
    /// Addresses and values.
    Values,
}

/// A place in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// An address.
    Address(u64),
    /// A symbol of the program or of one of its libraries.
    Symbol(String),
}

/// Names of all arguments.
pub const NAMES: [&str; 8] = ["log", "socket", "slots", "data", "instructions", "start", "stop", "forks"];

/// Error of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadArgument {
    /// The name is not known.
    Unknown(String),
    /// The value is invalid.
    Value {
        /// Name of the argument.
        name: &'static str,
        /// Value as given.
        value: String,
        /// Description of valid values.
        expected: &'static str,
    },
    /// `log` is missing.
    NoLog,
}

impl fmt::Display for BadArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => {
                write!(f, "no argument is called `{name}`; there are: {}", NAMES.join(", "))
            }
            Self::Value { name, value, expected } => write!(f, "{name}={value}: must be {expected}"),
            Self::NoLog => f.write_str("say where the log goes: log=FILE"),
        }
    }
}

impl std::error::Error for BadArgument {}

impl Arguments {
    /// Parses arguments of the form `name=value`.
    ///
    /// # Errors
    /// Returns an error if a name is not known or a value is invalid.
    pub fn parse<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Self, BadArgument> {
        let mut found = Self {
            log: PathBuf::new(),
            socket: None,
            slots: SLOTS,
            data: Data::None,
            instructions: u64::MAX,
            start: None,
            stop: None,
            follows_forks: false,
        };
        for argument in arguments {
            let (given, value) = argument.split_once('=').unwrap_or((argument, ""));
            let Some(name) = NAMES.into_iter().find(|&name| name == given) else {
                return Err(BadArgument::Unknown(given.to_owned()));
            };
            let bad = |expected| BadArgument::Value { name, value: value.to_owned(), expected };
            match name {
                "log" if !value.is_empty() => found.log = value.into(),
                "log" => return Err(bad("a file")),
                "socket" if !value.is_empty() => found.socket = Some(value.into()),
                "socket" => return Err(bad("where somebody listens")),
                "slots" => {
                    let slots = value.parse().ok().filter(|slots| (4..=MOST_SLOTS).contains(slots));
                    found.slots = slots.ok_or(bad("a number from 4 to 4096"))?;
                }
                "data" => {
                    found.data = match value {
                        "none" => Data::None,
                        "addresses" => Data::Addresses,
                        "values" => Data::Values,
                        _ => return Err(bad("none, addresses or values")),
                    }
                }
                "instructions" => {
                    let count = value.parse().ok().filter(|&count| count > 0);
                    found.instructions = count.ok_or(bad("a number, 1 or more"))?;
                }
                "start" | "stop" => {
                    let place = Place::parse(value).ok_or(bad("an address (0x...) or a symbol"))?;
                    *if name == "start" { &mut found.start } else { &mut found.stop } = Some(place);
                }
                _ => {
                    found.follows_forks = match value {
                        "follow" => true,
                        "leave" => false,
                        _ => return Err(bad("follow or leave")),
                    }
                }
            }
        }
        if found.log.as_os_str().is_empty() { Err(BadArgument::NoLog) } else { Ok(found) }
    }
}

impl Place {
    fn parse(text: &str) -> Option<Self> {
        if let Some(digits) = text.strip_prefix("0x") {
            return u64::from_str_radix(digits, 16).ok().map(Self::Address);
        }
        let is_name = !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit());
        is_name.then(|| Self::Symbol(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_understood() {
        let given =
            ["log=a.log", "instructions=10", "start=main", "stop=0x1234", "data=values", "forks=follow"];
        let found = Arguments::parse(given).unwrap();
        assert_eq!((found.log, found.instructions), (PathBuf::from("a.log"), 10));
        assert_eq!(found.start, Some(Place::Symbol("main".into())));
        assert_eq!(found.stop, Some(Place::Address(0x1234)));
        assert_eq!((found.data, found.follows_forks), (Data::Values, true));
    }

    #[test]
    fn what_is_misspelt_is_named() {
        let message = |given: &[&str]| Arguments::parse(given.iter().copied()).unwrap_err().to_string();
        assert_eq!(message(&[]), "say where the log goes: log=FILE");
        assert!(message(&["lgo=x"]).starts_with("no argument is called `lgo`; there are: log, "));
        assert_eq!(message(&["log=x", "data=all"]), "data=all: must be none, addresses or values");
        assert_eq!(
            message(&["log=x", "instructions=many"]),
            "instructions=many: must be a number, 1 or more"
        );
        assert_eq!(message(&["log=x", "start=7x"]), "start=7x: must be an address (0x...) or a symbol");
        assert_eq!(message(&["log"]), "log=: must be a file");
        assert_eq!(message(&["log=x", "forks=1"]), "forks=1: must be follow or leave");
    }
}
