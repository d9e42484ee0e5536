//! Search for debug files: the symbols and lines that a program was stripped of.

use std::path::{Path, PathBuf};

use tracewright_core::Crc32;
use tracewright_image::{Bytes, Facts};

use crate::debuginfod::{Debuginfod, Kind};
use crate::program::{hex, map_file};

/// Where to look for debug files.
#[derive(Clone, Debug, Default)]
pub(crate) struct DebugFiles<'a> {
    /// Copies of the traced machine's folders.
    pub symfs: &'a [PathBuf],
    pub debuginfod: Option<&'a Debuginfod>,
}

/// perf's own store of files, by build ID.
pub(crate) fn perf_store() -> Option<PathBuf> {
    std::env::var_os("HOME").map(|home| Path::new(&home).join(".debug"))
}

impl DebugFiles<'_> {
    /// Finds the debug file of a program that lacks symbols or lines: a file with the same build ID, or the one that
    /// its `.gnu_debuglink` names, with the right checksum. `path` is where the program is here, `ran_as` the path that
    /// it had where it ran.
    pub fn find(&self, path: &Path, ran_as: &Path, program: &Bytes) -> Option<Bytes> {
        let facts = Facts::of(program.as_slice()).filter(|facts| facts.is_stripped || !facts.has_lines)?;
        let is_better = |debug: &Facts<'_>| {
            facts.is_stripped && !debug.is_stripped || !facts.has_lines && debug.has_lines
        };
        let open = |path: PathBuf| path.is_file().then(|| map_file(&path).ok())?;
        let is_same = |bytes: &Bytes| {
            let debug = Facts::of(bytes.as_slice());
            debug.is_some_and(|debug| {
                is_better(&debug) && facts.build_id.is_some_and(|id| debug.build_id == Some(id))
            })
        };
        let ran_as = ran_as.strip_prefix("/").unwrap_or(ran_as);
        let by_id = facts.build_id.map(|id| self.by_build_id(id, path, ran_as)).unwrap_or_default();
        if let Some(found) = by_id.into_iter().filter_map(open).find(is_same) {
            return Some(found);
        }
        if let Some((name, checksum)) = facts.debug_link {
            let places = self.by_link(std::str::from_utf8(name).ok()?, path, ran_as);
            let is_linked = |bytes: &Bytes| {
                let debug = Facts::of(bytes.as_slice());
                debug.is_some_and(|debug| is_better(&debug)) && Crc32::of(bytes.as_slice()) == checksum
            };
            if let Some(found) = places.into_iter().filter_map(open).find(is_linked) {
                return Some(found);
            }
        }
        let fetched = self.debuginfod?.fetch(facts.build_id?, Kind::DebugInfo).ok()?;
        open(fetched).filter(is_same)
    }

    /// Returns the folders that have the machine's.
    fn roots(&self) -> impl Iterator<Item = &Path> {
        self.symfs.iter().map(PathBuf::as_path).chain([Path::new("/")])
    }

    fn by_build_id(&self, id: &[u8], path: &Path, ran_as: &Path) -> Vec<PathBuf> {
        let hex = hex(id);
        let Some((first, rest)) = hex.split_at_checked(2) else { return Vec::new() };
        let mut places = Vec::new();
        for dir in self.roots() {
            let debug = dir.join("usr/lib/debug");
            for dir in [dir, &debug] {
                places.push(dir.join(".build-id").join(first).join(format!("{rest}.debug")));
            }
            places.push(PathBuf::from(format!("{}.debug", debug.join(ran_as).display())));
        }
        places.extend(perf_store().map(|dir| dir.join(".build-id").join(first).join(rest).join("debug")));
        places.push(PathBuf::from(format!("{}.debug", path.display())));
        places
    }

    fn by_link(&self, name: &str, path: &Path, ran_as: &Path) -> Vec<PathBuf> {
        if name.is_empty() || name.contains('/') {
            return Vec::new();
        }
        let beside = path.parent().unwrap_or(Path::new(""));
        let mut places = vec![beside.join(name), beside.join(".debug").join(name)];
        let folder = ran_as.parent().unwrap_or(Path::new(""));
        places.extend(self.roots().map(|root| root.join("usr/lib/debug").join(folder).join(name)));
        // The program itself may have the name.
        places.retain(|place| place != path);
        places
    }
}
