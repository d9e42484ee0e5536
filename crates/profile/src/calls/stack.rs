//! The calls that one thread is in.

use crate::functions::Within;

/// Takes note of functions that are entered and left. Every leaving is that of the function entered last, in the thread that was told
/// last.
pub trait Watch {
    /// What comes is of this thread: a number, from 0 on.
    fn thread(&mut self, number: u32);
    /// A function is entered.
    fn enter(&mut self, function: u32, how: How);
    /// The function that was entered last is left.
    fn leave(&mut self);
}

/// How a function is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// Execution is in it, and it is not known who called it: the trace begins, or was lost.
    Found,
    /// A call.
    Call,
    /// A branch, or just the next instruction, leads to its start from another function: it returns to that one's caller.
    Tail,
    /// An exception or a signal: it is the handler.
    Exception,
    /// A branch leads into the middle of it: a part of a function that lies elsewhere, most likely.
    Part,
}

impl How {
    /// Whether it counts as a call.
    #[must_use]
    pub const fn is_call(self) -> bool {
        matches!(self, Self::Call | Self::Tail | Self::Exception)
    }
}

/// A function that is at work, or waits for one that it called.
#[derive(Clone, Copy, Debug)]
struct Frame {
    function: u32,
    how: How,
    /// Where execution goes on after it, if that is known.
    back: Option<u64>,
}

impl Frame {
    /// Whether it shares the activation of the frame below it.
    const fn is_tail(&self) -> bool {
        matches!(self.how, How::Tail | How::Part)
    }
}

/// Calls deeper than this are put down to the function there.
pub const DEEPEST: usize = 4096;

/// The calls that one thread is in.
#[derive(Clone, Debug, Default)]
pub(super) struct Stack {
    frames: Vec<Frame>,
    /// Calls beyond the deepest.
    skipped: u64,
    /// How many came to be so since somebody asked.
    pub too_deep: u64,
}

/// Where execution goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct To {
    pub address: u64,
    pub within: Within,
}

impl Stack {
    /// The functions from the outermost on.
    pub fn functions(&self) -> impl Iterator<Item = u32> {
        self.frames.iter().map(|frame| frame.function)
    }

    /// How many frames it has.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// All are left.
    pub fn forget(&mut self, watch: &mut impl Watch) {
        self.cut(0, watch);
    }

    fn current(&self) -> Option<u32> {
        self.frames.last().map(|frame| frame.function)
    }

    fn push(&mut self, to: To, how: How, back: Option<u64>, watch: &mut impl Watch) {
        let function = to.within.function;
        if self.frames.len() < DEEPEST {
            self.frames.push(Frame { function, how, back });
            watch.enter(function, how);
        } else if matches!(how, How::Tail | How::Part) {
            // Nobody returns to it: it takes the place of the last.
            if let Some(last) = self.frames.last_mut() {
                last.function = function;
                watch.leave();
                watch.enter(function, how);
            }
        } else {
            self.skipped += 1;
            self.too_deep += 1;
        }
    }

    /// Leaves all frames from this one on.
    fn cut(&mut self, len: usize, watch: &mut impl Watch) {
        self.skipped = 0;
        for _ in self.frames.drain(len..) {
            watch.leave();
        }
    }

    /// The first frame of the last activation.
    fn activation(&self) -> usize {
        self.frames.iter().rposition(|frame| !frame.is_tail()).unwrap_or(0)
    }

    /// The last frame of a function.
    fn find(&self, function: u32) -> Option<usize> {
        self.frames.iter().rposition(|frame| frame.function == function)
    }

    /// Nothing is known of who called what runs now.
    fn restart(&mut self, to: To, watch: &mut impl Watch) {
        self.cut(0, watch);
        self.push(to, How::Found, None, watch);
    }

    /// A call that returns to `back`.
    pub fn call(&mut self, to: To, back: u64, watch: &mut impl Watch) {
        // A call of what comes next just asks where it is.
        if to.address != back || to.within.is_start {
            self.push(to, How::Call, Some(back), watch);
        } else {
            self.go_on(to, false, watch);
        }
    }

    /// A branch that is no call and no return, or none at all.
    pub fn go_on(&mut self, to: To, indirect: bool, watch: &mut impl Watch) {
        let Some(current) = self.current() else { return self.restart(to, watch) };
        let function = to.within.function;
        if current == function || self.skipped > 0 {
            return;
        }
        let first = self.activation();
        let within = self.frames[first..].iter().rposition(|frame| frame.function == function);
        match (within, self.find(function)) {
            (Some(at), _) => self.cut(first + at + 1, watch),
            (None, _) if to.within.is_start => self.push(to, How::Tail, None, watch),
            // As longjmp and exceptions of languages do.
            (None, Some(at)) if indirect => self.cut(at + 1, watch),
            (None, _) => self.push(to, How::Part, None, watch),
        }
    }

