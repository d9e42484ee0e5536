//! The table of options in the book: which verbs have an option, and its one meaning. A test fails if a name has two.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::{Arg, Command};

/// An option as a verb has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Meaning {
    /// `-o, --output FILE`.
    usage: String,
    help: String,
}

impl Meaning {
    /// Returns what a verb says of an option; nothing of an argument without a name.
    fn of(arg: &Arg) -> Option<(&str, Self)> {
        let long = arg.get_long()?;
        let short = arg.get_short().map_or(String::new(), |short| format!("-{short}, "));
        let takes_value = arg.get_num_args().is_some_and(|count| count.takes_values());
        let names = arg.get_value_names().unwrap_or_default().iter().filter(|_| takes_value);
        let values: String = names.map(|name| format!(" {name}")).collect();
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        Some((long, Self { usage: format!("{short}--{long}{values}"), help }))
    }
}

/// All options by name: what they mean, and the verbs that have them.
fn options(mut command: Command) -> BTreeMap<String, BTreeMap<Meaning, Vec<String>>> {
    command.build();
    let mut options: BTreeMap<String, BTreeMap<Meaning, Vec<String>>> = BTreeMap::new();
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help") {
        let shown = verb.get_arguments().filter(|arg| !arg.is_hide_set());
        for (name, meaning) in shown.filter_map(Meaning::of).filter(|(name, _)| *name != "help") {
            let meanings = options.entry(name.to_owned()).or_default();
            meanings.entry(meaning).or_default().push(verb.get_name().to_owned());
        }
    }
    options
}

/// Returns the page of the book.
pub fn page(command: Command) -> String {
    let options = options(command);
    let all: usize = options.values().flat_map(BTreeMap::values).map(Vec::len).max().unwrap_or(0);
    let mut page = String::from(
        "# Options\n\nAn option means the same in every verb that has it. This page is made from the command's source, and a test \
         keeps it so.\n[Commands](commands.md) has what each verb says of them at length.\n\n| option | verbs | meaning |\n|---|---|---|\n",
    );
    for (meaning, verbs) in options.values().flatten() {
        let verbs = if verbs.len() == all { "all".into() } else { verbs.join(", ") };
        let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
        let _ = writeln!(page, "| `{}` | {verbs} | {} |", cell(&meaning.usage), cell(&meaning.help));
    }
    page
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn a_name_has_one_meaning() {
        let options = options(crate::Cli::command());
        let several: Vec<_> = options.iter().filter(|(_, meanings)| meanings.len() > 1).collect();
        assert!(several.is_empty(), "{several:#?}");
        let mut letters: BTreeMap<&str, &str> = BTreeMap::new();
        for meaning in options.values().flat_map(BTreeMap::keys) {
            if let Some((short, long)) = meaning.usage.split_once(", ") {
                let known = letters.insert(short, long);
                assert!(known.is_none(), "{short}: {known:?} and {long}");
            }
        }
    }

    #[test]
    fn every_verb_has_examples() {
        let mut command = crate::Cli::command();
        command.build();
        for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help")
        {
            let after = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(after.contains("Examples:\n  "), "{}", verb.get_name());
            // Examples are not wrapped, prose is.
            let examples = after.lines().filter(|line| line.starts_with("  "));
            examples.for_each(|line| assert!(line.chars().count() <= 80, "{line}"));
        }
    }
}
