//! Encoder options by name (`NAME=VALUE`), for every encoder.

use crate::Error;

/// Splits options into names and values. Fails if a name occurs twice.
pub fn pairs(given: &[String]) -> Result<Vec<(&str, &str)>, Error> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for pair in given {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| Error::option(format!("{pair:?}: expected NAME=VALUE, or help")))?;
        if pairs.iter().any(|(other, _)| *other == name) {
            return Err(Error::option(format!("{name} is given twice")));
        }
        pairs.push((name, value));
    }
    Ok(pairs)
}

/// Parses a word for on or off.
pub fn flag(text: &str) -> Option<bool> {
    match text {
        "true" | "on" | "yes" | "1" => Some(true),
        "false" | "off" | "no" | "0" => Some(false),
        _ => None,
    }
}
