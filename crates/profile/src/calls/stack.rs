//! The call stack of one thread.

use crate::functions::Within;

/// Receives function entries and exits. Each exit is that of the function entered last in the thread reported last.
pub trait Watch {
    /// Reports that what follows belongs to this thread. Threads are numbered from 0.
    fn thread(&mut self, number: u32);
    /// Reports that a function is entered.
    fn enter(&mut self, function: u32, how: How);
    /// Reports that the function entered last is left.
    fn leave(&mut self);
}

/// Way in which a function is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// Execution is found in the function and its caller is not known, because the trace begins or was lost.
    Found,
    /// Call.
    Call,
    /// Branch or fall-through from another function to its start. It returns to that function's caller.
    Tail,
    /// Exception or signal: the function is the handler.
    Exception,
    /// Branch into the middle of the function: most likely a part of a function that lies elsewhere.
    Part,
}

impl How {
    /// Returns whether this entry counts as a call.
    pub const fn is_call(self) -> bool {
        matches!(self, Self::Call | Self::Tail | Self::Exception)
    }
}

/// A function on a call stack.
#[derive(Clone, Copy, Debug)]
pub struct StackedCall {
    /// Number of the function.
    pub function: u32,
    /// How it was entered.
    pub how: How,
    /// Address that it returns to, if known.
    pub back: Option<u64>,
}

/// A function that runs, or waits for one that it called.
#[derive(Clone, Copy, Debug)]
struct Frame {
    function: u32,
    how: How,
    /// Return address, if known.
    back: Option<u64>,
    /// Set if the frame is an exception's or a signal's, which ends where execution is at `back` again: that of the
    /// handler, or of the code that the handler returns to.
    handles: bool,
}

impl Frame {
    /// Returns whether the frame shares the activation of the frame below it.
    const fn is_tail(&self) -> bool {
        matches!(self.how, How::Tail | How::Part) && !self.handles
    }
}

/// Maximum depth of a call stack. What runs in deeper calls is attributed to the function at this depth.
pub const DEEPEST: usize = 4096;

#[derive(Clone, Debug, Default)]
pub(super) struct Stack {
    frames: Vec<Frame>,
    /// Frames before a gap after which a function begins that may be the handler of a signal: then they are resumed.
    lost: Vec<Frame>,
    /// Number of current calls beyond [`DEEPEST`].
    skipped: u64,
    /// Number of calls beyond [`DEEPEST`] since the counter was last taken.
    pub too_deep: u64,
}

/// Address where execution continues, and its function.
#[derive(Clone, Copy, Debug)]
pub(super) struct To {
    pub address: u64,
    pub within: Within,
}

impl Stack {
    /// Iterates over the functions, the outermost first.
    pub fn functions(&self) -> impl Iterator<Item = u32> {
        self.frames.iter().map(|frame| frame.function)
    }

    /// Iterates over the frames, the innermost first.
    pub fn frames(&self) -> impl Iterator<Item = StackedCall> {
        let frames = self.frames.iter().rev();
        frames.map(|frame| StackedCall { function: frame.function, how: frame.how, back: frame.back })
    }

    pub fn len(&self) -> usize {
        self.frames.len()
    }

    pub fn forget(&mut self, watch: &mut impl Watch) {
        self.lost = Vec::new();
        self.cut(0, watch);
    }

    /// Returns the function that runs.
    #[inline]
    pub fn current(&self) -> Option<u32> {
        self.frames.last().map(|frame| frame.function)
    }

    fn push(&mut self, to: To, how: How, back: Option<u64>, watch: &mut impl Watch) {
        let function = to.within.function;
        if self.frames.len() < DEEPEST {
            self.frames.push(Frame { function, how, back, handles: how == How::Exception });
            watch.enter(function, how);
        } else if matches!(how, How::Tail | How::Part) {
            // Nothing returns to the last frame, so the new one replaces it.
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

    /// Leaves all frames from number `len` on.
    fn cut(&mut self, len: usize, watch: &mut impl Watch) {
        self.skipped = 0;
        for _ in self.frames.drain(len..) {
            watch.leave();
        }
    }

    /// Returns the first frame of the last activation.
    fn activation(&self) -> usize {
        self.frames.iter().rposition(|frame| !frame.is_tail()).unwrap_or(0)
    }

    fn find(&self, function: u32) -> Option<usize> {
        self.frames.iter().rposition(|frame| frame.function == function)
    }

    /// Leaves all frames and begins again with a function whose caller is not known.
    fn restart(&mut self, to: To, watch: &mut impl Watch) {
        self.cut(0, watch);
        self.push(to, How::Found, None, watch);
    }

    /// Handles a call that returns to `back`.
    pub fn call(&mut self, to: To, back: u64, watch: &mut impl Watch) {
        // A call to the next instruction only reads the program counter.
        if to.address != back || to.within.is_start {
            self.push(to, How::Call, Some(back), watch);
        } else {
            self.go_on(to, false, watch);
        }
    }

    /// Handles a branch that is neither call nor return, or a fall-through.
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
            // A non-local exit: longjmp or a language exception. Code without symbols looks all alike.
            (None, Some(at)) if indirect && to.within.is_named => self.cut(at + 1, watch),
            (None, _) => self.push(to, How::Part, None, watch),
        }
    }

