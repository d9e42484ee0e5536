//! Texts of blocks: blocks run again and again, and the text of each is made once.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use tracewright_core::{Block, MemorySpace};
use tracewright_engine::Line;
use tracewright_flow::hash::HashMap;

/// Bytes kept for each thread.
const MOST: usize = 4 << 20;

thread_local! {
    static TEXTS: RefCell<Texts> = RefCell::default();
}

/// Texts of blocks that one printer made, on one thread.
#[derive(Default)]
struct Texts {
    of: u64,
    texts: HashMap<(Block, MemorySpace), Line>,
    len: usize,
}

/// Texts of blocks that one printer made. Each thread keeps those that it made last.
#[derive(Debug)]
pub struct TextCache(u64);

impl Default for TextCache {
    fn default() -> Self {
        Self::new()
    }
}

impl TextCache {
    /// Creates a cache that shares nothing with others.
    pub fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        Self(NUMBER.fetch_add(1, Ordering::Relaxed))
    }

    /// Calls `f` with the text that `make` makes of a block, or made of it before. `make` must make the same text each time.
    pub fn with(
        &self,
        block: &Block,
        space: MemorySpace,
        make: impl FnOnce(&mut Line),
        f: impl FnOnce(&Line),
    ) {
        TEXTS.with_borrow_mut(|cache| {
            if cache.of != self.0 {
                *cache = Texts { of: self.0, ..Texts::default() };
            }
            if let Some(text) = cache.texts.get(&(*block, space)) {
                return f(text);
            }
            let mut text = Line::default();
            make(&mut text);
            let len = text.bytes().len();
            if cache.len + len > MOST {
                *cache = Texts { of: self.0, ..Texts::default() };
            }
            f(&text);
            cache.len += len + size_of::<(Block, MemorySpace, Line)>();
            cache.texts.insert((*block, space), text);
        });
    }
}
