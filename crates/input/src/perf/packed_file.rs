//! Compressed files: kernel modules as distributions store them (`.ko.xz`, `.ko.zst`).

use tracewright_image::{Bytes, is_xz, unpacked_xz};

use super::unpack::{is_packed, unpack};

/// Largest unpacked module.
const MOST: usize = 256 << 20;
/// Endings of compressed files.
pub(super) const ENDINGS: [&str; 3] = [".xz", ".zst", ".gz"];

/// Unpacks a compressed file; returns other bytes as they are.
///
/// # Errors
/// Says why the file cannot be unpacked.
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
