//! What all JSON output has in common. The schema is in the book: `reference/json.md`.

use serde_json::{Value, json};

use crate::output::Outcome;

/// The version of the schema.
const VERSION: u32 = 2;

/// Returns the line that a listing of a verb begins with, where each line is an object.
pub fn first_line(verb: &str) -> String {
    line(verb, json!({ "kind": "tracewright" }))
}

/// Returns the line that a listing ends with where something is missing from it: nothing if nothing is.
pub fn last_line(verb: &str, outcome: &Outcome) -> String {
    match outcome.reasons() {
        reasons if reasons.is_empty() => String::new(),
        reasons => line(verb, json!({ "kind": "tracewright", "incomplete": reasons })),
    }
}

/// Returns the object that a verb writes as a line, with the name of the verb and the version of the schema.
pub fn line(verb: &str, mut object: Value) -> String {
    object["verb"] = verb.into();
    object["version"] = VERSION.into();
    format!("{object}\n")
}

/// Returns an address as JSON has it: numbers lose bits above 53.
pub fn address(address: u64) -> String {
    format!("{address:#x}")
}
