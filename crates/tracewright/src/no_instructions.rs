//! Messages about functions that have no instructions to show.

use std::cmp::Reverse;

use tracewright_capture::control;
use tracewright_profile::coverage::Ran;
use tracewright_profile::{Profile, Program, binaries, inlined_into};

use crate::names;

/// The most callers that a message names for an inlined function, and the most letters of each name.
const INLINED: usize = 3;
const LONGEST: usize = 40;

/// Says where a function is inlined of which no code of its own ran, if it is.
pub fn inlined(
    profile: &Profile,
    program: &Program,
    ran: &[Ran],
    name: &str,
    is_only_inlined: bool,
) -> Option<String> {
    let into = inlined_into(&binaries(profile, &[program]), ran, name);
    let mut into: Vec<_> = into.into_iter().filter(|(_, ran)| is_only_inlined || *ran > 0).collect();
    into.sort_by_key(|(_, ran)| Reverse(*ran));
    let own = if is_only_inlined { "has no code of its own" } else { "never ran on its own" };
    let how = if into.first()?.1 > 0 { "it ran inlined into" } else { "it is inlined into" };
    let more = into.len().saturating_sub(INLINED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let into: Vec<_> = into.iter().take(INLINED).map(|(into, _)| names::cut(into, LONGEST)).collect();
    Some(format!("{name} {own}: {how} {}{more}; annotate that, or see coverage --function", into.join(", ")))
}

/// Says that there is no such function, and which there are.
pub fn unknown(profile: &Profile, program: &Program, name: &str) -> String {
    if profile.funnel.instructions == 0 {
        return format!("{name}: nothing ran in the part of the trace that is asked for");
    }
    if profile.binaries.is_empty() {
        return "nothing ran of which the program is known: give it with --image".into();
    }
    let mut like = Vec::new();
    for binary in 0..profile.binaries.len() as u32 {
        let functions = program.file(binary).map(|file| file.functions()).unwrap_or_default();
        let found = functions.iter().map(|function| function.name).filter(|known| known.contains(name));
        like.extend(found.map(str::to_owned));
    }
    like.sort_by_key(|known| (known.len(), known.clone()));
    like.dedup();
    like.truncate(5);
    if let (true, Some(near)) = (like.is_empty(), control::near(program.image(), name)) {
        like.push(near.to_owned());
    }
    match like.is_empty() {
        true => format!("no binary of which something ran has a function {name}: are its symbols there?"),
        false => format!("no function {name}: do you mean {}?", like.join(", ")),
    }
}
