//! {A, C} as one would write it down first: a cycle and a bit at a time, without packets.

use super::Answer;

#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    len: usize,
}

impl Bits {
    fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(bit) << (7 - self.len % 8);
        }
        self.len += 1;
    }

    fn gamma(&mut self, n: u64) {
        let bits = 64 - n.leading_zeros();
        (1..bits).for_each(|_| self.push(false));
        (0..bits).rev().for_each(|bit| self.push(n >> bit & 1 == 1));
    }
}

/// Groups of all cycles; the last one has a stall that was not there.
pub fn encode(cycles: &[u64], out: &mut Vec<u8>) {
    let mut bits = Bits { bytes: std::mem::take(out), len: 0 };
    bits.bytes.clear();
    let mut rest = cycles.iter().copied().peekable();
    let Some(mut cycle) = rest.peek().copied() else { return };
    while rest.peek().is_some() {
        let (mut a, mut c) = (0, 0);
        while rest.next_if_eq(&cycle).is_some() {
            a += 1;
            cycle += 1;
        }
        while rest.peek().is_some_and(|&next| next != cycle) {
            c += 1;
            cycle += 1;
        }
        bits.gamma(a + 1);
        bits.gamma(c.max(1));
    }
    *out = bits.bytes;
}

/// What such groups tell, from the first cycle on.
pub fn decode(first: Option<u64>, bytes: &[u8]) -> Answer {
    let mut answer = Answer::default();
    let mut bits = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1));
    let mut gamma = || {
        let mut zeros = 0;
        while !bits.next()? {
            zeros += 1;
        }
        (0..zeros).try_fold(1, |n, _| Some(n << 1 | u64::from(bits.next()?)))
    };
    let mut cycle = first.unwrap_or(0);
    while let Some((a, c)) = gamma().and_then(|a: u64| Some((a - 1, gamma()?))) {
        answer.add(cycle, a);
        cycle += a + c;
    }
    answer
}
