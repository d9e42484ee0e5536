//! How fast traces are decoded and encoded.

use std::time::{Duration, Instant};

use tracewright_core::{Block, Element, Isa, MemorySpace};
use tracewright_etrace::decode::Decoder;
use tracewright_etrace::encode::{Config, Resync, ResyncMode};
use tracewright_etrace::stream::{self, Message, Parser};
use tracewright_etrace::{Options, Params};
use tracewright_flow::{Counts, ElementSink};
use tracewright_image::{Image, RegionRef};

use super::Answer;
use super::program::{self, Traced};
use super::record::{self, BASE, Event, Events};
use super::rival::{self, Table};
use super::tool;
use crate::hart::program::Size;
use crate::hart::{number, time};
use crate::head;

/// Rounds; the best of each engine counts.
const ROUNDS: usize = 5;
/// Instructions of a program, at most: the rival needs a second for them.
const LIMIT: u64 = 20_000_000;
/// The same for checks.
const FEW: u64 = 200_000;
/// Of the shared programs, those that run long.
pub const SHARED: [&str; 6] = [
    "dhrystone",
    "coremark",
    "embench-nettle-aes",
    "embench-sglib-combined",
    "embench-statemate",
    "embench-picojpeg",
];

pub fn tables(only: Option<&str>, check: bool) -> Result<usize, String> {
    let size = if check { Size::Small } else { Size::Large };
    let mut programs = program::long(size);
    programs.extend(program::shared().into_iter().filter(|traced| SHARED.contains(&traced.name.as_str())));
    programs.retain(|traced| only.is_none_or(|only| traced.name.starts_with(only)));
    if !check {
        head(
            2,
            "E-Trace of | options | million instructions | bits each | riscv-etrace M/s | blocks M/s | profile M/s \
             | x blocks | x profile | encode M/s",
        );
    }
    let mut entries = 0;
    for traced in &programs {
        let program = Program::new(traced, if check { FEW } else { LIMIT })?;
        for mix in &MIXES {
            let entry = program.entry(mix)?;
            if check {
                println!("{}, {}, {}: answers agree", super::SPEED, traced.name, mix.name);
            } else {
                println!("{}", entry.measure()?);
            }
            entries += 1;
        }
    }
    if !check && only.is_none() {
        tool::table()?;
    }
    Ok(entries)
}

/// Options that go together.
struct Mix {
    name: &'static str,
    options: Options,
    rival: Rival,
}

/// What the rival can do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rival {
    /// Its answer must be right.
    Reads,
    /// It knows the options, but keeps calls beyond synchronisation packets, and takes a return for one that the specification
    /// leaves open: where its answer is wrong it has no time.
    Tries,
    /// It does not know the options.
    Refuses,
}

const MIXES: [Mix; 3] = [
    Mix { name: "base", options: BASE, rival: Rival::Reads },
    Mix { name: "implicit return", options: Options { implicit_return: true, ..BASE }, rival: Rival::Tries },
    Mix {
        name: "all",
        options: Options {
            implicit_return: true,
            branch_prediction: true,
            jump_target_cache: true,
            sijump: true,
            ..BASE
        },
        rival: Rival::Refuses,
    },
];

/// What a program did.
struct Program<'a> {
    traced: &'a Traced,
    image: Image,
    isa: Isa,
    table: Table,
    events: Vec<Event>,
    answer: Answer,
}

impl<'a> Program<'a> {
    fn new(traced: &'a Traced, limit: u64) -> Result<Self, String> {
        let (image, isa) = traced.image()?;
        let mut events = Events::new(image.regions().map(|region| region.range()).collect());
        traced.run(limit, &mut events)?;
        events.end_before_waiting();
        let regions: Vec<_> = image.regions().filter(RegionRef::executable).collect();
        let start = regions.iter().map(|region| region.range().start).min().unwrap_or(0);
        let end = regions.iter().map(|region| region.range().end).max().unwrap_or(0);
        let mut code = vec![0; (end - start) as usize];
        for region in &regions {
            let range = region.range();
            image.read_into(range.start, MemorySpace::ANY, &mut code[(range.start - start) as usize..]);
        }
        let table = Table::new(start, &code, isa);
        Ok(Self { traced, image, isa, table, events: events.events, answer: events.answer })
    }

    fn entry<'p>(&'p self, mix: &'p Mix) -> Result<Entry<'p, 'a>, String> {
        let params = Params {
            return_stack_size: if mix.options.implicit_return { 5 } else { 0 },
            bpred_size: if mix.options.branch_prediction { 7 } else { 0 },
            cache_size: if mix.options.jump_target_cache { 7 } else { 0 },
            sijump: mix.options.sijump,
            ..record::params(self.isa)
        };
        // Without synchronisation packets the rival has a chance.
        let mode = if mix.rival == Rival::Tries { ResyncMode::Off } else { ResyncMode::Packets };
        let resync = Resync { mode, ..Resync::default() };
        let config = Config { params, options: mix.options, resync, ..Config::default() };
        let mut bytes = Vec::new();
        record::encode(&config, &self.events, &mut bytes);
        let entry = Entry { program: self, mix, config, bytes, is_rivals: false };
        entry.blocks(2)?;
        entry.profile(2)?;
        if mix.rival == Rival::Refuses {
            return Ok(entry);
        }
        match (mix.rival, entry.rival(1)) {
            (Rival::Reads, Err(why)) => Err(why),
            (Rival::Tries, Err(why)) => {
                eprintln!("{why}");
                Ok(entry)
            }
            (_, read) => Ok(Entry { is_rivals: read.is_ok(), ..entry }),
        }
    }
}

