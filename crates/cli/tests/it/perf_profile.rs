//! What profiles are made of, from recordings: each block with its file and the address it was linked for. Counted, they must give
//! what simpleperf's `inject` writes for AutoFDO and BOLT, and its lists of branches.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tracewright_core::{Block, Element, Ended, Flow, MemorySpace};
use tracewright_etm::decode::{Decoder, Options};
use tracewright_etm::packet::{Packet, Parser};
use tracewright_frames::{Deframer, Demux, Format};
use tracewright_image::Image;
use tracewright_input::{Packing, Protocol, perf};
use tracewright_testkit::captures_for;

/// A block that ran: of which file, and where it was linked to be. `None`: no file.
struct Ran {
    file: String,
    build_id: Option<Vec<u8>>,
    linked: u64,
    block: Block,
}

/// All blocks of a recording, by way of the libraries.
fn blocks(path: &Path, symfs: &Path) -> Vec<Ran> {
    let capture = perf::open(path, &[symfs.to_owned()]).unwrap();
    let (image, _) = capture.image(&[]);
    let mut all = Vec::new();
    for buffer in &capture.buffers {
        let file = fs::read(&buffer.path).unwrap();
        for piece in buffer.pieces.as_ref().unwrap() {
            let bytes = &file[piece.offset as usize..][..piece.len as usize];
            for &source in &buffer.sources {
                let Protocol::Etm(params) = &capture.sources[source].protocol else { panic!() };
                let mut demux = Demux::new();
                let bytes = if buffer.format == Packing::CoreSight {
                    let mut deframer = Deframer::new(Format::Aligned);
                    deframer.feed(bytes, &mut demux);
                    deframer.finish(&mut demux);
                    demux
                        .streams()
                        .find(|(id, _)| *id == params.id())
                        .map_or(&[][..], |(_, stream)| &stream.bytes)
                } else {
                    bytes
                };
                let mut parser = Parser::new((**params).clone());
                let mut decoder = Decoder::new(params, &image, Options::default()).unwrap();
                decoder.resume(0, piece.moment);
                let mut space = MemorySpace::ANY;
                let mut sink = |_: u64, element: &Element| match element {
                    Element::Context(context, _) => space = image.space(context, &piece.moment),
                    Element::Block(block) => all.push(ran(&image, space, *block)),
                    _ => {}
                };
                parser.feed(bytes, &mut |offset: u64, _: &[u8], packet: &Packet| {
                    decoder.packet(offset, packet, &mut sink);
                });
                decoder.finish(bytes.len() as u64, &mut sink);
            }
        }
    }
    all
}

fn ran(image: &Image, space: MemorySpace, block: Block) -> Ran {
    let region = image.region(block.start, space).expect("a block has a region");
    let linked = region.linked(block.start).expect("of an ELF file");
    Ran { file: region.name().into(), build_id: region.build_id().map(<[u8]>::to_vec), linked, block }
}

/// Counts of ranges (first and last instruction) and of taken branches (from, to).
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    ranges: BTreeMap<(u64, u64), u64>,
    branches: BTreeMap<(u64, u64), u64>,
}

impl Counts {
    fn of(blocks: &[Ran]) -> Self {
        let mut counts = Self::default();
        for (index, Ran { linked, block, .. }) in blocks.iter().enumerate() {
            let last = linked + (block.last() - block.start);
            *counts.ranges.entry((*linked, last)).or_default() += 1;
            if block.ended == Ended::Taken {
                // Where indirect branches went is not in simpleperf's lists, from which it injects.
                let to = if block.class.flow == Flow::Direct { blocks[index + 1].linked } else { 0 };
                *counts.branches.entry((last, to)).or_default() += 1;
            }
        }
        counts
    }

    /// From the text for AutoFDO: a count and as many ranges, a count and as many addresses, a count and as many branches.
    fn autofdo(text: &str) -> Self {
        let mut lines = text.lines();
        let mut section = |separator: &str| {
            let count: usize = lines.next().unwrap().parse().unwrap();
            let pair = |line: &str| {
                let (pair, count) = line.split_once(':').unwrap();
                let (one, other) = pair.split_once(separator).unwrap();
                ((hex(one), hex(other)), count.parse().unwrap())
            };
            lines.by_ref().take(count).map(pair).collect()
        };
        let ranges = section("-");
        assert_eq!(section(":"), BTreeMap::new());
        Self { ranges, branches: section("->") }
    }

