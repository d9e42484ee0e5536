//! Text format of lcov (a `.info` file), which `genhtml` and most coverage tools read.
//!
//! Code without a source line is left out. A conditional branch is written as a block with two branches: 0 is taken, 1
//! is not taken.

use std::fmt::Write;

use tracewright_core::text::Printable;

use crate::coverage::{Coverage, File, Part};

/// Writes all source files.
pub fn write(coverage: &Coverage) -> String {
    let mut text = String::new();
    for (number, file) in (0..).zip(&coverage.files).filter(|(_, file)| file.is_source) {
        let _ = writeln!(text, "TN:\nSF:{}", Printable(&file.name));
        // Lines begin at 1, so a function without a known line has no place in the file.
        let functions = || coverage.functions_of(number).iter().filter(|function| function.line > 0);
        let mut part = Part::default();
        for function in functions() {
            let _ = writeln!(text, "FN:{},{}", function.line, Printable(&function.name));
        }
        for function in functions() {
            // A function that was entered elsewhere, or whose entry was not traced, ran nevertheless.
            let ran = u64::from(function.ran());
            part += Part { hit: ran, all: 1 };
            let _ = writeln!(text, "FNDA:{},{}", function.calls.max(ran), Printable(&function.name));
        }
        let _ = writeln!(text, "FNF:{}\nFNH:{}", part.all, part.hit);
        branches(&mut text, file);
        for (line, count) in &file.lines {
            let _ = writeln!(text, "DA:{line},{count}");
        }
        let Part { hit, all } = file.lines();
        let _ = writeln!(text, "LF:{all}\nLH:{hit}\nend_of_record");
    }
    text
}

fn branches(text: &mut String, file: &File) {
    let (mut last, mut block) = (0, 0);
    for branch in &file.branches {
        block = if branch.line == last { block + 1 } else { 0 };
        last = branch.line;
        for (outcome, count) in [branch.taken, branch.not_taken].into_iter().enumerate() {
            let _ = write!(text, "BRDA:{},{block},{outcome},", branch.line);
            let _ = if branch.ran() { writeln!(text, "{count}") } else { writeln!(text, "-") };
        }
    }
    let Part { hit, all } = file.branches();
    let _ = writeln!(text, "BRF:{all}\nBRH:{hit}");
}
