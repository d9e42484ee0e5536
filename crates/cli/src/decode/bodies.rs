//! Blocks run again and again: what is printed of one is made once.

use std::cell::RefCell;
use std::collections::HashMap;

use tracewright_core::{Block, MemorySpace};

use crate::line::Line;

/// Bytes kept for each thread.
const MOST: usize = 4 << 20;

thread_local! {
    static BODIES: RefCell<Bodies> = RefCell::default();
}

#[derive(Default)]
struct Bodies {
    texts: HashMap<(Block, MemorySpace), Box<[u8]>>,
    len: usize,
}

/// Calls `f` with the text that `make` makes of a block, or has made of it before. A program prints in one way only, so that
/// `make` is always the same.
pub fn with(block: &Block, space: MemorySpace, make: impl FnOnce(&mut Line), f: impl FnOnce(&[u8])) {
    BODIES.with_borrow_mut(|bodies| {
        if let Some(text) = bodies.texts.get(&(*block, space)) {
            return f(text);
        }
        let mut line = Line::default();
        make(&mut line);
        let text: Box<[u8]> = line.bytes().into();
        if bodies.len + text.len() > MOST {
            *bodies = Bodies::default();
        }
        f(&text);
        bodies.len += text.len() + size_of::<(Block, MemorySpace, Box<[u8]>)>();
        bodies.texts.insert((*block, space), text);
    });
}
