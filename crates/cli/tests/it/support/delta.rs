//! Captures with delta trace, and what is in them.

use crate::run::value;
pub use crate::run::{stderr, tracewright};
use serde_json::Value;
use tracewright_delta::{Decoder, Item};
use tracewright_etrace::packet::{Packet, Trap};
use tracewright_etrace::stream::{Content, Message, Parser};
use tracewright_input::{Capture, Protocol};
use tracewright_testkit::Scratch;

pub fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("{name}: {value}"))
}

/// Records a sample program, or the one with this path, into the folder `run`; what it came to.
pub fn record(place: &Scratch, program: &str, more: &[&str]) -> Value {
    let (dir, summary) = (place.join("run"), place.join("summary.json"));
    let sample = format!("programs/bin/{program}.elf");
    let program = if program.contains('/') { program } else { &sample };
    let mut arguments = vec!["record", "-q", "--protocol", "etrace", "-o", &dir, "--summary", &summary];
    arguments.extend(more);
    arguments.push(program);
    let output = tracewright(&arguments);
    // Programs end with a status of their own.
    assert_ne!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
    value(summary)
}

/// The bytes of its delta trace.
pub fn delta_bytes(place: &Scratch) -> Vec<u8> {
    std::fs::read(place.join("run/delta.bin")).unwrap()
}

/// All that a delta trace tells.
pub fn told(bytes: &[u8]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut decoder = Decoder::new();
    decoder.feed(bytes, &mut items);
    decoder.finish(&mut items);
    items
}

/// Time and address of each packet of a capture that synchronises with an instruction.
pub fn starts(dir: &str) -> Vec<(u64, u64)> {
    let capture = Capture::open(dir.as_ref()).unwrap();
    assert!(capture.problems.is_empty(), "{:?}", capture.problems);
    let Protocol::Etrace(source) = &capture.sources[0].protocol else { panic!("no E-Trace") };
    let mut starts = Vec::new();
    let mut take = |_: u64, _: &[u8], message: &Message| match message.content {
        Content::Instruction(Packet::Start(start)) => starts.push((start.context.time, start.address)),
        Content::Instruction(Packet::Trap(Trap {
            thaddr: true, address: Some(address), context, ..
        })) => {
            starts.push((context.time, address));
        }
        _ => {}
    };
    let mut parser = Parser::new(source.config.clone());
    parser.feed(&std::fs::read(&capture.buffers[0].path).unwrap(), &mut take);
    parser.finish(&mut take);
    starts
}

/// What a listing says of instructions that retired.
pub struct Listed {
    pub cycles: Vec<u64>,
    pub addresses: Vec<u64>,
}

pub fn listed(path: &str) -> Listed {
    let text = std::fs::read_to_string(path).unwrap();
    let mut listed = Listed { cycles: Vec::new(), addresses: Vec::new() };
    // Traps are in it, too.
    for line in text.lines().filter(|line| !line.contains("  -- ")) {
        let mut words = line.split_whitespace();
        let mut word = || words.next().unwrap_or_else(|| panic!("{line}"));
        listed.cycles.push(word().parse().unwrap_or_else(|_| panic!("{line}")));
        listed.addresses.push(u64::from_str_radix(word(), 16).unwrap());
    }
    listed
}
