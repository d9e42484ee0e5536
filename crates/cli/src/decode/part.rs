//! What decoding a part of a stream gave.

use std::io;
use std::ops::AddAssign;

use tracewright_core::{Block, Element, GapReason, Isa, MemorySpace};
use tracewright_etrace::packet::Malformed;
use tracewright_flow::{Branches, Counts, End, Graph, NodeId, Profile, Sink};
use tracewright_image::{Image, Moment};

use super::lane::{Lanes, Places};
use super::protocol::Protocol;
use super::source::Source;
use super::summary;
use crate::line::Line;
use crate::reader::Place;

/// What prints elements of one style.
pub trait Print: Sync {
    /// Whether it never prints anything.
    const SILENT: bool = false;
    /// Whether blocks are only counted ([`counted`](Self::counted)): by node, without making any.
    const COUNTS: bool = false;
    /// Whether instructions are compared with their limit. False for printers without a limit, for which the comparison would cost as
    /// much as the counting.
    const LIMITED: bool = true;
    /// Whether all was decoded before: nobody wants to read again what it came to.
    const AGAIN: bool = false;
    /// Whether elements are shown one by one, mismatches among them. Others count: of a trace that the program does not explain they
    /// would count what did not run.
    const LISTS: bool = false;
    /// What it keeps from one element of a stream to the next. Parts of a stream are printed side by side: who keeps
    /// anything must ask for a single job.
    type State: Default + Send + Sync;
    /// Appends the lines for an element.
    fn element(&self, state: &mut Self::State, line: &mut Line, at: &At<'_>, element: &Element);
    /// Takes note of an element that is not to be printed, of a source.
    fn passed(&self, _state: &mut Self::State, _source: &Source<'_>, _element: &Element) {}
    /// Appends the lines for the end of a source's trace, after an overflow or not.
    fn end(&self, _state: &mut Self::State, _line: &mut Line, _at: &At<'_>, _overflowed: bool) {}
    /// Whether all elements from the beginning on must be told, though not all are printed.
    fn needs_all(&self) -> bool {
        false
    }
    /// Returns why what it writes itself could not be written, once it failed: decoding ends then.
    fn written(&self) -> io::Result<()> {
        Ok(())
    }
    /// Whether what it writes itself can no longer be written, as far as the source knows: what the packet at hand still tells is not
    /// wanted.
    fn has_failed(&self, _state: &Self::State) -> bool {
        false
    }
    /// Bytes of the tables that grow with what the trace tells of a source. Decoding it stops where they are too large.
    fn memory(&self, _state: &Self::State) -> usize {
        0
    }
    /// How often each block of a source ran; what several decoders of it have counted is told one after another.
    fn counted(&self, _profile: Profile) {}
    /// The lines for what all of a buffer came to.
    fn totals(&self, _buffer: &str, _tally: &Tally) -> String {
        String::new()
    }
}

/// Prints nothing but, for programs, what it came to. `LIMITED`: there is a limit of instructions.
pub struct Totals<const LIMITED: bool> {
    pub json: bool,
}

impl<const LIMITED: bool> Print for Totals<LIMITED> {
    const SILENT: bool = true;
    const LIMITED: bool = LIMITED;
    type State = ();

    fn element(&self, _: &mut (), _: &mut Line, _: &At<'_>, _: &Element) {}

    fn totals(&self, buffer: &str, tally: &Tally) -> String {
        if self.json { summary::json(buffer, tally) } else { String::new() }
    }
}

/// Where an element is.
pub struct At<'a> {
    /// Whose it is.
    pub source: &'a Source<'a>,
    /// Where the packet began that told it.
    pub place: Place,
    /// Where its code is.
    pub space: MemorySpace,
    /// The program.
    pub image: &'a Image,
}

/// Text, in pieces that can be sorted between those of other sources.
#[derive(Default)]
pub struct Part {
    pub line: Line,
    /// File offset of the last byte of a packet, and where its text ends.
    pub marks: Vec<(u64, usize)>,
    pub tally: Tally,
    /// Bytes of text that were written already.
    pub written: usize,
}

/// Where text goes when there is much: a packet may tell of billions of blocks.
pub enum Overflow<'o> {
    /// On, in order: nothing comes before it. Returns whether it was written: if not, the source stops.
    Write(&'o mut (dyn FnMut(&[u8]) -> bool + 'o)),
    /// Nowhere: the source stops, and the part is made again by whoever can write.
    Drop,
    /// Up to so many bytes are kept; then the source stops.
    Keep(usize),
}

impl Overflow<'_> {
    /// The same, for a while.
    pub fn by_ref(&mut self) -> Overflow<'_> {
        match self {
            Self::Write(write) => Overflow::Write(&mut **write),
            Self::Drop => Overflow::Drop,
            Self::Keep(most) => Overflow::Keep(*most),
        }
    }
}

