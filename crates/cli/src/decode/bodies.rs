//! Blocks run again and again: the text of each is made once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tracewright_core::{Block, MemorySpace};

use crate::line::Line;

/// Bytes kept for each thread.
const MOST: usize = 4 << 20;

/// Texts of blocks, for each thread.
pub struct Bodies(Vec<Mutex<Texts>>);

#[derive(Default)]
struct Texts {
    texts: HashMap<(Block, MemorySpace), Box<[u8]>>,
    len: usize,
}

impl Bodies {
    /// Creates a cache for so many threads.
    pub fn new(threads: usize) -> Self {
        Self((0..=threads.max(1)).map(|_| Mutex::default()).collect())
    }

    /// Calls `f` with the text that `make` makes of a block, or has made of it before. `make` must be the same each time.
    pub fn with(
        &self,
        block: &Block,
        space: MemorySpace,
        make: impl FnOnce(&mut Line),
        f: impl FnOnce(&[u8]),
    ) {
        let thread = rayon::current_thread_index().unwrap_or(0) % self.0.len();
        let mut cache = self.0[thread].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = cache.texts.get(&(*block, space)) {
            return f(text);
        }
        let mut line = Line::default();
        make(&mut line);
        let text: Box<[u8]> = line.bytes().into();
        if cache.len + text.len() > MOST {
            *cache = Texts::default();
        }
        f(&text);
        cache.len += text.len() + size_of::<(Block, MemorySpace, Box<[u8]>)>();
        cache.texts.insert((*block, space), text);
    }
}
