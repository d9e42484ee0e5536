//! How fast traces are decoded and encoded.

use std::fs;
use std::time::{Duration, Instant};

use tracewright_core::stream::PacketSink;
use tracewright_core::{Block, Element, Isa, MemorySpace};
use tracewright_flow::{Counts, ElementSink};
use tracewright_image::Image;
use tracewright_ntrace::decode::{Decoder, Options};
use tracewright_ntrace::encode::Config;
use tracewright_ntrace::stream::{Message, Parser};

use super::record::{MIXES, Mix, encode};
use crate::etrace::program::{self, Traced};
use crate::etrace::record::{Event, Events};
use crate::etrace::{Answer, SHARED};
use crate::hart::program::Size;
use crate::hart::{number, time};
use crate::head;

/// Rounds; the best of each counts.
const ROUNDS: usize = 5;
/// Instructions of a program, at most.
const LIMIT: u64 = 20_000_000;
/// The same for checks.
const FEW: u64 = 200_000;

pub fn tables(only: Option<&str>, check: bool) -> Result<usize, String> {
    let size = if check { Size::Small } else { Size::Large };
    let mut programs = program::long(size);
    programs.extend(program::shared().into_iter().filter(|traced| SHARED.contains(&traced.name.as_str())));
    programs.retain(|traced| only.is_none_or(|only| traced.name.starts_with(only)));
    if !check {
        head(
            2,
            "N-Trace of | options | million instructions | bits each | blocks M/s | profile M/s | encode M/s",
        );
    }
    let (mut entries, mut sums) = (0, [(Duration::ZERO, 0); 3]);
    for traced in &programs {
        let program = Program::new(traced, if check { FEW } else { LIMIT })?;
        for mix in &MIXES {
            let entry = program.entry(mix)?;
            if check {
                println!("{}, {}, {}: answers agree", super::SPEED, traced.name, mix.name);
            } else {
                println!("{}", entry.measure(traced.is_shared.then_some(&mut sums))?);
            }
            entries += 1;
        }
    }
    if !check && sums[0].1 > 0 {
        let rates = sums.map(|(time, count)| number(Some(count as f64 / 1e6 / time.as_secs_f64()), 0));
        println!(
            "| **shared programs** | all of these | {:.1} | | {} |",
            sums[0].1 as f64 / 1e6,
            rates.join(" | ")
        );
    }
    Ok(entries)
}

/// The time that this thread had a processor: others may want it, too.
struct Cpu {
    /// Nanoseconds that the kernel counted, where it does.
    counted: Option<u64>,
    start: Instant,
}

impl Cpu {
    fn now() -> Self {
        Self { counted: Self::counted(), start: Instant::now() }
    }

    fn counted() -> Option<u64> {
        let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split(' ').next()?.parse().ok()
    }

    fn elapsed(&self) -> Duration {
        let elapsed = self.start.elapsed();
        let counted = self.counted.zip(Self::counted()).map(|(from, to)| Duration::from_nanos(to - from));
        counted.filter(|counted| !counted.is_zero()).map_or(elapsed, |counted| counted.min(elapsed))
    }
}

/// What a program did.
struct Program<'a> {
    traced: &'a Traced,
    image: Image,
    isa: Isa,
    events: Vec<Event>,
    answer: Answer,
}

impl<'a> Program<'a> {
    fn new(traced: &'a Traced, limit: u64) -> Result<Self, String> {
        let (image, isa) = traced.image()?;
        let mut events = Events::new(image.regions().map(|region| region.range()).collect());
        traced.run(limit, &mut events)?;
        Ok(Self { traced, image, isa, events: events.events, answer: Answer::default() }.answered())
    }

    /// Finds what decoders must find: all blocks but the cut end of a branch, whose way is not known.
    fn answered(mut self) -> Self {
        if let Some(Event::Block(block)) = self.events.last()
            && block.ended == tracewright_core::Ended::Cut
            && block.class.is_branch()
        {
            self.events.pop();
        }
        for event in &self.events {
            if let Event::Block(block) = event {
                self.answer.add(block.start, block.end, block.count.into());
            }
        }
        self
    }

    fn entry<'p>(&'p self, mix: &'p Mix) -> Result<Entry<'p, 'a>, String> {
        let config = mix.config(self.isa);
        let mut bytes = Vec::new();
        encode(&config, &self.events, &mut bytes);
        let entry = Entry { program: self, mix, config, bytes };
        entry.blocks(2)?;
        entry.profile(2)?;
        Ok(entry)
    }
}

/// A trace, and what must be found in it.
struct Entry<'p, 'a> {
    program: &'p Program<'a>,
    mix: &'p Mix,
    config: Config,
    bytes: Vec<u8>,
}

