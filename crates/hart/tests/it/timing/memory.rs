//! The data cache and the store buffer, worked out by hand.

use tracewright_core::{Block, Class, Ended, Isa};
use tracewright_hart::Access;
use tracewright_hart::timing::{CacheConfig, Config, Reason};
use tracewright_isa::riscv::AccessKind;

use super::program::*;

#[test]
fn data_cache_misses_are_counted_exactly() {
    let config = Config { dcache: CACHE, load_use: 1, ..ideal() };
    let mut run = Run::new(&config);
    let bits = [ld(5, 6), addi(5, 5)];
    run.accessing(0, &bits, &[0x1000], Ended::Cut).accessing(8, &bits, &[0x1038], Ended::Cut);
    assert_eq!(run.cycles, [1, 13, 14, 16]);
    assert_eq!((run.stats().dcache.misses, run.stats().dcache.hits), (1, 1));
    assert_eq!((run.stall(Reason::DataMiss), run.stall(Reason::LoadUse)), (11, 1));
    // Across the end of a line: two are touched.
    run.accessing(16, &[ld(5, 6)], &[0x107c], Ended::Cut);
    assert_eq!((run.stats().dcache.misses, run.stats().dcache.hits), (3, 1));
}

#[test]
fn misses_overlap_as_far_as_they_may() {
    let bits = [ld(5, 10), ld(6, 10), addi(5, 5), addi(6, 6)];
    let run = |outstanding_misses, second| {
        let config = Config { dcache: CACHE, outstanding_misses, load_use: 1, ..ideal() };
        Run::new(&config).accessing(0, &bits, &[0, second], Ended::Cut).cycles.clone()
    };
    // Lines arrive in cycles 11 and 12, and are used two cycles later.
    assert_eq!(run(2, 64), [1, 2, 13, 14]);
    // The second is requested when the first has arrived.
    assert_eq!(run(1, 64), [1, 2, 13, 23]);
    // The second load waits for the first, and its line comes ten cycles after that.
    assert_eq!(run(0, 64), [1, 12, 13, 24]);
}

#[test]
fn a_line_that_is_on_its_way_is_waited_for() {
    let mut run = Run::new(&Config { dcache: CACHE, load_use: 1, ..ideal() });
    // The line arrives in cycle 11, for both loads; what is loaded is used two cycles later.
    run.accessing(0, &[ld(5, 10), ld(6, 10), addi(6, 6), addi(5, 5)], &[0, 8], Ended::Cut);
    assert_eq!(run.cycles, [1, 2, 13, 14]);
    assert_eq!((run.stats().dcache.misses, run.stats().dcache.hits), (1, 1));
}

#[test]
fn an_atomic_keeps_the_port() {
    let config = Config { dcache: CACHE, atomic: 3, load_use: 1, ..ideal() };
    let bits = [amoadd(5, 6, 7), addi(9, 9), ld(8, 6)];
    let mut run = Run::new(&config);
    run.accessing(0, &bits, &[0, 0], Ended::Cut);
    assert_eq!(run.cycles, [1, 2, 10 + 5]);
    run.accessing(12, &bits, &[0, 0], Ended::Cut);
    assert_eq!(run.cycles[3..], [16, 17, 20]);
}

#[test]
fn stores_wait_when_the_buffer_is_full() {
    let config = Config { dcache: CACHE, store_buffer: 2, ..ideal() };
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
fn fences_wait_for_stores() {
    for (fence, next) in [(0x0ff0_000f, 13), (0x0000_100f, 16)] {
        let mut run = Run::new(&Config { dcache: CACHE, csr: 1, mispredict_penalty: 3, ..ideal() });
        run.accessing(0, &[sd(5, 6), fence, addi(5, 5)], &[0], Ended::Cut);
        // The store leaves the buffer in cycle 12; FENCE.I then fetches anew.
        assert_eq!(run.cycles, [1, 12, next]);
        assert_eq!(run.stall(Reason::Serialize), 10 + next - 13);
    }
}

#[test]
fn a_store_conditional_is_an_atomic() {
    let sc = 3 << 27 | 7 << 20 | 6 << 15 | 3 << 12 | 5 << 7 | 0x2f;
    assert_eq!(cycles(&Config { atomic: 3, load_use: 1, ..ideal() }, &[sc, addi(5, 5)]), [1, 6]);
}

#[test]
fn accesses_that_are_told_twice_or_too_late_do_no_harm() {
    let mut run = Run::new(&Config::default());
    let access = |index| Access { index, kind: AccessKind::Load, size: 8, address: u64::MAX, value: 0 };
    let block = Block {
        start: u64::MAX - 3,
        end: 4,
        count: 2,
        isa: Isa::Rv32,
        last_len: 4,
        class: Class::NEXT,
        ended: Ended::Cut,
    };
    let accesses = [access(0), access(0), access(1), access(9)];
    run.model.block(&block, &[addi(5, 5), ld(5, 5), u32::MAX], &accesses, &mut run.cycles);
    run.model.block(&block, &[], &accesses, &mut run.cycles);
    run.check();
}
