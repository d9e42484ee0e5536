//! Elements in, functions entered and left out.

use std::collections::HashMap;

use tracewright_core::{Block, Element, Ended, Flow, MemorySpace, Role};

use super::stack::{Stack, To, Watch};
use crate::functions::Within;

/// Whose calls: what the trace tells apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Thread {
    /// The virtual machine, if it is traced.
    pub vmid: Option<u32>,
    /// The context ID: on Linux the thread's number, if it is traced.
    pub context_id: Option<u32>,
}

/// How often it was not clear which calls execution was in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Gaps in the trace after which the caller is not known.
    pub gaps: u64,
    /// Returns, from calls and exceptions, to where nothing known returns to: longjmp, co-routines, lost calls.
    pub returns: u64,
    /// Calls deeper than [`DEEPEST`](super::DEEPEST): what ran in them is put down to the function there.
    pub too_deep: u64,
}

/// Finds calls and returns in the elements of one source, in order. Each thread has its own; what is lost at a gap is found again as far
/// as it can be: a function that was at work before goes on.
#[derive(Debug)]
pub struct Tracker {
    /// All that were seen, by their numbers.
    threads: Vec<Thread>,
    numbers: HashMap<Thread, u32>,
    /// Those that do not run.
    others: HashMap<u32, Calling>,
    /// The frames of those.
    kept: usize,
    current: u32,
    calling: Calling,
    is_told: bool,
    losses: Losses,
}

/// The calls that a thread is in, and how its last block ended.
#[derive(Debug)]
struct Calling {
    stack: Stack,
    after: After,
}

/// How execution came to what comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// Nobody knows.
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

/// More threads than these are not kept apart.
const MOST_THREADS: usize = 1 << 16;
/// More frames of threads that do not run are not kept.
const MOST_KEPT: usize = 1 << 20;

impl Default for Tracker {
    fn default() -> Self {
        let none = Thread::default();
        Self {
            threads: vec![none],
            numbers: HashMap::from([(none, 0)]),
            others: HashMap::new(),
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
    /// Takes the next element, whose code is in `space`. `find` tells the function of an address there. What a block belongs to is told before it
    /// is taken note of: what `watch` knows then is where the block ran.
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
            Element::TraceOn(_)
            | Element::Gap { .. }
            | Element::Lost(_)
            | Element::Mismatch(_)
            | Element::NoCode { .. }
            | Element::UnknownPath { .. } => self.lose(),
            Element::Target { .. }
            | Element::Timestamp { .. }
            | Element::TimestampMarker
            | Element::Cycles(_)
            | Element::Event(_)
            | Element::Instrumentation { .. }
            | Element::Transaction(_)
            | Element::Data { .. }
            | Element::DataLost
            | Element::End => {}
        }
    }

    /// What is missing may be what serves an exception: where that returns to is known all the same.
    fn lose(&mut self) {
        self.calling.after = match self.calling.after {
            After::Exception { back, .. } => After::Exception { back, was_lost: true },
            _ => After::Lost,
        };
    }

    fn arrive(&mut self, to: To, watch: &mut impl Watch) {
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
            // The first to be told is the one that ran already.
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
        // Who is told of late has done something nobody saw.
        let goes_on = self.calling.after == After::Next;
        if !goes_on {
            self.calling.after = After::Lost;
        }
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

    /// Threads that do not run begin anew.
    #[cold]
    fn forget(&mut self, watch: &mut impl Watch) {
        for (number, mut calling) in self.others.drain() {
            watch.thread(number);
            calling.stack.forget(watch);
        }
        self.kept = 0;
    }

    /// All threads that were seen, by their numbers.
    #[must_use]
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// The functions that the current thread is in, the outermost first.
    pub fn stack(&self) -> impl Iterator<Item = u32> {
        self.calling.stack.functions()
    }

    /// How often it was not clear which calls execution was in.
    #[must_use]
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
