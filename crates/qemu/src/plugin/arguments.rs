use std::path::PathBuf;

use crate::format::LogData;
use crate::live::{MOST_SLOTS, SLOTS};

/// Arguments of the plugin: `-plugin LIB,name=value,...`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// File of the log.
    pub log: PathBuf,
    /// Socket of a recorder that reads the log while it is written.
    pub socket: Option<PathBuf>,
    /// Number of chunks at once, if there is a recorder.
    pub slots: u32,
    /// Recorded part of memory accesses.
    pub data: LogData,
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

/// A place in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// An address.
    Address(u64),
    /// A symbol of the program or of one of its libraries.
    Symbol(String),
}

/// Names of all arguments.
const NAMES: [&str; 8] = ["log", "socket", "slots", "data", "instructions", "start", "stop", "forks"];

impl Arguments {
    /// Parses arguments of the form `name=value`. The error is for people.
    pub fn parse<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut found = Self { slots: SLOTS, instructions: u64::MAX, ..Self::default() };
        for argument in arguments {
            let (given, value) = argument.split_once('=').unwrap_or((argument, ""));
            let Some(name) = NAMES.into_iter().find(|&name| name == given) else {
                return Err(format!("no argument is called `{given}`; there are: {}", NAMES.join(", ")));
            };
            let bad = |expected: &str| format!("{name}={value}: must be {expected}");
            match name {
                "log" if !value.is_empty() => found.log = value.into(),
                "log" => return Err(bad("a file")),
                "socket" if !value.is_empty() => found.socket = Some(value.into()),
                "socket" => return Err(bad("where somebody listens")),
                "slots" => {
                    let slots = value.parse().ok().filter(|slots| (4..=MOST_SLOTS).contains(slots));
                    found.slots = slots.ok_or_else(|| bad("a number from 4 to 4096"))?;
                }
                "data" => {
                    let data = LogData::ALL.into_iter().find(|data| data.name() == value);
                    found.data = data.ok_or_else(|| bad("none, addresses or values"))?;
                }
                "instructions" => {
                    let count = value.parse().ok().filter(|&count| count > 0);
                    found.instructions = count.ok_or_else(|| bad("a number, 1 or more"))?;
                }
                "start" | "stop" => {
                    let place = Place::parse(value).ok_or_else(|| bad("an address (0x...) or a symbol"))?;
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
        if found.log.as_os_str().is_empty() {
            return Err("say where the log goes: log=FILE".into());
        }
        Ok(found)
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
        assert_eq!((found.data, found.follows_forks), (LogData::Values, true));
    }

    #[test]
    fn what_is_misspelt_is_named() {
        let message = |given: &[&str]| Arguments::parse(given.iter().copied()).unwrap_err();
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