    /// A return. Whether it was that of the last call, or of another one that is known: otherwise what runs above it is a guess.
    pub fn leave(&mut self, to: To, watch: &mut impl Watch) -> bool {
        if self.skipped > 0 {
            self.skipped -= 1;
            return true;
        }
        let is_it = |frame: &Frame| frame.how == How::Call && frame.back == Some(to.address);
        if let Some(at) = self.frames.iter().rposition(is_it) {
            let is_last = at == self.activation();
            self.cut(at, watch);
            self.go_on(to, false, watch);
            return is_last;
        }
        match self.find(to.within.function) {
            // Some branch to functions with returns.
            _ if to.within.is_start => self.go_on(to, true, watch),
            Some(at) => self.cut(at + 1, watch),
            // To a caller that was not seen: nothing is wrong with it.
            None => {
                let is_outermost = self.activation() == 0;
                self.restart(to, watch);
                return is_outermost;
            }
        }
        false
    }

    /// A return that is a call as well.
    pub fn swap(&mut self, to: To, back: u64, watch: &mut impl Watch) {
        let first = self.activation();
        if self.frames.get(first).is_some_and(|frame| frame.back == Some(to.address)) {
            self.cut(first, watch);
        }
        self.push(to, How::Call, Some(back), watch);
    }

    /// After an exception that returns to `back`.
    pub fn exception(&mut self, to: To, back: Option<u64>, was_lost: bool, watch: &mut impl Watch) -> bool {
        // Whatever served it was not traced. Some tell the instruction that trapped, some the next.
        if back.is_some_and(|back| is_near(to.address, back)) {
            self.go_on(to, false, watch);
            return true;
        }
        if self.resume(to, watch) {
            return true;
        }
        if was_lost && !to.within.is_start {
            return self.find_again(to, watch);
        }
        self.push(to, How::Exception, back, watch);
        true
    }

    /// If it is where an exception returns to, that has been served.
    fn resume(&mut self, to: To, watch: &mut impl Watch) -> bool {
        let is_it = |frame: &Frame| {
            frame.how == How::Exception && frame.back.is_some_and(|back| is_near(to.address, back))
        };
        let Some(at) = self.frames.iter().rposition(is_it) else { return false };
        self.cut(at, watch);
        self.go_on(to, true, watch);
        true
    }

    /// After a return from an exception.
    pub fn exception_return(&mut self, to: To, watch: &mut impl Watch) -> bool {
        if self.resume(to, watch) {
            return true;
        }
        let Some(at) = self.frames.iter().rposition(|frame| frame.how == How::Exception) else {
            self.restart(to, watch);
            return false;
        };
        // Execution goes on elsewhere: what the handler wanted.
        self.cut(at, watch);
        match self.find(to.within.function) {
            Some(at) => self.cut(at + 1, watch),
            None => self.restart(to, watch),
        }
        false
    }

    /// After a gap. Whether the calls it is in are still known.
    pub fn find_again(&mut self, to: To, watch: &mut impl Watch) -> bool {
        let function = to.within.function;
        let found = match to.within.is_named {
            true => self.find(function),
            // Calls within such code look alike: with the last of them, the stack would grow at each gap that hides a return.
            false => self.frames.iter().position(|frame| frame.function == function),
        };
        match found {
            Some(at) => {
                self.cut(at + 1, watch);
                true
            }
            None => {
                self.restart(to, watch);
                false
            }
        }
    }
}

/// Whether an address is one that an exception returns to: `back`, or the instruction after it.
const fn is_near(address: u64, back: u64) -> bool {
    matches!(address.wrapping_sub(back), 0 | 2 | 4)
}

/// Both take note.
impl<A: Watch, B: Watch> Watch for (A, B) {
    fn thread(&mut self, number: u32) {
        self.0.thread(number);
        self.1.thread(number);
    }

    fn enter(&mut self, function: u32, how: How) {
        self.0.enter(function, how);
        self.1.enter(function, how);
    }

    fn leave(&mut self) {
        self.0.leave();
        self.1.leave();
    }
}

impl<W: Watch> Watch for &mut W {
    fn thread(&mut self, number: u32) {
        (**self).thread(number);
    }

    fn enter(&mut self, function: u32, how: How) {
        (**self).enter(function, how);
    }

    fn leave(&mut self) {
        (**self).leave();
    }
}
