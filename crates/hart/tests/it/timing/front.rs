//! Fetch, branches and traps, worked out by hand.

use tracewright_core::Ended;
use tracewright_hart::Trap;
use tracewright_hart::timing::{CacheConfig, Config, Predictor, Reason};

use super::program::*;

/// Runs a loop of an addition and a branch `times` times, then leaves it.
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
        // Backward: taken as predicted, except the last time. The target is found late once.
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
    // First it predicts not taken, then always taken; the end is mispredicted again.
    assert_eq!((run.stats().branches.wrong, run.stall(Reason::Mispredict)), (2, 6));
    // The misprediction provided the target.
    assert_eq!(run.stats().redirects, 0);
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
            // The calls before returned to after the JAL; here blocks lie where the next one returns.
            run.block(level * 0x100 + 4, &[addi(5, 5)], Ended::Cut);
        }
        assert_eq!((run.stats().returns.count, run.stats().returns.wrong), (8, wrong), "depth {depth}");
        assert_eq!(run.stall(Reason::Mispredict), 3 * wrong);
    }
}

#[test]
fn a_co_routine_swap_is_a_return_and_a_call() {
    let mut run = Run::new(&ideal());
    run.block(0x100, &[jal(1)], Ended::Taken).block(0x200, &[jalr(5, 1)], Ended::Taken);
    run.block(0x104, &[jalr(0, 5)], Ended::Taken).block(0x204, &[addi(5, 5)], Ended::Cut);
    assert_eq!((run.stats().returns.count, run.stats().returns.wrong), (2, 0));
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
    let mut run = Run::new(&Config { icache: CACHE, ..ideal() });
    // Four lines; each costs the whole miss, since the front end is not ahead.
    run.block(0x1000, &[addi(5, 5); 64], Ended::Cut);
    assert_eq!((run.stats().icache.misses, run.stats().icache.hits), (4, 60));
    assert_eq!((run.stats().cycles, run.stall(Reason::InstructionMiss)), (64 + 40, 40));
    // Again: all hits.
    run.block(0x1000, &[addi(5, 5); 64], Ended::Cut);
    assert_eq!((run.stats().icache.misses, run.stats().cycles), (4, 128 + 40));
}

/// Runs a quotient and its user, then ten additions, in lines of four instructions.
fn after_a_quotient(fetch_queue: u32) -> Run {
    let icache = CacheConfig { line: 16, ..CACHE };
    let mut run = Run::new(&Config { icache, fetch_queue, divide: 60, ..ideal() });
    let bits = [&[div(5, 6, 7), addi(5, 5)][..], &[addi(8, 8); 10]].concat();
    run.block(0, &bits, Ended::Cut);
    run
}

#[test]
fn a_front_end_with_a_short_queue_does_not_get_ahead() {
    let run = after_a_quotient(1);
    // The user of the quotient begins in 71. The one after it is fetched then and begins in 72, the fourth is fetched
    // in 72 and begins in 73; so the next line is asked for in 73, a cycle before it is missed.
    assert_eq!(run.cycles, [11, 71, 72, 73, 83, 84, 85, 86, 97, 98, 99, 100]);
    assert_eq!(run.stall(Reason::InstructionMiss), 10 + 9 + 10);
}

#[test]
fn a_front_end_that_is_ahead_hides_misses() {
    let run = after_a_quotient(64);
    assert_eq!((run.stats().icache.misses, run.stall(Reason::InstructionMiss)), (3, 10));
    assert_eq!(run.stall(Reason::MultiplyDivide), 59);
}

#[test]
fn fence_i_fetches_anew() {
    let mut run = Run::new(&Config { icache: CACHE, csr: 1, mispredict_penalty: 3, ..ideal() });
    run.block(0, &[addi(5, 5), 0x0000_100f, addi(5, 5)], Ended::Cut);
    assert_eq!(run.cycles, [11, 12, 26]);
    assert_eq!((run.stall(Reason::Serialize), run.stall(Reason::InstructionMiss)), (3, 20));
}

#[test]
fn a_slow_instruction_cache_costs_after_each_surprise() {
    let icache = CacheConfig { hit: 3, ..ideal().icache };
    let mut run = Run::new(&Config { icache, predictor: Predictor::Static, ..ideal() });
    run.block(0x100, &[beq_forward()], Ended::Taken).block(0x110, &[addi(5, 5); 2], Ended::Cut);
    assert_eq!(run.cycles, [1, 2 + 3 + 2, 8]);
}

#[test]
fn a_trap_return_costs_as_much_as_a_surprise() {
    let mut run = Run::new(&Config { mispredict_penalty: 4, ..ideal() });
    run.block(0x100, &[0x3020_0073], Ended::Taken).block(0x200, &[addi(5, 5)], Ended::Cut);
    assert_eq!((run.cycles.as_slice(), run.stall(Reason::Trap)), ([1, 6].as_slice(), 4));
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
fn stats_fit_a_terminal() {
    let mut run = turns(&Config::default(), 50);
    run.accessing(0x200, &[sd(5, 6); 4], &[0, 64, 0, 0], Ended::Cut);
    let text = run.stats().to_string();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("mispredicted branch") && text.contains("instruction cache miss"), "{text}");
}
