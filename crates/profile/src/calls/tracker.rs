//! Finds function entries and exits in elements.

use tracewright_core::{Block, Element, Ended, Flow, MemorySpace, Role};
use tracewright_flow::hash::HashMap;

use super::stack::{Stack, StackedCall, To, Watch};
use crate::clock::is_break;
use crate::functions::Within;

/// A thread, as far as the trace distinguishes threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Thread {
    /// Virtual machine ID, if traced.
    pub vmid: Option<u32>,
    /// Context ID, if traced. On Linux this is the thread ID.
    pub context_id: Option<u32>,
}

/// Number of times that the call stack became uncertain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Gaps in the trace after which the caller is not known.
    pub gaps: u64,
    /// Returns from calls and exceptions to an unexpected address: longjmp, coroutines, lost calls.
    pub returns: u64,
    /// Calls deeper than [`DEEPEST`](super::DEEPEST). What ran in them is attributed to the function at that depth.
    pub too_deep: u64,
}

/// Finds calls and returns in the elements of one source. Each thread has its own call stack. After a gap the tracker
/// resumes with the frame of the function that runs, if that function was on the stack.
#[derive(Debug)]
pub struct Tracker {
    /// All threads seen, by number.
    threads: Vec<Thread>,
    numbers: HashMap<Thread, u32>,
    /// Call stacks of threads that do not run now.
    others: HashMap<u32, Calling>,
    /// Number of frames in `others`.
    kept: usize,
    current: u32,
    calling: Calling,
    is_told: bool,
    losses: Losses,
}

/// Call stack of a thread, and how its last block ended.
#[derive(Debug)]
struct Calling {
    stack: Stack,
    after: After,
}

/// How execution reaches the next block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// Unknown.
    Lost,
    Next,
    Jump {
        indirect: bool,
    },
    Call {
        back: u64,
    },
    Return,
    Swap {
        back: u64,
    },
    Exception {
        back: Option<u64>,
        was_lost: bool,
    },
    ExceptionReturn,
}

/// Maximum number of threads that are told apart.
const MOST_THREADS: usize = 1 << 16;
/// Maximum number of frames kept for threads that do not run.
const MOST_KEPT: usize = 1 << 20;

impl Default for Tracker {
    fn default() -> Self {
        let none = Thread::default();
        Self {
            threads: vec![none],
            numbers: HashMap::from_iter([(none, 0)]),
            others: HashMap::default(),
            kept: 0,
            current: 0,
            calling: Calling::default(),
            is_told: false,
            losses: Losses::default(),
        }
    }
}

impl Default for Calling {
    fn default() -> Self {
        Self { stack: Stack::default(), after: After::Lost }
    }
}

impl Tracker {
    /// Takes the next element, whose code is in `space`. `find` returns the function of an address. `watch` hears of
    /// entries and exits before this returns, so that its state is that of the block.
    pub fn take(
        &mut self,
        element: &Element,
        space: MemorySpace,
        mut find: impl FnMut(u64, MemorySpace) -> Within,
        watch: &mut impl Watch,
    ) {
        match element {
            Element::Block(block) => {
                if !self.is_told {
                    self.is_told = true;
                    watch.thread(self.current);
                }
                self.arrive(To { address: block.start, within: find(block.start, space) }, watch);
                self.calling.after = After::block(block);
            }
            Element::Context(context, _) => {
                self.switch(Thread { vmid: context.vmid, context_id: context.context_id }, watch);
            }
            Element::Exception(exception) => {
                let back = exception.return_address;
                let came = !matches!(self.calling.after, After::Next | After::Lost | After::Exception { .. });
                if let Some(address) = back.filter(|_| came && self.is_told) {
                    self.arrive(To { address, within: find(address, space) }, watch);
                }
                let was_lost = self.calling.after == After::Lost;
                self.calling.after = After::Exception { back, was_lost };
            }
            Element::ExceptionReturn => self.calling.after = After::ExceptionReturn,
            _ if is_break(element) => self.lose(),
            _ => {}
        }
    }

