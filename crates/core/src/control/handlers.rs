/// A trap whose handler runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handler {
    /// The number of the exception or interrupt.
    pub cause: u64,
    /// The trap value.
    pub tval: u64,
    /// Whether the trap is an interrupt.
    pub interrupt: bool,
}

/// Maximum depth of nested handlers. Beyond it, only the innermost are kept.
const MOST: usize = 32;

/// The nested trap handlers that run, as a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Handlers {
    /// Ring of handlers.
    all: [Handler; MOST],
    /// Index of the next handler in the ring.
    next: usize,
    count: usize,
    interrupts: usize,
}

impl Handlers {
    pub fn push(&mut self, handler: Handler) {
        if self.count == MOST {
            // The outermost handler is dropped: most likely nothing ever returns from it.
            self.interrupts -= usize::from(self.all[self.next].interrupt);
            self.count -= 1;
        }
        self.all[self.next] = handler;
        self.next = (self.next + 1) % MOST;
        self.count += 1;
        self.interrupts += usize::from(handler.interrupt);
    }

    /// Removes the innermost handler, if there is one.
    pub fn pop(&mut self) {
        if let Some(last) = self.last() {
            self.interrupts -= usize::from(last.interrupt);
            self.next = (self.next + MOST - 1) % MOST;
            self.count -= 1;
        }
    }

    /// Returns the innermost handler.
    #[inline]
    pub fn last(&self) -> Option<Handler> {
        (self.count > 0).then(|| self.all[(self.next + MOST - 1) % MOST])
    }

    /// Returns whether one of the handlers serves an interrupt.
    #[inline]
    pub const fn has_interrupt(&self) -> bool {
        self.interrupts > 0
    }
}