/// Text is written on in pieces of this size, and dropped if there is more than so much.
const WRITE: usize = 1 << 20;
const DROP: usize = 64 << 20;

/// Blocks for each mismatch, at least, if the program is the one that ran.
const FEWEST_BLOCKS: u64 = 10;

/// What was decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub blocks: u64,
    pub instructions: u64,
    pub no_code: u64,
    /// The first in the file: its offset, the address, the memory space.
    pub first_no_code: Option<(u64, u64, MemorySpace)>,
    pub mismatches: u64,
    pub first_mismatch: Option<(u64, tracewright_core::Mismatch, MemorySpace)>,
    /// Times that instructions ran that no count has: the trace does not tell which, or how often.
    pub unknown_paths: u64,
    /// The first in the file: its offset, where it began, where execution went on, the memory space.
    pub first_unknown_path: Option<(u64, Option<u64>, u64, MemorySpace)>,
    /// Sources that were not decoded to their end, since a limit was reached.
    pub stopped: u64,
    /// Branch targets, where there is no program.
    pub targets: u64,
    /// Bytes of files; those around the trace of sources that are decoded; those of sources that nothing here reads.
    pub bytes: u64,
    pub bytes_around: u64,
    pub bytes_unread: u64,
    /// Bytes of sources in gaps, and before the first synchronisation.
    pub bytes_lost: u64,
    /// Those of them that the program could not be followed through, and those of these where no image has the code.
    pub bytes_unfollowed: u64,
    pub bytes_without_code: u64,
    pub gaps: u64,
    /// Gaps that are no fault of anybody: the start of a ring buffer, overflows.
    pub bad_gaps: u64,
    /// The first of the others: where it begins and ends, and why.
    pub first_bad_gap: Option<(u64, u64, GapReason)>,
    /// E-Trace: messages that are no packets, synchronisation packets with an address, and those whose address no image has.
    pub malformed: u64,
    /// Where the first of them is, and why.
    pub first_malformed: Option<(u64, Malformed)>,
    pub syncs: u64,
    pub syncs_outside: u64,
    /// Where the first is, and the first of the others with its address.
    pub first_sync: Option<u64>,
    pub first_sync_outside: Option<(u64, u64)>,
    /// The packet that a source's trace ends in: its offset, and how many bytes of it there are.
    pub cut: Option<(u64, usize)>,
}

