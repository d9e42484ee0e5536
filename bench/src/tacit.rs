//! TACIT: how fast our decoder and encoder are, over the shared programs and our own. There is no rival that decodes as fast as it reads.

use std::time::{Duration, Instant};

use tracewright_core::{Block, Element, Ended, Isa};
use tracewright_flow::ElementSink;
use tracewright_image::Image;
use tracewright_tacit::decode::{Decoder, Options};
use tracewright_tacit::encode::{Config, Encoder};
use tracewright_tacit::packet::{Packet, PacketBytes, emit};
use tracewright_tacit::stream::{Item, Parser};
use tracewright_tacit::{Mode, Params};

use crate::etrace::program::{self, Traced};
use crate::etrace::record::{Event, Events};
use crate::etrace::{Answer, SHARED};
use crate::hart::program::Size;
use crate::hart::{number, time};
use crate::head;

/// The word that picks these benchmarks.
pub const NAME: &str = "tacit";
/// Rounds; the best counts.
const ROUNDS: usize = 5;
/// Instructions of a program, at most.
const LIMIT: u64 = 20_000_000;
/// The same for checks.
const FEW: u64 = 200_000;

pub fn tables(check: bool) -> Result<usize, String> {
    let size = if check { Size::Small } else { Size::Large };
    let mut programs = program::long(size);
    programs.extend(program::shared().into_iter().filter(|traced| SHARED.contains(&traced.name.as_str())));
    if !check {
        head(2, "TACIT of | mode | million instructions | bits each | decode M/s | encode M/s");
    }
    let mut entries = 0;
    for traced in &programs {
        let program = Program::new(traced, if check { FEW } else { LIMIT })?;
        for mode in [Mode::Target, Mode::Predict] {
            let entry = program.entry(mode);
            entry.decode(2)?;
            if check {
                println!(
                    "{NAME}, {}: answers agree on {} instructions",
                    entry.name(),
                    program.answer.instructions
                );
            } else {
                println!("{}", entry.measure()?);
            }
            entries += 1;
        }
    }
    Ok(entries)
}

/// What a program did.
struct Program<'a> {
    traced: &'a Traced,
    image: Image,
    isa: Isa,
    events: Vec<Event>,
    answer: Answer,
    /// Cycles from the first instruction to the end.
    cycles: u64,
}

/// A trace, and what must be found in it.
struct Entry<'p, 'a> {
    program: &'p Program<'a>,
    config: Config,
    bytes: Vec<u8>,
}

/// Returns the cycles of a block: now and then one waits.
fn cycles(block: &Block) -> u64 {
    u64::from(block.count) + if block.start.is_multiple_of(28) { 100 } else { 0 }
}

impl<'a> Program<'a> {
    fn new(traced: &'a Traced, limit: u64) -> Result<Self, String> {
        let (image, isa) = traced.image()?;
        let mut events = Events::new(image.regions().map(|region| region.range()).collect());
        traced.run(limit, &mut events)?;
        events.end_before_waiting();
        let mut events = events.events;
        // A jump at the end is not sent, since its target did not run.
        let is_sent = |event: &Event| matches!(event, Event::Block(block) if block.ended != Ended::Taken);
        while events.pop_if(|event| !is_sent(event)).is_some() {}
        let (mut answer, mut total) = (Answer::default(), 0);
        for event in &events {
            if let Event::Block(block) = event {
                answer.add(block.start, block.end, block.count.into());
                total += cycles(block);
            }
        }
        Ok(Self { traced, image, isa, events, answer, cycles: total })
    }

    fn entry<'p>(&'p self, mode: Mode) -> Entry<'p, 'a> {
        let config = Config::new(Params { mode, ..Params::default() }, self.isa);
        let mut bytes = Vec::new();
        encode(&config, &self.events, &mut bytes);
        Entry { program: self, config, bytes }
    }
}

