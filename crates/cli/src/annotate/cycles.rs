//! The cycles of single instructions, by their places in binaries.

use std::collections::HashMap;

use tracewright_core::MemorySpace;
use tracewright_flow::Instructions;
use tracewright_image::Image;
use tracewright_profile::{Cost, Profile};

use crate::clocks::report_ends;
use crate::decode::Within;
use crate::filter::PartArgs;
use crate::output::{Error, Outcome};
use crate::profile::open::Decoded;
use tracewright::{SourceStalls, StallMeter};
use tracewright_profile::annotate::Function;

/// What each instruction cost, where it was in memory.
pub struct Cycles(Vec<(u64, MemorySpace, Cost)>);

impl Cycles {
    /// Decodes the capture again, with its clocks. Returns the cycles, and whether anything is missing that the
    /// first pass had.
    pub fn gather(decoded: &Decoded, part: &PartArgs) -> Result<(Self, Outcome), Error> {
        let image = decoded.trace.image();
        let window = part.filter.window()?;
        // What is wrong with the trace was said the first time.
        let meter = StallMeter { clocks: decoded.clocks(), window: &window };
        let within = Within { trace: &decoded.trace, again: true, has_funnel: true };
        // With a time that is asked for, the clock was read before.
        let ends = |sources: &Vec<SourceStalls>| {
            let ends = sources.iter().filter_map(|source| source.end);
            if window.is_all() { report_ends(ends) } else { Outcome::Good }
        };
        let (sources, _, outcome) = within.decode(&meter, ends)?;
        let mut all = Vec::new();
        for stalls in sources.iter().filter_map(|source| source.stalls.as_ref()) {
            for (block, space, _, costs) in stalls.costs.blocks() {
                let instructions = Instructions::new(image, space, block).take(block.count as usize);
                all.extend(instructions.zip(costs).map(|(at, cost)| (at.address, space, cost)));
            }
        }
        Ok((Self(all), outcome))
    }

    /// Adds the cycles of a function's instructions to them.
    pub fn put(&self, function: &mut Function, profile: &Profile, image: &Image) {
        let Some(binary) = profile.binaries.get(function.binary as usize) else { return };
        let of_it = image.files().map(|file| {
            let build_id = file.build_id().unwrap_or_default();
            build_id == binary.build_id && (!build_id.is_empty() || file.name() == binary.name)
        });
        let of_it: Vec<_> = of_it.collect();
        let mut rows: HashMap<u64, &mut Cost> = HashMap::new();
        for row in &mut function.rows {
            rows.insert(row.at.address, row.cost.get_or_insert_default());
        }
        for &(address, space, cost) in &self.0 {
            let Some((file, linked)) = image.place(address, space) else { continue };
            if of_it.get(file as usize) == Some(&true)
                && let Some(row) = rows.get_mut(&linked)
            {
                **row += cost;
            }
        }
    }
}
