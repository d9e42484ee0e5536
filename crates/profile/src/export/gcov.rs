//! File for GCC's `-fauto-profile`, which has the outer form of a `gcov` file.

use std::collections::BTreeMap;

use super::samples::{Function, Location, Samples, Summary};

/// `gcda`.
const MAGIC: u32 = 0x6763_6461;

/// Format version. Each GCC reads its own version only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// GCC 12 to 15.
    Two = 2,
    /// GCC 16: adds a summary, the files of functions, and the time of their first run.
    Three = 3,
}

/// Section tags.
const SUMMARY: u32 = 0xa800_0000;
const NAMES: u32 = 0xaa00_0000;
const FUNCTIONS: u32 = 0xac00_0000;
const MODULES: u32 = 0xae00_0000;
const WORKING_SET: u32 = 0xaf00_0000;

/// Number of indirect-call targets among GCC's value profiles.
const INDIRECT_CALL: u32 = 7;

/// File number of a function without a file. Linkage names are sufficient.
const NO_FILE: u32 = u32::MAX;

/// Writes all functions.
pub fn write(samples: &Samples, version: Version) -> Vec<u8> {
    let is_new = version == Version::Three;
    let names = samples.names([""]);
    let mut table = Vec::new();
    if is_new {
        // No files.
        word(&mut table, 0);
    }
    word(&mut table, names.len() as u32);
    for name in names.keys() {
        word(&mut table, name.len() as u32 + 1);
        table.extend(name.bytes().chain([0]));
        if is_new {
            word(&mut table, NO_FILE);
        }
    }
    let mut functions = Vec::new();
    word(&mut functions, samples.functions.len() as u32);
    for (name, of) in &samples.functions {
        wide(&mut functions, of.head);
        if is_new {
            // Time of the first run, which a counting profile does not have.
            wide(&mut functions, 0);
        }
        word(&mut functions, names[name.as_str()]);
        body(&mut functions, &names, of);
    }
    let mut bytes = Vec::new();
    [MAGIC, version as u32, 0].into_iter().for_each(|value| word(&mut bytes, value));
    if is_new {
        summary(&mut bytes, &Summary::of(samples));
    }
    for (tag, section) in [(NAMES, table), (FUNCTIONS, functions)] {
        word(&mut bytes, tag);
        // Length in words; no reader relies on it.
        word(&mut bytes, (section.len() / 4) as u32);
        bytes.extend(section);
    }
    [MODULES, 0, 0, WORKING_SET, 0].into_iter().for_each(|value| word(&mut bytes, value));
    (0..128).for_each(|_| {
        word(&mut bytes, 0);
        wide(&mut bytes, 0);
    });
    bytes
}

/// Writes the summary section, which has no length.
fn summary(bytes: &mut Vec<u8>, summary: &Summary) {
    word(bytes, SUMMARY);
    summary.head().into_iter().for_each(|value| wide(bytes, value));
    for (share, least, count) in &summary.shares {
        word(bytes, *share);
        wide(bytes, *least);
        wide(bytes, *count);
    }
}

fn body(bytes: &mut Vec<u8>, names: &BTreeMap<&str, u32>, of: &Function) {
    word(bytes, of.body.len() as u32);
    word(bytes, of.inlined.values().map(|callees| callees.len() as u32).sum());
    for (location, body) in &of.body {
        word(bytes, place(*location));
        word(bytes, body.targets.len() as u32);
        wide(bytes, body.count);
        for (name, count) in &body.targets {
            word(bytes, INDIRECT_CALL);
            wide(bytes, names[name.as_str()].into());
            wide(bytes, *count);
        }
    }
    for (location, callees) in &of.inlined {
        for (name, callee) in callees {
            word(bytes, place(*location));
            word(bytes, names[name.as_str()]);
            body(bytes, names, callee);
        }
    }
}

/// Packs a location into one word.
fn place(location: Location) -> u32 {
    location.offset << 16 | location.discriminator & 0xffff
}

fn word(bytes: &mut Vec<u8>, value: u32) {
    bytes.extend(value.to_le_bytes());
}

/// Writes a 64-bit number as two words, the lower one first.
fn wide(bytes: &mut Vec<u8>, value: u64) {
    bytes.extend(value.to_le_bytes());
}
