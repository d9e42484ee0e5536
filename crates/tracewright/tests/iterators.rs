//! The iterators of a trace tell the same as the counts.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use tracewright::{Element, OpenOptions, Packing, PlaceNames, Tally, Trace};

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
    for name in ["hello", "threads", "etrace", "retirement.log"] {
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
    let said = |opened: Result<Trace, tracewright::Error>| opened.unwrap_err().to_string();
    let raw = sample("hello/buffer_0.bin");
    assert!(said(Trace::open(sample("nothing"))).ends_with("no such file or folder"));
    assert!(said(Trace::open(&raw)).contains("does not describe itself: if it is raw trace"));
    let etm = || OpenOptions::new().source("etm4,id=0x10".parse().unwrap());
    assert!(said(etm().open(&raw)).ends_with("a raw trace file needs a packing: say it with --packing"));
    assert!(
        said(etm().packing(Packing::CoreSight).open(sample("hello")))
            .contains("a capture folder describes itself")
    );
    assert!(said(etm().open(sample("nothing.bin"))).ends_with("no such file or folder"));
}

#[test]
fn what_is_missing_is_told() {
    let raw = |id: &str| {
        let source = format!("etm4,id={id},TRCCONFIGR=0x851,TRCIDR0=0x28000ea1").parse().unwrap();
        let options = OpenOptions::new().source(source).packing(Packing::CoreSight);
        options.open(sample("hello/buffer_0.bin")).unwrap().profile().unwrap()
    };
    let outcome = raw("0x10");
    assert!(!outcome.is_complete());
    let missing = outcome.missing();
    assert!(
        missing.iter().any(|line| line.contains("no image has the code that ran, first at 0x4")),
        "{missing:?}"
    );
    let missing = raw("0x55").missing();
    assert!(
        missing.iter().any(|line| line.ends_with("no source of this buffer has trace ID 0x10")),
        "{missing:?}"
    );
    assert_eq!(Trace::open(sample("etrace")).unwrap().profile().unwrap().missing(), [""; 0]);
}

#[test]
fn elements_by_time_are_those_of_each_source_sorted() {
    for name in ["hello", "threads", "two-cores", "perf/perf.data", "etrace", "retirement.log"] {
        let trace = Trace::open(sample(name)).unwrap();
        // Each source alone, with the time of each element: the last timestamp, or the first.
        let mut naive = Vec::new();
        for buffer in trace.buffers().unwrap() {
            for &index in &buffer.sources {
                let source = &trace.capture().sources[index];
                let alone = trace.clone().buffer(&buffer.name).only_source(source.number().unwrap());
                let elements: Vec<_> = alone.elements().collect();
                let time = |element: &Element| match *element {
                    Element::Timestamp { value, .. } if value > 0 => Some(value),
                    _ => None,
                };
                let mut last = elements.iter().find_map(|of| time(&of.value));
                for of in &elements {
                    last = time(&of.value).or(last);
                    let what = format!("{} {:#x} {:?} {:?}", of.id, of.offset, of.space, of.value);
                    naive.push((last.unwrap_or(u64::MAX), what));
                }
            }
        }
        naive.sort_by_key(|(time, _)| *time);
        let mut merged = trace.elements_by_time().unwrap();
        let found: Vec<_> = merged
            .by_ref()
            .map(|of| {
                format!("{} {:#x} {:?} {:?}", of.id, of.listed.offset, of.listed.space, of.listed.element)
            })
            .collect();
        assert!(found.iter().eq(naive.iter().map(|(_, what)| what)), "{name}: {found:#?} {naive:#?}");
        let outcomes = merged.finish().unwrap();
        let instructions: u64 = outcomes.iter().map(|outcome| outcome.tally.instructions).sum();
        let mut plain = trace.elements();
        assert_eq!(plain.by_ref().count(), found.len(), "{name}");
        let plain = plain.finish().unwrap();
        assert_eq!(instructions, plain.tally.instructions, "{name}");
        assert_eq!(outcomes.iter().map(|outcome| outcome.tally.bytes).sum::<u64>(), plain.tally.bytes);
        assert_eq!(
            outcomes.iter().map(|outcome| outcome.tally.bytes_around).sum::<u64>(),
            plain.tally.bytes_around
        );
        let untimed = outcomes.iter().map(|outcome| outcome.value.untimed.len()).sum::<usize>();
        assert_eq!(untimed > 0, naive.iter().any(|(time, _)| *time == u64::MAX), "{name}");
    }
}

#[test]
fn elements_by_time_end_when_dropped() {
    let trace = Trace::open(sample("two-cores")).unwrap();
    let mut merged = trace.elements_by_time().unwrap();
    assert!(merged.next().is_some());
    assert!(merged.finish().is_ok());
    drop(trace.elements_by_time());
    assert!(trace.buffer("none").elements_by_time().is_err());
}

/// What a filter or an excerpt leaves out is in no tally, neither of the whole nor of a source.
#[test]
fn tallies_of_sources_add_up() {
    let trace = || Trace::open(sample("threads")).unwrap();
    let names = PlaceNames { functions: vec!["square".into()], ..PlaceNames::default() };
    let filtered = trace().places(&names).unwrap();
    let by_thread = trace().thread(1235).unwrap();
    let of_filter = [filtered, by_thread].map(|trace| {
        let outcome = trace.profile().unwrap();
        (outcome.tally, outcome.sources)
    });
    let last = trace().last(4).unwrap();
    let calls = trace().thread(1235).unwrap();
    let (engine, buffers) = (calls.engine().unwrap(), calls.buffers().unwrap());
    let calls = calls.calls_of(&engine, buffers[0], |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(calls.tally.instructions, of_filter[1].0.instructions);
    for (all, sources) in
        of_filter.into_iter().chain([(last.tally, last.sources), (calls.tally, calls.sources)])
    {
        let sum = |of: fn(&Tally) -> u64| sources.iter().map(|source| of(&source.tally)).sum::<u64>();
        assert!(all.instructions > 0 && all.instructions < 77, "{all:?}");
        assert_eq!(sum(|tally| tally.instructions), all.instructions);
        assert_eq!(sum(|tally| tally.blocks), all.blocks);
        assert_eq!(sum(|tally| tally.left_out), all.left_out);
    }
}

/// An excerpt tells of missing code only what is in it.
#[test]
fn an_excerpt_has_its_own_missing_code() {
    let source = "etm4,id=0x10,TRCCONFIGR=0x851,TRCIDR0=0x28000ea1".parse().unwrap();
    let options = OpenOptions::new().source(source).packing(Packing::CoreSight);
    let last = options.open(sample("hello/buffer_0.bin")).unwrap().last(1).unwrap();
    let ranges = last.sources.iter().flat_map(|source| source.missing.ranges());
    assert_eq!(ranges.map(|range| range.times).sum::<u64>(), last.tally.no_code);
}

/// A profile without symbols is complete, and says that names are missing.
#[test]
fn missing_symbols_are_told_apart() {
    let outcome = Trace::open(sample("hello")).unwrap().profile().unwrap();
    assert!(outcome.is_complete() && outcome.value.named().lacks_symbols());
}

/// What is missing is named, and where to look for it.
#[test]
fn raw_trace_needs_a_source() {
    let error =
        OpenOptions::new().packing(Packing::CoreSight).open(sample("hello/buffer_0.bin")).unwrap_err();
    assert!(error.to_string().contains("name them with --source"), "{error}");
}