impl AddAssign<&Self> for Tally {
    fn add_assign(&mut self, other: &Self) {
        self.blocks += other.blocks;
        self.instructions += other.instructions;
        self.no_code += other.no_code;
        self.first_no_code = earlier(self.first_no_code, other.first_no_code, |first| first.0);
        self.mismatches += other.mismatches;
        self.first_mismatch = earlier(self.first_mismatch, other.first_mismatch, |first| first.0);
        self.unknown_paths += other.unknown_paths;
        self.first_unknown_path = earlier(self.first_unknown_path, other.first_unknown_path, |first| first.0);
        self.stopped += other.stopped;
        self.targets += other.targets;
        self.bytes += other.bytes;
        self.bytes_around += other.bytes_around;
        self.bytes_unread += other.bytes_unread;
        self.bytes_lost += other.bytes_lost;
        self.bytes_unfollowed += other.bytes_unfollowed;
        self.bytes_without_code += other.bytes_without_code;
        self.gaps += other.gaps;
        self.bad_gaps += other.bad_gaps;
        self.first_bad_gap = earlier(self.first_bad_gap, other.first_bad_gap, |first| first.0);
        self.malformed += other.malformed;
        self.first_malformed = earlier(self.first_malformed, other.first_malformed, |first| first.0);
        self.syncs += other.syncs;
        self.syncs_outside += other.syncs_outside;
        self.first_sync = earlier(self.first_sync, other.first_sync, |first| *first);
        self.first_sync_outside = earlier(self.first_sync_outside, other.first_sync_outside, |first| first.0);
        self.cut = earlier(self.cut, other.cut, |cut| cut.0);
    }
}

impl Tally {
    /// Whether the program cannot be the one that ran, going by so many bytes of a source's trace.
    ///
    /// With another program than the one that ran, ETMv4 comes to a mismatch every two to six blocks, and goes on at the next address.
    /// E-Trace, which tells few addresses, follows branches through the wrong code for a while, and then is lost up to the next
    /// synchronisation: more than 99 % of all bytes. With the right program both are next to nothing.
    ///
    /// A part of it may be missing, a library for one. A wrong program runs off to where no code is, too. The addresses of
    /// synchronisation packets tell the two apart: so large a part of them is where no code is, so large a part of the bytes may be.
    pub fn is_doubtful(&self, bytes: u64) -> bool {
        let missing = u128::from(bytes) * u128::from(self.syncs_outside) / u128::from(self.syncs.max(1));
        let excused = self.bytes_without_code.min(missing as u64);
        self.mismatches > 0
            && (self.mismatches.saturating_mul(FEWEST_BLOCKS) > self.blocks
                || self.bytes_unfollowed - excused > bytes / 2)
    }

    /// Takes note of the bytes of a file that were read, those of them that are wanted, the lanes that they became, and of each lane the
    /// bytes up to its limit (all, if it has reached none). Bytes after a limit are not counted at all: how many of them were read is
    /// chance.
    pub fn count_bytes<T: Protocol>(
        &mut self,
        bytes: u64,
        wanted: u64,
        lanes: &Lanes<'_, T>,
        decoded: &[u64],
        unread: &[u64],
    ) {
        // Without frames, all lanes see the same bytes.
        let is_shared = lanes.lanes.iter().any(|lane| matches!(lane.places, Places::Same));
        let all = |of_lanes: &mut dyn Iterator<Item = u64>| {
            if is_shared { of_lanes.max().unwrap_or(0) } else { of_lanes.sum() }
        };
        let taken = all(&mut lanes.lanes.iter().map(|lane| lane.taken));
        let decoded = all(&mut decoded.iter().copied());
        let unread: u64 = unread.iter().sum();
        let share = |of: u64, part: u64, whole: u64| match whole {
            0 => 0,
            _ => (u128::from(of) * u128::from(part) / u128::from(whole)) as u64,
        };
        // Of a part of the file nobody has counted them: they are taken for evenly spread.
        let wanted = if decoded < taken { share(wanted, decoded, taken) } else { wanted };
        let part = |of: u64| share(of, wanted, bytes);
        self.bytes = wanted;
        self.bytes_unread = part(unread);
        self.bytes_around = part(bytes.saturating_sub(taken).saturating_sub(unread));
        self.bytes_lost = self.bytes_lost.min(part(taken));
    }
}

/// Of two sources', which come in any order.
fn earlier<T>(one: Option<T>, other: Option<T>, offset: impl Fn(&T) -> u64) -> Option<T> {
    one.into_iter().chain(other).min_by_key(offset)
}

