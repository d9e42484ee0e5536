//! Files that are written to through memory.
//!
//! Memory is a copy; it goes back to the file when somebody could tell: before the file is read or mapped, when the
//! mapping is taken away or synchronised, and at the end.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::Linux;
use super::errno::Errno;
use crate::Core;
use crate::memory::PAGE;

/// A mapping with MAP_SHARED that may be written to.
#[derive(Debug)]
pub struct Shared {
    /// Where it is, in whole pages.
    pub pages: Range<u64>,
    /// Its file.
    pub file: Arc<File>,
    /// Where in the file it starts.
    pub offset: u64,
}

impl Linux {
    /// Writes what is in `range` of such mappings to their files.
    pub(super) fn write_back(&mut self, core: &mut Core, range: &Range<u64>) -> Result<(), Errno> {
        for Shared { pages, file, offset } in &self.shared {
            // A file does not grow by this.
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

    /// Writes all of them.
    pub(super) fn write_back_all(&mut self, core: &mut Core) -> Result<(), Errno> {
        if self.shared.is_empty() { Ok(()) } else { self.write_back(core, &(0..u64::MAX)) }
    }

    /// Writes those in `range`, which is about to be taken away.
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

    /// Whether such a mapping is in `range`.
    pub(super) fn is_shared(&self, range: &Range<u64>) -> bool {
        self.shared.iter().any(|shared| shared.pages.start < range.end && range.start < shared.pages.end)
    }
}
