//! Writes a profile file.

use std::collections::BTreeSet;

use tracewright_core::{Crc32, Isa};
use tracewright_flow::hash::{HashMap, NumberHash};

use super::shape::Shape;
use super::varint::{put, put_signed};
use super::{MAGIC, VERSION, tag};
use crate::counts::{Binary, Code, Place, Profile, Runs};

/// Writes a profile. The bytes are the same for equal profiles, whatever the order of their merges.
pub fn write(profile: &Profile) -> Vec<u8> {
    let (binaries, owners) = sorted(profile);
    let (blocks, branches) = ran(profile, &owners);
    let mut file = MAGIC.to_vec();
    put(&mut file, VERSION);
    let mut sections = 0;
    let mut add = |tag: u8, body: &[u8]| {
        section(&mut file, tag, body);
        sections += 1;
    };
    add(tag::BINARIES, &names(&binaries));
    let mut numbers = Vec::new();
    let mut funnel = profile.funnel;
    let all = funnel.numbers();
    put(&mut numbers, all.len() as u64);
    all.into_iter().for_each(|number| put(&mut numbers, *number));
    add(tag::FUNNEL, &numbers);
    if binaries.iter().any(|binary| !binary.code.is_empty()) {
        add(tag::SEGMENTS, &segments(&binaries));
    }
    if binaries.iter().any(|binary| binary.found.is_some()) {
        add(tag::PATHS, &paths(&binaries));
    }
    let (mut blocks, mut branches) = (&blocks[..], &branches[..]);
    for owner in 0..=binaries.len() as u64 {
        let of_blocks = blocks.partition_point(|(key, _)| key.0 == owner);
        let of_branches = branches.partition_point(|(key, _)| key.0 == owner);
        if of_blocks + of_branches > 0 {
            add(tag::CODE, &code(owner, &blocks[..of_blocks], &branches[..of_branches]));
        }
        (blocks, branches) = (&blocks[of_blocks..], &branches[of_branches..]);
    }
    let mut end = Vec::new();
    put(&mut end, sections);
    section(&mut file, tag::END, &end);
    file
}

/// Appends a section: tag, length, body, and a checksum of all three.
fn section(file: &mut Vec<u8>, tag: u8, body: &[u8]) {
    let start = file.len();
    file.push(tag);
    put(file, body.len() as u64);
    file.extend_from_slice(body);
    let sum = Crc32::of(&file[start..]);
    file.extend(sum.to_le_bytes());
}

fn names(binaries: &[Binary]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put(&mut bytes, binaries.len() as u64);
    for binary in binaries {
        bytes.push(binary.is_elf.into());
        for text in [&binary.build_id, binary.name.as_bytes()] {
            put(&mut bytes, text.len() as u64);
            bytes.extend_from_slice(text);
        }
    }
    bytes
}

fn segments(binaries: &[Binary]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let known = || (1..).zip(binaries).filter(|(_, binary)| !binary.code.is_empty());
    put(&mut bytes, known().count() as u64);
    for (number, binary) in known() {
        put(&mut bytes, number);
        put(&mut bytes, binary.code.len() as u64);
        for segment in &binary.code {
            [segment.address, segment.offset, segment.len].iter().for_each(|&number| put(&mut bytes, number));
        }
    }
    bytes
}

fn paths(binaries: &[Binary]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let known = || (1..).zip(binaries).filter_map(|(number, binary)| Some((number, binary.found.as_ref()?)));
    put(&mut bytes, known().count() as u64);
    for (number, path) in known() {
        put(&mut bytes, number);
        put(&mut bytes, path.len() as u64);
        bytes.extend_from_slice(path.as_bytes());
    }
    bytes
}

/// Returns the merged binaries in file order, and the file number of each binary of the profile. File number 0 means no binary.
fn sorted(profile: &Profile) -> (Vec<Binary>, Vec<u64>) {
    // Merging keeps the right name of several.
    let mut all = Profile::default();
    let added: Vec<_> = profile.binaries.iter().map(|binary| all.binary(binary.clone())).collect();
    let mut order: Vec<_> = (0..all.binaries.len()).collect();
    order.sort_by(|&one, &other| all.binaries[one].key().cmp(&all.binaries[other].key()));
    let mut rank = vec![0; order.len()];
    (1..).zip(&order).for_each(|(number, &of)| rank[of] = number);
    let owners = added.iter().map(|&number| rank[number as usize]).collect();
    (order.into_iter().map(|number| all.binaries[number].clone()).collect(), owners)
}