/// Which elements to print: those of packets that begin in this part of the file.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    pub from: u64,
    pub to: u64,
}

impl Range {
    /// All of a file.
    pub const ALL: Self = Self { from: 0, to: u64::MAX };

    pub fn is_all(self) -> bool {
        self.from == Self::ALL.from && self.to == Self::ALL.to
    }
}

/// How much of a source is decoded at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeLimits {
    /// Instructions.
    pub instructions: u64,
    /// Bytes of the tables that grow with what the trace tells.
    pub memory: usize,
}

impl DecodeLimits {
    /// All is decoded.
    pub const NONE: Self = Self { instructions: u64::MAX, memory: usize::MAX };

    /// Returns how many segments may be decoded side by side: instructions are counted in order.
    pub fn jobs(self, jobs: usize) -> usize {
        if self.instructions == Self::NONE.instructions { jobs } else { 1 }
    }
}

/// What is left of a source's limits.
#[derive(Clone, Copy, Debug)]
pub struct Quota {
    /// Instructions that may still be told.
    pub instructions: u64,
    pub memory: usize,
    /// The limit that was reached: nothing is told any more.
    pub reached: Option<Limit>,
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Instructions,
    /// Of tables.
    Memory,
    /// Memory of text that waits for that of other sources.
    Text,
    /// Nobody takes the text any more: its reader has gone, the disk is full, or it is too much to be kept for later.
    Output,
}

impl Quota {
    pub fn new(limits: DecodeLimits) -> Self {
        Self { instructions: limits.instructions, memory: limits.memory, reached: None }
    }

    /// So much was told of it.
    pub fn spend(&mut self, tally: &Tally) {
        self.instructions = self.instructions.saturating_sub(tally.instructions);
    }
}

/// Places of positions that are asked for long after the map has forgotten them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Remembered {
    /// Where the gap begins that has not ended.
    pub gap: Option<(u64, Place)>,
    /// Where the bytes begin that are passed over.
    pub skipped: Option<(u64, Place)>,
    /// Whether the program was last lost where no image has the code, and not at a mismatch.
    pub no_code: bool,
}

/// What is counted by a decoder's nodes.
#[derive(Debug, Default)]
pub struct Counted {
    /// What ran.
    pub sure: Counts,
    /// What ran if the decoder, which began in the middle, was right.
    pub now: Counts,
    /// Whether it was, if that is known.
    pub verdict: Option<Verdict>,
}

/// Whether what was counted is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Right,
    Wrong,
}

impl Counted {
    /// Does what the verdict says. It takes a while: who decodes does it before it goes on, side by side with the others.
    pub fn settle(&mut self, graph: &mut Graph<'_>) {
        match self.verdict.take() {
            Some(Verdict::Right) => self.sure.absorb(&mut self.now, graph),
            Some(Verdict::Wrong) => self.now.discard(graph),
            None => {}
        }
    }

    /// Bytes of what is counted, but for what the graph itself has counted.
    pub fn memory(&self) -> usize {
        self.sure.memory() + self.now.memory()
    }

    /// All that ran: the verdict is spoken.
    pub fn finish(mut self, graph: &mut Graph<'_>) -> Profile {
        self.settle(graph);
        self.sure.finish(graph)
    }
}

/// A sink that prints into a part.
pub struct Out<'o, P: Print> {
    pub part: &'o mut Part,
    pub print: &'o P,
    pub state: &'o mut P::State,
    pub counted: &'o mut Counted,
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
    /// Whether bytes that are not zero were passed over before the first synchronisation.
    pub passed_over: &'o mut bool,
    pub remembered: &'o mut Remembered,
    pub overflow: Overflow<'o>,
}

