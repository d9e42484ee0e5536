//! Files mapped shared and writable.
//!
//! Memory is a copy. It is written to the file when the difference could be seen: before the file is read or mapped,
//! when the mapping is removed or synchronised, and at the end.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::Linux;
use super::errno::Errno;
use crate::Core;
use crate::memory::PAGE;

/// A writable mapping with MAP_SHARED.
#[derive(Debug)]
pub struct Shared {
    /// Address range, in whole pages.
    pub pages: Range<u64>,
    pub file: Arc<File>,
    /// Offset of the mapping in the file.
    pub offset: u64,
}

impl Linux {
    /// Writes the shared mappings in `range` to their files.
    pub(super) fn write_back(&mut self, core: &mut Core, range: &Range<u64>) -> Result<(), Errno> {
        for Shared { pages, file, offset } in &self.shared {
            // This does not extend a file.
            let file_len = file.metadata()?.len();
            let in_file = pages.start.saturating_add(file_len.saturating_sub(*offset));
            let end = pages.end.min(range.end).min(in_file);
            for page in core.memory.touched(pages.start.max(range.start), end) {
                let at = offset + (page - pages.start);
                let len = file_len.saturating_sub(at).min(PAGE) as usize;
                let bytes: [u8; PAGE as usize] = core.memory.peek(page).ok_or(Errno::EFAULT)?;
                file.write_all_at(&bytes[..len], at)?;
            }
        }
        Ok(())
    }

    /// Writes all shared mappings to their files.
    pub(super) fn write_back_all(&mut self, core: &mut Core) -> Result<(), Errno> {
        if self.shared.is_empty() { Ok(()) } else { self.write_back(core, &(0..u64::MAX)) }
    }

    /// Writes and removes the shared mappings in `range`.
    pub(super) fn end_shared(&mut self, core: &mut Core, range: &Range<u64>) {
        if !self.is_shared(range) {
            return;
        }
        if self.write_back(core, range).is_err() {
            self.warn("what the program wrote to a file through memory could not be written".into());
        }
        let mut left = Vec::new();
        for Shared { pages, file, offset } in self.shared.drain(..) {
            let before = pages.start..pages.end.min(range.start);
            let after = pages.start.max(range.end)..pages.end;
            if before.start < before.end {
                left.push(Shared { pages: before, file: Arc::clone(&file), offset });
            }
            if after.start < after.end {
                let offset = offset + (after.start - pages.start);
                left.push(Shared { pages: after, file, offset });
            }
        }
        self.shared = left;
    }

    pub(super) fn is_shared(&self, range: &Range<u64>) -> bool {
        self.shared.iter().any(|shared| shared.pages.start < range.end && range.start < shared.pages.end)
    }
}
