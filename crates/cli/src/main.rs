//! The `tracewright` command.
fn main() {}
