//! Stalls as comma-separated values.

use tracewright_image::Image;
use tracewright_profile::Cost;

use super::{Cell, Csv};
use crate::names;
use crate::stalls::{StallRows, StallTables};

/// Returns a row for each function, source line or instruction.
pub fn rows(of: StallRows, tables: &StallTables, image: &Image) -> String {
    let mut csv =
        Csv::new("address,function,file,line,cycles,stall_cycles,instructions,cycles_per_instruction");
    let mut row = |[address, function, file, line]: [Cell<'_>; 4], cost: &Cost| {
        let [cycles, stalled, retired, each] = costs(cost);
        csv.row([address, function, file, line, cycles, stalled, retired, each]);
    };
    match of {
        StallRows::Functions => {
            for (name, cost) in &tables.functions {
                row([Cell::Nothing, name.as_str().into(), Cell::Nothing, Cell::Nothing], cost);
            }
        }
        StallRows::Lines => {
            for (place, cost) in &tables.lines {
                let (function, file) = (place.function.as_str().into(), place.file.as_str().into());
                row([Cell::Nothing, function, file, place.line.into()], cost);
            }
        }
        StallRows::Instructions => {
            for (instruction, cost) in &tables.instructions {
                let (address, space) = (instruction.at.address, instruction.space);
                let function = names::function(image, address, space).into();
                let source = image.symbols().source(address, space).filter(|source| source.line > 0);
                let (file, line) = source.map(|source| (source.file, source.line)).unzip();
                row([Cell::address(address), function, file.into(), line.into()], cost);
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
