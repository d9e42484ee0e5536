//! Keeps the elements of each source that are next to a point.

use std::collections::VecDeque;

use tracewright_core::{Block, Element};
use tracewright_engine::{At, Consumer, Source};
use tracewright_flow::cut;
use tracewright_image::Image;

use super::{Excerpt, ExcerptOptions, Listed};
use crate::clocks::SourceClock;

/// Keeps the elements of each source that are next to a point.
pub(crate) struct Near<'a> {
    pub options: &'a ExcerptOptions<'a>,
}

/// Most elements between instructions that are kept.
const MOST_BETWEEN: usize = 1 << 16;

/// A source of which elements are kept.
#[derive(Default)]
pub(crate) struct NearState<'a> {
    clock: SourceClock<'a>,
    time: Option<u64>,
    before: LastElements<Listed>,
    after: Vec<Listed>,
    /// Instructions in `after`.
    instructions_after: u64,
    is_past: bool,
    dropped: u64,
}

/// The last elements, with so many instructions.
#[derive(Debug)]
pub(crate) struct LastElements<T> {
    elements: VecDeque<T>,
    /// Instructions in `elements`.
    instructions: u64,
    /// Whether a block came before those that are kept.
    has_left_out: bool,
    /// Elements between instructions that were left out, since there were too many.
    pub dropped: u64,
}

impl<T> Default for LastElements<T> {
    fn default() -> Self {
        Self { elements: VecDeque::new(), instructions: 0, has_left_out: false, dropped: 0 }
    }
}

impl<T: AsRef<Listed> + AsMut<Listed>> LastElements<T> {
    /// Adds the next element, and discards what comes before the last `count` instructions.
    pub fn push(&mut self, element: T, count: u64) {
        self.instructions += instructions(element.as_ref());
        self.elements.push_back(element);
        while let Some(first) = self.elements.front() {
            let rest = self.instructions - instructions(first.as_ref());
            let is_too_many = self.elements.len() as u64 > count.saturating_add(MOST_BETWEEN as u64);
            if rest < count && !is_too_many {
                break;
            }
            self.dropped += u64::from(rest < count);
            self.has_left_out |= instructions(first.as_ref()) > 0;
            self.instructions = rest;
            self.elements.pop_front();
        }
    }

    /// Cuts the first block, so that there are not more than `count` instructions. Returns the elements.
    pub fn finish(&mut self, image: &Image, count: u64) -> Vec<T> {
        let extra = self.instructions.saturating_sub(count) as u32;
        if let (1.., Some(first)) = (extra, self.elements.front_mut()) {
            part(first.as_mut(), image, |block| extra..block.count);
            self.has_left_out = true;
        }
        std::mem::take(&mut self.elements).into()
    }
}

impl AsRef<Self> for Listed {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl AsMut<Self> for Listed {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}

impl<'a> NearState<'a> {
    fn note(
        &mut self,
        options: &'a ExcerptOptions<'a>,
        source: usize,
        element: &Element,
    ) -> Option<Box<[tracewright_core::Stamp]>> {
        if let Element::Timestamp { value: value @ 1.., .. } = element {
            self.time = Some(*value);
        }
        self.clock.take(options.clocks, source, element).map(Box::from)
    }

    /// Cuts the last block after the point, so that there are not more instructions than asked for.
    fn trim(&mut self, image: &Image, count: u64) {
        let extra = self.instructions_after.saturating_sub(count) as u32;
        if let (1.., Some(last)) = (extra, self.after.last_mut()) {
            part(last, image, |block| 0..block.count.saturating_sub(extra));
        }
    }
}

/// Returns how many instructions an element counts as: where code or trace is missing, one stands for those that nobody can list.
fn instructions(listed: &Listed) -> u64 {
    match &listed.element {
        Element::Block(block) => block.count.into(),
        Element::NoCode { .. } | Element::Mismatch(_) | Element::UnknownPath { .. } | Element::Gap { .. } => {
            1
        }
        _ => 0,
    }
}

/// Keeps a part of a block.
fn part(listed: &mut Listed, image: &Image, inside: impl Fn(&Block) -> std::ops::Range<u32>) {
    let Element::Block(block) = &mut listed.element else { return };
    let inside = inside(block);
    if let Some(part) = cut(image, listed.space, block, &inside) {
        *block = part;
        listed.stamps =
            listed.stamps.take().map(|stamps| stamps[inside.start as usize..inside.end as usize].into());
    }
}

impl<'a> Consumer for Near<'a> {
    type State = NearState<'a>;
    type Output = Vec<Excerpt>;

    fn element(&self, state: &mut NearState<'a>, _: &mut Vec<Excerpt>, at: &At<'_>, element: &Element) {
        let ExcerptOptions { around, count, shows, .. } = *self.options;
        let stamps = state.note(self.options, at.source.index, element);
        state.is_past |= around.is_some_and(|around| at.place.offset >= around);
        let is_full = state.is_past && state.instructions_after >= count;
        if !shows(element) || is_full {
            return;
        }
        let (offset, space) = (at.place.offset, at.space);
        let listed = Listed { offset, space, element: *element, time: state.time, stamps };
        if !state.is_past {
            return state.before.push(listed, count);
        }
        if (state.after.len() as u64) < count.saturating_add(MOST_BETWEEN as u64) {
            state.instructions_after += instructions(&listed);
            state.after.push(listed);
        } else {
            state.dropped += 1;
        }
    }

    fn passed(&self, state: &mut NearState<'a>, source: &Source<'_>, element: &Element) {
        state.note(self.options, source.index, element);
        state.before.has_left_out |= state.before.elements.is_empty() && matches!(element, Element::Block(_));
    }

    fn end(&self, state: &mut NearState<'a>, found: &mut Vec<Excerpt>, at: &At<'_>, _overflowed: bool) {
        let ExcerptOptions { around, count, times, .. } = *self.options;
        state.trim(at.image, count);
        let mut state = std::mem::take(state);
        let before = state.before.finish(at.image, count);
        let has_time = before.first().or(state.after.first()).is_some_and(|first| first.time.is_some());
        found.push(Excerpt {
            source: at.source.index,
            id: at.source.id,
            is_enough: state.before.has_left_out
                && state.before.instructions >= count
                && (around.is_none() || state.instructions_after >= count)
                && (!times || has_time),
            before,
            after: state.after,
            dropped: state.before.dropped + state.dropped,
            end: state.clock.end(at.source.id),
        });
    }

    fn merge(&self, into: &mut Vec<Excerpt>, later: Vec<Excerpt>) {
        into.extend(later);
    }

    /// The last elements are known when all came.
    fn in_order(&self) -> bool {
        true
    }

    /// Cycles are counted from the beginning.
    fn needs_all(&self) -> bool {
        self.options.clocks.is_some()
    }

    fn is_done(&self, state: &NearState<'a>) -> bool {
        state.is_past && state.instructions_after >= self.options.count && self.options.clocks.is_none()
    }
}