/// Sort key of a block: binary, address, length, instructions and shape.
type BlockKey = (u64, u64, u32, u32, Shape);
/// Sort key of a branch: its binary and address, and those of its target.
type BranchKey = (u64, u64, u64, u64);

type Block = (BlockKey, Runs);
type Branch = (BranchKey, u64);

/// Returns all blocks and branches in file order, with equal ones merged.
fn ran(profile: &Profile, owners: &[u64]) -> (Vec<Block>, Vec<Branch>) {
    let owner = |place: Place| owners.get(place.binary as usize).copied().unwrap_or(0);
    let blocks = profile.blocks.iter().filter(|(_, runs)| runs.all() > 0);
    let key = |code: &Code| (owner(code.start), code.start.address, code.len, code.count, Shape::of(code));
    let mut blocks: Vec<_> = blocks.map(|(code, runs)| (key(code), *runs)).collect();
    blocks.sort_unstable_by_key(|(key, _)| *key);
    blocks.dedup_by(|(key, runs), (before, sum)| {
        let is_same = key == before;
        if is_same {
            *sum += *runs;
        }
        is_same
    });
    let branches = profile.branches.iter().filter(|(_, count)| **count > 0);
    let key = |from: Place, to: Place| (owner(from), from.address, owner(to), to.address);
    let mut branches: Vec<_> = branches.map(|(&(from, to), count)| (key(from, to), *count)).collect();
    branches.sort_unstable();
    branches.dedup_by(|(key, count), (before, sum)| {
        let is_same = key == before;
        if is_same {
            *sum = sum.saturating_add(*count);
        }
        is_same
    });
    (blocks, branches)
}

/// Encodes the body of a code section.
fn code(owner: u64, blocks: &[Block], branches: &[Branch]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put(&mut bytes, owner);
    let shapes: BTreeSet<_> = blocks.iter().map(|(key, _)| key.4).collect();
    let shapes: Vec<_> = shapes.into_iter().collect();
    put(&mut bytes, shapes.len() as u64);
    shapes.iter().for_each(|shape| bytes.extend(shape.0));
    put(&mut bytes, blocks.len() as u64);
    let mut end = 0;
    let mut taken: HashMap<u64, u64> = HashMap::with_capacity_and_hasher(blocks.len(), NumberHash::default());
    for &((_, address, len, count, shape), runs) in blocks {
        // Most blocks follow the one before.
        put_signed(&mut bytes, address.wrapping_sub(end) as i64);
        put(&mut bytes, len.into());
        let short = u64::from(len) / u64::from(shape.isa().map_or(4, Isa::shortest));
        put_signed(&mut bytes, short.wrapping_sub(count.into()) as i64);
        let number = shapes.binary_search(&shape).unwrap_or(0) as u64;
        let counts = [runs.taken, runs.not_taken, runs.through];
        let which = (0..3).filter(|&i| counts[i] > 0).fold(0, |which, i| which | 1 << i);
        put(&mut bytes, number << 3 | which);
        counts.into_iter().filter(|&count| count > 0).for_each(|count| put(&mut bytes, count));
        end = address.wrapping_add(len.into());
        let last = address.wrapping_add(u64::from(len).saturating_sub(shape.last_len().into()));
        let sum = taken.entry(last).or_default();
        *sum = sum.saturating_add(runs.taken);
    }
    let groups = || branches.chunk_by(|(one, _), (other, _)| one.1 == other.1);
    put(&mut bytes, groups().count() as u64);
    let mut last = 0;
    for targets in groups() {
        let from = targets[0].0.1;
        put(&mut bytes, from - last);
        let stays = targets.iter().all(|((.., in_binary, _), _)| *in_binary == owner);
        put(&mut bytes, (targets.len() as u64 - 1) << 1 | u64::from(stays));
        let mut left = taken.get(&from).copied().unwrap_or(0);
        for (number, &((.., in_binary, address), count)) in targets.iter().enumerate() {
            if !stays {
                put(&mut bytes, in_binary);
            }
            put_signed(&mut bytes, address.wrapping_sub(from) as i64);
            // The last target usually has the rest of the taken count.
            let is_rest = number + 1 == targets.len() && count == left;
            put(&mut bytes, if is_rest { 0 } else { count });
            left = left.saturating_sub(count);
        }
        last = from;
    }
    bytes
}