impl<P: Print> Out<'_, P> {
    pub fn place(&mut self, position: u64) -> Place {
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

    /// Keeps the place where a gap begins.
    pub fn remember_gap(&mut self, position: u64) {
        if self.remembered.gap.is_none_or(|(last, _)| last != position)
            && let Some(place) = self.places.of(position, &mut self.cursor)
        {
            self.remembered.gap = Some((position, place));
        }
    }

    /// Keeps the place where bytes are passed over.
    pub fn remember_skipped(&mut self, position: u64) {
        if self.remembered.skipped.is_none() {
            let place = self.places.of(position, &mut self.cursor);
            self.remembered.skipped = place.map(|place| (position, place));
        }
    }

    /// Ends the text of a packet whose last byte is at `last`.
    pub fn mark(&mut self, last: u64) {
        let end = self.part.line.bytes().len();
        if self.part.marks.last().map_or(0, |&(_, end)| end) != end {
            let offset = self.place(last).offset;
            self.part.marks.push((offset, end));
        }
    }

    #[inline(always)]
    fn print(&mut self, offset: u64, element: &Element) {
        if P::SILENT {
            return;
        }
        let place = self.place(offset);
        let at = At { source: self.source, place, space: self.space, image: self.image };
        self.print.element(self.state, &mut self.part.line, &at, element);
        if self.part.line.bytes().len() >= WRITE {
            self.much();
        }
    }

    /// There is much text.
    #[cold]
    fn much(&mut self) {
        let part = &mut *self.part;
        match &mut self.overflow {
            Overflow::Write(write) => {
                if !write(part.line.bytes()) {
                    return self.stop(Limit::Output);
                }
                part.written += part.line.bytes().len();
                part.line.clear();
                part.marks.clear();
            }
            Overflow::Drop if part.line.bytes().len() >= DROP => self.stop(Limit::Output),
            Overflow::Keep(most) if part.line.bytes().len() >= *most => self.stop(Limit::Text),
            Overflow::Drop | Overflow::Keep(_) => {}
        }
    }

    /// Whether a limit was reached: nothing is told any more.
    #[inline(always)]
    pub fn is_stopped(&self) -> bool {
        self.quota.reached.is_some()
    }

    #[cold]
    fn stop(&mut self, limit: Limit) {
        self.quota.reached = Some(limit);
        // So that no further block fits.
        self.most = 0;
        self.part.tally.stopped += 1;
    }

    /// Counts a block, if it fits.
    #[inline(always)]
    fn count(&mut self, instructions: u32) -> bool {
        let tally = &mut self.part.tally;
        let sum = tally.instructions + u64::from(instructions);
        if P::LIMITED && sum > self.most {
            return false;
        }
        tally.instructions = sum;
        tally.blocks += 1;
        true
    }

    /// Tells the first instructions of the last block that may be told, and stops.
    #[cold]
    fn last_block(&mut self, offset: u64, block: &Block) {
        if self.is_stopped() {
            return;
        }
        let inside = 0..self.most.saturating_sub(self.part.tally.instructions) as u32;
        if let Some(part) = tracewright_profile::cut(self.image, self.space, block, &inside) {
            self.block(offset, &part);
        }
        self.stop(Limit::Instructions);
    }

    /// Whether what a packet at `offset` tells is wanted.
    #[inline(always)]
    fn wants(&mut self, offset: u64) -> bool {
        self.range.is_all() || {
            let place = self.place(offset);
            self.range.from <= place.offset && place.offset < self.range.to
        }
    }
}