    /// Handles a return. Returns whether it matched the last call, or left to a caller before the trace began; if not,
    /// the stack is a guess.
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
        let found = self.find(to.within.function);
        // A return to a named function on the stack is a longjmp.
        if (found.is_none() || !to.within.is_named || to.within.is_start) && self.leave_handler(to, watch) {
            return true;
        }
        match found {
            // Some code branches to functions with return instructions.
            _ if to.within.is_start => self.go_on(to, true, watch),
            Some(at) => self.cut(at + 1, watch),
            // A return to a caller that was not seen is no loss.
            None if self.restore(to, watch) => return true,
            None => {
                let is_outermost = self.activation() == 0;
                self.restart(to, watch);
                return is_outermost;
            }
        }
        false
    }

    /// Handles the return of a signal's handler to code that nothing called: the trampoline, whose system call resumes
    /// what the signal interrupted. Its frame takes the place of the handler's. Returns whether a handler returned.
    fn leave_handler(&mut self, to: To, watch: &mut impl Watch) -> bool {
        let first = self.activation();
        let Some(&handler) = self.frames.get(first).filter(|frame| frame.handles) else { return false };
        self.cut(first, watch);
        let how = if to.within.is_start { How::Tail } else { How::Part };
        self.frames.push(Frame { function: to.within.function, how, handles: true, ..handler });
        watch.enter(to.within.function, how);
        true
    }

    /// Handles a return that is also a call.
    pub fn swap(&mut self, to: To, back: u64, watch: &mut impl Watch) {
        let first = self.activation();
        if self.frames.get(first).is_some_and(|frame| frame.back == Some(to.address)) {
            self.cut(first, watch);
        }
        self.push(to, How::Call, Some(back), watch);
    }

    /// Handles an exception that returns to `back`. Returns whether the stack is still known.
    pub fn exception(&mut self, to: To, back: Option<u64>, was_lost: bool, watch: &mut impl Watch) -> bool {
        // The handler was not traced. `back` may be the instruction that trapped or the next one.
        if back.is_some_and(|back| is_near(to.address, back)) {
            self.go_on(to, false, watch);
            return true;
        }
        if self.resume(to, watch) || self.leave_trampoline(to, watch) || self.restore(to, watch) {
            return true;
        }
        if was_lost && !to.within.is_start {
            return self.find_again(to, watch);
        }
        self.push(to, How::Exception, back, watch);
        true
    }

    /// Handles the system call of a trampoline, which resumes what a signal interrupted. Where that is was not known if
    /// the signal came at a branch. Returns whether a trampoline ran.
    fn leave_trampoline(&mut self, to: To, watch: &mut impl Watch) -> bool {
        let is_it = |frame: &&Frame| frame.handles && frame.how != How::Exception;
        let Some(&trampoline) = self.frames.last().filter(is_it) else { return false };
        let function = to.within.function;
        if trampoline.function == function {
            return true;
        }
        let below = self.frames.len() - 1;
        match self.frames[..below].iter().rposition(|frame| frame.function == function) {
            Some(at) if to.within.is_named => self.cut(at + 1, watch),
            // The handler of another signal, which interrupted the same.
            _ if to.within.is_start => {
                self.cut(below, watch);
                self.push(to, How::Exception, trampoline.back, watch);
            }
            _ => return false,
        }
        true
    }

    /// Resumes the frames before a gap, if `to` is in the middle of a function that was one of them. Returns whether it is.
    fn restore(&mut self, to: To, watch: &mut impl Watch) -> bool {
        if !to.within.is_named || to.within.is_start {
            return false;
        }
        let Some(at) = self.lost.iter().rposition(|frame| frame.function == to.within.function) else {
            return false;
        };
        self.cut(0, watch);
        self.frames.extend(self.lost.drain(..).take(at + 1));
        self.frames.iter().for_each(|frame| watch.enter(frame.function, How::Found));
        true
    }

    /// Leaves the exception that returns to `to`, if there is one. Returns whether there is.
    fn resume(&mut self, to: To, watch: &mut impl Watch) -> bool {
        let is_it = |frame: &Frame| frame.handles && frame.back.is_some_and(|back| is_near(to.address, back));
        let Some(at) = self.frames.iter().rposition(is_it) else { return false };
        self.cut(at, watch);
        self.go_on(to, true, watch);
        true
    }

    /// Handles a return from an exception. Returns whether it matched a known exception.
    pub fn exception_return(&mut self, to: To, watch: &mut impl Watch) -> bool {
        if self.resume(to, watch) {
            return true;
        }
        let Some(at) = self.frames.iter().rposition(|frame| frame.handles) else {
            self.restart(to, watch);
            return false;
        };
        // The handler chose to continue elsewhere.
        self.cut(at, watch);
        match self.find(to.within.function) {
            Some(at) => self.cut(at + 1, watch),
            None => self.restart(to, watch),
        }
        false
    }

    /// Finds the function again after a gap. Returns whether it was on the stack.
    pub fn find_again(&mut self, to: To, watch: &mut impl Watch) -> bool {
        let function = to.within.function;
        let found = match to.within.is_named {
            true => self.find(function),
            // Without symbols, nested calls look alike. Choosing the last would let the stack grow at each gap that
            // hides a return.
            false => self.frames.iter().position(|frame| frame.function == function),
        };
        match found {
            Some(at) => {
                self.cut(at + 1, watch);
                true
            }
            None => {
                // A handler may run until a gap, too: what was known first is kept.
                if to.within.is_start && self.frames.len() >= self.lost.len() {
                    self.lost = std::mem::take(&mut self.frames);
                    self.lost.iter().for_each(|_| watch.leave());
                }
                self.restart(to, watch);
                false
            }
        }
    }
}

/// Returns whether an exception with the return address `back` can return to `address`: `back` or the instruction after it.
const fn is_near(address: u64, back: u64) -> bool {
    matches!(address.wrapping_sub(back), 0 | 2 | 4)
}

/// Forwards everything to both.
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
