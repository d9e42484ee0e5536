use tracewright_core::MemorySpace;
use tracewright_image::{Image, Place};
use tracewright_input::{ImageFile, build_id, map_file};
use tracewright_qemu::read::Map;

use super::hex;
use crate::Remark;

/// Returns the files that were mapped, each once wherever it was. A file that is gone, or another by now, is left out with a remark: its
/// code is what the log has of it.
pub fn programs(maps: &[Map], remarks: &mut Vec<Remark>) -> Vec<ImageFile> {
    let mut found: Vec<ImageFile> = Vec::new();
    let mut refused: Vec<&str> = Vec::new();
    for map in maps.iter().filter(|map| !map.path.is_empty()) {
        if refused.contains(&map.path.as_str()) {
            continue;
        }
        match program(map) {
            Ok(Some(file)) if !found.contains(&file) => found.push(file),
            Ok(_) => {}
            Err(why) => {
                let remark = Remark::FileGone((&map.path).into(), why);
                if !remarks.contains(&remark) {
                    remarks.push(remark);
                }
                refused.push(&map.path);
            }
        }
    }
    found
}

/// The file of a mapping, and where its first byte in memory is; `None` if it is no ELF file.
fn program(map: &Map) -> Result<Option<ImageFile>, String> {
    let path = map.path.as_str().as_ref();
    if !map.build_id.is_empty() {
        let found = build_id(path).map_err(|problem| problem.message)?;
        let ran = hex(&map.build_id);
        if found.as_ref() != Some(&ran) {
            return Err(format!("its build ID is {}, and {ran} ran", found.as_deref().unwrap_or("none")));
        }
    }
    let bytes = map_file(path).map_err(|problem| problem.message)?;
    if !bytes.as_slice().starts_with(b"\x7fELF") {
        return Ok(None);
    }
    let mut builder = Image::builder();
    let place = Place::Mapping { address: map.start, offset: map.offset };
    builder.elf("", bytes, place, MemorySpace::ANY).map_err(|error| error.reason.to_string())?;
    let image = builder.build();
    let lowest = image.regions().map(|region| region.range().start).min();
    // Where its first page is, as /proc/PID/maps has it.
    Ok(lowest.map(|lowest| ImageFile { path: path.into(), at: Some(lowest & !0xfff) }))
}

/// Returns the symbols of the files that were mapped. What cannot be read has none, and [`programs`] says so.
pub fn symbols(maps: &[Map]) -> Image {
    let mut builder = Image::builder();
    let mut found: Vec<ImageFile> = Vec::new();
    for map in maps.iter().filter(|map| !map.path.is_empty()) {
        if let Ok(Some(file)) = program(map)
            && !found.contains(&file)
        {
            if let Ok(bytes) = map_file(&file.path) {
                let _ = builder.elf("", bytes, file.at, MemorySpace::ANY);
            }
            found.push(file);
        }
    }
    builder.build()
}
