//! Code of a log: instruction bits that it has where no image has any, as of a boot ROM.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use tracewright_capture::StopFlag;
use tracewright_capture::log::Log;
use tracewright_capture::retirement::is_log;
use tracewright_core::{Block, Isa, MemorySpace};
use tracewright_hart::HartSink;
use tracewright_hart::log::Kind;
use tracewright_image::Image;
use tracewright_input::Source;
use tracewright_input::file::existing;
use tracewright_isa::riscv::{Xlen, len};

use crate::{Error, Trace};

/// Most bytes of code that are taken from a log.
const MOST: usize = 64 << 10;

/// Code that is taken from a log. Of code that changed, it is the first version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogCode {
    /// Its instructions.
    pub instructions: u64,
    /// Addresses and bytes, in order, without overlaps.
    pub pieces: Vec<(u64, Vec<u8>)>,
    /// The first address where the code changed, if any.
    pub changed: Option<u64>,
    /// Whether the log has more.
    pub is_cut: bool,
}

impl LogCode {
    /// Returns it as JSON, without the bytes.
    pub(super) fn json(&self) -> Value {
        let place = |(address, bytes): &(u64, Vec<u8>)| json!({ "address": format!("{address:#x}"), "bytes": bytes.len() });
        json!({
            "instructions": self.instructions, "places": self.pieces.iter().map(place).collect::<Vec<_>>(),
            "changed": self.changed.map(|address| format!("{address:#x}")), "is_cut": self.is_cut,
        })
    }
}

impl fmt::Display for LogCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.instructions == 1 { "" } else { "s" };
        write!(f, "code of {} instruction{plural}", self.instructions)?;
        if let Some((start, bytes)) = self.pieces.first() {
            write!(f, " at {start:#x}..{:#x}", start.wrapping_add(bytes.len() as u64))?;
        }
        match self.pieces.len() {
            0 | 1 => {}
            2 => f.write_str(" and in 1 more place")?,
            places => write!(f, " and in {} more places", places - 1)?,
        }
        f.write_str(" is taken from the log")?;
        if self.is_cut {
            f.write_str("; it has more, which is too much")?;
        }
        match self.changed {
            Some(address) => write!(f, "; it changed at {address:#x}, and the first version is used"),
            None => Ok(()),
        }
    }
}

/// Returns whether a log can be read more than once: it is no pipe.
pub(super) fn can_be_read_again(log: &Path) -> bool {
    std::fs::metadata(existing(log)).is_ok_and(|of| of.is_file())
}

impl Trace {
    /// Returns the trace with the code of a RISC-V log added to the image wherever that has none, and what was added. At most 64 KiB are
    /// added. Returns `None` if the log has no such code, or can be read only once.
    ///
    /// # Errors
    /// Fails if the log cannot be opened. Damage in it ends the code.
    pub fn with_code_of_log(
        &self,
        log: &Path,
        thread: Option<u32>,
        source: &Source,
    ) -> Result<Option<(Self, LogCode)>, Error> {
        // Captures of what a retirement log has hold its code, but for what changed, of which no version is right for all.
        if !can_be_read_again(log) || is_log(log) {
            return Ok(None);
        }
        let stop = StopFlag::default();
        let mut opened = Log::open(log, &stop)?;
        if opened.kind() == Kind::Qemu {
            return Ok(None);
        }
        if let Some(thread) = thread {
            opened.set_thread(thread)?;
        }
        let isa = super::isa(source, &opened, log)?;
        let xlen = if isa == Isa::Rv32 { Xlen::Rv32 } else { Xlen::Rv64 };
        // Whoever compares the log reports damage.
        let (found, _) = opened.read(xlen, self.image(), Missing::new(self.image(), stop));
        let code = found.code();
        if code.pieces.is_empty() {
            return Ok(None);
        }
        let mut builder = self.image().to_builder();
        let name = log.display().to_string();
        for (address, bytes) in &code.pieces {
            // It fails only without bytes.
            let _ = builder.raw(&name, bytes.clone().into(), *address, MemorySpace::ANY);
        }
        Ok(Some((self.set_image(builder.build()), code)))
    }
}

/// A sink that keeps the code that an image lacks.
struct Missing<'a> {
    image: &'a Image,
    /// Ends reading.
    stop: StopFlag,
    /// Bits of the instructions of the current block.
    bits: Vec<u32>,
    starts: BTreeSet<u64>,
    bytes: BTreeMap<u64, u8>,
    changed: Option<u64>,
    is_cut: bool,
}

impl<'a> Missing<'a> {
    fn new(image: &'a Image, stop: StopFlag) -> Self {
        let (bits, starts, bytes) = Default::default();
        Self { image, stop, bits, starts, bytes, changed: None, is_cut: false }
    }

    /// Returns whether the image says nothing about an address.
    fn lacks(&self, address: u64) -> bool {
        let (image, space) = (self.image, MemorySpace::ANY);
        image.lookup(address, space).is_none() && image.absent(address, space).is_none()
    }

