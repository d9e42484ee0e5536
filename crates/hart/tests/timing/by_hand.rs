//! Small programs whose cycles are worked out by hand.

use tracewright_core::Ended;
use tracewright_hart::timing::{CacheConfig, Config, Predictor, Reason, Retire};
use tracewright_hart::{Access, Trap};
use tracewright_isa::riscv::AccessKind;

use crate::program::*;

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
    // A cache that takes longer to hit is as a longer bubble.
    let config = Config { dcache: CacheConfig { hit: 3, ..ideal().dcache }, ..ideal() };
    assert_eq!(cycles(&config, &[ld(5, 6), addi(5, 5)]), [1, 5]);
}

#[test]
fn products() {
    let config = Config { multiply: 4, ..ideal() };
    assert_eq!(cycles(&config, &[mul(5, 6, 7), addi(8, 5)]), [1, 5]);
    // One a cycle, and what does not use them goes by.
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
    // f0 is a register as any.
    assert_eq!(cycles(&config, &[fadd_d(0, 6, 7), fadd_d(6, 0, 5)]), [1, 5]);
    let mut run = Run::new(&config);
    run.block(0, &[fadd_d(5, 6, 7), fadd_d(5, 5, 5)], Ended::Cut);
    assert_eq!(run.stall(Reason::Float), 3);
}

#[test]
fn x0_is_never_waited_for() {
    assert_eq!(cycles(&ideal(), &[div(0, 6, 7), addi(5, 0)]), [1, 2]);
}

