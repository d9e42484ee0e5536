//! Checks of what decoders emit, and damage of what they read.

use tracewright_core::{Block, Element, Ended, Flow, MemorySpace};
use tracewright_flow::Instructions;
use tracewright_image::Image;

use crate::Rng;

/// Checks that blocks are of the program and follow each other as it allows.
pub fn check_blocks(image: &Image, elements: &[(u64, Element)]) {
    let mut before: Option<Block> = None;
    for (offset, element) in elements {
        let Element::Block(block) = element else {
            if !matches!(element, Element::Context(..) | Element::Timestamp { .. }) {
                before = None;
            }
            continue;
        };
        let count = Instructions::new(image, MemorySpace::ANY, block).count();
        assert_eq!(count, block.count as usize, "{offset:#x} {block:x?}");
        if let Some(before) = before {
            let follows = match (before.ended, before.class.flow) {
                (Ended::Taken, Flow::Direct) => target(image, &before) == Some(block.start),
                (Ended::Taken, _) => true,
                (Ended::NotTaken | Ended::Through, _) => before.end == block.start,
                (Ended::Cut, _) => false,
            };
            assert!(follows, "{offset:#x} {before:x?} then {block:x?}");
        }
        before = Some(*block);
    }
}

fn target(image: &Image, block: &Block) -> Option<u64> {
    let mut bytes = [0; 4];
    image.read_into(block.last(), MemorySpace::ANY, &mut bytes);
    let found = tracewright_isa::decode(block.isa, block.last(), &bytes, &mut Default::default())?;
    Some(found.target)
}

/// Changes, removes or cuts off bytes at a few places.
pub fn damage(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..rng.below(8) {
        if bytes.is_empty() {
            return;
        }
        let at = rng.below(bytes.len() as u64) as usize;
        match rng.below(4) {
            0 => bytes[at] = rng.next_u64() as u8,
            1 => bytes[at] ^= 1 << rng.below(8),
            2 => drop(bytes.drain(at..(at + rng.below(50) as usize).min(bytes.len()))),
            _ => bytes.truncate(at),
        }
    }
}
