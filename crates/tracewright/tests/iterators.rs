//! The iterators of a trace tell the same as the counts.

use std::path::{Path, PathBuf};

use tracewright::{Element, Trace};

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples").join(name)
}

#[test]
fn packets_are_all_bytes_of_the_file() {
    let trace = Trace::open(sample("etrace")).unwrap();
    let mut packets = trace.packets();
    let bytes: Vec<u8> = packets.by_ref().flat_map(|packet| packet.bytes).collect();
    assert_eq!(bytes, std::fs::read(sample("etrace/trace.bin")).unwrap());
    assert!(packets.finish().unwrap().is_complete());
    let kinds: Vec<_> = Trace::open(sample("hello")).unwrap().packets().map(|packet| packet.kind).collect();
    assert_eq!(kinds[..3], ["A-Sync", "Trace Info", "Trace On"]);
}

#[test]
fn iterators_add_up_to_the_tally() {
    for name in ["hello", "threads", "etrace"] {
        let trace = Trace::open(sample(name)).unwrap();
        let instructions = trace.profile().unwrap().tally.instructions;
        assert_eq!(trace.instructions().count() as u64, instructions, "{name}");
        assert_eq!(trace.blocks().map(|block| u64::from(block.value.count)).sum::<u64>(), instructions);
        let is_block = |element: &Element| matches!(element, Element::Block(_));
        let blocks = trace.elements().filter(|element| is_block(&element.value)).count();
        assert_eq!(blocks as u64, trace.profile().unwrap().tally.blocks, "{name}");
    }
}

#[test]
fn an_iterator_that_is_dropped_ends_decoding() {
    let trace = Trace::open(sample("etrace")).unwrap();
    let mut instructions = trace.instructions();
    assert!(instructions.next().is_some());
    let outcome = instructions.finish().unwrap();
    assert!(outcome.tally.instructions > 0);
    drop(trace.elements());
}

#[test]
fn what_is_not_there_is_an_error() {
    let trace = Trace::open(sample("hello")).unwrap();
    let error = trace.clone().source(0x55).profile().unwrap_err();
    assert_eq!(error.to_string(), "no source has trace ID 0x55; there are 0x10");
    assert!(trace.buffer("none").elements().finish().is_err());
    assert!(Trace::open(sample("nothing")).is_err());
}