    /// From the text for BOLT.
    fn bolt(text: &str) -> Self {
        let mut counts = Self::default();
        for line in text.lines() {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["F", one, other, count] => {
                    counts.ranges.insert((hex(one), hex(other)), count.parse().unwrap())
                }
                ["B", one, other, count, _] => {
                    counts.branches.insert((hex(one), hex(other)), count.parse().unwrap())
                }
                _ => None,
            };
        }
        counts
    }
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap()
}

#[test]
fn counts_are_those_that_simpleperf_injects() {
    let Some(perf) = captures_for("profiles of recordings", "perf") else { return };
    let folder = perf.join("simpleperf");
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let expected = Counts::autofdo(&text("perf_inject.data"));
    assert_eq!(expected.ranges.len() + expected.branches.len(), 19);
    assert_eq!(Counts::bolt(&text("perf_inject_bolt.data")), expected);
    // The same program ran each time: in frames, raw (ETE), and described in the oldest way.
    for name in ["perf_etm.data", "perf_with_unformatted_trace.data", "perf_header_v0.data"] {
        let blocks = blocks(&folder.join(name), &folder);
        assert_eq!(Counts::of(&blocks), expected, "{name}");
        for Ran { file, build_id, .. } in &blocks {
            assert!(file.ends_with("/etm_test_loop"), "{file}");
            let id: String = build_id.as_ref().unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
            assert!(text("perf_inject.data").contains(&format!("// build_id: 0x{id}")), "{id}");
        }
    }
}

/// Direct branches of the module that were taken, and after which the trace has no address: where they are, and where they go
/// (`objdump -dr`).
const DIRECT: [(u64, u64); 2] = [(0x2ec, 0x140), (0x168, 0x18c)];

/// A kernel module: it is not at the start of its memory, as only the recording knows.
#[test]
fn branches_of_a_kernel_module_are_those_that_simpleperf_lists() {
    let Some(perf) = captures_for("a kernel module", "perf") else { return };
    let blocks = blocks(&perf.join("simpleperf/perf_kernel.data"), &perf.join("simpleperf"));
    assert!(blocks.iter().all(|ran| ran.file.ends_with("/rq_stats.ko")));
    // An address, and taken or not of the branches that follow, the last first.
    let mut ours: Vec<(u64, String)> = Vec::new();
    let mut next = None;
    for Ran { linked, block, .. } in &blocks {
        let taken = block.ended == Ended::Taken;
        let bit = if taken { '1' } else { '0' };
        match ours.last_mut() {
            Some((_, bits)) if next == Some(*linked) => bits.insert(0, bit),
            _ => ours.push((*linked, bit.into())),
        }
        let after = linked + (block.end - block.start);
        // A branch list goes on after direct branches. Where they go was decided when the module was loaded.
        next = match (taken, block.class.flow) {
            (true, Flow::Direct) => DIRECT.iter().find(|(from, _)| *from == after - 4).map(|(_, to)| *to),
            (true, _) => None,
            (false, _) => Some(after),
        };
    }
    let dump = fs::read_to_string(perf.join("oracle/perf_kernel.bl.dump.txt")).unwrap();
    assert!(dump.contains("binary[3].path: /vendor/lib/modules/rq_stats.ko"));
    let of_module = dump.split_once("binary[3].addrs:").unwrap().1.split_once("binary[4]").unwrap().0;
    let mut expected = Vec::new();
    let mut address = 0;
    for line in of_module.lines().map(str::trim) {
        if let Some((_, at)) = line.split_once("]: 0x") {
            address = hex(at);
        } else if let Some((_, bits)) = line.split_once(".branch: 0b") {
            expected.push((address, bits.to_owned()));
        }
    }
    assert_eq!(expected.len(), 3);
    ours.sort();
    assert_eq!(ours, expected);
}
