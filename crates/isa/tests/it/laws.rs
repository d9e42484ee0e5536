//! Laws that hold for all words.

use tracewright_core::Class;
use tracewright_isa::a64;
use tracewright_testkit::Rng;

/// A word for which `may_end_block` is false never ends a block: all upper halves with some lower ones, then random
/// words. (A test beside the table proves that it is true for all rows.)
#[test]
fn may_end_block_misses_nothing() {
    let check =
        |word| assert!(a64::may_end_block(word) || a64::decode(0, word).class == Class::NEXT, "{word:08x}");
    for high in 0..=0xffff_u32 {
        for low in [0, 0x1f, 0x3e0, 0x0be0, 0x205f, 0x30df, 0xffff] {
            check(high << 16 | low);
        }
    }
    let mut rng = Rng::new(1);
    for _ in 0..25_000_000 {
        let words = rng.next_u64();
        check(words as u32);
        check((words >> 32) as u32);
    }
}
