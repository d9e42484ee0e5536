//! Coverage as comma-separated values.

use tracewright_profile::Profile;
use tracewright_profile::coverage::{Coverage, Part};

use super::{Cell, Csv};

/// Returns a row for each function: how much of it ran.
pub fn functions(coverage: &Coverage, profile: &Profile) -> String {
    let mut csv = Csv::new(
        "file,line,function,binary,address,calls,calls_estimated,lines_ran,lines,branches_ran,branches,instructions_ran,instructions",
    );
    for (number, file) in (0..).zip(&coverage.files) {
        for function in coverage.functions_of(number) {
            let binary = function.start.and_then(|start| profile.binaries.get(start.binary as usize));
            let part = |Part { hit, all }: Part| [Cell::from(hit), Cell::from(all)];
            let [lines_ran, lines] = part(function.lines);
            let [branches_ran, branches] = part(function.branches);
            let [instructions_ran, instructions] = part(function.instructions);
            csv.row([
                file.name.as_str().into(),
                (function.line > 0).then_some(function.line).into(),
                function.name.as_str().into(),
                binary.map(|binary| binary.name.as_str()).into(),
                function.start.map(|start| Cell::address(start.address)).into(),
                function.calls.into(),
                function.is_inlined.into(),
                lines_ran,
                lines,
                branches_ran,
                branches,
                instructions_ran,
                instructions,
            ]);
        }
    }
    csv.finish()
}
