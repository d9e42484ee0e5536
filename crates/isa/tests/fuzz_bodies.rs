//! What a fuzzer runs, as plain functions; here each is run on some thousands of random inputs.

use tracewright_core::{Flow, Isa};
use tracewright_isa::{ItState, a32, a64, decode, t32};
use tracewright_testkit::Rng;

/// Any bytes as a program: it is read to its end, and every instruction is consistent in itself. The first byte chooses
/// the instruction set, the next eight are the address.
pub fn instructions(data: &[u8]) {
    let Some((&[choice, ref address @ ..], mut code)) = data.split_first_chunk::<9>() else { return };
    let isa = [Isa::A64, Isa::A32, Isa::T32][usize::from(choice % 3)];
    let mut address = u64::from_le_bytes(*address) & !3;
    let mut it = ItState::default();
    loop {
        let before = it;
        let Some(instruction) = decode(isa, address, code, &mut it) else {
            // Too few bytes, and then the state is as it was.
            assert!(code.len() < 4);
            assert_eq!(it, before);
            break;
        };
        let (this, rest) = code.split_at(usize::from(instruction.len));
        assert_eq!(decode(isa, address, &this[..this.len() - 1], &mut it.clone()), None);

        let half =
            |at: usize| this.get(at..at + 2).map_or(0, |half| u32::from(half[1]) << 8 | u32::from(half[0]));
        let mut state = before;
        let again = match isa {
            Isa::A64 => a64::decode(address, half(2) << 16 | half(0)),
            Isa::A32 => a32::decode(address, half(2) << 16 | half(0)),
            Isa::T32 => t32::decode(address, half(0) << 16 | half(2), &mut state),
        };
        assert_eq!((again, state), (instruction, it));

        let step = if instruction.target_isa == Isa::T32 { 2 } else { 4 };
        assert_eq!(instruction.target % step, 0);
        assert!(isa == Isa::A64 || instruction.target < 1 << 32);
        assert!(
            instruction.class.flow == Flow::Direct
                || (instruction.target, instruction.target_isa) == (0, isa)
        );

        code = rest;
        address = address.wrapping_add(u64::from(instruction.len));
    }
}

#[test]
fn instructions_on_random_input() {
    let mut rng = Rng::new(7);
    for _ in 0..20_000 {
        let len = rng.below(400) as usize;
        instructions(&rng.bytes(len));
    }
}
