//! The encodings that are compared.

use tracewright_testkit::Rng;

/// Returns all 16-bit encodings.
pub fn compressed() -> impl Iterator<Item = u32> {
    (0..=0xffff).filter(|half| half & 3 != 3)
}

/// Returns 32-bit encodings: every opcode with every funct3 and funct7, `each` times with operands that are often
/// special; every value of rs2 where it selects the operation; every CSR with every CSR instruction; all instructions
/// without operands and their neighbours; then as many random ones.
pub fn words(each: u32) -> Vec<u32> {
    let mut rng = Rng::new(11);
    let mut words = Vec::new();
    // Bits 4:2 all ones begin a longer instruction.
    let opcodes = || (0..32_u32).filter(|opcode| opcode & 7 != 7).map(|opcode| opcode << 2 | 3);
    for opcode in opcodes() {
        for funct in 0..1 << 10 {
            for _ in 0..each {
                words.push(opcode | (funct & 7) << 12 | (funct >> 3) << 25 | operands(&mut rng));
            }
        }
    }
    // Where rs2 is part of the operation (OP-IMM, OP-IMM-32, OP-32, OP-FP): all of bits 31:20.
    for opcode in [0x13, 0x1b, 0x3b, 0x53] {
        for funct in 0..1 << 15 {
            words.push(opcode | (funct & 7) << 12 | (funct >> 3) << 20 | operands(&mut rng) & 0x000f_8f80);
        }
    }
    for csr in 0..1 << 12 {
        for funct3 in 0..8 {
            words.push(0x73 | csr << 20 | funct3 << 12 | operands(&mut rng) & 0x000f_8f80);
            words.push(0x73 | csr << 20 | funct3 << 12);
        }
    }
    // Fences, environment calls and returns, with each of the other bits flipped.
    for base in [0x0000_000f, 0x0ff0_000f, 0x8330_000f, 0x0100_000f, 0x100f, 0x73, 0x1020_0073, 0x3020_0073] {
        words.extend((7..32).map(|bit| base | 1 << bit));
        words.push(base);
    }
    words.extend((0..256).map(|set| 0x0f | set << 20));
    let opcodes: Vec<_> = opcodes().collect();
    let random = words.len();
    words.extend((0..random).map(|_| rng.next_u64() as u32 & !0x7f | rng.pick(&opcodes)));
    words
}

/// Returns rd, rs1 and rs2. x0, the link registers, small and equal numbers are frequent, since they are special in
/// many places.
fn operands(rng: &mut Rng) -> u32 {
    let mut register = || match rng.below(3) {
        0 => rng.below(8) as u32,
        1 => 0,
        _ => rng.below(32) as u32,
    };
    let (rd, rs1, rs2) = (register(), register(), register());
    let rs2 = if rng.one_in(4) { rs1 } else { rs2 };
    rd << 7 | rs1 << 15 | rs2 << 20
}
