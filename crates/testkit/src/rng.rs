/// A small deterministic random source (SplitMix64). The same seed gives the same test forever.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Creates a source that depends only on `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_u64() % bound
    }

    /// Returns true once in `n` times on average.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// Returns one of `items`, of which there is at least one.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }

    /// Returns `len` random bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next_u64() as u8).collect()
    }

    /// Returns fewer random bytes than `bound`, which is not 0.
    pub fn bytes_below(&mut self, bound: u64) -> Vec<u8> {
        let len = self.below(bound) as usize;
        self.bytes(len)
    }

    /// Returns `bytes` cut at random places, often into single bytes.
    pub fn chunks<'a>(&mut self, mut bytes: &'a [u8]) -> Vec<&'a [u8]> {
        let mut chunks = Vec::new();
        let typical = *self.pick(&[1, 3, 16, 100]);
        while !bytes.is_empty() {
            let (chunk, rest) = bytes.split_at(bytes.len().min(1 + self.below(typical) as usize));
            chunks.push(chunk);
            bytes = rest;
        }
        chunks
    }

    /// Returns a number whose size in bits is itself random, so that small, medium and huge values all occur.
    pub fn sized(&mut self, max_bits: u32) -> u64 {
        let bits = self.below(u64::from(max_bits) + 1) as u32;
        if bits == 0 { 0 } else { self.next_u64() >> (64 - bits) }
    }
}
