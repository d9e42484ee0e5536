//! LLVM's sample profile in its extensible binary form: smaller than the text, and read function by function.

use std::collections::BTreeMap;

use super::samples::{Function, Samples};
use super::summary::Summary;

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
    let mut names = BTreeMap::new();
    samples.functions.iter().for_each(|(name, function)| gather(&mut names, name, function));
    (0..).zip(names.values_mut()).for_each(|(number, slot)| *slot = number);

    let (mut profile, mut offsets) = (Vec::new(), Vec::new());
    number(&mut offsets, samples.functions.len() as u64);
    for (name, of) in &samples.functions {
        number(&mut offsets, names[name.as_str()]);
        number(&mut offsets, profile.len() as u64);
        number(&mut profile, of.head);
        function(&mut profile, &names, name, of);
    }
    let mut table = Vec::new();
    number(&mut table, names.len() as u64);
    for name in names.keys() {
        table.extend(name.bytes().filter(|byte| *byte != 0));
        table.push(0);
    }

    let sections = [(SUMMARY, summary(samples)), (NAMES, table), (OFFSETS, offsets), (PROFILE, profile)];
    let mut bytes = Vec::new();
    number(&mut bytes, MAGIC);
    number(&mut bytes, VERSION);
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

/// Collects the names of a function, its callees and its inlined functions.
fn gather<'s>(names: &mut BTreeMap<&'s str, u64>, name: &'s str, function: &'s Function) {
    names.insert(name, 0);
    for name in function.body.values().flat_map(|body| body.targets.keys()) {
        names.insert(name, 0);
    }
    for (name, callee) in function.inlined.values().flatten() {
        gather(names, name, callee);
    }
}

fn function(bytes: &mut Vec<u8>, names: &BTreeMap<&str, u64>, name: &str, of: &Function) {
    number(bytes, names[name]);
    number(bytes, of.total);
    number(bytes, of.body.len() as u64);
    for (location, body) in &of.body {
        let head = [location.offset.into(), location.discriminator.into(), body.count];
        head.into_iter().chain([body.targets.len() as u64]).for_each(|value| number(bytes, value));
        for (name, count) in &body.targets {
            number(bytes, names[name.as_str()]);
            number(bytes, *count);
        }
    }
    number(bytes, of.inlined.values().map(|callees| callees.len() as u64).sum());
    for (location, callees) in &of.inlined {
        for (name, callee) in callees {
            number(bytes, location.offset.into());
            number(bytes, location.discriminator.into());
            function(bytes, names, name, callee);
        }
    }
}

/// Writes the distribution of the counts.
fn summary(samples: &Samples) -> Vec<u8> {
    let summary = Summary::of(samples);
    let mut bytes = Vec::new();
    summary.head().into_iter().for_each(|value| number(&mut bytes, value));
    for (share, least, count) in summary.shares {
        [share.into(), least, count].into_iter().for_each(|value| number(&mut bytes, value));
    }
    bytes
}

/// Appends a number as LEB128.
fn number(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}
