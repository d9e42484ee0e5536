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

/// Appends a row of help: a name, its default and its meaning, in 80 columns.
pub(crate) fn row(text: &mut String, name: &str, default: &str, meaning: &str) {
    /// Column of the meanings.
    const MEANING: usize = 31;
    let mut line = format!("  {name:<19}{default:<10}");
    for word in meaning.split(' ') {
        if line.len() + 1 + word.len() > 79 {
            *text += line.trim_end();
            *text += "\n";
            line = " ".repeat(MEANING);
        }
        if line.len() > MEANING {
            line.push(' ');
        }
        line += word;
    }
    *text += line.trim_end();
    *text += "\n";
}
