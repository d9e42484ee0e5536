//! Shared parts of the decoding tests.

pub mod happened;
pub mod machine;
pub mod twin;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;

use machine::image;
use tracewright_core::{Element, Isa, MemorySpace};
use tracewright_etrace::decode::{self, Decoder};
use tracewright_etrace::ingress::Entry;
use tracewright_etrace::ingress::csv::{Reader, Retirement};
use tracewright_etrace::packet::Packet;
use tracewright_etrace::stream::{Config, Encapsulation, EtraceSink, Message, Parser, Writer};
use tracewright_etrace::{Params, SupportLayout};
use tracewright_flow::{ElementSink, Instructions};
use tracewright_image::{Bytes, Image};
use tracewright_testkit::etrace::text;
use tracewright_testkit::riscv::walk::Program;

/// Execution as Spike lists it.
pub struct Spike {
    /// Instructions that ran.
    pub image: Image,
    /// Addresses of the retired instructions.
    pub retired: Vec<u64>,
    /// For each trap: the number of instructions retired before it, its cause, and whether it is an
    /// interrupt.
    pub traps: Vec<(usize, u64, bool)>,
}

impl Spike {
    /// Returns the trace of a program as Spike wrote it, if it and `xz` are available.
    pub fn text(captures: &Path, program: &str) -> Option<String> {
        let path = captures.join(format!("riscv/etrace/spike_pc_trace/{program}.spike_pc_trace"));
        text(&path.with_extension("spike_pc_trace.xz")).or_else(|| text(&path))
    }

    /// Reads the trace of a program, if it and `xz` are available.
    pub fn read(captures: &Path, program: &str) -> Option<Self> {
        let text = Self::text(captures, program)?;
        let hex = |field: &str| u64::from_str_radix(field, 16).unwrap();
        let (mut code, mut retired, mut traps) = (BTreeMap::new(), Vec::new(), Vec::new());
        for line in text.lines().skip(1) {
            let fields: Vec<_> = line.split(',').collect();
            let (address, bits) = (hex(fields[1]), hex(fields[2]) as u32);
            if fields[4] == "1" {
                traps.push((retired.len(), hex(fields[5]) & !(1 << 63), fields[7] == "1"));
                // An instruction that could not be fetched is no code.
                if bits == 0 {
                    continue;
                }
            } else {
                retired.push(address);
            }
            code.insert(address, bits as u16);
            if bits & 3 == 3 {
                code.insert(address + 2, (bits >> 16) as u16);
            }
        }
        Some(Self { image: image(&code), retired, traps })
    }

    /// Compares the instructions and traps of these elements with the execution. Returns the number of
    /// instructions.
    pub fn compare(&self, elements: &[(u64, Element)]) -> Result<usize, String> {
        let found = instructions(&self.image, elements);
        if let Some(difference) = difference(&found, &self.retired) {
            return Err(format!("instruction {difference}"));
        }
        let mut seen = 0;
        let mut traps = Vec::new();
        for (_, element) in elements {
            match element {
                Element::Block(block) => seen += block.count as usize,
                Element::Exception(exception) => {
                    traps.push((seen, u64::from(exception.number), exception.interrupt));
                }
                _ => {}
            }
        }
        match difference(&traps, &self.traps) {
            Some(difference) => Err(format!("trap {difference}")),
            None => Ok(found.len()),
        }
    }
}

/// Returns the first difference of two lists, with what is around it.
pub fn difference<T: PartialEq + Debug>(found: &[T], expected: &[T]) -> Option<String> {
    let at = (0..found.len().max(expected.len())).find(|&at| found.get(at) != expected.get(at))?;
    let near =
        |all: &[T]| format!("{:#x?}", &all[at.saturating_sub(3).min(all.len())..all.len().min(at + 4)]);
    Some(format!("{at} of {}: {}\nexpected: {}", expected.len(), near(found), near(expected)))
}

