//! Units, operands and retirement, worked out by hand.

use tracewright_core::{Block, Ended, Isa};
use tracewright_hart::timing::{CacheConfig, Config, Predictor, Reason, Retire};
use tracewright_isa::riscv::{self, Xlen};

use super::program::*;

#[test]
fn the_example_of_the_documentation() {
    let config = Config { predictor: Predictor::Static, ..ideal() };
    let mut run = Run::new(&config);
    run.accessing(0x100, &[ld(10, 11), addi(10, 10), addi(12, 12), beq_forward()], &[64], Ended::Taken);
    run.accessing(0x11c, &[ld(10, 11)], &[64], Ended::Cut);
    assert_eq!(run.cycles, [1, 3, 4, 5, 9]);
    assert_eq!((run.stall(Reason::LoadUse), run.stall(Reason::Mispredict)), (1, 3));
    assert_eq!((run.stats().busy, run.stats().cycles), (5, 9));
}

#[test]
fn dependent_additions_take_a_cycle_each() {
    for config in [ideal(), wide(2), wide(4)] {
        let cycles = cycles(&config, &[addi(5, 5); 100]);
        assert_eq!(cycles, (1..=100).collect::<Vec<_>>());
    }
}

#[test]
fn independent_additions_go_as_wide_as_it_is() {
    let bits: Vec<u32> = (0..120).map(|i| addi(5 + i % 12, 0)).collect();
    for width in 1..=4 {
        let expected: Vec<u64> = (0..120).map(|i| 1 + i / u64::from(width)).collect();
        assert_eq!(cycles(&wide(width), &bits), expected);
    }
}

#[test]
fn issue_and_retirement_can_differ() {
    let bits: Vec<u32> = (0..40).map(|i| addi(5 + i % 12, 0)).collect();
    let config = Config { retire_width: 1, ..wide(2) };
    assert_eq!(cycles(&config, &bits), (1..=40).collect::<Vec<_>>());
    let config = Config { issue_width: 1, ..wide(2) };
    assert_eq!(cycles(&config, &bits), (1..=40).collect::<Vec<_>>());
}

#[test]
fn a_narrow_fetch_feeds_one_a_cycle() {
    let config = Config { fetch_bytes: 4, ..wide(2) };
    let bits: Vec<u32> = (0..40).map(|i| addi(5 + i % 12, 0)).collect();
    assert_eq!(cycles(&config, &bits), (1..=40).collect::<Vec<_>>());
    // Compressed additions (c.addi x8, 1) to the same register: two come at once, one begins.
    assert_eq!(cycles(&config, &[0x0405; 6]), [1, 2, 3, 4, 5, 6]);
    // c.addi to different ones.
    assert_eq!(cycles(&config, &[0x0405, 0x0485, 0x0505, 0x0585]), [1, 1, 2, 2]);
}

#[test]
fn an_instruction_over_two_groups_takes_two_fetches() {
    let mut run = Run::new(&ideal());
    run.block(2, &[addi(5, 5), addi(5, 5)], Ended::Cut);
    assert_eq!(run.cycles, [2, 3]);
    assert_eq!(run.stall(Reason::Fetch), 1);
}

#[test]
fn a_load_costs_its_user_the_bubble_and_others_nothing() {
    for load_use in 0..5 {
        let config = Config { load_use, ..ideal() };
        let used = 2 + u64::from(load_use);
        assert_eq!(cycles(&config, &[ld(5, 6), addi(5, 5)]), [1, used]);
        assert_eq!(cycles(&config, &[ld(5, 6), addi(7, 7), addi(7, 7)]), [1, 2, 3]);
        assert_eq!(cycles(&config, &[ld(5, 6), addi(7, 7), addi(5, 5)]), [1, 2, used.max(3)]);
        let mut run = Run::new(&config);
        run.block(0, &[ld(5, 6), addi(5, 5)], Ended::Cut);
        assert_eq!(run.stall(Reason::LoadUse), u64::from(load_use));
    }
    // A cache with a longer hit time is like a longer bubble.
    let config = Config { dcache: CacheConfig { hit: 3, ..ideal().dcache }, ..ideal() };
    assert_eq!(cycles(&config, &[ld(5, 6), addi(5, 5)]), [1, 5]);
}

#[test]
fn products() {
    let config = Config { multiply: 4, ..ideal() };
    assert_eq!(cycles(&config, &[mul(5, 6, 7), addi(8, 5)]), [1, 5]);
    // One per cycle, and independent instructions pass.
    assert_eq!(cycles(&config, &[mul(5, 6, 7), mul(8, 6, 7), addi(9, 9), addi(8, 8)]), [1, 2, 3, 6]);
    let config = Config { multiply_pipelined: false, ..config };
    assert_eq!(cycles(&config, &[mul(5, 6, 7), mul(8, 6, 7), addi(9, 9)]), [1, 5, 6]);
}

#[test]
fn quotients_one_at_a_time() {
    let config = Config { divide: 20, divide_word: 10, ..ideal() };
    assert_eq!(cycles(&config, &[div(5, 6, 7), addi(8, 8), addi(5, 5)]), [1, 2, 21]);
    assert_eq!(cycles(&config, &[div(5, 6, 7), div(8, 6, 7), addi(9, 9)]), [1, 21, 22]);
    assert_eq!(cycles(&config, &[divw(5, 6, 7), div(8, 6, 7), addi(9, 9)]), [1, 11, 12]);
    let mut run = Run::new(&config);
    run.block(0, &[div(5, 6, 7), addi(5, 5)], Ended::Cut);
    assert_eq!(run.stall(Reason::MultiplyDivide), 19);
}

