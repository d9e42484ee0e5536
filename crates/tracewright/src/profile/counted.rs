//! Blocks counted while they are decoded, without making any.

use tracewright_core::{Block, Element, Ended, Flow, MemorySpace};
use tracewright_engine::{At, Consumer, WantedBlocks};
use tracewright_flow as flow;
use tracewright_flow::hash::HashMap;
use tracewright_image::Image;
use tracewright_isa::{ItState, decode};
use tracewright_profile::{Binary, Code, Place, Profile};

/// Counts how often each block ran. Its output becomes a profile with [`in_binaries`].
#[derive(Clone, Copy, Debug)]
pub struct BlockCounter;

impl Consumer for BlockCounter {
    const BLOCKS: WantedBlocks = WantedBlocks::Counted;
    type State = ();
    type Output = flow::BlockCounts;

    fn element(&self, _: &mut (), _: &mut flow::BlockCounts, _: &At<'_>, _: &Element) {}

    fn counted(&self, output: &mut flow::BlockCounts, counts: flow::BlockCounts) {
        output.merge(counts);
    }

    fn merge(&self, into: &mut flow::BlockCounts, later: flow::BlockCounts) {
        into.merge(later);
    }
}

/// Turns counts by address into a profile of binaries.
pub fn in_binaries(flow::BlockCounts { blocks, indirect }: flow::BlockCounts, image: &Image) -> Profile {
    let mut profile = Profile::default();
    let mut places = Locator::new(image);
    // In the order of addresses, so that binaries have the same numbers each time.
    let mut blocks: Vec<_> = blocks.into_iter().collect();
    blocks.sort_unstable_by_key(|((block, space), _)| {
        (space.process(), space.bits(), block.start, block.count)
    });
    for ((block, space), count) in &blocks {
        let code = Code::of(block, places.of(&mut profile, block.start, *space));
        profile.funnel.instructions += u64::from(block.count) * count;
        profile.blocks.entry(code).or_default().add(block.ended, *count);
    }
    // The trace reports where pairs went, or leaves it out.
    let mut told: HashMap<flow::Where, u64> = HashMap::default();
    indirect.iter().for_each(|((from, _), count)| *told.entry(*from).or_default() += count);
    for ((block, space), count) in blocks.iter().filter(|((block, _), _)| block.ended == Ended::Taken) {
        if let Some(to) = target(image, block, *space) {
            let told = match block.class.flow {
                Flow::Pair => told.get_mut(&(block.last(), *space)).map_or(0, |told| {
                    let of_this = (*told).min(*count);
                    *told -= of_this;
                    of_this
                }),
                _ => 0,
            };
            let from = places.of(&mut profile, block.last(), *space);
            let to = places.of(&mut profile, to, *space);
            if *count > told {
                *profile.branches.entry((from, to)).or_default() += count - told;
            }
        }
    }
    let mut indirect: Vec<_> = indirect.into_iter().collect();
    indirect.sort_unstable_by_key(|((from, to), _)| {
        (from.1.process(), from.1.bits(), from.0, to.1.process(), to.1.bits(), to.0)
    });
    for (((from, from_space), (to, to_space)), count) in indirect {
        let (from, to) = (places.of(&mut profile, from, from_space), places.of(&mut profile, to, to_space));
        *profile.branches.entry((from, to)).or_default() += count;
    }
    profile
}

/// Returns where the branch at the end of a block goes, if that is the same each time.
fn target(image: &Image, block: &Block, space: MemorySpace) -> Option<u64> {
    match block.class.flow {
        Flow::Direct if image.is_unrelocated(block.last(), space) => return None,
        Flow::Direct => {}
        Flow::Pair => return flow::pair_target(image, space, block),
        _ => return None,
    }
    let mut bytes = [0; 4];
    let len = image.read_into(block.last(), space, &mut bytes[..block.last_len.min(4).into()]);
    let found = decode(block.isa, block.last(), &bytes, &mut ItState::default())?;
    (len == usize::from(block.last_len)).then_some(found.target)
}

/// Turns addresses in memory into places in binaries.
pub(super) struct Locator<'i> {
    image: &'i Image,
    /// The binary's number, by file of the image.
    binaries: HashMap<u32, u32>,
}

impl<'i> Locator<'i> {
    pub fn new(image: &'i Image) -> Self {
        Self { image, binaries: HashMap::default() }
    }

    /// Returns the place of an address. Adds its binary to the profile if it is new.
    pub fn of(&mut self, profile: &mut Profile, address: u64, space: MemorySpace) -> Place {
        let Some((file, address)) = self.image.place(address, space) else {
            return Place { binary: Place::NOWHERE, address };
        };
        let binary = *self.binaries.entry(file).or_insert_with(|| {
            let Some(found) = self.image.files().nth(file as usize) else { return Place::NOWHERE };
            profile.binary(Binary::of(&found))
        });
        Place { binary, address }
    }
}