fn encode(config: &Config, events: &[Event], bytes: &mut Vec<u8>) {
    let mut encoder = Encoder::new(config.clone());
    let mut now = 0;
    let mut out = |packet: &Packet| {
        let mut packet_bytes = PacketBytes::default();
        emit(packet, &config.params, &mut packet_bytes);
        bytes.extend_from_slice(&packet_bytes);
    };
    for event in events {
        match event {
            Event::Block(block) => {
                now += cycles(block);
                encoder.block(block, now, &mut out);
            }
            Event::Trap(trap) => encoder.trap(trap.pc, trap.interrupt, &mut out),
            Event::Privilege(privilege) => encoder.privilege(*privilege as u8),
        }
    }
    encoder.stop(None, &mut out);
}

impl Entry<'_, '_> {
    fn measure(&self) -> Result<String, String> {
        let mut best = [None; 2];
        // Short ones again and again.
        let times = (LIMIT / self.program.answer.instructions.max(1)).clamp(1, 1000) as u32;
        for _ in 0..ROUNDS {
            time(&mut best[0], self.decode(times)?);
            time(&mut best[1], self.encode(times)?);
        }
        let instructions = self.program.answer.instructions as f64;
        let rate =
            |time: Option<Duration>| number(time.map(|time| instructions / 1e6 / time.as_secs_f64()), 0);
        let [decode, encode] = best.map(rate);
        let (bits, millions) = (self.bytes.len() as f64 * 8.0 / instructions, instructions / 1e6);
        Ok(format!(
            "| {} | {millions:.1} | {bits:.3} | {decode} | {encode} |",
            self.name().replace(", ", " | ")
        ))
    }

    fn decode(&self, times: u32) -> Result<Duration, String> {
        let mut total = Duration::ZERO;
        let Program { image, isa, answer, cycles, .. } = self.program;
        let mut decoder = Decoder::new(&self.config.params, Options::default(), image, *isa);
        for _ in 0..times {
            let mut sink = Blocks::default();
            let mut parser = Parser::new(self.config.params.clone());
            let start = Instant::now();
            let mut items = |offset: u64, _: &[u8], item: &Item| decoder.item(offset, item, &mut sink);
            parser.feed(&self.bytes, &mut items);
            parser.finish(&mut items);
            decoder.finish(self.bytes.len() as u64, &mut sink);
            total += start.elapsed();
            if let Some(bad) = sink.bad {
                return Err(format!("{}: {bad:x?}", self.name()));
            }
            if (sink.answer, sink.cycles) != (*answer, *cycles) {
                let (found, expected) = ((sink.answer, sink.cycles), (answer, cycles));
                return Err(format!("{}: {found:x?}, expected {expected:x?}", self.name()));
            }
        }
        Ok(total / times)
    }

    fn encode(&self, times: u32) -> Result<Duration, String> {
        let mut total = Duration::ZERO;
        for _ in 0..times {
            let mut bytes = Vec::with_capacity(self.bytes.len());
            let start = Instant::now();
            encode(&self.config, &self.program.events, &mut bytes);
            total += start.elapsed();
            if bytes != self.bytes {
                return Err(format!("{}: encoded otherwise", self.name()));
            }
        }
        Ok(total / times)
    }

    fn name(&self) -> String {
        let mode = if self.config.params.mode == Mode::Target { "target" } else { "predict" };
        format!("{}, {mode}", self.program.traced.name)
    }
}

/// Looks at all blocks and cycles.
#[derive(Debug, Default)]
struct Blocks {
    answer: Answer,
    cycles: u64,
    /// What should not be.
    bad: Option<Element>,
}

impl ElementSink for Blocks {
    #[inline(always)]
    fn block(&mut self, _: u64, block: &Block) {
        self.answer.add(block.start, block.end, block.count.into());
    }

    #[inline(always)]
    fn element(&mut self, _: u64, element: &Element) {
        match element {
            Element::Cycles(Some(cycles)) => self.cycles += u64::from(*cycles),
            Element::Block(block) => self.answer.add(block.start, block.end, block.count.into()),
            Element::TraceOn(_)
            | Element::Context(..)
            | Element::Exception(_)
            | Element::Timestamp { .. }
            | Element::End => {}
            _ => self.bad = Some(*element),
        }
    }
}
