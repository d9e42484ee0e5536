//! Encoder options by name (`NAME=VALUE`), for every encoder.

use std::path::Path;

use tracewright_input::file::read_text;

use crate::Error;

/// Returns options with files of them in place of their names: `params=FILE` and `FILE.scf`. What is given by name counts before what a
/// file says.
///
/// # Errors
/// Fails if a file cannot be read or has no option.
pub fn given(options: &[String]) -> Result<Vec<String>, Error> {
    let name_of = |option: &str| plain_name(option.split('=').next().unwrap_or_default()).to_owned();
    let mut all: Vec<String> = Vec::new();
    for option in options {
        match file_of(option) {
            None => all.push(option.clone()),
            Some(file) => {
                let is_named = |pair: &String| options.iter().any(|option| name_of(option) == name_of(pair));
                all.extend(scf(file)?.into_iter().filter(|pair| !is_named(pair)));
            }
        }
    }
    Ok(all)
}

/// Returns options of E-Trace with `params=FILE` in place of `FILE.scf`: its encoder reads such files itself.
pub(crate) fn named(options: &[String]) -> Vec<String> {
    let named =
        |option: &String| file_of(option).map_or_else(|| option.clone(), |file| format!("params={file}"));
    options.iter().map(named).collect()
}

/// Returns the file that an option names.
fn file_of(option: &str) -> Option<&str> {
    let is_file =
        !option.contains('=') && Path::new(option).extension().is_some_and(|extension| extension == "scf");
    option.strip_prefix("params=").or(is_file.then_some(option)).filter(|file| !file.is_empty())
}

/// Returns a name without the `_p` of parameters. That of sijump is the parameter's: the option is another.
pub fn plain_name(name: &str) -> &str {
    name.strip_suffix("_p").filter(|name| *name != "sijump").unwrap_or(name)
}

/// Reads a file of options: `name=value` lines, comments (`#`, `;`) and headings (`[...]`).
fn scf(file: &str) -> Result<Vec<String>, Error> {
    let text = read_text(file.as_ref())
        .map_err(|error| Error::option(format!("params={file}: cannot read: {error}")))?;
    let lines = text.lines().map(|line| line.split(['#', ';']).next().unwrap_or_default());
    let pairs = lines.filter_map(|line| line.split_once('='));
    let pairs: Vec<_> =
        pairs.map(|(name, value)| format!("{}={}", plain_name(name.trim()), value.trim())).collect();
    match pairs.is_empty() {
        true => Err(Error::option(format!("params={file}: no attribute (name_p=value) in it"))),
        false => Ok(pairs),
    }
}

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