#[track_caller]
pub fn assert_same<T: PartialEq + Debug>(what: &str, found: &[T], expected: &[T]) {
    if let Some(difference) = difference(found, expected) {
        panic!("{what}: {difference}");
    }
}

/// Returns an image of a random program.
pub fn program_image(program: &Program) -> Image {
    let mut builder = Image::builder();
    builder.raw("code", Bytes::from(program.bytes.clone()), program.address, MemorySpace::ANY).unwrap();
    builder.build()
}

/// Reads an encoder's input with one instruction in each row.
pub fn entries(csv: &str) -> Vec<Entry> {
    Reader::new(csv.as_bytes(), Retirement::Instruction).unwrap().map(Result::unwrap).collect()
}

/// Returns the settings of a stream of the reference model.
pub fn smi(params: &Params) -> Config {
    Config { params: params.clone(), encapsulation: Encapsulation::Smi, ..Config::default() }
}

/// Returns the settings of PULP's encoder, as its decoder has them.
pub fn pulp_records() -> Config {
    let (support, address_bytes) = (SupportLayout::Pulp, true);
    let params = Params { iaddress_lsb: 0, support, address_bytes, ..Params::default() };
    Config { params, encapsulation: Encapsulation::Pulp, ..Config::default() }
}

/// Returns the bytes of a stream.
pub fn written(mut writer: Writer, packets: &[Packet]) -> Vec<u8> {
    let mut bytes = Vec::new();
    packets.iter().for_each(|packet| writer.instruction(0, None, packet, &mut bytes).unwrap());
    bytes
}

/// Returns all elements of a stream, which are the same whether repeated messages are parsed again or not.
pub fn decode(
    bytes: &[u8],
    config: &Config,
    options: impl Into<decode::Options>,
    image: &Image,
    isa: Isa,
) -> Vec<(u64, Element)> {
    let decoder = Decoder::new(&config.params, options, image, isa);
    let [reading, knowing] = [false, true].map(|knows| {
        let mut elements = Vec::new();
        let mut tell = |offset: u64, element: &Element| elements.push((offset, *element));
        feed(&mut decoder.clone(), config, [bytes], knows, &mut tell);
        elements
    });
    assert_same("without reading", &knowing, &reading);
    reading
}

/// Decodes a stream. If it `knows` messages, it does not parse repeated ones.
pub fn feed<'a>(
    decoder: &mut Decoder<'_>,
    config: &Config,
    chunks: impl IntoIterator<Item = &'a [u8]>,
    knows: bool,
    sink: &mut impl ElementSink,
) {
    let mut parser = Parser::new(config.clone());
    let mut messages = Messages { decoder, sink, knows };
    chunks.into_iter().for_each(|chunk| parser.feed(chunk, &mut messages));
    parser.finish(&mut messages);
    decoder.finish(parser.position(), sink);
}

/// EtraceSink that passes messages to a decoder; if it `knows` repeated ones, by their bytes.
struct Messages<'d, 'i, 's, S> {
    decoder: &'d mut Decoder<'i>,
    sink: &'s mut S,
    knows: bool,
}

impl<S: ElementSink> EtraceSink for Messages<'_, '_, '_, S> {
    fn message(&mut self, offset: u64, _: &[u8], message: &Message) {
        self.decoder.message(offset, message, self.sink);
    }

    fn short(&mut self, offset: u64, word: u64, len: u32) -> bool {
        self.knows && self.decoder.short(offset, word, len, self.sink)
    }
}

/// Returns the addresses of all instructions of all blocks.
pub fn instructions(image: &Image, elements: &[(u64, Element)]) -> Vec<u64> {
    let mut addresses = Vec::new();
    for (_, element) in elements {
        if let Element::Block(block) = element {
            let before = addresses.len();
            addresses.extend(Instructions::new(image, MemorySpace::ANY, block).map(|found| found.address));
            assert_eq!(addresses.len() - before, block.count as usize, "{block:x?}");
        }
    }
    addresses
}
