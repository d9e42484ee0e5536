//! Converts branch lists to profiles by following the code, and profiles to branch lists.

use tracewright_core::{Block, Class, Ended, Isa, MemorySpace};
use tracewright_flow::Instructions;
use tracewright_flow::hash::HashMap;
use tracewright_image::Image;

use super::{BranchList, Listed, ListedKind, Outcomes};
use crate::counts::{Code, Place, Profile};

/// Upper bound on the instructions of a block. No real code reaches it.
const MOST: usize = 1 << 14;

/// Number of branches that could and could not be followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expanded {
    /// Branches that were followed.
    pub followed: u64,
    /// Branches for which there is no code, or code that cannot be what ran.
    pub lost: u64,
}

/// A block, and the direct target of its last instruction.
#[derive(Clone, Copy)]
struct Step {
    code: Code,
    target: Option<u64>,
}

impl Expanded {
    /// Adds the branches of one binary to `profile`, where the binary has this number. Its code is in `space`.
    pub fn add(
        &mut self,
        profile: &mut Profile,
        number: u32,
        listed: &Listed,
        (image, space, isa): (&Image, MemorySpace, Isa),
    ) {
        let mut steps: HashMap<u64, Option<Vec<Step>>> = HashMap::default();
        for (&start, branches) in &listed.branches {
            for (outcomes, &count) in branches {
                let mut at = Some(start);
                for taken in outcomes.iter() {
                    let found = at.and_then(|at| {
                        steps
                            .entry(at)
                            .or_insert_with(|| scan(image, space, isa, Place { binary: number, address: at }))
                            .as_ref()
                    });
                    let Some((last, before)) = found.and_then(|steps| steps.split_last()) else {
                        // Without code, the next address is not known.
                        self.lost += count;
                        at = None;
                        continue;
                    };
                    self.followed += count;
                    for step in before {
                        add(profile, &step.code, Ended::Through, count);
                    }
                    add(profile, &last.code, if taken { Ended::Taken } else { Ended::NotTaken }, count);
                    at = if taken { last.target } else { Some(last.code.end().address) };
                    if let (true, Some(target)) = (taken, last.target) {
                        let edge = (last.code.last(), Place { binary: number, address: target });
                        *profile.branches.entry(edge).or_default() += count;
                    }
                }
            }
        }
    }
}

fn add(profile: &mut Profile, code: &Code, ended: Ended, count: u64) {
    let runs = profile.blocks.entry(*code).or_default();
    runs.add(ended, count);
    profile.funnel.instructions += count * u64::from(code.count);
}

/// Returns the blocks from `start` up to the next branch, which ends the last of them.
fn scan(image: &Image, space: MemorySpace, isa: Isa, start: Place) -> Option<Vec<Step>> {
    let block = Block {
        start: start.address,
        end: u64::MAX,
        count: 0,
        isa,
        last_len: 0,
        class: Class::NEXT,
        ended: Ended::Cut,
    };
    let (mut steps, mut first, mut count) = (Vec::new(), start.address, 0);
    for instruction in Instructions::new(image, space, &block).take(MOST) {
        count += 1;
        if !instruction.class.ends_block() {
            continue;
        }
        let end = instruction.address.wrapping_add(instruction.len.into());
        let code = Code {
            start: Place { address: first, ..start },
            len: end.wrapping_sub(first) as u32,
            count,
            isa,
            last_len: instruction.len,
            class: instruction.class,
        };
        steps.push(Step { code, target: instruction.target });
        if instruction.class.is_branch() {
            return Some(steps);
        }
        (first, count) = (end, 0);
    }
    None
}

/// Converts a profile to a branch list: each block that ends with a branch becomes an address with one branch. Other
/// blocks are left out because a branch list cannot express them.
pub fn of_profile(profile: &Profile) -> BranchList {
    let mut list = BranchList::default();
    for (number, binary) in (0..).zip(&profile.binaries).filter(|(_, binary)| binary.is_elf) {
        let kind = match &*binary.name {
            name if name.starts_with("[kernel") || name.ends_with("vmlinux") => ListedKind::Kernel,
            name if name.ends_with(".ko") => ListedKind::Module,
            _ => ListedKind::Elf,
        };
        let mut build_id = binary.build_id.clone();
        build_id.resize(20, 0);
        let mut listed = Listed { path: binary.name.clone(), build_id, kind, ..Listed::default() };
        for (code, runs) in profile.blocks.iter().filter(|(code, _)| code.start.binary == number) {
            for (taken, count) in [(true, runs.taken), (false, runs.not_taken)] {
                if count > 0 {
                    let from = listed.branches.entry(code.start.address).or_default();
                    *from.entry(Outcomes::from(taken)).or_default() += count;
                }
            }
        }
        if !listed.branches.is_empty() {
            list.binaries.push(listed);
        }
    }
    list
}
