//! From batches of items to a consumer: places, the requested range, limits, and the tally.

use std::ops::ControlFlow;

use tracewright_core::{Block, Element, GapReason, MemorySpace};
use tracewright_flow as flow;
use tracewright_image::{Image, Moment};

use crate::consumer::{At, Consumer};
use crate::erased::AnyOutput;
use crate::limits::{Limit, Quota, Range};
use crate::missing::MissingCode;
use crate::place::{INSIDE, Place, Places};
use crate::sink::{Item, space_of};
use crate::source::Source;
use crate::stream::Finished;
use crate::tally::Tally;

/// Result of decoding a part of a stream.
pub struct Part {
    pub output: Box<AnyOutput>,
    /// File offset of the last byte of each packet, and the length of the output then. Outputs of several sources are sorted by it.
    pub marks: Vec<(u64, usize)>,
    pub tally: Tally,
    pub missing: MissingCode,
    /// Length of output that was taken already.
    pub taken: usize,
}

impl Part {
    /// Creates a part without marks.
    pub fn new(output: Box<AnyOutput>) -> Self {
        let missing = MissingCode::default();
        Self { output, marks: Vec::new(), tally: Tally::default(), missing, taken: 0 }
    }
}

/// What to do when output gets large: one packet may stand for billions of blocks.
pub enum Overflow<'o> {
    /// Pass it on, since no other output comes before it. The function returns whether more is wanted; if not, the source stops.
    Take(&'o mut (dyn FnMut(&AnyOutput) -> bool + 'o)),
    /// Drop it: the source stops, and the part is decoded again by a segment that can pass it on.
    Drop,
    /// Keep it up to this many bytes; then the source stops.
    Keep(usize),
}

/// Size of the pieces in which output is passed on, and size above which it is dropped.
const TAKE: usize = 1 << 20;
const DROP: usize = 64 << 20;

/// State of a source from one part to the next.
#[derive(Default)]
pub struct Remembered {
    /// Start of the current gap: the map may have forgotten it when the gap ends.
    gap: Option<(u64, Place)>,
    /// Start of the bytes that are skipped.
    skipped: Option<(u64, Place)>,
    /// Whether the program was last lost at missing code, and not at a mismatch.
    no_code: bool,
    /// Whether bytes other than zero were skipped before the first synchronisation.
    passed_over: bool,
    /// Whether the source was last in an endless loop. Only an exception leaves it.
    in_endless_loop: bool,
}

/// Takes the items of a stream for a consumer.
pub trait Deliver {
    /// Takes a batch, until a limit is reached.
    fn take(&mut self, items: &[Item]) -> ControlFlow<()>;
    /// Ends the stream. An unfinished packet at its end counts unless a limit was reached.
    fn end(&mut self, ended: &Finished, is_limited: bool, overflowed: bool);
}

/// Source, place and limits of what is delivered.
pub struct Setting<'o, 'v> {
    pub source: &'o Source<'o>,
    pub image: &'o Image,
    pub places: &'o Places,
    pub cursor: usize,
    pub space: MemorySpace,
    pub moment: Moment,
    pub range: Range,
    pub quota: &'o mut Quota,
    /// Instructions that the part may have.
    pub most: u64,
    pub remembered: &'o mut Remembered,
    pub overflow: Overflow<'v>,
}

/// Gives items to a consumer.
pub struct Delivery<'o, 'v, C: Consumer> {
    consumer: &'o C,
    state: &'o mut C::State,
    output: C::Output,
    marks: Vec<(u64, usize)>,
    tally: Tally,
    missing: MissingCode,
    taken: usize,
    setting: Setting<'o, 'v>,
}

