//! Functions entered and left, one after another, and the call stack where the trace ends.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;

use tracewright_core::{Element, Exception, GapReason, MemorySpace};
use tracewright_engine::{At, Consumer, Engine, Source};
use tracewright_flow::hash::HashMap;
use tracewright_input::Buffer;
pub use tracewright_profile::How;
use tracewright_profile::{Functions, Program, Tracker, Watch};

use crate::by_time::is_pipe;
use crate::error::Error;
use crate::filter::{Filter, FilterState, program_of};
use crate::outcome::Outcome;
use crate::profile::{BlockCounter, HandlerFinder, in_binaries};
use crate::totals::Totals;
use crate::trace::Trace;

/// Something that happened to the call stack of a source.
#[derive(Clone, Debug)]
pub struct CallEvent {
    /// Index of the source in the capture.
    pub source: usize,
    /// Number of the source in its buffer.
    pub id: u16,
    /// Offset in the trace file of the packet that reported it.
    pub offset: u64,
    /// Number of functions on the stack below.
    pub depth: usize,
    /// Memory space of the code.
    pub space: MemorySpace,
    /// What happened.
    pub kind: CallKind,
}

/// What happened to a call stack.
#[derive(Clone, Debug)]
pub enum CallKind {
    /// A function was entered.
    Enter {
        /// Its name.
        function: Arc<str>,
        /// Where execution arrived.
        address: u64,
        /// How it was entered.
        how: How,
    },
    /// The function entered last was left.
    Leave {
        /// Its name.
        function: Arc<str>,
        /// Instructions that ran since it was entered, with those of the functions that it called.
        instructions: u64,
    },
    /// An exception was taken.
    Exception(Exception),
    /// An exception returned.
    ExceptionReturn,
    /// Trace is missing, or what it tells cannot be followed: callers may be lost.
    Gap {
        /// How many times in a row, without any other event.
        times: u64,
    },
    /// The trace ends.
    Backtrace {
        /// The call stack of the thread that ran last, the innermost function first.
        frames: Vec<StackFrame>,
        /// Whether the trace or the code of what ran last is missing: the stack is the last one that is known.
        is_lost: bool,
        /// Calls deeper than [`DEEPEST`](tracewright_profile::DEEPEST) since the trace began. They are not followed.
        too_deep: u64,
    },
}

/// A function on a call stack.
#[derive(Clone, Debug)]
pub struct StackFrame {
    /// Its name.
    pub function: Arc<str>,
    /// The instruction at which the trace ends, or where the function goes on when the one above it returns; `None` if the function above
    /// it took its place (a tail call).
    pub address: Option<u64>,
    /// How it was entered.
    pub how: How,
}

/// Lists calls for a filter.
struct CallLister<'f> {
    filter: &'f Filter,
    program: &'f Program,
}

/// A source that is being followed.
#[derive(Default)]
struct CallState<'f>(Option<Box<Of<'f>>>);

struct Of<'f> {
    filter: FilterState<'f>,
    tracker: Tracker,
    functions: Functions,
    names: Vec<Arc<str>>,
    /// Functions that were entered, of each thread.
    stacks: HashMap<u32, Vec<Entered>>,
    thread: u32,
    instructions: u64,
    /// The instruction that ran last, or that an exception kept from running.
    last: Option<u64>,
    /// What is missing and has not been reported.
    gap: Option<CallEvent>,
    /// Whether something is missing since the last block.
    is_lost: bool,
}

struct Entered {
    function: u32,
    /// Instructions that ran before.
    since: u64,
    is_shown: bool,
}

/// Reports entries and exits of one element.
struct Report<'s, 'a> {
    at: &'s At<'a>,
    address: u64,
    is_inside: bool,
    functions: &'s std::cell::RefCell<&'s mut Functions>,
    names: &'s mut Vec<Arc<str>>,
    stacks: &'s mut HashMap<u32, Vec<Entered>>,
    thread: &'s mut u32,
    instructions: u64,
    events: &'s mut Vec<CallEvent>,
}

fn event(at: &At<'_>, depth: usize, kind: CallKind) -> CallEvent {
    CallEvent {
        source: at.source.index,
        id: at.source.id,
        offset: at.place.offset,
        depth,
        space: at.space,
        kind,
    }
}

/// Returns the name of a function, which is copied once.
fn name(names: &mut Vec<Arc<str>>, functions: &Functions, function: u32) -> Arc<str> {
    while names.len() <= function as usize && names.len() < functions.list().len() {
        names.push(functions.name(names.len() as u32).into());
    }
    names.get(function as usize).cloned().unwrap_or_else(|| "?".into())
}

impl Watch for Report<'_, '_> {
    fn thread(&mut self, number: u32) {
        *self.thread = number;
    }

