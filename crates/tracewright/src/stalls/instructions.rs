//! Cycles of single instructions, by their places in binaries.

use std::collections::HashMap;

use tracewright_core::MemorySpace;
use tracewright_flow::Instructions;
use tracewright_image::Image;
use tracewright_profile::annotate::Function;
use tracewright_profile::{Cost, Profile};

use super::SourceStalls;

/// Cost of each instruction, where it was in memory.
#[derive(Clone, Debug)]
pub struct InstructionCosts(Vec<(u64, MemorySpace, Cost)>);

impl InstructionCosts {
    /// Gathers the costs of some sources.
    pub fn new(sources: &[SourceStalls], image: &Image) -> Self {
        let mut all = Vec::new();
        for stalls in sources.iter().filter_map(|source| source.stalls.as_ref()) {
            for (block, space, _, costs) in stalls.costs.blocks() {
                let instructions = Instructions::new(image, space, block).take(block.count as usize);
                all.extend(instructions.zip(costs).map(|(at, cost)| (at.address, space, cost)));
            }
        }
        Self(all)
    }

    /// Adds the costs of the instructions of an annotated function to its rows.
    pub fn add_to(&self, function: &mut Function, profile: &Profile, image: &Image) {
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