impl<C: Consumer> Deliver for Delivery<'_, '_, C> {
    fn take(&mut self, items: &[Item]) -> ControlFlow<()> {
        for (index, item) in items.iter().enumerate() {
            self.item(item);
            if self.is_stopped() {
                // The decoder may be past this packet.
                self.setting.quota.reached_at = items[index..].iter().find_map(|item| match item {
                    Item::Packet { start, .. } => Some(*start),
                    _ => None,
                });
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    fn end(&mut self, ended: &Finished, is_limited: bool, overflowed: bool) {
        let cut = ended.cut.filter(|_| !is_limited);
        self.tally.cut = cut.map(|(position, len)| (self.setting.place(position).offset, len));
        let place = ended.last.map_or(Place::default(), |last| self.setting.place(last));
        let Setting { source, space, image, moment, .. } = self.setting;
        let at = At { source, place, space, image, moment };
        self.consumer.end(self.state, &mut self.output, &at, overflowed);
    }
}

impl<'o, 'v, C: Consumer> Delivery<'o, 'v, C> {
    pub fn new(consumer: &'o C, state: &'o mut C::State, setting: Setting<'o, 'v>) -> Self {
        let (output, tally, missing) = (C::Output::default(), Tally::default(), MissingCode::default());
        Self { consumer, state, output, marks: Vec::new(), tally, missing, taken: 0, setting }
    }

    /// Returns what was delivered.
    pub fn finish(self) -> Part {
        let Self { output, marks, tally, missing, taken, .. } = self;
        Part { output: Box::new(output), marks, tally, missing, taken }
    }

    #[inline(always)]
    fn item(&mut self, item: &Item) {
        match *item {
            Item::Element(offset, ref element) => match element {
                Element::Block(block) => self.block(offset, block, element),
                _ => self.element(offset, element),
            },
            Item::Packet { last, .. } => self.mark(last),
            Item::Gap(from) => self.setting.remember_gap(from),
            Item::Skipped(position) => self.setting.remember_skipped(position),
            Item::PassedOver => self.setting.remembered.passed_over = true,
            Item::Began(space) => {
                (self.output, self.tally, self.taken) = (C::Output::default(), Tally::default(), 0);
                self.missing = MissingCode::default();
                self.marks.clear();
                self.setting.space = space;
            }
            Item::Ran { blocks, instructions } => {
                self.tally.blocks += blocks;
                self.tally.instructions += instructions;
            }
            Item::Malformed(offset, why) => {
                let offset = self.setting.place(offset).offset;
                self.tally.malformed += 1;
                self.tally.malformed_before_sync += u64::from(self.tally.syncs == 0);
                self.tally.first_malformed.get_or_insert((offset, why));
            }
            Item::Stranger(id, len) => self.tally.strangers.add(id, len as u64),
            Item::Synchronised(offset, outside) => {
                let offset = self.setting.place(offset).offset;
                let tally = &mut self.tally;
                if let Some(address) = outside {
                    tally.syncs_outside += 1;
                    tally.first_sync_outside.get_or_insert((offset, address));
                }
                tally.first_sync.get_or_insert(offset);
                tally.syncs += 1;
            }
        }
    }

    /// Ends the output of a packet whose last byte is at `last`.
    fn mark(&mut self, last: u64) {
        let len = self.consumer.len(&self.output);
        if self.marks.last().map_or(0, |&(_, len)| len) != len {
            let offset = self.setting.place(last).offset;
            self.marks.push((offset, len));
        }
    }

    #[inline(always)]
    fn give(&mut self, offset: u64, element: &Element) {
        let place = self.setting.place(offset);
        let at = At {
            source: self.setting.source,
            place,
            space: self.setting.space,
            image: self.setting.image,
            moment: self.setting.moment,
        };
        self.consumer.element(self.state, &mut self.output, &at, element);
        if self.consumer.size(&self.output) >= TAKE {
            self.much();
        }
    }

    /// Handles output that has become large.
    #[cold]
    fn much(&mut self) {
        let size = self.consumer.size(&self.output);
        match &mut self.setting.overflow {
            Overflow::Take(take) => {
                if !take(&self.output) {
                    return self.stop(Limit::Output);
                }
                self.taken += size;
                self.consumer.clear(&mut self.output);
                self.marks.clear();
            }
            Overflow::Drop if size >= DROP => self.stop(Limit::Output),
            Overflow::Keep(most) if size >= *most => self.stop(Limit::Waiting),
            Overflow::Drop | Overflow::Keep(_) => {}
        }
    }

    #[inline(always)]
    fn is_stopped(&self) -> bool {
        self.setting.quota.reached.is_some()
    }

    #[cold]
    fn stop(&mut self, limit: Limit) {
        self.setting.quota.reached = Some(limit);
        self.tally.stopped += 1;
    }

    /// Returns whether a packet at `offset` is in the range.
    #[inline(always)]
    fn wants(&mut self, offset: u64) -> bool {
        self.setting.range.is_all() || {
            let place = self.setting.place(offset);
            self.setting.range.from <= place.offset && place.offset < self.setting.range.to
        }
    }

    #[inline(always)]
    fn block(&mut self, offset: u64, block: &Block, element: &Element) {
        if !self.wants(offset) {
            return self.consumer.passed(self.state, self.setting.source, element);
        }
        let tally = &mut self.tally;
        let sum = tally.instructions + u64::from(block.count);
        if sum > self.setting.most {
            return self.last_block(offset, block);
        }
        tally.instructions = sum;
        tally.blocks += 1;
        self.give(offset, element);
        if self.consumer.memory(self.state) > self.setting.quota.memory {
            self.stop(Limit::Memory);
        }
        if self.consumer.is_done(self.state) {
            self.stop(Limit::Output);
        }
    }

    /// Reports the first instructions of the block in which the limit is reached, and stops.
    #[cold]
    fn last_block(&mut self, offset: u64, block: &Block) {
        let inside = 0..self.setting.most.saturating_sub(self.tally.instructions) as u32;
        if let Some(part) = flow::cut(self.setting.image, self.setting.space, block, &inside) {
            self.block(offset, &part, &Element::Block(part));
        }
        if !self.is_stopped() {
            self.stop(Limit::Instructions);
        }
    }

    fn element(&mut self, offset: u64, element: &Element) {
        if let Element::Context(context, isa) = element {
            self.setting.space = space_of(self.setting.image, context, *isa, &self.setting.moment);
        }
        if !self.wants(offset) {
            return self.consumer.passed(self.state, self.setting.source, element);
        }
        let mut element = *element;
        let tally = &mut self.tally;
        match element {
            Element::UnknownPath { start, next, .. } => {
                self.setting.remembered.in_endless_loop = start == Some(next);
            }
            Element::End => tally.endless_loops += u64::from(self.setting.remembered.in_endless_loop),
            Element::Timestamp { .. } | Element::Cycles(_) => {}
            _ => self.setting.remembered.in_endless_loop = false,
        }
        match &mut element {
            Element::NoCode { address, space } => {
                tally.no_code += 1;
                self.missing.add(*address, *space);
                self.setting.remembered.no_code = true;
                if tally.first_no_code.is_none() {
                    let at = self.setting.place(offset).offset;
                    self.tally.first_no_code = Some((at, *address, *space));
                }
            }
            Element::Mismatch(mismatch) => {
                tally.mismatches += 1;
                self.setting.remembered.no_code = false;
                if tally.first_mismatch.is_none() {
                    let at = self.setting.place(offset).offset;
                    self.tally.first_mismatch = Some((at, *mismatch, self.setting.space));
                }
            }
            Element::UnknownPath { start, next, .. } => {
                tally.unknown_paths += 1;
                if tally.first_unknown_path.is_none() {
                    let at = self.setting.place(offset).offset;
                    self.tally.first_unknown_path = Some((at, *start, *next, self.setting.space));
                }
            }
            Element::Target { branch, .. } => tally.targets += u64::from(*branch),
            // A buffer that begins with zeros: an A-Sync's zeros may be more than needed.
            Element::Gap { reason: GapReason::Start, .. } if !self.setting.remembered.passed_over => return,
            Element::Gap { reason, from, to } => {
                tally.bytes_lost += to.saturating_sub(*from);
                if *reason == GapReason::Mismatch {
                    let bytes = to.saturating_sub(*from);
                    tally.bytes_unfollowed += bytes;
                    tally.bytes_without_code += if self.setting.remembered.no_code { bytes } else { 0 };
                }
                // Bytes before the first synchronisation point are no gap.
                let is_gap = *reason != GapReason::Start;
                tally.gaps += u64::from(is_gap);
                (*from, *to) = (self.setting.place(*from).offset, self.setting.place(*to).offset);
                if is_gap {
                    self.tally.first_gap.get_or_insert((*from, *to, *reason));
                }
            }
            Element::DataLost => tally.data_lost += 1,
            _ => {}
        }
        self.give(offset, &element);
    }
}

impl Setting<'_, '_> {
    /// Returns the place of a stream position.
    #[inline(always)]
    pub fn place(&mut self, position: u64) -> Place {
        let (position, inside) = (position & !INSIDE, position >> INSIDE.trailing_zeros());
        let place = match self.places {
            Places::Same => Place { offset: position, opencsd_index: position },
            Places::Ring(_) | Places::Frames { .. } => self.framed_place(position),
        };
        Place { opencsd_index: place.opencsd_index + inside, ..place }
    }

    fn framed_place(&mut self, position: u64) -> Place {
        let known = self.places.of(position, &mut self.cursor);
        let known = known.or_else(|| {
            let Remembered { gap, skipped, .. } = *self.remembered;
            let mut both = [gap, skipped].into_iter().flatten();
            both.find_map(|(remembered, place)| (remembered == position).then_some(place))
        });
        // The end of the stream: behind its last byte.
        let known = known.or_else(|| {
            let last = self.places.of(position.checked_sub(1)?, &mut self.cursor)?;
            Some(Place { offset: last.offset + 1, opencsd_index: last.opencsd_index + 1 })
        });
        known.unwrap_or(Place { offset: position, opencsd_index: position })
    }

    fn remember_gap(&mut self, position: u64) {
        if self.remembered.gap.is_none_or(|(last, _)| last != position)
            && let Some(place) = self.places.of(position, &mut self.cursor)
        {
            self.remembered.gap = Some((position, place));
        }
        self.remembered.skipped = None;
    }

    fn remember_skipped(&mut self, position: u64) {
        if self.remembered.skipped.is_none() {
            let place = self.places.of(position, &mut self.cursor);
            self.remembered.skipped = place.map(|place| (position, place));
        }
    }
}
