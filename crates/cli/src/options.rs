//! `--option NAME=VALUE`, of whichever encoder.

use crate::output::Error;

/// The names and values that a person gave, each name once.
pub fn pairs(given: &[String]) -> Result<Vec<(&str, &str)>, Error> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for pair in given {
        let (name, value) =
            pair.split_once('=').ok_or_else(|| wrong(format!("{pair:?}: expected NAME=VALUE, or help")))?;
        if pairs.iter().any(|(other, _)| *other == name) {
            return Err(wrong(format!("{name} is given twice")));
        }
        pairs.push((name, value));
    }
    Ok(pairs)
}

/// On or off, as people say it.
pub fn flag(text: &str) -> Option<bool> {
    match text {
        "true" | "on" | "yes" | "1" => Some(true),
        "false" | "off" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// What is wrong with an option.
pub fn wrong(message: impl Into<String>) -> Error {
    Error::Message(format!("--option {}", message.into()))
}