#[test]
fn retiring_when_complete() {
    let config = Config { retire: Retire::Complete, hidden_latency: 0, multiply: 4, ..ideal() };
    // The product retires when it is there, in the cycle before its user can begin; what comes after it, after it.
    assert_eq!(cycles(&config, &[mul(5, 6, 7), addi(8, 8), addi(5, 5)]), [4, 5, 6]);
    let hidden = Config { hidden_latency: 2, ..config };
    assert_eq!(cycles(&hidden, &[mul(5, 6, 7), addi(8, 8)]), [2, 3]);
    // Four that are done retire two a cycle.
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

/// A loop of an addition and a branch, `times` times, then out of it.
fn turns(config: &Config, times: usize) -> Run {
    let mut run = Run::new(config);
    for i in 0..times {
        let ended = if i + 1 == times { Ended::NotTaken } else { Ended::Taken };
        run.block(0x100, &[addi(5, 5), bne_back()], ended);
    }
    run.block(0x108, &[addi(5, 5)], Ended::Cut);
    run
}

#[test]
fn a_branch_predicted_right_costs_nothing_and_wrong_the_penalty() {
    for mispredict_penalty in [0, 1, 3, 7] {
        // Backward: taken, as it should be, but for the last time. The target is found late once.
        let config =
            Config { predictor: Predictor::Static, mispredict_penalty, redirect_penalty: 0, ..ideal() };
        let run = turns(&config, 10);
        assert_eq!(run.cycles[..20], (1..=20).collect::<Vec<_>>());
        assert_eq!(run.cycles[20], 21 + u64::from(mispredict_penalty));
        assert_eq!(run.stall(Reason::Mispredict), u64::from(mispredict_penalty));
        assert_eq!((run.stats().branches.count, run.stats().branches.wrong), (10, 1));
    }
}

#[test]
fn a_target_found_late_costs_the_redirect_once() {
    let config = Config { predictor: Predictor::Static, redirect_penalty: 2, ..ideal() };
    let run = turns(&config, 5);
    assert_eq!(run.cycles[..6], [1, 2, 5, 6, 7, 8]);
    assert_eq!((run.stats().redirects, run.stall(Reason::Redirect)), (1, 2));
    // Without a target buffer, each time.
    let run = turns(&Config { btb_entries: 0, ..config }, 5);
    assert_eq!((run.stats().redirects, run.stall(Reason::Redirect)), (4, 8));
}

#[test]
fn a_bimodal_predictor_learns_a_loop() {
    let config = Config { predictor: Predictor::Bimodal, ..ideal() };
    let run = turns(&config, 100);
    // At first it says not taken, then always taken; the end is a surprise again.
    assert_eq!((run.stats().branches.wrong, run.stall(Reason::Mispredict)), (2, 6));
}

#[test]
fn returns_are_known_as_deep_as_the_stack() {
    for (depth, wrong) in [(0, 8), (1, 7), (6, 2), (8, 0), (64, 0)] {
        let mut run = Run::new(&Config { return_stack: depth, ..ideal() });
        for level in 0..8 {
            run.block(level * 0x100, &[jal(1)], Ended::Taken);
        }
        for level in (0..8).rev() {
            run.block((level + 1) * 0x100 + 4, &[jalr(0, 1)], Ended::Taken);
            // The calls before came back to after the JAL; here blocks lie where the return of the next one is.
            run.block(level * 0x100 + 4, &[addi(5, 5)], Ended::Cut);
        }
        assert_eq!((run.stats().returns.count, run.stats().returns.wrong), (8, wrong), "depth {depth}");
        assert_eq!(run.stall(Reason::Mispredict), 3 * wrong);
    }
}

#[test]
fn indirect_jumps_go_where_they_went_last() {
    let mut run = Run::new(&ideal());
    // No two in the same entry of the target buffer.
    for target in [0x204, 0x204, 0x308, 0x204, 0x204] {
        run.block(0x100, &[jalr(0, 10)], Ended::Taken).block(target, &[jal(0)], Ended::Taken);
    }
    assert_eq!((run.stats().indirect.count, run.stats().indirect.wrong), (5, 3));
}

#[test]
fn instruction_cache_misses_are_counted_exactly() {
    let icache = CacheConfig { size: 1024, ways: 2, line: 64, hit: 1, miss: 10 };
    let config = Config { icache, ..ideal() };
    let mut run = Run::new(&config);
    // Four lines; each costs the whole miss, since the front end is not ahead.
    run.block(0x1000, &[addi(5, 5); 64], Ended::Cut);
    assert_eq!((run.stats().icache.misses, run.stats().icache.hits), (4, 60));
    assert_eq!((run.stats().cycles, run.stall(Reason::InstructionMiss)), (64 + 40, 40));
    // Again: all there.
    run.block(0x1000, &[addi(5, 5); 64], Ended::Cut);
    assert_eq!((run.stats().icache.misses, run.stats().cycles), (4, 128 + 40));
}

#[test]
fn a_front_end_that_is_ahead_hides_misses() {
    let icache = CacheConfig { size: 1024, ways: 2, line: 16, hit: 1, miss: 10 };
    let config = Config { icache, fetch_queue: 64, divide: 60, ..ideal() };
    let mut bits = vec![div(5, 6, 7), addi(5, 5)];
    bits.extend([addi(8, 8); 10]);
    let mut run = Run::new(&config);
    run.block(0, &bits, Ended::Cut);
    assert_eq!((run.stats().icache.misses, run.stall(Reason::InstructionMiss)), (3, 10));
    assert_eq!(run.stall(Reason::MultiplyDivide), 59);
}

#[test]
fn data_cache_misses_are_counted_exactly() {
    let dcache = CacheConfig { size: 1024, ways: 2, line: 64, hit: 1, miss: 10 };
    let config = Config { dcache, load_use: 1, ..ideal() };
    let mut run = Run::new(&config);
    let bits = [ld(5, 6), addi(5, 5)];
    run.accessing(0, &bits, &[0x1000], Ended::Cut).accessing(8, &bits, &[0x1038], Ended::Cut);
    assert_eq!(run.cycles, [1, 13, 14, 16]);
    assert_eq!((run.stats().dcache.misses, run.stats().dcache.hits), (1, 1));
    assert_eq!((run.stall(Reason::DataMiss), run.stall(Reason::LoadUse)), (11, 1));
    // Over the end of a line: two are touched.
    run.accessing(16, &[ld(5, 6)], &[0x107c], Ended::Cut);
    assert_eq!((run.stats().dcache.misses, run.stats().dcache.hits), (3, 1));
}

#[test]
fn misses_overlap_as_far_as_they_may() {
    let dcache = CacheConfig { size: 1024, ways: 2, line: 64, hit: 1, miss: 10 };
    let bits = [ld(5, 10), ld(6, 10), addi(5, 5), addi(6, 6)];
    let run = |outstanding_misses, second| {
        let config = Config { dcache, outstanding_misses, load_use: 1, ..ideal() };
        Run::new(&config).accessing(0, &bits, &[0, second], Ended::Cut).cycles.clone()
    };
    // Lines arrive in cycles 11 and 12, and are used two cycles later.
    assert_eq!(run(2, 64), [1, 2, 13, 14]);
    // The second is asked for when the first is there.
    assert_eq!(run(1, 64), [1, 2, 13, 23]);
    // The second load waits for the first, and its line comes ten cycles after that.
    assert_eq!(run(0, 64), [1, 12, 13, 24]);
    // The same line: it is on its way.
    assert_eq!(run(2, 8), [1, 2, 13, 14]);
}

#[test]
fn stores_wait_when_the_buffer_is_full() {
    let dcache = CacheConfig { size: 1024, ways: 2, line: 64, hit: 1, miss: 10 };
    let config = Config { dcache, store_buffer: 2, ..ideal() };
    let mut run = Run::new(&config);
    run.accessing(0, &[sd(5, 6); 4], &[0, 64, 0, 0], Ended::Cut);
    // The first two leave the buffer in cycles 1 + 11 and 12 + 11.
    assert_eq!(run.cycles, [1, 2, 12, 23]);
    assert_eq!(run.stall(Reason::StoreBuffer), 9 + 10);
    // An atomic waits for all four, the last of which leaves in cycle 25.
    run.accessing(16, &[amoadd(5, 6, 7), addi(5, 5)], &[0], Ended::Cut);
    assert_eq!(run.cycles[4..], [25, 30]);
}

#[test]
fn dirty_lines_are_written_back() {
    let dcache = CacheConfig { size: 64, ways: 1, line: 64, hit: 1, miss: 10 };
    let mut run = Run::new(&Config { dcache, ..ideal() });
    run.accessing(0, &[sd(5, 6), ld(7, 6), ld(7, 6)], &[0, 64, 128], Ended::Cut);
    assert_eq!((run.stats().dcache.misses, run.stats().dcache.write_backs), (3, 1));
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
fn fence_i_fetches_anew() {
    let icache = CacheConfig { size: 1024, ways: 2, line: 64, hit: 1, miss: 10 };
    let mut run = Run::new(&Config { icache, csr: 1, mispredict_penalty: 3, ..ideal() });
    run.block(0, &[addi(5, 5), 0x0000_100f, addi(5, 5)], Ended::Cut);
    assert_eq!(run.cycles, [11, 12, 26]);
    assert_eq!((run.stall(Reason::Serialize), run.stall(Reason::InstructionMiss)), (3, 20));
}

#[test]
fn a_trap_costs_its_entry() {
    let mut run = Run::new(&Config { trap_entry: 7, ..ideal() });
    run.block(0x100, &[addi(5, 5)], Ended::Cut);
    run.model.trap(&Trap { pc: 0x104, cause: 8, interrupt: false, value: 0, next: 0x200, served: false });
    run.block(0x200, &[addi(5, 5)], Ended::Cut);
    assert_eq!(run.cycles, [1, 9]);
    assert_eq!((run.stall(Reason::Trap), run.stats().traps), (7, 1));
}

#[test]
fn an_interrupt_tells_where_a_return_went() {
    let mut run = Run::new(&ideal());
    run.block(0x100, &[jal(1)], Ended::Taken).block(0x200, &[jalr(0, 1)], Ended::Taken);
    run.model.trap(&Trap { pc: 0x104, cause: 7, interrupt: true, value: 0, next: 0x400, served: false });
    run.block(0x400, &[addi(5, 5)], Ended::Cut);
    assert_eq!((run.stats().returns.count, run.stats().returns.wrong), (1, 0));
}

#[test]
fn accesses_that_are_told_twice_or_too_late_do_no_harm() {
    let mut run = Run::new(&Config::default());
    let access = |index| Access { index, kind: AccessKind::Load, size: 8, address: u64::MAX, value: 0 };
    let block = tracewright_core::Block {
        start: u64::MAX - 3,
        end: 4,
        count: 2,
        isa: tracewright_core::Isa::Rv32,
        last_len: 4,
        class: tracewright_core::Class::NEXT,
        ended: Ended::Cut,
    };
    let accesses = [access(0), access(0), access(1), access(9)];
    run.model.block(&block, &[addi(5, 5), ld(5, 5), u32::MAX], &accesses, &mut run.cycles);
    run.model.block(&block, &[], &accesses, &mut run.cycles);
    run.check();
}

#[test]
fn stats_fit_a_terminal() {
    let mut run = turns(&Config::default(), 50);
    run.accessing(0x200, &[sd(5, 6); 4], &[0, 64, 0, 0], Ended::Cut);
    let text = run.stats().to_string();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("mispredicted branch") && text.contains("instruction cache miss"), "{text}");
}