    fn enter(&mut self, function: u32, how: How) {
        let stack = self.stacks.entry(*self.thread).or_default();
        if self.is_inside {
            let function = name(self.names, &self.functions.borrow(), function);
            let kind = CallKind::Enter { function, address: self.address, how };
            self.events.push(event(self.at, stack.len(), kind));
        }
        stack.push(Entered { function, since: self.instructions, is_shown: self.is_inside });
    }

    fn leave(&mut self) {
        let stack = self.stacks.entry(*self.thread).or_default();
        let Some(left) = stack.pop().filter(|left| left.is_shown) else { return };
        let function = name(self.names, &self.functions.borrow(), left.function);
        let kind = CallKind::Leave { function, instructions: self.instructions - left.since };
        self.events.push(event(self.at, stack.len(), kind));
    }
}

impl<'f> CallLister<'f> {
    fn source(&self, index: usize) -> Box<Of<'f>> {
        Box::new(Of {
            filter: self.filter.state(index),
            tracker: Tracker::default(),
            functions: Functions::default(),
            names: Vec::new(),
            stacks: HashMap::default(),
            thread: 0,
            instructions: 0,
            last: None,
            gap: None,
            is_lost: false,
        })
    }
}

impl<'f> Consumer for CallLister<'f> {
    type State = CallState<'f>;
    type Output = Vec<CallEvent>;

    fn element(
        &self,
        state: &mut CallState<'f>,
        events: &mut Vec<CallEvent>,
        at: &At<'_>,
        element: &Element,
    ) {
        let of = &mut **state.0.get_or_insert_with(|| self.source(at.source.index));
        let is_inside = self.filter.take(&mut of.filter, at, element);
        let address = match element {
            Element::Block(block) => block.start,
            Element::Exception(exception) => exception.return_address.unwrap_or(0),
            _ => 0,
        };
        let reported = events.len();
        let functions = std::cell::RefCell::new(&mut of.functions);
        let mut report = Report {
            at,
            address,
            is_inside,
            functions: &functions,
            names: &mut of.names,
            stacks: &mut of.stacks,
            thread: &mut of.thread,
            instructions: of.instructions,
            events,
        };
        let find = |address, space| functions.borrow_mut().find(self.program, at.image, address, space);
        of.tracker.take(element, at.space, find, &mut report);
        let depth = of.stacks.get(&of.thread).map_or(0, Vec::len);
        let kind = match element {
            Element::Block(block) => {
                of.instructions += u64::from(block.count);
                of.last = Some(block.last());
                of.is_lost = false;
                None
            }
            Element::Exception(exception) => {
                of.last = exception.return_address.or(of.last);
                Some(CallKind::Exception(*exception))
            }
            Element::ExceptionReturn => Some(CallKind::ExceptionReturn),
            // Trace begins somewhere.
            Element::Gap { reason: GapReason::Start, .. } => None,
            Element::Gap { .. }
            | Element::NoCode { .. }
            | Element::Mismatch(_)
            | Element::UnknownPath { .. } => {
                of.is_lost |= !matches!(element, Element::UnknownPath { .. });
                match &mut of.gap {
                    Some(CallEvent { kind: CallKind::Gap { times }, .. }) if is_inside => *times += 1,
                    gap if is_inside => *gap = Some(event(at, depth, CallKind::Gap { times: 1 })),
                    _ => {}
                }
                None
            }
            _ => None,
        };
        events.extend(kind.filter(|_| is_inside).map(|kind| event(at, depth, kind)));
        // What was missing came first.
        if events.len() > reported {
            of.gap.take().into_iter().for_each(|gap| events.insert(reported, gap));
        }
    }

    fn passed(&self, state: &mut CallState<'f>, source: &Source<'_>, element: &Element) {
        let of = &mut **state.0.get_or_insert_with(|| self.source(source.index));
        Filter::pass(&mut of.filter, element);
    }

    fn end(&self, state: &mut CallState<'f>, events: &mut Vec<CallEvent>, at: &At<'_>, _overflowed: bool) {
        let Some(mut of) = state.0.take() else { return };
        let mut address = of.last;
        let mut frames = Vec::new();
        for frame in of.tracker.frames() {
            let function = name(&mut of.names, &of.functions, frame.function);
            frames.push(StackFrame { function, address, how: frame.how });
            address = frame.back;
        }
        events.extend(of.gap.take());
        let too_deep = of.tracker.losses().too_deep;
        if !frames.is_empty() || too_deep > 0 {
            let (depth, is_lost) = (frames.len(), of.is_lost);
            events.push(event(at, depth, CallKind::Backtrace { frames, is_lost, too_deep }));
        }
    }

    /// Output is taken piece by piece, in order: nothing is left to merge.
    fn merge(&self, _: &mut Vec<CallEvent>, _: Vec<CallEvent>) {}

