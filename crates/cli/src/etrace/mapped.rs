//! The programs that a process had mapped.

use std::path::Path;

use tracewright_core::MemorySpace;
use tracewright_image::{Image, Place};
use tracewright_input::{ImageFile, map_file};
use tracewright_qemu::read::Map;

const PAGE: u64 = 4096;

/// The program files among executable mappings, each with where it was, in the order in which they were mapped. What is no ELF file, or is not
/// there any more, is none.
pub fn mapped_programs(maps: &[Map]) -> Vec<ImageFile> {
    let mut programs: Vec<ImageFile> = Vec::new();
    for map in maps.iter().filter(|map| !map.path.is_empty()) {
        let path = Path::new(&map.path);
        let Some(at) = base(path, map) else { continue };
        let program = ImageFile { path: path.to_owned(), at: Some(at) };
        if !programs.contains(&program) {
            programs.push(program);
        }
    }
    programs
}

/// Where the lowest page of a file is, of which a part was mapped.
fn base(path: &Path, map: &Map) -> Option<u64> {
    let mut builder = Image::builder();
    let place = Place::Mapping { address: map.start, offset: map.offset };
    builder.elf("", map_file(path).ok()?, place, MemorySpace::ANY).ok()?;
    let image = builder.build();
    let lowest = image.regions().map(|region| region.range().start).min()?;
    Some(lowest & !(PAGE - 1))
}
