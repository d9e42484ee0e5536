use std::fs;

use tracewright_core::MemorySpace;
use tracewright_image::{Bytes, Image, Place};

use super::places::Places;
use crate::format::MapRecord;

/// Files that the program's code is mapped from, as far as it was translated.
///
/// QEMU does not report them, but it reports where code is in its own memory, and `/proc/self/maps` lists what is mapped there.
#[derive(Debug)]
pub struct Maps {
    /// Lines of `/proc/self/maps` when it was last read.
    lines: Vec<Line>,
    /// Reported mappings, by the program's addresses.
    told: Vec<Line>,
    /// Set if something was mapped since.
    is_stale: bool,
}

impl Default for Maps {
    fn default() -> Self {
        Self { lines: Vec::new(), told: Vec::new(), is_stale: true }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    start: u64,
    end: u64,
    offset: u64,
    path: String,
}

impl Maps {
    /// Notes that mappings may have changed.
    pub fn changed(&mut self) {
        self.is_stale = true;
    }

    /// Finds the mapping of translated code, which is at `host` in QEMU's memory. Passes it to `tell` if it is new.
    pub fn translated(
        &mut self,
        address: u64,
        host: u64,
        places: &Places,
        tell: impl FnOnce(&MapRecord<'_>),
    ) {
        let is_in = |line: &Line, at: u64| line.start <= at && at < line.end;
        if !self.is_stale && self.told.iter().rev().any(|line| is_in(line, address)) {
            return;
        }
        if self.is_stale || !self.lines.iter().any(|line| is_in(line, host)) {
            self.lines = fs::read("/proc/self/maps").map(|text| parse(&text)).unwrap_or_default();
            self.is_stale = false;
        }
        let Some(line) = self.lines.iter().find(|line| is_in(line, host)) else { return };
        let base = host.wrapping_sub(address);
        let line =
            Line { start: line.start.wrapping_sub(base), end: line.end.wrapping_sub(base), ..line.clone() };
        if self.told.iter().rev().find(|told| is_in(told, address)) == Some(&line) {
            return;
        }
        let file = (!line.path.is_empty()).then(|| fs::read(&line.path).ok()).flatten();
        let mut build_id = Vec::new();
        if let Some(bytes) = file {
            let mut builder = Image::builder();
            let at = Place::Mapping { address: line.start, offset: line.offset };
            // A file that is no ELF has neither build ID nor symbols.
            let _ = builder.elf("", Bytes::new(bytes), at, MemorySpace::ANY);
            let image = builder.build();
            build_id =
                image.regions().find_map(|region| region.build_id().map(<[u8]>::to_vec)).unwrap_or_default();
            places.resolve(&image);
        }
        let Line { start, end, offset, .. } = line;
        tell(&MapRecord { start, end, offset, path: &line.path, build_id: &build_id });
        self.told.retain(|told| told.end <= start || end <= told.start);
        self.told.push(line);
    }
}

/// Parses lines `start-end permissions offset device inode path`. Names in brackets are no files.
fn parse(text: &[u8]) -> Vec<Line> {
    let line = |line: &[u8]| {
        let text = String::from_utf8_lossy(line);
        let (range, rest) = text.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let mut fields = rest.splitn(5, ' ');
        let (_, offset, _, _) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let path = fields.next().unwrap_or_default().trim_start();
        let hex = |text| u64::from_str_radix(text, 16).ok();
        let path = if path.starts_with('/') { path } else { "" };
        Some(Line { start: hex(start)?, end: hex(end)?, offset: hex(offset)?, path: path.to_owned() })
    };
    text.split(|&byte| byte == b'\n').filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_understood() {
        let text = b"00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/a program\n\
            00e03000-00e24000 rw-p 00000000 00:00 0           [heap]\n\
            7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n\
            nonsense\n";
        let found = parse(text);
        assert_eq!(found.len(), 3);
        let first =
            Line { start: 0x40_0000, end: 0x45_2000, offset: 0x1000, path: "/usr/bin/a program".into() };
        assert_eq!(found[0], first);
        assert_eq!((found[1].path.as_str(), found[2].path.as_str()), ("", ""));
    }

    #[test]
    fn a_mapping_is_told_once_and_again_when_it_is_another() {
        const AT: u64 = 1 << 32;
        let mut maps = Maps::default();
        let places = Places::default();
        // Our own code.
        let here = parse as *const () as u64;
        let mut told = Vec::new();
        let base = here & !0xfff;
        for address in [AT, AT + 4] {
            maps.translated(address, base + address - AT, &places, |map| {
                told.push((map.start, map.path.to_owned()));
            });
        }
        maps.changed();
        maps.translated(AT, base, &places, |map| told.push((map.start, map.path.to_owned())));
        assert_eq!(told.len(), 1);
        assert!(!told[0].1.is_empty());
    }
}
