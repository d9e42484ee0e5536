//! Shared parts of the decoding tests.

pub mod executions;
pub mod happened;
pub mod machine;
pub mod twin;

use std::collections::BTreeMap;
use std::path::Path;

use tracewright_core::{Element, Isa, MemorySpace};
use tracewright_etrace::decode::{self, Decoder};
use tracewright_etrace::stream::{self, Config, Message, Parser};
use tracewright_flow::Instructions;
use tracewright_image::{Bytes, Image};
use tracewright_testkit::etrace::text;

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
    /// Reads the trace of a program, if it and `xz` are available.
    pub fn read(captures: &Path, program: &str) -> Option<Self> {
        let folder = captures.join("riscv/etrace/spike_pc_trace");
        let text = text(&folder.join(format!("{program}.spike_pc_trace.xz")))
            .or_else(|| text(&folder.join(format!("{program}.spike_pc_trace"))))?;
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
            let len = if bits & 3 == 3 { 4 } else { 2 };
            for (i, byte) in bits.to_le_bytes().into_iter().take(len).enumerate() {
                code.insert(address + i as u64, byte);
            }
        }
        Some(Self { image: image(&code), retired, traps })
    }

    /// Compares these instructions, and the traps among the elements, with the execution; the trace may end
    /// earlier. Returns their number.
    pub fn compare(&self, instructions: &[u64], elements: &[(u64, Element)]) -> Result<usize, String> {
        let equal = self.retired.iter().zip(instructions).take_while(|(a, b)| a == b).count();
        if equal != instructions.len() || equal != self.retired.len() {
            let around = |all: &[u64]| {
                let range = equal.saturating_sub(3)..(equal + 4).min(all.len());
                all.get(range).map(<[u64]>::to_vec)
            };
            return Err(format!(
                "{equal} of {} ({} decoded): {:x?}, expected {:x?}",
                self.retired.len(),
                instructions.len(),
                around(instructions),
                around(&self.retired)
            ));
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
        if traps != self.traps {
            let equal = traps.iter().zip(&self.traps).take_while(|(a, b)| a == b).count();
            return Err(format!(
                "trap {equal}: {:?}, expected {:?}",
                traps.get(equal),
                self.traps.get(equal)
            ));
        }
        Ok(equal)
    }
}

/// Returns an image of these bytes.
pub fn image(code: &BTreeMap<u64, u8>) -> Image {
    let mut builder = Image::builder();
    let mut run: Vec<u8> = Vec::new();
    let mut start = 0;
    for (&address, &byte) in code {
        if !run.is_empty() && start + run.len() as u64 != address {
            builder.raw("code", Bytes::from(std::mem::take(&mut run)), start, MemorySpace::ANY).unwrap();
        }
        if run.is_empty() {
            start = address;
        }
        run.push(byte);
    }
    if !run.is_empty() {
        builder.raw("code", Bytes::from(run), start, MemorySpace::ANY).unwrap();
    }
    builder.build()
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
        let mut messages = Messages { decoder: decoder.clone(), elements: Vec::new(), knows };
        let mut parser = Parser::new(config.clone());
        parser.feed(bytes, &mut messages);
        parser.finish(&mut messages);
        let Messages { mut decoder, mut elements, .. } = messages;
        let mut tell = |offset: u64, element: &Element| elements.push((offset, *element));
        decoder.finish(bytes.len() as u64, &mut tell);
        elements
    });
    if let Some(at) = (0..reading.len().max(knowing.len())).find(|&at| reading.get(at) != knowing.get(at)) {
        panic!("element {at}: {:x?}, without reading {:x?}", reading.get(at), knowing.get(at));
    }
    reading
}

/// EtraceSink that decodes messages; if it `knows` repeated ones, by their bytes.
struct Messages<'i> {
    decoder: Decoder<'i>,
    elements: Vec<(u64, Element)>,
    knows: bool,
}

impl stream::EtraceSink for Messages<'_> {
    fn message(&mut self, offset: u64, _: &[u8], message: &Message) {
        let mut tell = |offset: u64, element: &Element| self.elements.push((offset, *element));
        self.decoder.message(offset, message, &mut tell);
    }

    fn short(&mut self, offset: u64, word: u64, len: u32) -> bool {
        let mut tell = |offset: u64, element: &Element| self.elements.push((offset, *element));
        self.knows && self.decoder.short(offset, word, len, &mut tell)
    }
}

/// EtraceSink that passes messages to a decoder, also by their bytes where it knows them.
pub struct Feed<'d, 'i, S> {
    pub decoder: &'d mut Decoder<'i>,
    pub sink: S,
}

impl<S: tracewright_flow::ElementSink> stream::EtraceSink for Feed<'_, '_, S> {
    fn message(&mut self, offset: u64, _: &[u8], message: &Message) {
        self.decoder.message(offset, message, &mut self.sink);
    }

    fn short(&mut self, offset: u64, word: u64, len: u32) -> bool {
        self.decoder.short(offset, word, len, &mut self.sink)
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