    /// Calls are followed from block to block.
    fn in_order(&self) -> bool {
        true
    }

    fn needs_all(&self) -> bool {
        !self.filter.window.is_all()
    }

    fn len(&self, events: &Vec<CallEvent>) -> usize {
        events.len()
    }

    fn size(&self, events: &Vec<CallEvent>) -> usize {
        size_of_val(&events[..])
    }

    fn clear(&self, events: &mut Vec<CallEvent>) {
        events.clear();
    }
}

impl Trace {
    /// Passes the functions that were entered and left to `take`, in the order of the file, and at its end the call stack of each source.
    /// Calls are followed through all of the chosen file range; other filters only choose what is reported.
    ///
    /// # Errors
    /// Fails if the trace cannot be read.
    pub fn calls(
        &self,
        mut take: impl FnMut(&CallEvent) -> ControlFlow<()> + Send,
    ) -> Result<Outcome<()>, Error> {
        let engine = self.engine()?;
        let mut all = Outcome::default();
        for buffer in self.buffers()? {
            let calls = self.calls_of(&engine, buffer, |events| events.iter().try_for_each(&mut take))?;
            all.add(calls);
        }
        all.problems.extend(self.problems_of(&all.tally).cloned());
        Ok(all)
    }

    /// Passes the calls of a buffer to `take`, many at a time. See [`calls`](Self::calls).
    ///
    /// # Errors
    /// Fails if the buffer cannot be read.
    pub fn calls_of(
        &self,
        engine: &Engine,
        buffer: &Buffer,
        mut take: impl FnMut(&[CallEvent]) -> ControlFlow<()> + Send,
    ) -> Result<Outcome<()>, Error> {
        let (unfiltered, filter) = self.split_filter();
        let program = self.program_of_calls(engine, buffer, &unfiltered)?;
        let lister = CallLister { filter, program: &program };
        let calls =
            unfiltered.decode_buffer(engine, buffer, &lister, true, |events, range| take(&events[range]))?;
        let mut calls = calls.map(|_| ());
        // All of it was followed: what is listed is counted by itself.
        if self.is_filtered() && !calls.is_stopped && !is_pipe(buffer) {
            let quiet = self.clone().progress(|_| ());
            let listed =
                quiet.decode_buffer(engine, buffer, &Totals, true, |_, _| ControlFlow::Continue(()))?;
            (calls.tally, calls.sources) = (listed.tally, listed.sources);
        }
        Ok(calls)
    }

    /// Returns the last `count` calls of each source of a buffer, in order, and the call stacks where the trace ends. Memory is that of the
    /// result.
    ///
    /// # Errors
    /// Fails if the buffer cannot be read.
    pub fn last_calls_of(
        &self,
        engine: &Engine,
        buffer: &Buffer,
        count: usize,
    ) -> Result<Outcome<Vec<CallEvent>>, Error> {
        let (mut last, mut number) = (BTreeMap::<u16, VecDeque<_>>::new(), 0_u64);
        let mut stacks = Vec::new();
        let calls = self.calls_of(engine, buffer, |events| {
            for event in events {
                number += 1;
                if let CallKind::Backtrace { .. } = event.kind {
                    stacks.push((number, event.clone()));
                    continue;
                }
                let of_source = last.entry(event.id).or_default();
                if of_source.len() == count {
                    of_source.pop_front();
                }
                of_source.push_back((number, event.clone()));
            }
            ControlFlow::Continue(())
        })?;
        let mut all: Vec<_> = last.into_values().flatten().chain(stacks).collect();
        all.sort_by_key(|(number, _)| *number);
        Ok(calls.map(|()| all.into_iter().map(|(_, event)| event).collect()))
    }

    /// Returns the programs of a buffer, with the functions without symbols that calls lead to. For them the buffer is read once more; a
    /// pipe cannot be.
    fn program_of_calls(
        &self,
        engine: &Engine,
        buffer: &Buffer,
        unfiltered: &Self,
    ) -> Result<Program, Error> {
        let image = self.image();
        if is_pipe(buffer) {
            return Ok(program_of(image).1);
        }
        let quiet = unfiltered.clone().progress(|_| ());
        let counted =
            quiet.decode_buffer(engine, buffer, &BlockCounter, true, |_, _| ControlFlow::Continue(()))?;
        let profile = in_binaries(counted.value, image);
        let program = Program::new(&profile, image);
        if profile.blocks.keys().all(|code| program.symbol(code.start).is_some()) {
            return Ok(program);
        }
        let take = |_: &_, _| ControlFlow::Continue(());
        let handlers = quiet.decode_buffer(engine, buffer, &HandlerFinder, true, take)?;
        Ok(program.with_handlers(image, handlers.value))
    }
}
