//! Where the cycles went, as comma-separated values.

use tracewright::names;
use tracewright_image::Image;
use tracewright_profile::Cost;

use super::By;
use super::table::Tables;
use crate::csv::{Cell, Csv};

/// A row for each function, source line or instruction.
pub fn rows(by: By, tables: &Tables, image: &Image) -> String {
    let mut csv = Csv::new([
        "address",
        "function",
        "file",
        "line",
        "cycles",
        "stall_cycles",
        "instructions",
        "cycles_per_instruction",
    ]);
    match by {
        By::Functions => {
            for (name, cost) in &tables.functions {
                let [cycles, stalled, retired, each] = costs(cost);
                csv.row([
                    Cell::Nothing,
                    name.as_str().into(),
                    Cell::Nothing,
                    Cell::Nothing,
                    cycles,
                    stalled,
                    retired,
                    each,
                ]);
            }
        }
        By::Lines => {
            for (place, cost) in &tables.lines {
                let [cycles, stalled, retired, each] = costs(cost);
                let (function, file) = (place.function.as_str().into(), place.file.as_str().into());
                csv.row([Cell::Nothing, function, file, place.line.into(), cycles, stalled, retired, each]);
            }
        }
        By::Instructions => {
            for (instruction, cost) in &tables.instructions {
                let [cycles, stalled, retired, each] = costs(cost);
                let (address, space) = (instruction.at.address, instruction.space);
                let source = image.symbols().source(address, space).filter(|source| source.line > 0);
                csv.row([
                    Cell::address(address),
                    names::function(image, address, space).into(),
                    source.as_ref().map(|source| source.file).into(),
                    source.as_ref().map(|source| source.line).into(),
                    cycles,
                    stalled,
                    retired,
                    each,
                ]);
            }
        }
    }
    csv.finish()
}

fn costs(cost: &Cost) -> [Cell<'static>; 4] {
    let Cost { retired, cycles, stalled } = *cost;
    let each = (retired > 0).then(|| cycles as f64 / retired as f64);
    [cycles.into(), stalled.into(), retired.into(), each.into()]
}