/// A trace, and what must be found in it.
struct Entry<'p, 'a> {
    program: &'p Program<'a>,
    mix: &'p Mix,
    config: Config,
    bytes: Vec<u8>,
    /// Whether the rival has the right answer.
    is_rivals: bool,
}

impl Entry<'_, '_> {
    fn measure(&self) -> Result<String, String> {
        let mut best = [None; 4];
        // Short ones again and again.
        let times = (LIMIT / self.program.answer.instructions.max(1)).clamp(1, 1000) as u32;
        for _ in 0..ROUNDS {
            if self.is_rivals {
                time(&mut best[0], self.rival(times)?);
            }
            time(&mut best[1], self.blocks(times)?);
            time(&mut best[2], self.profile(times)?);
            time(&mut best[3], self.encode(times)?);
        }
        let instructions = self.program.answer.instructions as f64;
        let rate = |time: Option<Duration>| Some(instructions / 1e6 / time?.as_secs_f64());
        let [theirs, blocks, profile, encode] = best.map(rate);
        let ratio = |ours: Option<f64>| number(ours.zip(theirs).map(|(ours, theirs)| ours / theirs), 1);
        let (name, mix, millions) = (&self.program.traced.name, self.mix.name, instructions / 1e6);
        let bits = self.bytes.len() as f64 * 8.0 / instructions;
        let rates = [theirs, blocks, profile].map(|rate| number(rate, 0)).join(" | ");
        let ratios = [ratio(blocks), ratio(profile), number(encode, 0)].join(" | ");
        Ok(format!("| {name} | {mix} | {millions:.1} | {bits:.3} | {rates} | {ratios} |"))
    }

    fn rival(&self, times: u32) -> Result<Duration, String> {
        let mut time = Duration::ZERO;
        for _ in 0..times {
            let start = Instant::now();
            let answer = rival::decode(&self.bytes, &self.config.params, &self.program.table)
                .map_err(|why| format!("{}: {why}", self.name()))?;
            time += start.elapsed();
            self.same("riscv-etrace", &answer)?;
        }
        Ok(time / times)
    }

    fn blocks(&self, times: u32) -> Result<Duration, String> {
        let mut time = Duration::ZERO;
        let mut decoder = self.decoder();
        for _ in 0..times {
            let mut sink = Blocks::default();
            let start = Instant::now();
            decoder = self.decode(decoder, &mut sink);
            time += start.elapsed();
            if let Some(bad) = sink.bad {
                return Err(format!("{}: {bad:x?}", self.name()));
            }
            self.same("blocks", &sink.answer)?;
        }
        Ok(time / times)
    }

    fn profile(&self, times: u32) -> Result<Duration, String> {
        let mut counts = Counts::new();
        let mut decoder = self.decoder();
        let start = Instant::now();
        for _ in 0..times {
            decoder = self.decode(decoder, &mut counts);
        }
        let profile = counts.finish(decoder.runner().graph());
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
            let start = Instant::now();
            record::encode(&self.config, &self.program.events, &mut bytes);
            time += start.elapsed();
            if bytes != self.bytes {
                return Err(format!("{}: encoded otherwise", self.name()));
            }
        }
        Ok(time / times)
    }

    /// One that knows nothing of the program yet, but its code: the rival gets all instructions decoded.
    fn decoder(&self) -> Decoder<'_> {
        let options = Options::default();
        Decoder::new(&self.config.params, options, &self.program.image, self.program.isa)
    }

    fn decode<'d>(&self, decoder: Decoder<'d>, sink: &mut impl ElementSink) -> Decoder<'d> {
        let mut parser = Parser::new(record::stream(&self.config.params));
        let mut messages = Messages { decoder, sink };
        parser.feed(&self.bytes, &mut messages);
        parser.finish(&mut messages);
        let Messages { mut decoder, sink } = messages;
        decoder.finish(self.bytes.len() as u64, sink);
        decoder
    }

    fn same(&self, what: &str, found: &Answer) -> Result<(), String> {
        let expected = &self.program.answer;
        if found == expected {
            return Ok(());
        }
        Err(format!("{}: {what}: {found:x?}, expected {expected:x?}", self.name()))
    }

    fn name(&self) -> String {
        format!("{}, {}", self.program.traced.name, self.mix.name)
    }
}

struct Messages<'i, 's, S> {
    decoder: Decoder<'i>,
    sink: &'s mut S,
}

impl<S: ElementSink> stream::EtraceSink for Messages<'_, '_, S> {
    #[inline(always)]
    fn message(&mut self, offset: u64, _: &[u8], message: &Message) {
        self.decoder.message(offset, message, self.sink);
    }

    #[inline(always)]
    fn short(&mut self, offset: u64, word: u64, len: u32) -> bool {
        self.decoder.short(offset, word, len, self.sink)
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
            Element::TraceOn(_)
            | Element::Context(..)
            | Element::Exception(_)
            | Element::ExceptionReturn
            | Element::End => {}
            _ => self.bad = Some(*element),
        }
    }
}
