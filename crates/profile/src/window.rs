//! Part of a run, by cycles or by timestamps in the trace.

use std::ops::Range;

use tracewright_core::{Element, Stamp};

use crate::clock::{Clock, End, Kind, Told};

/// Requested time: retirement in these cycles, and execution at these timestamps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Cycles.
    pub cycles: Option<Range<u64>>,
    /// Timestamps. The last one in the trace before an instruction counts.
    pub times: Option<Range<u64>>,
}

impl Window {
    /// Returns whether the whole run is requested.
    pub fn is_all(&self) -> bool {
        self.cycles.is_none() && self.times.is_none()
    }
}

/// Selects the instructions of a source that are in the requested time.
///
/// The time of an instruction is that of its retirement; if only the cycles of several instructions are known, the
/// earliest possible one.
#[derive(Clone, Debug)]
pub struct Gate {
    window: Window,
    is_all: bool,
    /// Kind of clock. `None` if time is the number of instructions.
    kind: Option<Kind>,
    /// Last known cycle.
    cycle: Option<u64>,
    /// Last timestamp.
    time: Option<u64>,
    outside: u64,
    unknown: u64,
}

impl Gate {
    /// Creates a gate for a source with this kind of clock. Without one, instructions are counted.
    pub fn new(window: &Window, kind: Option<Kind>) -> Self {
        let cycle = matches!(kind, None | Some(Kind::Counts)).then_some(0);
        let is_all = window.is_all();
        Self { window: window.clone(), is_all, kind, cycle, time: None, outside: 0, unknown: 0 }
    }

    /// Takes the next element and what its clock, if any, says about it. For a block, returns which instructions are inside.
    #[inline]
    pub fn take(&mut self, element: &Element, told: Option<&Told<'_>>) -> Range<u32> {
        if self.is_all {
            return match element {
                Element::Block(block) => 0..block.count,
                _ => 0..0,
            };
        }
        self.limited(element, told)
    }

    fn limited(&mut self, element: &Element, told: Option<&Told<'_>>) -> Range<u32> {
        if let Some(Told::Reached(cycle)) = told {
            self.cycle = Some(*cycle);
        }
        match element {
            // 0 means unknown.
            Element::Timestamp { value: value @ 1.., .. } => self.time = Some(*value),
            Element::Block(block) => {
                let by_cycle = match told {
                    Some(Told::Block(stamps)) => self.by_stamps(stamps),
                    _ => self.by_number(block.count),
                };
                let inside = if self.is_time() { by_cycle } else { 0..0 };
                let left = u64::from(block.count.saturating_sub(inside.end - inside.start));
                let is_unknown = self.window.cycles.is_some() && self.cycle.is_none()
                    || self.window.times.is_some() && self.time.is_none();
                *(if is_unknown { &mut self.unknown } else { &mut self.outside }) += left;
                return inside;
            }
            _ => {}
        }
        0..0
    }

    /// Takes an element that is not wanted: time advances, and nothing is counted.
    pub fn pass(&mut self, element: &Element, told: Option<&Told<'_>>) {
        let counted = (self.outside, self.unknown);
        self.take(element, told);
        (self.outside, self.unknown) = counted;
    }

    /// Returns the instructions from the first to the last that are known to be inside.
    fn by_stamps(&mut self, stamps: &[Stamp]) -> Range<u32> {
        let mut inside: Option<Range<u32>> = None;
        for (at, stamp) in (0..).zip(stamps) {
            let Some(cycle) = stamp.first() else { continue };
            self.cycle = Some(cycle);
            if self.window.cycles.as_ref().is_none_or(|cycles| cycles.contains(&cycle)) {
                inside.get_or_insert(at..at).end = at + 1;
            }
        }
        if self.window.cycles.is_none() { 0..stamps.len() as u32 } else { inside.unwrap_or(0..0) }
    }

    /// Returns the instructions inside when time is the number of instructions.
    fn by_number(&mut self, count: u32) -> Range<u32> {
        let Some(cycles) = &self.window.cycles else { return 0..count };
        if self.kind.is_some() {
            return 0..0;
        }
        let before = self.cycle.unwrap_or(0);
        self.cycle = Some(before.saturating_add(count.into()));
        let at = |cycle: u64| cycle.saturating_sub(before).min(count.into()) as u32;
        let start = at(cycles.start);
        start..at(cycles.end).max(start)
    }

    /// Returns whether the last timestamp is inside.
    pub fn is_time(&self) -> bool {
        let Some(times) = &self.window.times else { return true };
        self.time.is_some_and(|time| times.contains(&time))
    }

    /// Returns whether the current time is inside.
    pub fn is_open(&self) -> bool {
        let Some(cycles) = &self.window.cycles else { return self.is_time() };
        self.is_time() && self.cycle.is_some_and(|cycle| cycles.contains(&cycle))
    }

    /// Returns the number of instructions outside.
    pub fn outside(&self) -> u64 {
        self.outside
    }

    /// Returns the number of instructions whose time is not known.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }
}

/// A gate with the clock that it goes by.
#[derive(Debug)]
pub struct TimedGate<'c> {
    clock: Option<Clock<'c>>,
    gate: Gate,
}

