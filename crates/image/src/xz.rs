//! What was compressed with xz: symbols inside a program (`.gnu_debugdata`), and modules of the kernel.

use xz4rust::{DICT_SIZE_MIN, XzDecoder, XzError};

/// What a decompressor keeps to refer back to; `xz -9` asks for this much, and nothing for more.
const MOST_KEPT: usize = 64 << 20;
const CHUNK: usize = 64 << 10;
const MAGIC: &[u8] = b"\xfd7zXZ\0";

/// Whether something begins as what is compressed with xz does.
#[must_use]
pub fn is_xz(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// What was compressed with xz, if it is no more than `most` bytes.
///
/// # Errors
/// When it is damaged, cut off, or more; in words.
pub fn unpacked_xz(bytes: &[u8], most: usize) -> Result<Vec<u8>, String> {
    let mut decoder = XzDecoder::in_heap_with_alloc_dict_size(DICT_SIZE_MIN, MOST_KEPT);
    let cut_off = || "compressed with xz, and cut off".to_owned();
    let (mut rest, mut all, mut chunk) = (bytes, Vec::new(), vec![0; CHUNK]);
    loop {
        let step = decoder.decode(rest, &mut chunk).map_err(|error| match error {
            XzError::NeedsLargerInputBuffer => cut_off(),
            error => format!("compressed with xz, and damaged: {error}"),
        })?;
        rest = rest.get(step.input_consumed()..).unwrap_or_default();
        all.extend_from_slice(chunk.get(..step.output_produced()).unwrap_or_default());
        if all.len() > most {
            return Err(format!("compressed with xz, and more than {most} bytes"));
        }
        if step.is_end_of_stream() {
            return Ok(all);
        }
        if !step.made_progress() {
            return Err(cut_off());
        }
    }
}
