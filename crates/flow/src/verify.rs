use tracewright_core::{Block, Ended, Flow, Isa, MemorySpace, Mismatch};
use tracewright_image::{Image, UNKNOWN_TARGET};
use tracewright_isa::{self as isa, ItState};

use crate::scan::instruction;

/// Compares blocks that something else than a trace reports, such as a log, with a program.
///
/// A log has addresses, and what the last instruction of a block does. The program contradicts them if its code cannot have run so: a
/// block ends inside an instruction or beyond a branch, its last instruction is another kind of branch, or a branch leads elsewhere.
/// Code that is in no image contradicts nothing. One check is for one image.
#[derive(Clone, Debug)]
pub struct BlockCheck {
    /// Results of blocks that were compared lately.
    lately: Vec<Option<Checked>>,
    /// The last block's branch and its target, if the next block must begin there.
    branch: Option<(u64, u64)>,
}

/// Result of a block, which depends on the memory space that it ran in.
#[derive(Clone, Copy, Debug)]
struct Checked {
    block: Block,
    space: MemorySpace,
    target: Option<u64>,
    result: Result<bool, Mismatch>,
}

const LATELY: usize = 1 << 12;

impl Default for BlockCheck {
    fn default() -> Self {
        Self { lately: vec![None; LATELY], branch: None }
    }
}

impl BlockCheck {
    /// Compares the next block, whose code is in `space` of `image`. Returns whether an image has all of its code.
    ///
    /// # Errors
    /// Returns the contradiction, if there is one.
    #[inline]
    pub fn block(&mut self, image: &Image, space: MemorySpace, block: &Block) -> Result<bool, Mismatch> {
        let slot = (block.start >> 1 ^ block.start >> 12) as usize % LATELY;
        let checked = match self.lately[slot] {
            Some(checked) if checked.block == *block && checked.space == space => checked,
            _ => self.compare(slot, image, space, block),
        };
        let branch = match checked.target {
            Some(target) => self.branch.replace((block.last(), target)),
            None => self.branch.take(),
        };
        match branch {
            Some((from, target)) if target != block.start => Err(Mismatch::Missed { from, to: block.start }),
            _ => checked.result,
        }
    }

    /// Allows the next block to begin anywhere: an exception was taken, or part of the log is missing.
    pub fn interrupt(&mut self) {
        self.branch = None;
    }

    #[cold]
    fn compare(&mut self, slot: usize, image: &Image, space: MemorySpace, block: &Block) -> Checked {
        let last = last_of(image, space, block);
        let target = match last {
            Ok(Some((Flow::Direct, target))) if block.ended == Ended::Taken => Some(target),
            _ => None,
        };
        let target = target.filter(|&target| target != UNKNOWN_TARGET);
        let checked = Checked { block: *block, space, target, result: last.map(|last| last.is_some()) };
        self.lately[slot] = Some(checked);
        checked
    }
}

/// Compares one block with the program, as [`BlockCheck::block`] does. A `count` of 0 says that the number of instructions is not known.
///
/// # Errors
/// Returns the contradiction, if there is one.
pub fn check_block(image: &Image, space: MemorySpace, block: &Block) -> Result<bool, Mismatch> {
    last_of(image, space, block).map(|last| last.is_some())
}

/// Returns flow and target of the last instruction of a block, if no image contradicts the block. Returns `None` if code is missing.
fn last_of(image: &Image, space: MemorySpace, block: &Block) -> Result<Option<(Flow, u64)>, Mismatch> {
    let missed = Err(Mismatch::Missed { from: block.start, to: block.last() });
    let (mut at, mut count, mut it) = (block.start, 0, ItState::default());
    let len = block.end.wrapping_sub(block.start);
    if block.isa == Isa::A64 && !at.is_multiple_of(4) && !image.read(at, space).is_empty() {
        return Err(Mismatch::NotCode(at));
    }
    loop {
        if isa::is_undefined(block.isa, image.read(at, space)) && it == ItState::default() {
            return Err(Mismatch::NotCode(at));
        }
        let Some(found) = instruction(image, space, at, block.isa, &mut it) else { return Ok(None) };
        at = at.wrapping_add(found.len.into());
        count += 1;
        let done = at.wrapping_sub(block.start);
        if done < len {
            // Who does not count instructions does not end blocks at barriers and waits.
            let is_end = if block.count == 0 { found.class.is_branch() } else { found.class.ends_block() };
            match is_end {
                true => return missed,
                false => continue,
            }
        }
        let is_whole =
            done == len && found.len == block.last_len && (block.count == 0 || count == block.count);
        return match block.ended {
            _ if !is_whole => missed,
            // What comes from outside can end a block after any instruction.
            Ended::Cut => Ok(Some((Flow::Next, 0))),
            _ if kind(found.class.flow) != kind(block.class.flow) => missed,
            // A block that begins inside an IT block does not show its conditions.
            _ if block.isa != Isa::T32 && found.class.conditional != block.class.conditional => missed,
            _ => Ok(Some((found.class.flow, found.target))),
        };
    }
}

