//! A profile to bytes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::crc::crc32;
use super::shape::Shape;
use super::varint::{put, put_signed};
use super::{MAGIC, VERSION, tag};
use crate::counts::{Code, Place, Profile, Runs};

/// The bytes of a profile's file: the same for the same profile, however it was added up.
#[must_use]
pub fn write(profile: &Profile) -> Vec<u8> {
    let mut profile = profile.sorted();
    let mut file = MAGIC.to_vec();
    put(&mut file, VERSION);
    let mut sections = 0;
    let mut add = |tag: u8, body: &[u8]| {
        section(&mut file, tag, body);
        sections += 1;
    };
    add(tag::BINARIES, &binaries(&profile));
    let mut numbers = Vec::new();
    let all = profile.funnel.numbers();
    put(&mut numbers, all.len() as u64);
    all.into_iter().for_each(|number| put(&mut numbers, *number));
    add(tag::FUNNEL, &numbers);
    for (owner, of) in of_binaries(&profile) {
        add(tag::CODE, &of.bytes(owner));
    }
    let mut end = Vec::new();
    put(&mut end, sections);
    section(&mut file, tag::END, &end);
    file
}

/// Its tag, how long it is, its bytes, and the checksum of all that.
fn section(file: &mut Vec<u8>, tag: u8, body: &[u8]) {
    let start = file.len();
    file.push(tag);
    put(file, body.len() as u64);
    file.extend_from_slice(body);
    let sum = crc32(&file[start..]);
    file.extend(sum.to_le_bytes());
}

fn binaries(profile: &Profile) -> Vec<u8> {
    let mut bytes = Vec::new();
    put(&mut bytes, profile.binaries.len() as u64);
    for binary in &profile.binaries {
        bytes.push(binary.is_elf.into());
        for text in [&binary.build_id, binary.name.as_bytes()] {
            put(&mut bytes, text.len() as u64);
            bytes.extend_from_slice(text);
        }
    }
    bytes
}

/// A binary's number in files; 0 is none.
fn owner(place: Place) -> u64 {
    u64::from(place.binary.wrapping_add(1))
}

/// What ran of a binary, in order.
#[derive(Default)]
struct Of<'p> {
    blocks: BTreeMap<(u64, u32, u32, Shape), (&'p Code, &'p Runs)>,
    /// By the address of a branch: where it went how often.
    branches: BTreeMap<u64, BTreeMap<(u64, u64), u64>>,
}

fn of_binaries(profile: &Profile) -> BTreeMap<u64, Of<'_>> {
    let mut all: BTreeMap<u64, Of<'_>> = BTreeMap::new();
    for (code, runs) in profile.blocks.iter().filter(|(_, runs)| runs.all() > 0) {
        let key = (code.start.address, code.len, code.count, Shape::of(code));
        all.entry(owner(code.start)).or_default().blocks.insert(key, (code, runs));
    }
    for (&(from, to), &count) in profile.branches.iter().filter(|(_, count)| **count > 0) {
        let of = &mut all.entry(owner(from)).or_default().branches;
        of.entry(from.address).or_default().insert((owner(to), to.address), count);
    }
    all
}

impl Of<'_> {
    fn bytes(&self, owner: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        put(&mut bytes, owner);
        let shapes: BTreeSet<_> = self.blocks.keys().map(|key| key.3).collect();
        let shapes: Vec<_> = shapes.into_iter().collect();
        put(&mut bytes, shapes.len() as u64);
        shapes.iter().for_each(|shape| bytes.extend(shape.0));
        put(&mut bytes, self.blocks.len() as u64);
        let mut end = 0;
        for ((.., shape), (code, runs)) in &self.blocks {
            // Most blocks follow the one before.
            put_signed(&mut bytes, code.start.address.wrapping_sub(end) as i64);
            put(&mut bytes, code.len.into());
            let short = u64::from(code.len) / u64::from(code.isa.shortest());
            put_signed(&mut bytes, short.wrapping_sub(code.count.into()) as i64);
            let number = shapes.binary_search(shape).unwrap_or(0) as u64;
            let counts = [runs.taken, runs.not_taken, runs.through];
            let which = (0..3).filter(|&i| counts[i] > 0).fold(0, |which, i| which | 1 << i);
            put(&mut bytes, number << 3 | which);
            counts.into_iter().filter(|&count| count > 0).for_each(|count| put(&mut bytes, count));
            end = code.start.address.wrapping_add(code.len.into());
        }
        let mut taken: HashMap<u64, u64> = HashMap::new();
        for (code, runs) in self.blocks.values() {
            let sum = taken.entry(code.last().address).or_default();
            *sum = sum.saturating_add(runs.taken);
        }
        put(&mut bytes, self.branches.len() as u64);
        let mut last = 0;
        for (&from, to) in &self.branches {
            put(&mut bytes, from - last);
            let stays = to.keys().all(|&(in_binary, _)| in_binary == owner);
            put(&mut bytes, (to.len() as u64 - 1) << 1 | u64::from(stays));
            let mut left = taken.get(&from).copied().unwrap_or(0);
            for (number, (&(in_binary, address), &count)) in to.iter().enumerate() {
                if !stays {
                    put(&mut bytes, in_binary);
                }
                put_signed(&mut bytes, address.wrapping_sub(from) as i64);
                // Mostly the last is what blocks say that is left.
                let is_rest = number + 1 == to.len() && count == left;
                put(&mut bytes, if is_rest { 0 } else { count });
                left = left.saturating_sub(count);
            }
            last = from;
        }
        bytes
    }
}
