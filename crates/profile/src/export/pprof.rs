//! pprof's profile.proto for `go tool pprof`: one sample for each stack, with instructions and cycles.

use tracewright_core::Crc32;
use tracewright_core::text::Printable;
use tracewright_flow::hash::HashMap;

use super::protobuf::Writer;
use crate::calls::{CallTree, Tree};
use crate::counts::Profile;
use crate::program::Program;

/// Field numbers of profile.proto.
mod field {
    pub const SAMPLE_TYPE: u32 = 1;
    pub const SAMPLE: u32 = 2;
    pub const MAPPING: u32 = 3;
    pub const LOCATION: u32 = 4;
    pub const FUNCTION: u32 = 5;
    pub const STRING: u32 = 6;
    pub const DEFAULT_SAMPLE_TYPE: u32 = 14;
}

/// Writes the profile as gzip.
pub fn write(calls: &CallTree, profile: &Profile, program: &Program) -> Vec<u8> {
    let mut out = Writer::default();
    let mut strings = Strings::default();
    strings.number("");
    let kinds: &[&str] = if calls.has_cycles { &["instructions", "cycles"] } else { &["instructions"] };
    for kind in kinds {
        let mut of = Writer::default();
        of.number(1, strings.number(kind));
        of.number(2, strings.number("count"));
        out.message(field::SAMPLE_TYPE, &of);
    }
    let (tree, functions) = (&calls.tree, calls.functions.list());
    let mut locations = Locations::default();
    for (at, node) in (0..).zip(tree.nodes()) {
        let own = node.own;
        if own.instructions == 0 && own.cycles == 0 {
            continue;
        }
        let mut of = Writer::default();
        of.packed(1, locations.of_path(tree, at).into_iter());
        of.packed(2, [own.instructions, own.cycles].into_iter().take(kinds.len()));
        if calls.threads.len() > 1 {
            let mut label = Writer::default();
            label.number(1, strings.number("thread"));
            let thread = calls.threads.get(tree.thread_of(at) as usize).map_or("?", String::as_str);
            label.number(2, strings.number(thread));
            of.message(3, &label);
        }
        out.message(field::SAMPLE, &of);
    }
    let mut mappings: HashMap<u32, u64> = HashMap::default();
    for (number, binary) in (0..).zip(&profile.binaries) {
        let Some(file) = program.file_number(number) else { continue };
        mappings.insert(file, u64::from(number) + 1);
        let mut of = Writer::default();
        of.number(1, u64::from(number) + 1);
        of.number(5, strings.number(&binary.name));
        of.number(6, strings.number(&binary.build_id_hex()));
        // Functions, file names and lines are included, so that pprof need not look them up.
        (7..=9).for_each(|has| of.number(has, 1));
        out.message(field::MAPPING, &of);
    }
    for (number, function) in (1..).zip(functions) {
        let source = program.source_of(function);
        let line = source.map_or(0, |source| source.line.into());
        let mut of = Writer::default();
        of.number(1, number);
        let name = strings.number(&function.name);
        of.number(2, name);
        of.number(3, name);
        of.number(4, strings.number(source.map_or("", |source| source.file)));
        of.number(5, line);
        out.message(field::FUNCTION, &of);
    }
    for (number, stack) in (1..).zip(&locations.list) {
        let mut of = Writer::default();
        of.number(1, number);
        let around = stack.last().and_then(|&around| functions.get(around as usize));
        let mapping = around.and_then(|around| mappings.get(&around.file?).copied());
        of.number(2, mapping.unwrap_or(0));
        of.number(3, around.and_then(|around| around.start).unwrap_or(0));
        for &function in stack {
            let source = functions.get(function as usize).and_then(|function| program.source_of(function));
            let mut line = Writer::default();
            line.number(1, u64::from(function) + 1);
            line.number(2, source.map_or(0, |source| source.line.into()));
            of.message(4, &line);
        }
        out.message(field::LOCATION, &of);
    }
    out.number(field::DEFAULT_SAMPLE_TYPE, strings.number("instructions"));
    for text in &strings.list {
        out.bytes(field::STRING, text.as_bytes());
    }
    gzip(out.as_bytes())
}

/// Locations: a function, after those that are inlined into it and run there, the innermost first.
#[derive(Default)]
struct Locations {
    list: Vec<Vec<u32>>,
    numbers: HashMap<Vec<u32>, u64>,
}

impl Locations {
    /// Returns the locations of a call path, the innermost first. 0 is not a valid number.
    fn of_path(&mut self, tree: &Tree, node: u32) -> Vec<u64> {
        let mut path = Vec::new();
        let mut stack = Vec::new();
        for node in tree.path(node).into_iter().rev().map(|node| tree.nodes()[node as usize]) {
            stack.push(node.function);
            if !node.is_inlined {
                path.push(self.number(std::mem::take(&mut stack)));
            }
        }
        if !stack.is_empty() {
            path.push(self.number(stack));
        }
        path
    }

    fn number(&mut self, stack: Vec<u32>) -> u64 {
        *self.numbers.entry(stack).or_insert_with_key(|stack| {
            self.list.push(stack.clone());
            self.list.len() as u64
        })
    }
}

/// String table. Strings are printable because pprof writes them to terminals.
#[derive(Default)]
struct Strings {
    list: Vec<String>,
    numbers: HashMap<String, u64>,
}

impl Strings {
    fn number(&mut self, text: &str) -> u64 {
        let text = &*Printable(text).to_string();
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.list.len() as u64;
        self.list.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

/// Wraps bytes as a gzip file without compression. The data is small, and this needs no library.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    let mut chunks = bytes.chunks(0xffff).peekable();
    while let Some(chunk) = chunks.next() {
        out.push(u8::from(chunks.peek().is_none()));
        out.extend((chunk.len() as u16).to_le_bytes());
        out.extend((!(chunk.len() as u16)).to_le_bytes());
        out.extend(chunk);
    }
    out.extend(Crc32::of(bytes).to_le_bytes());
    out.extend((bytes.len() as u32).to_le_bytes());
    out
}
