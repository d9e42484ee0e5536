//! Captures with delta trace, and what is in them.

use crate::run::{ETRACE, elf, run, value};
use serde_json::Value;
use tracewright_delta::{Decoder, Item};
use tracewright_etrace::packet::{Packet, Trap};
use tracewright_etrace::stream::{Content, Message, Parser};
use tracewright_input::{Capture, Protocol};
use tracewright_testkit::Scratch;

/// Records a sample program, or the one with this path, into the folder `run`; what it came to.
pub fn record(place: &Scratch, program: &str, more: &str) -> Value {
    let (dir, summary) = (place.join("run"), place.join("summary.json"));
    let ran = run!("{ETRACE} {dir} --summary-json {summary} {more} {}", elf(program));
    // Programs end with a status of their own.
    assert_ne!(ran.status, Some(2), "{program} {more}: {}", ran.err);
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
