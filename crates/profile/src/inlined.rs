//! PlaceFilter where source functions are inlined.

use std::collections::{BTreeMap, HashMap};

use tracewright_image::Frame;

use crate::counts::Place;
use crate::coverage::Ran;
use crate::program::Program;
use crate::walk::instructions;

/// Finds the symbols that a source function is inlined into. Returns for each symbol how many instructions of the
/// inlined function ran there, according to `ran`, which is indexed by binary.
pub fn inlined_into<'p>(binaries: &[(u32, &'p Program)], ran: &[Ran], name: &str) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for &(binary, program) in binaries {
        let Some(file) = program.file(binary) else { continue };
        let code = file.code();
        let ran = ran.get(binary as usize);
        // Whether a function is the wanted one, by linkage name or else by display name.
        let mut known: HashMap<&'p str, bool> = HashMap::new();
        let mut is_it = |frame: &Frame<'p>| {
            let key = frame.linkage.or(frame.function);
            key.is_some_and(|key| *known.entry(key).or_insert_with(|| frame.is_called(name)))
        };
        for part in file.functions() {
            instructions(program, binary, &part.range, &code, |_, instruction| {
                let address = instruction.address;
                let frames = program.frames(Place { binary, address });
                let inlined = frames.split_last().map_or(&[][..], |(_, inlined)| inlined);
                if inlined.iter().any(&mut is_it) {
                    let into = part.name.strip_suffix(".cold").unwrap_or(part.name);
                    let sum: &mut u64 = found.entry(into.to_owned()).or_default();
                    *sum = sum.saturating_add(ran.map_or(0, |ran| ran.at(address)));
                }
            });
        }
    }
    found
}
