//! LLVM's sample profile as text, for `clang -fprofile-sample-use` and `llvm-profdata --sample`.

use std::cmp::Reverse;
use std::fmt::Write;

use tracewright_core::text::Printable;

use super::samples::{Body, Function, Location, Samples};

/// Writes all functions by decreasing count.
pub fn write(samples: &Samples) -> String {
    let mut functions: Vec<_> = samples.functions.iter().collect();
    functions.sort_by_key(|(name, function)| (Reverse(function.total), *name));
    let mut text = String::new();
    for (name, function) in functions {
        let _ = writeln!(text, "{}:{}:{}", printable(name), function.total, function.head);
        body(&mut text, function, 1);
    }
    text
}

/// Writes the body of a function at an indentation depth.
fn body(text: &mut String, function: &Function, depth: usize) {
    for (location, body) in &function.body {
        let _ = writeln!(text, "{:depth$}{}: {}{}", "", place(*location), body.count, targets(body));
    }
    for (location, callees) in &function.inlined {
        for (name, callee) in callees {
            let _ = writeln!(text, "{:depth$}{}: {}:{}", "", place(*location), printable(name), callee.total);
            body(text, callee, depth + 1);
        }
    }
}

/// Returns the functions called from a location, with their counts, each after a blank.
pub(super) fn targets(body: &Body) -> String {
    body.targets.iter().map(|(name, count)| format!(" {}:{count}", printable(name))).collect()
}

/// Returns a name that is safe in a line, since names come from untrusted files. A line that begins with `#` or `[` is
/// no function, and a line that begins with a blank belongs to the function before.
pub(super) fn printable(name: &str) -> String {
    let name = Printable(name).to_string();
    match name.as_bytes() {
        [first @ (b'#' | b'[' | b' '), ..] => format!("\\x{first:02x}{}", &name[1..]),
        _ => name,
    }
}

pub(super) fn place(location: Location) -> String {
    match location {
        Location { offset, discriminator: 0 } => offset.to_string(),
        Location { offset, discriminator } => format!("{offset}.{discriminator}"),
    }
}