#[test]
fn floating_point_registers_are_others() {
    let config = Config { float_add: 4, ..ideal() };
    assert_eq!(cycles(&config, &[fadd_d(5, 6, 7), addi(5, 5), fadd_d(6, 5, 5)]), [1, 2, 5]);
    // f0 is an ordinary register.
    assert_eq!(cycles(&config, &[fadd_d(0, 6, 7), fadd_d(6, 0, 5)]), [1, 5]);
    let mut run = Run::new(&config);
    run.block(0, &[fadd_d(5, 6, 7), fadd_d(5, 5, 5)], Ended::Cut);
    assert_eq!(run.stall(Reason::Float), 3);
}

#[test]
fn each_floating_point_operation_takes_its_time() {
    let config = Config {
        float_add: 2,
        float_multiply: 3,
        float_fused: 4,
        float_divide: 20,
        float_divide_single: 10,
        float_sqrt: 21,
        float_sqrt_single: 11,
        float_convert: 5,
        ..ideal()
    };
    // OP-FP with this `funct7`, to f5.
    let op_fp = |funct7: u32, rs2: u32| funct7 << 25 | rs2 << 20 | 6 << 15 | 7 << 12 | 5 << 7 | 0x53;
    let cases = [
        (op_fp(0x00, 7), 2),                                        // fadd.s
        (op_fp(0x05, 7), 2),                                        // fsub.d
        (op_fp(0x09, 7), 3),                                        // fmul.d
        (8 << 27 | 1 << 25 | 6 << 15 | 7 << 12 | 5 << 7 | 0x43, 4), // fmadd.d
        (op_fp(0x0d, 7), 20),                                       // fdiv.d
        (op_fp(0x0c, 7), 10),                                       // fdiv.s
        (op_fp(0x2d, 0), 21),                                       // fsqrt.d
        (op_fp(0x2c, 0), 11),                                       // fsqrt.s
        (op_fp(0x20, 1), 5),                                        // fcvt.s.d
        (op_fp(0x69, 2), 5),                                        // fcvt.d.l
    ];
    for (bits, latency) in cases {
        assert_eq!(cycles(&config, &[bits, fadd_d(5, 5, 5)]), [1, 1 + latency], "{bits:#x}");
        // Only divisions and roots occupy their unit.
        let next = if latency >= 10 { 1 + latency } else { 2 };
        assert_eq!(cycles(&config, &[bits, bits, addi(5, 5)]), [1, next, next + 1], "{bits:#x}");
    }
}

#[test]
fn x0_is_never_waited_for() {
    assert_eq!(cycles(&ideal(), &[div(0, 6, 7), addi(5, 0)]), [1, 2]);
}

#[test]
fn retiring_when_complete() {
    let config = Config { retire: Retire::Complete, hidden_latency: 0, multiply: 4, ..ideal() };
    // The product retires when it is ready, in the cycle before its user can begin; what follows retires after it.
    assert_eq!(cycles(&config, &[mul(5, 6, 7), addi(8, 8), addi(5, 5)]), [4, 5, 6]);
    let hidden = Config { hidden_latency: 2, ..config };
    assert_eq!(cycles(&hidden, &[mul(5, 6, 7), addi(8, 8)]), [2, 3]);
    // Four that are done retire two per cycle.
    let bits = [mul(5, 6, 7), addi(8, 8), addi(9, 9), addi(10, 10)];
    assert_eq!(cycles(&Config { retire_width: 2, ..config }, &bits), [4, 4, 5, 5]);
    // With room for two, the third begins when the first has left, in cycle 5; the fourth in the next.
    assert_eq!(cycles(&Config { retire_width: 2, window: 2, ..config }, &bits), [4, 4, 5, 6]);
    let bits = [mul(5, 6, 7), addi(8, 8), mul(9, 6, 7)];
    assert_eq!(cycles(&Config { retire_width: 2, window: 2, ..config }, &bits), [4, 4, 8]);
}

#[test]
fn one_memory_access_and_one_branch_a_cycle() {
    assert_eq!(cycles(&wide(2), &[ld(5, 10), ld(6, 10), addi(7, 7), ld(8, 10)]), [1, 2, 2, 3]);
    let mut run = Run::new(&wide(2));
    run.block(0, &[beq_forward()], Ended::NotTaken).block(4, &[beq_forward()], Ended::NotTaken);
    assert_eq!(run.cycles, [1, 2]);
}

#[test]
fn a_csr_access_is_alone() {
    let config = Config { csr: 4, ..wide(2) };
    let mut run = Run::new(&config);
    run.block(0, &[addi(5, 5), csr(6), addi(7, 7)], Ended::Cut);
    assert_eq!(run.cycles, [1, 2, 6]);
    assert_eq!(run.stall(Reason::Serialize), 3);
}

#[test]
fn the_number_in_a_csr_access_is_no_register() {
    // csrrwi x0, mscratch, 5
    assert_eq!(cycles(&ideal(), &[div(5, 6, 7), 0x340 << 20 | 5 << 15 | 5 << 12 | 0x73]), [1, 2]);
}

#[test]
fn the_same_bits_are_another_instruction_in_rv32() {
    let mut run = Run::new(&ideal());
    // c.addiw in RV64, c.jal in RV32.
    run.block(0x100, &[0x2405], Ended::Cut);
    let block = Block {
        start: 0x102,
        end: 0x104,
        count: 1,
        isa: Isa::Rv32,
        last_len: 2,
        class: riscv::decode(Xlen::Rv32, 0x2405).class(),
        ended: Ended::Taken,
    };
    run.model.block(&block, &[0x2405], &[], &mut run.cycles);
    assert_eq!(run.stats().redirects, 1);
}