impl Entry<'_, '_> {
    fn measure(&self, sums: Option<&mut [(Duration, u64); 3]>) -> Result<String, String> {
        let mut best = [None; 3];
        // Short ones again and again.
        let times = (LIMIT / self.program.answer.instructions.max(1)).clamp(1, 1000) as u32;
        for _ in 0..ROUNDS {
            time(&mut best[0], self.blocks(times)?);
            time(&mut best[1], self.profile(times)?);
            time(&mut best[2], self.encode(times)?);
        }
        let count = self.program.answer.instructions;
        for (sum, best) in sums.into_iter().flatten().zip(best) {
            *sum = (sum.0 + best.unwrap_or_default(), sum.1 + count);
        }
        let instructions = count as f64;
        let rate = |time: Option<Duration>| Some(instructions / 1e6 / time?.as_secs_f64());
        let (name, mix, millions) = (&self.program.traced.name, self.mix.name, instructions / 1e6);
        let bits = self.bytes.len() as f64 * 8.0 / instructions;
        let rates = best.map(|best| number(rate(best), 0)).join(" | ");
        Ok(format!("| {name} | {mix} | {millions:.1} | {bits:.3} | {rates} |"))
    }

    fn blocks(&self, times: u32) -> Result<Duration, String> {
        let mut time = Duration::ZERO;
        let mut decoder = self.decoder();
        for _ in 0..times {
            let mut sink = Blocks::default();
            let start = Cpu::now();
            decoder = self.decode(decoder, &mut sink);
            time += start.elapsed();
            if let Some(bad) = sink.bad {
                return Err(format!("{}: {bad:x?}", self.name()));
            }
            if sink.answer != self.program.answer {
                return Err(format!(
                    "{}: {:x?}, expected {:x?}",
                    self.name(),
                    sink.answer,
                    self.program.answer
                ));
            }
        }
        Ok(time / times)
    }

    fn profile(&self, times: u32) -> Result<Duration, String> {
        let mut counts = Counts::new();
        let mut decoder = self.decoder();
        let start = Cpu::now();
        for _ in 0..times {
            decoder = self.decode(decoder, &mut counts);
        }
        let profile = counts.finish(decoder.graph());
        let time = start.elapsed();
        let count = |((block, _), times): (&(Block, MemorySpace), &u64)| u64::from(block.count) * times;
        let instructions: u64 = profile.blocks.iter().map(count).sum();
        let expected = self.program.answer.instructions * u64::from(times);
        if instructions != expected {
            return Err(format!("{}: profile: {instructions}, expected {expected}", self.name()));
        }
        Ok(time / times)
    }

    fn encode(&self, times: u32) -> Result<Duration, String> {
        let mut time = Duration::ZERO;
        for _ in 0..times {
            let mut bytes = Vec::with_capacity(self.bytes.len());
            let start = Cpu::now();
            encode(&self.config, &self.program.events, &mut bytes);
            time += start.elapsed();
            if bytes != self.bytes {
                return Err(format!("{}: encoded otherwise", self.name()));
            }
        }
        Ok(time / times)
    }

    fn decoder(&self) -> Decoder<'_> {
        Decoder::new(&self.config.params, Options::default(), &self.program.image, self.program.isa)
    }

    fn decode<'d>(&self, decoder: Decoder<'d>, sink: &mut impl ElementSink) -> Decoder<'d> {
        let mut parser = Parser::new(self.config.params.clone());
        let mut messages = Messages { decoder, sink };
        parser.feed(&self.bytes, &mut messages);
        parser.finish(&mut messages);
        let Messages { mut decoder, sink } = messages;
        decoder.finish(self.bytes.len() as u64, sink);
        decoder
    }

    fn name(&self) -> String {
        format!("{}, {}", self.program.traced.name, self.mix.name)
    }
}

struct Messages<'i, 's, S> {
    decoder: Decoder<'i>,
    sink: &'s mut S,
}

impl<S: ElementSink> PacketSink<Message> for Messages<'_, '_, S> {
    #[inline(always)]
    fn packet(&mut self, offset: u64, _: &[u8], message: &Message) {
        self.decoder.message(offset, message, self.sink);
    }
}

/// Looks at all blocks.
#[derive(Debug, Default)]
struct Blocks {
    answer: Answer,
    /// What should not be.
    bad: Option<Element>,
}

impl ElementSink for Blocks {
    #[inline(always)]
    fn block(&mut self, _: u64, block: &Block) {
        self.answer.add(block.start, block.end, block.count.into());
    }

    #[cold]
    fn element(&mut self, _: u64, element: &Element) {
        match element {
            Element::Block(block) => self.answer.add(block.start, block.end, block.count.into()),
            Element::TraceOn(_) | Element::Context(..) | Element::Exception(_) | Element::End => {}
            _ => self.bad = Some(*element),
        }
    }
}
