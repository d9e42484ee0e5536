/// A trap whose handler runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handler {
    /// The number of the exception or interrupt.
    pub cause: u64,
    /// The trap value.
    pub tval: u64,
    /// Whether it is an interrupt.
    pub interrupt: bool,
}

/// How many handlers in one another are known. Of more, the innermost.
const MOST: usize = 32;

/// Handlers that run: each began while the one before it ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Handlers {
    /// A ring.
    all: [Handler; MOST],
    /// Where the next goes.
    next: usize,
    count: usize,
    interrupts: usize,
}

impl Handlers {
    pub fn push(&mut self, handler: Handler) {
        if self.count == MOST {
            // The outermost is forgotten: most likely nothing ever returns from it.
            self.interrupts -= usize::from(self.all[self.next].interrupt);
            self.count -= 1;
        }
        self.all[self.next] = handler;
        self.next = (self.next + 1) % MOST;
        self.count += 1;
        self.interrupts += usize::from(handler.interrupt);
    }

    /// The innermost returns, if there is one.
    pub fn pop(&mut self) {
        if let Some(last) = self.last() {
            self.interrupts -= usize::from(last.interrupt);
            self.next = (self.next + MOST - 1) % MOST;
            self.count -= 1;
        }
    }

    /// The innermost.
    #[inline]
    pub fn last(&self) -> Option<Handler> {
        (self.count > 0).then(|| self.all[(self.next + MOST - 1) % MOST])
    }

    /// Whether one of them is an interrupt's.
    #[inline]
    pub const fn has_interrupt(&self) -> bool {
        self.interrupts > 0
    }
}
