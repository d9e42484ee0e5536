//! Rows of P-headers at once: their instructions are added up, and only those at the ends of blocks are looked at.
//!
//! `follow.rs` runs over the same instructions one by one, and a test compares the two.

use tracewright_core::stream::Run;
use tracewright_core::{Element, Flow};
use tracewright_flow::{ElementSink, NodeId, Stop};

use super::decoder::{Decoder, Held};
use super::follow::At;
use crate::etm3::packet::Headers;

/// Most instructions of a row that is taken at once, and most cycles before it.
const MOST: u32 = 127;
const MOST_CYCLES: u32 = 1 << 31;

/// Where a row stands after the last block that ended.
#[derive(Clone, Copy)]
struct Reached {
    node: NodeId,
    /// The header from which on nothing was done, and how many of its instructions ran.
    header: usize,
    ran: u8,
}

impl Decoder<'_> {
    /// Decodes a row of P-headers, the first of which began at stream position `offset`. The result is that of decoding them one by one,
    /// but faster.
    #[inline(always)]
    pub fn headers(&mut self, offset: u64, row: Headers, sink: &mut impl ElementSink) {
        if !self.is_running() || self.options.like_opencsd {
            return row.each(offset, |offset, _, packet| self.packet(offset, packet, sink));
        }
        self.last_offset = Some(offset + row.len() as u64 - 1);
        match self.row(offset, row, sink) {
            Ok(()) => {}
            Err(reached) => self.one_by_one(offset, row, reached, sink),
        }
    }

    /// Decodes a row as far as that needs no more than its sums.
    ///
    /// # Errors
    /// Returns where it needs more, and nothing if that is before the first block ended: then nothing was done.
    #[inline(always)]
    fn row(&mut self, offset: u64, row: Headers, sink: &mut impl ElementSink) -> Result<(), Option<Reached>> {
        let sums = row.sums();
        let total = sums.instructions();
        let newest = row.len() - 1;
        let last = row.atoms(row.header(newest));
        // The newest instruction is held back until the next packet.
        let released = total - u32::from(last.count > 0);
        let held = self.stream.held;
        let before = u32::from(held.is_some());
        if total > MOST || self.stream.cycles > MOST_CYCLES || self.options.no_image {
            return Err(None);
        }
        let cycles = self.stream.cycles + held.map_or(0, |held| held.cycles.into());
        let kept = (last.count > 0).then(|| {
            let index = last.count - 1;
            Held {
                offset: offset + newest as u64,
                passed: last.passed(index),
                cycles: last.cycles_before(index),
            }
        });
        let after = cycles + sums.cycles() - kept.map_or(0, |kept| kept.cycles.into());
        if before + released == 0 {
            (self.stream.held, self.stream.cycles) = (kept, after);
            return Ok(());
        }
        let (mut here, done) = match self.place.at {
            At::In(node, done) => (node, done),
            At::Unknown => return Err(None),
            At::Address(_) => (self.look_up(offset, sink).ok_or(None)?, 0),
        };
        let mut told = 0;
        // The number of instructions of this row before the current block, less those of the block before this row.
        let mut first = 0_u32.wrapping_sub(done + before);
        let mut reached = None;
        loop {
            let node = self.graph.node(here);
            let end = first.wrapping_add(node.count());
            if (end as i32) > released as i32 {
                break;
            }
            if node.stop() != Stop::Class || node.count() == 0 {
                return self.stop_row(reached, first.wrapping_add(before));
            }
            // The instruction at the end of the block is `end` - 1.
            let (mut at, mut passed) = held.map_or((offset, true), |held| (held.offset, held.passed));
            let (mut header, mut ran, mut through) = (0, 0, 0);
            if end > 0 {
                let (index, before, cycles) = sums.header_of(end - 1);
                let atoms = row.atoms(row.header(index));
                let which = (end - 1 - before) as u8;
                through = cycles + u32::from(atoms.cycles_through(which));
                (at, passed) = (offset + index as u64, atoms.passed(which));
                let is_last = which + 1 == atoms.count;
                (header, ran) = if is_last { (index + 1, 0) } else { (index, which + 1) };
            }
            let class = node.class();
            let next = match class.flow {
                Flow::Direct if passed => self.graph.taken(here),
                // Where it leads comes later.
                Flow::Indirect | Flow::Pair if passed && end == total => NodeId::NONE,
                Flow::Indirect | Flow::Pair if passed => {
                    return self.stop_row(reached, first.wrapping_add(before));
                }
                _ if class.is_branch() && !class.conditional => {
                    return self.stop_row(reached, first.wrapping_add(before));
                }
                _ => self.graph.next(here),
            };
            sink.node(at, &self.graph, here, passed || !class.is_branch());
            self.ended += 1;
            let count = cycles + through - told;
            if count > 0 {
                sink.element(at, &Element::Cycles(Some(count)));
            }
            told = cycles + through;
            if !next.is_some() {
                self.place.isa = self.graph.node(here).isa();
                (self.place.at, self.place.from) = (At::Unknown, here);
                (self.stream.held, self.stream.cycles) = (kept, after - told);
                self.are_sure(before + released);
                return Ok(());
            }
            (here, first) = (next, end);
            reached = Some(Reached { node: next, header, ran });
        }
        if reached.is_some() {
            self.place.isa = self.graph.node(here).isa();
        }
        let ran = released.wrapping_sub(first);
        self.place.at = At::In(here, ran);
        self.are_sure(before + released);
        (self.stream.held, self.stream.cycles) = (kept, after - told);
        Ok(())
    }

    /// Leaves a row where it stands, after `done` instructions.
    #[cold]
    fn stop_row(&mut self, reached: Option<Reached>, done: u32) -> Result<(), Option<Reached>> {
        if let Some(Reached { node, .. }) = reached {
            self.place.at = At::In(node, 0);
            self.place.isa = self.graph.node(node).isa();
            (self.stream.held, self.stream.cycles) = (None, 0);
            self.are_sure(done);
        }
        Err(reached)
    }

    /// Counts instructions, of which the first may be in an IT block.
    #[inline(always)]
    fn are_sure(&mut self, ran: u32) {
        self.place.unsure = self.place.unsure.saturating_sub(ran.min(MOST) as u8);
    }

    /// Decodes the rest of a row header by header.
    #[inline(never)]
    fn one_by_one(&mut self, offset: u64, row: Headers, from: Option<Reached>, sink: &mut impl ElementSink) {
        let first = from.map_or(0, |reached| reached.header);
        for index in first..row.len() {
            let atoms = row.atoms(row.header(index));
            let offset = offset + index as u64;
            match from {
                Some(Reached { ran, .. }) if index == first => self.atoms_from(ran, offset, atoms, sink),
                _ => self.atoms(offset, atoms, sink),
            }
        }
    }
}
