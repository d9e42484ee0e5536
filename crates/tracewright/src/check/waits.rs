//! Loops that only wait: how often they turn does not depend on the program.

use std::collections::BTreeMap;

use tracewright_capture::log::bits;
use tracewright_image::Image;
use tracewright_isa::riscv::{AccessKind, Op, Xlen, decode};

/// Longest loop that is looked at, in bytes.
const LONGEST: u64 = 64;
/// Most places that are told apart.
const MOST_PLACES: usize = 64;

/// Waits that were passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// How many times a loop was passed over.
    pub times: u64,
    /// Rounds that only one of the two sides has.
    pub rounds: u64,
    /// How many times for each branch at the end of a loop, of the first places.
    pub places: BTreeMap<u64, u64>,
}

impl Waits {
    /// Counts a wait at this branch.
    pub(super) fn add(&mut self, branch: u64) {
        self.times += 1;
        if self.places.len() < MOST_PLACES || self.places.contains_key(&branch) {
            *self.places.entry(branch).or_default() += 1;
        }
    }
}

/// Returns where the loop begins that ends with the branch at `branch`, if that loop only waits: it reads memory, writes none, and no
/// register carries a value from one round to the next. Only memory that something else changes can end it.
pub(super) fn start_of_wait(image: &Image, xlen: Xlen, branch: u64) -> Option<u64> {
    let at = |pc: u64| bits(image, pc).map(|bits| decode(xlen, bits));
    let last = at(branch)?;
    if !last.class().conditional {
        return None;
    }
    let start = branch.wrapping_add_signed(last.imm.into());
    if branch.checked_sub(start)? > LONGEST {
        return None;
    }
    let (mut body, mut pc) = (Vec::new(), start);
    while pc < branch {
        let instruction = at(pc)?;
        pc += u64::from(instruction.len);
        body.push(instruction);
    }
    let is_plain = |op: Op| !(Op::Flw as u8..=Op::FmvDX as u8).contains(&(op as u8)) && op != Op::Illegal;
    let (mut loads, mut written, mut needed) = (0, 0_u32, 0_u32);
    for instruction in body.iter().chain([&last]) {
        let is_last = std::ptr::eq(instruction, &last);
        match instruction.access() {
            None => {}
            Some((AccessKind::Load, _)) => loads += 1,
            Some(_) => return None,
        }
        let class = instruction.class();
        if pc != branch || !is_plain(instruction.op) || !is_last && class != tracewright_core::Class::NEXT {
            return None;
        }
        for register in [instruction.rs1, instruction.rs2] {
            needed |= (1 << register) & !written;
        }
        written |= 1 << instruction.rd;
    }
    // Register 0 is never written.
    (loads > 0 && needed & written & !1 == 0).then_some(start)
}

#[cfg(test)]
mod tests {
    use tracewright_core::MemorySpace;
    use tracewright_image::Bytes;

    use super::*;

    /// Looks at a loop of these instructions, at 0x1000.
    fn start(words: &[u32]) -> Option<u64> {
        let mut builder = Image::builder();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        builder.raw("", Bytes::new(bytes), 0x1000, MemorySpace::ANY).unwrap();
        start_of_wait(&builder.build(), Xlen::Rv64, 0x1000 + 4 * (words.len() as u64 - 1))
    }

    #[test]
    fn only_loops_that_nothing_but_memory_ends_are_waits() {
        let (load, beqz) = (0x0006_b783, 0xfe07_8ee3); // ld a5,0(a3); beqz a5,.-4
        assert_eq!(start(&[load, beqz]), Some(0x1000));
        // With a mask: ld a5,0(a3); andi a5,a5,1; beqz a5,.-8
        assert_eq!(start(&[load, 0x0017_f793, 0xfe07_8ce3]), Some(0x1000));
        // A pointer that moves: ld a5,0(a3); addi a3,a3,8; beqz a5,.-8
        assert_eq!(start(&[load, 0x0086_8693, 0xfe07_8ce3]), None);
        // A counter: addi a5,a5,-1; bnez a5,.-4
        assert_eq!(start(&[0xfff7_8793, 0xfe07_9ee3]), None);
        // A store: ld a5,0(a3); sd a5,0(a4); beqz a5,.-8
        assert_eq!(start(&[load, 0x00f7_3023, 0xfe07_8ce3]), None);
        // A branch forwards, and none at all.
        assert_eq!(start(&[load, 0x0007_8463]), None);
        assert_eq!(start(&[load, load]), None);
    }
}
