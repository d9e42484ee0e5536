//! Words to test: from the whole encoding space, most of them where the flow changes.

use tracewright_testkit::Rng;

/// Returns random bits, sometimes sparse ones to hit bits that should be zero.
fn random(rng: &mut Rng) -> u32 {
    let word = rng.next_u64() as u32;
    if rng.one_in(4) { word & rng.next_u64() as u32 & rng.next_u64() as u32 } else { word }
}

/// Returns A64 words: all that begin like the system instructions and register branches of interest, and near misses,
/// whose start is wrong in one bit. Then `count` random words, most of them in the group of branches.
pub fn a64(count: usize) -> impl Iterator<Item = u32> {
    const HALVES: [u32; 13] = [
        0xd500, 0xd503, 0xd523, 0xd61f, 0xd63f, 0xd65f, 0xd69f, 0xd6bf, 0xd6df, 0xd6ff, 0xd71f, 0xd73f,
        0xd75f,
    ];
    const LOWS: [u32; 14] = [
        0x0000, 0x03c0, 0x03e0, 0x07e0, 0x081f, 0x0c1f, 0x0be2, 0x0bff, 0x0fff, 0x1005, 0x205f, 0x207f,
        0x3060, 0x30df,
    ];
    let mut rng = Rng::new(64);
    let all = HALVES.into_iter().flat_map(|half| (0..=0xffff).map(move |low| half << 16 | low));
    let wrong = HALVES.into_iter().flat_map(|half| (0..16).map(move |bit| half ^ 1 << bit));
    let misses = wrong.flat_map(|half| LOWS.into_iter().map(move |low| half << 16 | low));
    all.chain(misses).chain((0..count).map(move |_| {
        let word = random(&mut rng);
        if rng.one_in(4) { word } else { word & !0x1c00_0000 | 0x1400_0000 }
    }))
}

/// Returns random A32 words, half of them with PC in the most common place of the destination, many near instructions
/// with a fixed pattern.
pub fn a32(count: usize) -> impl Iterator<Item = u32> {
    // Masks of the bits that are random, and the values of the others.
    const NEAR: [(u32, u32); 12] = [
        (0xf000_00ff, 0x012f_ff00), // branch and exchange
        (0xf00f_ffff, 0x0120_0000),
        (0xf00f_ffff, 0x0160_0000), // exception return
        (0xf000_0fff, 0x01a0_f000), // moves
        (0xf000_0fff, 0x03a0_f000),
        (0xf000_00ff, 0x0320_f000), // hints
        (0xf00f_ffff, 0x0320_0000),
        (0xf000_0fff, 0x049d_f000), // pops
        (0xf000_ffff, 0x08bd_0000),
        (0x0000_00ff, 0xf57f_f000), // barriers
        (0x01ef_ffff, 0xf810_0000), // return from exception
        (0xf000_f0ff, 0x0e07_0f00), // moves to system registers
    ];
    let mut rng = Rng::new(32);
    (0..count).map(move |_| {
        let word = random(&mut rng);
        match rng.below(4) {
            0 => word,
            1 => word | 0xf000,
            2 => word & !0xf000_0000 | 0xe000_f000,
            _ => {
                let (mask, value) = *rng.pick(&NEAR);
                word & mask | value
            }
        }
    })
}

/// Returns all 16-bit T32 instructions, and each first halfword of 32-bit ones with `lows` random second halfwords.
pub fn t32(lows: usize) -> impl Iterator<Item = u32> {
    let mut rng = Rng::new(16);
    let wide = (0xe800..=0xffff).flat_map(move |first: u32| {
        let lows: Vec<_> = (0..lows).map(|_| near(first, &mut rng)).collect();
        lows.into_iter().map(move |low| first << 16 | low)
    });
    (0..0xe800).map(|first| first << 16).chain(wide)
}

/// Returns a second halfword. Few first halfwords are near the fixed patterns, so the second must hit them often.
fn near(first: u32, rng: &mut Rng) -> u32 {
    let low = random(rng) & 0xffff;
    match rng.below(4) {
        0 => low,
        1 => low | 0xf000,
        2 if first & 0xff80 == 0xf380 => low & 0x0fff & rng.next_u64() as u32 | 0x8000,
        2 if first & 0xff80 == 0xf000 => low & 0x2fff | 0xc001,
        2 if first & 0xff == 0x07 => low & 0xf000 | 0x0f95,
        2 if first & 0xfff0 == 0xfb50 => low & 0xf0ff | 0x0f00,
        2 => low & 0xf0ff,
        _ => low | 0x0f00,
    }
}