/// Returns what a block tells of its last instruction: where the branch of a pair leads is not known without the instruction before it.
fn kind(flow: Flow) -> Flow {
    if flow == Flow::Pair { Flow::Indirect } else { flow }
}

#[cfg(test)]
mod tests {
    use tracewright_core::{Class, Role};
    use tracewright_image::Bytes;

    use super::*;

    /// A program at 0x1000: nop; beqz a0, 0x1000; c.nop; j 0x1000; 4 zeros.
    fn image() -> Image {
        let code = [
            &0x0000_0013_u32.to_le_bytes()[..],
            &0xfe05_0ee3_u32.to_le_bytes(),
            &1_u16.to_le_bytes(),
            &0xff7f_f06f_u32.to_le_bytes(),
            &[0; 4],
        ];
        let mut builder = Image::builder();
        builder.raw("", Bytes::from(code.concat()), 0x1000, MemorySpace::ANY).unwrap();
        builder.build()
    }

    const BRANCH: Class = Class { flow: Flow::Direct, role: Role::Jump, conditional: true };
    const JUMP: Class = Class { conditional: false, ..BRANCH };

    fn block(start: u64, end: u64, count: u32, class: Class, ended: Ended) -> Block {
        Block { start, end, count, isa: Isa::Rv64, last_len: 4, class, ended }
    }

    #[test]
    fn what_a_program_cannot_have_done_is_a_mismatch() {
        let image = image();
        let check = |block: &Block| check_block(&image, MemorySpace::ANY, block);
        let missed = |from, to| Err(Mismatch::Missed { from, to });
        let branch = block(0x1000, 0x1008, 2, BRANCH, Ended::Taken);
        let jump = block(0x1008, 0x100e, 2, JUMP, Ended::Taken);
        for good in [branch, Block { ended: Ended::NotTaken, ..branch }, jump, Block { count: 0, ..jump }] {
            assert_eq!(check(&good), Ok(true), "{good:?}");
        }
        let cut = Block { end: 0x1004, count: 1, class: Class::NEXT, ended: Ended::Cut, ..branch };
        assert_eq!(check(&cut), Ok(true));
        // Another kind of branch, another number of instructions, an end inside an instruction, a branch inside.
        assert_eq!(check(&Block { class: JUMP, ..branch }), missed(0x1000, 0x1004));
        assert_eq!(
            check(&Block { class: Class { flow: Flow::Indirect, ..JUMP }, ..jump }),
            missed(0x1008, 0x100a)
        );
        assert_eq!(check(&Block { count: 3, ..branch }), missed(0x1000, 0x1004));
        assert_eq!(check(&Block { end: 0x100c, last_len: 2, ..jump }), missed(0x1008, 0x100a));
        assert_eq!(check(&Block { last_len: 2, ..jump }), missed(0x1008, 0x100c));
        assert_eq!(check(&block(0x1000, 0x100e, 4, JUMP, Ended::Taken)), missed(0x1000, 0x100a));
        // No code, and what is not known.
        assert_eq!(check(&block(0x100e, 0x1012, 1, JUMP, Ended::Taken)), Err(Mismatch::NotCode(0x100e)));
        assert_eq!(check(&block(0x2000, 0x2012, 1, JUMP, Ended::Taken)), Ok(false));
    }

    /// The same addresses have other code in another space.
    #[test]
    fn each_memory_space_has_its_own_code() {
        let (nop, jump) = (0x0000_0013_u32.to_le_bytes(), 0x0000_006f_u32.to_le_bytes());
        let (one, other) = (MemorySpace::EL1N, MemorySpace::EL3);
        let mut builder = Image::builder();
        builder.raw("one", Bytes::from(jump.to_vec()), 0x1000, one).unwrap();
        builder.raw("other", Bytes::from(nop.to_vec()), 0x1000, other).unwrap();
        let image = builder.build();
        let (mut check, jump) = (BlockCheck::default(), block(0x1000, 0x1004, 1, JUMP, Ended::Taken));
        assert_eq!(check.block(&image, one, &jump), Ok(true));
        assert!(check.block(&image, other, &jump).is_err());
    }

    #[test]
    fn a_branch_leads_to_the_next_block() {
        let image = image();
        let mut check = BlockCheck::default();
        let branch = block(0x1000, 0x1008, 2, BRANCH, Ended::Taken);
        let jump = block(0x1008, 0x100e, 2, JUMP, Ended::Taken);
        let mut next = |block: &Block| check.block(&image, MemorySpace::ANY, block);
        for _ in 0..2 {
            assert_eq!(next(&branch), Ok(true));
            assert_eq!(next(&Block { ended: Ended::NotTaken, ..branch }), Ok(true));
            assert_eq!(next(&jump), Ok(true));
        }
        assert_eq!(next(&jump), Err(Mismatch::Missed { from: 0x100a, to: 0x1008 }));
        // An exception may lead anywhere.
        check.interrupt();
        assert_eq!(check.block(&image, MemorySpace::ANY, &jump), Ok(true));
    }
}
