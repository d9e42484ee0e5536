//! Files that are compressed as a whole: modules of the kernel, as distributions keep them (`.ko.xz`, `.ko.zst`).

use tracewright_image::{Bytes, is_xz, unpacked_xz};

use super::unpack::{is_packed, unpack};

/// No module is larger.
const MOST: usize = 256 << 20;
/// How such files' names end.
pub(super) const ENDINGS: [&str; 3] = [".xz", ".zst", ".gz"];

/// What was compressed; other bytes as they are.
///
/// # Errors
/// When it cannot be decompressed, in words.
pub(super) fn unpacked_file(bytes: Bytes) -> Result<Bytes, String> {
    let packed = bytes.as_slice();
    if is_xz(packed) {
        return Ok(unpacked_xz(packed, MOST).map_err(|error| error.to_string())?.into());
    }
    if is_packed(packed) {
        let mut all = Vec::new();
        unpack(&[packed], u64::MAX, |part| {
            all.extend_from_slice(part);
            all.len() <= MOST
        })
        .map_err(|error| error.to_string())?;
        return if all.len() <= MOST { Ok(all.into()) } else { Err(format!("more than {MOST} bytes")) };
    }
    if packed.starts_with(&[0x1f, 0x8b]) {
        return Err("compressed with gzip, which is not read here: gunzip it".into());
    }
    Ok(bytes)
}
