//! Annotated functions as comma-separated values.

use tracewright_profile::annotate::Function;
use tracewright_profile::{Place, Profile, Program};

use super::{Cell, Csv};
use crate::disassembly;

/// Returns a row for each instruction of some functions.
pub fn rows(functions: &[Function], profile: &Profile, program: &Program) -> String {
    let mut csv =
        Csv::new("binary,function,address,text,file,line,inlined,count,cycles,stall_cycles,taken,not_taken");
    for function in functions {
        let binary = profile.binaries.get(function.binary as usize);
        for row in &function.rows {
            let place = Place { binary: function.binary, address: row.at.address };
            let source = program.source(place).filter(|source| source.line > 0);
            let mut text = String::new();
            disassembly::write(&mut text, row.isa, &row.at);
            csv.row([
                binary.map(|binary| binary.name.as_str()).into(),
                function.name.as_str().into(),
                Cell::address(row.at.address),
                text.into(),
                source.as_ref().map(|source| source.file).into(),
                source.as_ref().map(|source| source.line).into(),
                row.inlined.as_deref().into(),
                row.count.into(),
                row.cost.map(|cost| cost.cycles).into(),
                row.cost.map(|cost| cost.stalled).into(),
                row.runs.map(|runs| runs.taken).into(),
                row.runs.map(|runs| runs.not_taken).into(),
            ]);
        }
    }
    csv.finish()
}
