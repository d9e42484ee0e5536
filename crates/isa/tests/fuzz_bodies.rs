//! Fuzz bodies as plain functions, each run here on some thousands of random inputs.

use tracewright_core::{Flow, Isa};
use tracewright_isa::riscv::{self, IType, Xlen};
use tracewright_isa::{Instruction, ItState, a32, a64, decode, t32};
use tracewright_testkit::Rng;

/// Decodes any bytes as a program to its end. Every instruction is consistent in itself. The first byte selects the
/// instruction set, the next eight are the address.
pub fn instructions(data: &[u8]) {
    let Some((&[choice, ref address @ ..], mut code)) = data.split_first_chunk::<9>() else { return };
    let isa = [Isa::A64, Isa::A32, Isa::T32, Isa::Rv32, Isa::Rv64][usize::from(choice % 5)];
    let mut address = u64::from_le_bytes(*address) & !3;
    let mut it = ItState::default();
    loop {
        let before = it;
        let Some(instruction) = decode(isa, address, code, &mut it) else {
            // With too few bytes, the state does not change.
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
            Isa::Rv32 => {
                let found = risc_v(Xlen::Rv32, address, half(2) << 16 | half(0));
                Instruction { target: found.target & 0xffff_ffff, target_isa: isa, ..found }
            }
            Isa::Rv64 => {
                Instruction { target_isa: isa, ..risc_v(Xlen::Rv64, address, half(2) << 16 | half(0)) }
            }
        };
        assert_eq!((again, state), (instruction, it));

        assert_eq!(instruction.target % u64::from(instruction.target_isa.shortest()), 0);
        assert!(matches!(isa, Isa::A64 | Isa::Rv64) || instruction.target < 1 << 32);
        assert!(
            instruction.class.flow == Flow::Direct
                || (instruction.target, instruction.target_isa) == (0, isa)
        );

        code = rest;
        address = address.wrapping_add(u64::from(instruction.len));
    }
}

/// Decodes one RISC-V instruction and checks what holds for all of them.
fn risc_v(xlen: Xlen, address: u64, bits: u32) -> Instruction {
    let found = riscv::decode(xlen, bits);
    assert_eq!(found.len, riscv::len(bits as u16));
    assert!([found.rd, found.rs1, found.rs2, found.rs3].iter().all(|&register| register < 32));
    let (class, target) = (found.class(), found.target(address));
    assert_eq!(found.is_uninferable(), class.flow == Flow::Indirect);
    assert_eq!(found.itype(true) != found.itype(false), class.conditional);
    assert_eq!(found.itype(true) != IType::None, class.is_branch());
    assert!(found.access().is_none_or(|(_, size)| size.is_power_of_two() && !class.is_branch()));
    let text = found.text(address).xlen(xlen).to_string();
    assert!(text.is_ascii() && !text.is_empty() && text.trim() == text);
    Instruction { len: found.len, class, target, target_isa: Isa::Rv64 }
}

#[test]
fn instructions_on_random_input() {
    let mut rng = Rng::new(7);
    for _ in 0..20_000 {
        instructions(&rng.bytes_below(400));
    }
}
