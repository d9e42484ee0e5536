//! LLVM's sample profile in its extensible binary form: smaller than the text, and read function by function.

use std::collections::BTreeMap;

use super::samples::{Function, Samples, Summary};
use crate::store::varint::put;

/// `SPROF42`, and 4 for this form; version 103.
const MAGIC: u64 = 0x5350_524f_4634_3204;
const VERSION: u64 = 103;

/// Section kinds.
const SUMMARY: u64 = 1;
const NAMES: u64 = 2;
const OFFSETS: u64 = 4;
const PROFILE: u64 = 32;

/// Writes all functions.
pub fn write(samples: &Samples) -> Vec<u8> {
    let names = samples.names([]);
    let (mut profile, mut offsets) = (Vec::new(), Vec::new());
    put(&mut offsets, samples.functions.len() as u64);
    for (name, of) in &samples.functions {
        put(&mut offsets, names[name.as_str()].into());
        put(&mut offsets, profile.len() as u64);
        put(&mut profile, of.head);
        function(&mut profile, &names, name, of);
    }
    let mut table = Vec::new();
    put(&mut table, names.len() as u64);
    for name in names.keys() {
        table.extend(name.bytes().filter(|byte| *byte != 0));
        table.push(0);
    }

    let sections = [(SUMMARY, summary(samples)), (NAMES, table), (OFFSETS, offsets), (PROFILE, profile)];
    let mut bytes = Vec::new();
    put(&mut bytes, MAGIC);
    put(&mut bytes, VERSION);
    bytes.extend((sections.len() as u64).to_le_bytes());
    // Names come before sections that refer to them, and the profile before the table of its functions.
    let order = [0, 1, 3, 2];
    let mut offset = bytes.len() as u64 + 32 * sections.len() as u64;
    let mut starts = [0; 4];
    for section in order {
        starts[section] = offset;
        offset += sections[section].1.len() as u64;
    }
    for ((kind, section), start) in sections.iter().zip(starts) {
        for word in [*kind, 0, start, section.len() as u64] {
            bytes.extend(word.to_le_bytes());
        }
    }
    order.iter().for_each(|&section| bytes.extend(&sections[section].1));
    bytes
}

fn function(bytes: &mut Vec<u8>, names: &BTreeMap<&str, u32>, name: &str, of: &Function) {
    put(bytes, names[name].into());
    put(bytes, of.total);
    put(bytes, of.body.len() as u64);
    for (location, body) in &of.body {
        let head = [location.offset.into(), location.discriminator.into(), body.count];
        head.into_iter().chain([body.targets.len() as u64]).for_each(|value| put(bytes, value));
        for (name, count) in &body.targets {
            put(bytes, names[name.as_str()].into());
            put(bytes, *count);
        }
    }
    put(bytes, of.inlined.values().map(|callees| callees.len() as u64).sum());
    for (location, callees) in &of.inlined {
        for (name, callee) in callees {
            put(bytes, location.offset.into());
            put(bytes, location.discriminator.into());
            function(bytes, names, name, callee);
        }
    }
}

/// Writes the distribution of the counts.
fn summary(samples: &Samples) -> Vec<u8> {
    let summary = Summary::of(samples);
    let mut bytes = Vec::new();
    summary.head().into_iter().for_each(|value| put(&mut bytes, value));
    for (share, least, count) in summary.shares {
        [share.into(), least, count].into_iter().for_each(|value| put(&mut bytes, value));
    }
    bytes
}