impl<P: Print> Sink for Out<'_, P> {
    fn element(&mut self, offset: u64, element: &Element) {
        if let Element::Context(context, isa) = element {
            // RISC-V's privileges are no memory spaces.
            self.space = if matches!(isa, Isa::Rv32 | Isa::Rv64) {
                MemorySpace::ANY
            } else {
                self.image.space(context, &self.moment)
            };
        }
        if self.is_stopped() {
            return;
        }
        if !self.wants(offset) {
            return self.print.passed(self.state, self.source, element);
        }
        let mut element = *element;
        let tally = &mut self.part.tally;
        match &mut element {
            Element::Block(block) => return self.block(offset, block),
            Element::NoCode { address, space } => {
                tally.no_code += 1;
                self.remembered.no_code = true;
                if tally.first_no_code.is_none() {
                    let at = self.place(offset).offset;
                    self.part.tally.first_no_code = Some((at, *address, *space));
                }
            }
            Element::Mismatch(mismatch) => {
                tally.mismatches += 1;
                self.remembered.no_code = false;
                if tally.first_mismatch.is_none() {
                    let at = self.place(offset).offset;
                    self.part.tally.first_mismatch = Some((at, *mismatch, self.space));
                }
            }
            Element::UnknownPath { start, next, .. } => {
                tally.unknown_paths += 1;
                if tally.first_unknown_path.is_none() {
                    let at = self.place(offset).offset;
                    self.part.tally.first_unknown_path = Some((at, *start, *next, self.space));
                }
            }
            Element::Target { branch, .. } => tally.targets += u64::from(*branch),
            // A buffer that begins with zeros: an A-Sync's zeros may be more than needed.
            Element::Gap { reason: GapReason::Start, .. } if !*self.passed_over => return,
            Element::Gap { reason, from, to } => {
                tally.bytes_lost += to.saturating_sub(*from);
                if *reason == GapReason::Mismatch {
                    let bytes = to.saturating_sub(*from);
                    tally.bytes_unfollowed += bytes;
                    tally.bytes_without_code += if self.remembered.no_code { bytes } else { 0 };
                }
                // What lies before the first synchronisation point is no gap in what was traced.
                tally.gaps += u64::from(!matches!(reason, Start));
                use GapReason::{Discard, Interrupted, Overflow, Start};
                let is_bad = !matches!(reason, Start | Overflow | Discard | Interrupted);
                tally.bad_gaps += u64::from(is_bad);
                (*from, *to) = (self.place(*from).offset, self.place(*to).offset);
                if is_bad {
                    self.part.tally.first_bad_gap.get_or_insert((*from, *to, *reason));
                }
            }
            _ => {}
        }
        self.print(offset, &element);
    }

    #[inline(always)]
    fn block(&mut self, offset: u64, block: &Block) {
        if !self.wants(offset) {
            return self.print.passed(self.state, self.source, &Element::Block(*block));
        }
        if P::COUNTS {
            self.counted.now.set_space(self.space);
            return self.counted.now.element(offset, &Element::Block(*block));
        }
        if !self.count(block.count) {
            return self.last_block(offset, block);
        }
        self.print(offset, &Element::Block(*block));
        if self.print.memory(self.state) > self.quota.memory {
            self.stop(Limit::Memory);
        }
        if self.print.has_failed(self.state) {
            self.stop(Limit::Output);
        }
    }

    #[inline(always)]
    fn node(&mut self, offset: u64, graph: &Graph<'_>, id: NodeId, taken: bool) {
        if !P::COUNTS {
            let node = graph.node(id);
            // Nobody looks at the block.
            if P::SILENT && self.range.is_all() && self.count(node.count()) {
                return;
            }
            self.block(offset, &node.block(node.ended(taken)));
        } else if self.wants(offset) {
            self.counted.now.node(offset, graph, id, taken);
        }
    }

    const FOLLOWS: bool = P::COUNTS;

    #[inline(always)]
    fn follow(&mut self, start: NodeId, code: u32) -> Option<End> {
        if self.range.is_all() { self.counted.now.follow(start, code) } else { None }
    }

    #[inline(always)]
    fn learn(&mut self, graph: &Graph<'_>, start: NodeId, code: u32, branches: Branches, end: End) {
        if self.range.is_all() {
            self.counted.now.learn(graph, start, code, branches, end);
        }
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        P::LIMITED && !P::COUNTS && self.is_stopped()
    }

    fn forget(&mut self, graph: &Graph<'_>) {
        self.counted.sure.settle(graph);
        self.counted.now.forget(graph);
    }
}