    /// Notes a gap. A handler may be lost in it, but the return address of its exception is still known.
    fn lose(&mut self) {
        self.calling.after = match self.calling.after {
            After::Exception { back, .. } => After::Exception { back, was_lost: true },
            _ => After::Lost,
        };
    }

    #[inline]
    fn arrive(&mut self, to: To, watch: &mut impl Watch) {
        // Nearly always the function that runs goes on.
        let stays = matches!(self.calling.after, After::Next | After::Jump { .. });
        if !stays || self.calling.stack.current() != Some(to.within.function) {
            self.arrive_elsewhere(to, watch);
        }
    }

    fn arrive_elsewhere(&mut self, to: To, watch: &mut impl Watch) {
        let Calling { stack, after } = &mut self.calling;
        let is_known = match std::mem::replace(after, After::Next) {
            After::Lost => {
                self.losses.gaps += u64::from(!stack.find_again(to, watch));
                true
            }
            After::Next => {
                stack.go_on(to, false, watch);
                true
            }
            After::Jump { indirect } => {
                stack.go_on(to, indirect, watch);
                true
            }
            After::Call { back } => {
                stack.call(to, back, watch);
                true
            }
            After::Return => stack.leave(to, watch),
            After::Swap { back } => {
                stack.swap(to, back, watch);
                true
            }
            After::Exception { back, was_lost } => stack.exception(to, back, was_lost, watch),
            After::ExceptionReturn => stack.exception_return(to, watch),
        };
        self.losses.returns += u64::from(!is_known);
        self.losses.too_deep += std::mem::take(&mut stack.too_deep);
    }

    fn switch(&mut self, thread: Thread, watch: &mut impl Watch) {
        let number = match self.numbers.get(&thread) {
            Some(&number) => number,
            // The first context names the thread that ran from the beginning.
            None if !self.is_told => {
                self.numbers.clear();
                self.numbers.insert(thread, 0);
                self.threads[0] = thread;
                0
            }
            None if self.threads.len() < MOST_THREADS => {
                let number = self.threads.len() as u32;
                self.threads.push(thread);
                self.numbers.insert(thread, number);
                number
            }
            None => 0,
        };
        if number == self.current {
            return;
        }
        let goes_on = self.pause();
        let mut next = self.others.remove(&number).unwrap_or_default();
        self.kept = self.kept + self.calling.stack.len() - next.stack.len();
        if !goes_on {
            next.after = After::Lost;
        }
        self.others.insert(self.current, std::mem::replace(&mut self.calling, next));
        self.current = number;
        self.is_told = true;
        if self.kept > MOST_KEPT {
            self.forget(watch);
        }
        watch.thread(number);
    }

    /// Notes that another thread runs. Returns whether the current thread will go on where it stopped.
    pub fn pause(&mut self) -> bool {
        // If the context comes late, part of what the thread did was not seen.
        let goes_on = self.calling.after == After::Next;
        if !goes_on {
            self.calling.after = After::Lost;
        }
        goes_on
    }

    /// Empties the stacks of the threads that do not run.
    #[cold]
    fn forget(&mut self, watch: &mut impl Watch) {
        for (number, mut calling) in self.others.drain() {
            watch.thread(number);
            calling.stack.forget(watch);
        }
        self.kept = 0;
    }

    /// Returns all threads seen, by number.
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// Iterates over the call stack of the current thread, the outermost function first.
    pub fn stack(&self) -> impl Iterator<Item = u32> {
        self.calling.stack.functions()
    }

    /// Iterates over the call stack of the current thread, the innermost function first.
    pub fn frames(&self) -> impl Iterator<Item = StackedCall> {
        self.calling.stack.frames()
    }

    /// Returns how often the call stack became uncertain.
    pub fn losses(&self) -> Losses {
        self.losses
    }
}

impl After {
    fn block(block: &Block) -> Self {
        if block.ended != Ended::Taken {
            return Self::Next;
        }
        match block.class.role {
            Role::Call => Self::Call { back: block.end },
            Role::Return => Self::Return,
            Role::Swap => Self::Swap { back: block.end },
            Role::ExceptionReturn => Self::ExceptionReturn,
            Role::Jump | Role::LoopEnd => Self::Jump { indirect: block.class.flow == Flow::Indirect },
        }
    }
}