    fn instruction(&mut self, address: u64, bytes: &[u8]) {
        if !self.lacks(address) {
            return;
        }
        if self.bytes.len() + bytes.len() > MOST && !self.starts.contains(&address) {
            self.is_cut = true;
            self.stop.store(true, Ordering::Relaxed);
            return;
        }
        self.starts.insert(address);
        for (index, &byte) in (0..).zip(bytes) {
            // The log may say anything.
            let at = address.wrapping_add(index);
            if self.lacks(at) && *self.bytes.entry(at).or_insert(byte) != byte {
                self.changed.get_or_insert(address);
            }
        }
    }

    fn code(self) -> LogCode {
        let mut pieces: Vec<(u64, Vec<u8>)> = Vec::new();
        for (address, byte) in self.bytes {
            match pieces.last_mut() {
                Some((start, bytes)) if address - *start == bytes.len() as u64 => bytes.push(byte),
                _ => pieces.push((address, vec![byte])),
            }
        }
        let instructions = self.starts.len() as u64;
        LogCode { instructions, pieces, changed: self.changed, is_cut: self.is_cut }
    }
}

impl HartSink for Missing<'_> {
    const INSTRUCTIONS: bool = true;

    fn instructions(&mut self, bits: &[u32]) {
        self.bits.extend_from_slice(bits);
    }

    fn block(&mut self, block: &Block) {
        let has_all =
            |(start, bytes): (u64, &[u8])| block.end >= start && block.end - start <= bytes.len() as u64;
        let is_known = self.image.lookup(block.start, MemorySpace::ANY).is_some_and(has_all);
        let bits = std::mem::take(&mut self.bits);
        let mut address = block.start;
        for &bits in bits.iter().filter(|_| !is_known) {
            let len = len(bits as u16);
            self.instruction(address, &bits.to_le_bytes()[..usize::from(len).min(4)]);
            address = address.wrapping_add(len.into());
        }
        self.bits = bits;
        self.bits.clear();
    }
}

#[cfg(test)]
mod tests {
    use tracewright_core::{Class, Ended};

    use super::*;

    /// Returns the code that is taken of blocks, each with its address and instructions, beside an image of four bytes at 0x1004.
    fn taken(blocks: &[(u64, &[u32])]) -> LogCode {
        let mut builder = Image::builder();
        builder.raw("", vec![0x13, 0, 0, 0].into(), 0x1004, MemorySpace::ANY).unwrap();
        let image = builder.build();
        let stop = StopFlag::default();
        let mut missing = Missing::new(&image, StopFlag::clone(&stop));
        for &(start, bits) in blocks {
            missing.instructions(bits);
            let len: u64 = bits.iter().map(|&bits| u64::from(len(bits as u16))).sum();
            let end = start.wrapping_add(len);
            let (class, ended) = (Class::NEXT, Ended::Cut);
            let count = bits.len() as u32;
            missing.block(&Block { start, end, count, isa: Isa::Rv64, last_len: 4, class, ended });
        }
        let code = missing.code();
        assert_eq!(code.is_cut, stop.load(Ordering::Relaxed));
        code
    }

    #[test]
    fn only_what_the_image_lacks_is_taken() {
        let code = taken(&[(0x1000, &[0x93, 0x93, 0x4081, 0x4101]), (0x1004, &[0x93])]);
        assert_eq!(
            code.pieces,
            [(0x1000, vec![0x93, 0, 0, 0]), (0x1008, vec![0x81, 0x40, 0x01, 0x41])],
            "{code}"
        );
        assert_eq!((code.instructions, code.changed, code.is_cut), (3, None, false));
        assert_eq!(
            code.to_string(),
            "code of 3 instructions at 0x1000..0x1004 and in 1 more place is taken from the log"
        );
        assert_eq!(taken(&[(0x1004, &[0x93])]), LogCode::default());
        assert_eq!(taken(&[(0x2000, &[])]), LogCode::default());
    }

    #[test]
    fn the_first_version_is_taken() {
        let code = taken(&[(0x2000, &[0x13, 0x13]), (0x2004, &[0x93])]);
        assert_eq!(code.pieces, [(0x2000, vec![0x13, 0, 0, 0, 0x13, 0, 0, 0])]);
        assert_eq!((code.instructions, code.changed), (2, Some(0x2004)));
    }

    #[test]
    fn an_instruction_may_be_the_last_there_is() {
        for start in u64::MAX - 3..=u64::MAX {
            assert_eq!(taken(&[(start, &[0x13])]).instructions, 1);
        }
    }

    #[test]
    fn no_more_than_64_kib_are_taken() {
        let code = taken(&[(0x1_0000, &[0x13; MOST / 4])]);
        assert_eq!((code.pieces[0].1.len(), code.is_cut), (MOST, false));
        let code = taken(&[(0x1_0000, &[0x13; MOST / 4]), (0x1_0000, &[0x13]), (0x8_0000, &[0x13])]);
        assert_eq!((code.pieces.len(), code.pieces[0].1.len(), code.is_cut), (1, MOST, true));
    }
}