/// An element's time.
#[derive(Debug)]
pub struct Timed<'t> {
    /// What the clock, if any, says about the element.
    pub told: Option<Told<'t>>,
    /// Instructions of the element that are inside, if it is a block.
    pub inside: Range<u32>,
    /// The gate after the element.
    pub gate: &'t Gate,
}

impl<'c> TimedGate<'c> {
    /// Creates a gate with a source's clock. Without a clock, instructions are counted.
    pub fn new(window: &Window, clock: Option<Clock<'c>>) -> Self {
        Self { gate: Gate::new(window, clock.as_ref().map(Clock::kind)), clock }
    }

    /// Takes the next element.
    #[inline]
    pub fn take(&mut self, element: &Element) -> Timed<'_> {
        let told = self.clock.as_mut().map(|clock| clock.take(element));
        let inside = self.gate.take(element, told.as_ref());
        Timed { told, inside, gate: &self.gate }
    }

    /// Takes an element that is not wanted: time advances, nothing is counted, and no instruction is inside.
    pub fn pass(&mut self, element: &Element) -> Timed<'_> {
        let told = self.clock.as_mut().map(|clock| clock.take(element));
        self.gate.pass(element, told.as_ref());
        Timed { told, inside: 0..0, gate: &self.gate }
    }

    /// Returns the kind of clock, if there is one.
    pub fn kind(&self) -> Option<Kind> {
        self.gate.kind
    }

    /// Returns the gate itself.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Ends the trace, and returns how the clock, if any, ended.
    pub fn end(&mut self) -> Option<End> {
        self.clock.as_mut().map(Clock::end)
    }
}

#[cfg(test)]
mod tests {
    use tracewright_core::{Block, Class, Ended, Isa};

    use super::*;

    fn block(count: u32) -> Element {
        Element::Block(Block {
            start: 0x1000,
            end: 0x1000 + 4 * u64::from(count),
            count,
            isa: Isa::A64,
            last_len: 4,
            class: Class::NEXT,
            ended: Ended::Through,
        })
    }

    fn gate(cycles: Range<u64>, kind: Option<Kind>) -> Gate {
        Gate::new(&Window { cycles: Some(cycles), times: None }, kind)
    }

    #[test]
    fn exact_stamps_are_taken_one_by_one() {
        let mut gate = gate(10..20, Some(Kind::Delta));
        let stamps = [9, 10, 10, 19, 20].map(Stamp::Exact);
        assert_eq!(gate.take(&block(5), Some(&Told::Block(&stamps))), 1..4);
        assert_eq!((gate.outside(), gate.unknown(), gate.is_open()), (2, 0, false));
    }

    #[test]
    fn what_is_not_known_is_inside_only_between_what_is() {
        let mut gate = gate(10..20, Some(Kind::Delta));
        let stamps =
            [Stamp::Unknown, Stamp::Exact(12), Stamp::Unknown, Stamp::Between(15, 40), Stamp::Unknown];
        assert_eq!(gate.take(&block(5), Some(&Told::Block(&stamps))), 1..4);
    }

    #[test]
    fn counts_go_on_after_a_gap() {
        let mut gate = gate(10..20, Some(Kind::Counts));
        assert_eq!(gate.take(&block(3), Some(&Told::Block(&[Stamp::From(0); 3]))), 0..0);
        gate.take(&Element::Cycles(Some(12)), Some(&Told::Reached(12)));
        assert_eq!(gate.take(&block(3), Some(&Told::Block(&[Stamp::From(12); 3]))), 0..3);
        gate.take(&Element::Cycles(None), Some(&Told::Lost));
        gate.take(&Element::Cycles(None), Some(&Told::Lost));
        assert_eq!(gate.take(&block(3), Some(&Told::Block(&[Stamp::From(12); 3]))), 0..3);
        gate.take(&Element::Cycles(Some(8)), Some(&Told::Reached(20)));
        assert_eq!(gate.take(&block(3), Some(&Told::Block(&[Stamp::From(20); 3]))), 0..0);
    }

    #[test]
    fn without_a_clock_instructions_are_counted() {
        let mut gate = gate(2..5, None);
        assert_eq!(gate.take(&block(3), None), 2..3);
        assert_eq!(gate.take(&block(3), None), 0..2);
        assert_eq!(gate.take(&block(3), None), 0..0);
        assert_eq!(gate.outside(), 6);
    }

    #[test]
    fn timestamps_hold_until_the_next() {
        let mut gate = Gate::new(&Window { cycles: None, times: Some(100..200) }, None);
        assert_eq!(gate.take(&block(3), None), 0..0);
        assert_eq!((gate.outside(), gate.unknown()), (0, 3));
        let mut tell = |value| gate.take(&Element::Timestamp { value, cycles: None }, None);
        tell(150);
        tell(0);
        assert_eq!(gate.take(&block(3), None), 0..3);
        gate.take(&Element::Timestamp { value: 200, cycles: None }, None);
        assert_eq!(gate.take(&block(3), None), 0..0);
        assert_eq!((gate.outside(), gate.unknown()), (3, 3));
    }
}
