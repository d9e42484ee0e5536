//! `decode --no-image`: the rows are what was executed, with the right cycles; also what decoding with the program tells.

use std::fs;
use std::io::Write;
use std::num::NonZero;

use crate::run::{Ran, hex, number, piped, run, seeds, string, text, values};
use tracewright_core::{Element, Ended, Flow, MemorySpace};
use tracewright_etm::decode::{Decoder, Options};
use tracewright_etm::encode::{Commits, Encoder};
use tracewright_etm::packet::{
    self, Address, AddressForm, Atoms, Context, CycleCount, Emitter, InstructionSet, Packet, Parser,
    Security, Timestamp, TraceInfo,
};
use tracewright_etm::{Params, Protocol, Registers, field};
use tracewright_image::{Bytes, Image};
use tracewright_testkit::program::{self, Program};
use tracewright_testkit::{Reader, Rng, Run, Scratch, broadcast, captures_for, traced};

/// Type, cycle if cycles are counted, value.
type Row = (String, Option<u64>, String);

fn row(kind: &str, cycle: u64, value: impl Into<String>) -> Row {
    (kind.into(), Some(cycle), value.into())
}

/// What the command prints of one unframed source.
fn rows(registers: &Registers, bytes: &[u8], more: &str) -> Vec<Row> {
    let named: Vec<_> = registers.named().map(|(name, value)| format!("{name}={value:#x}")).collect();
    let protocol = if registers.protocol == Protocol::Ete { "ete" } else { "etm4" };
    let source = format!("{protocol},{}", named.join(","));
    let line = format!("decode - --packing source --no-image --source {source} {more}");
    let mut child = piped(&line);
    let mut stdin = child.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(&bytes);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    // Gaps are among what is encoded.
    let ran = Ran::new(line, output);
    let status = i32::from(ran.err.contains(" gap"));
    parse(&ran.ends(status).out)
}

/// The rows of the text: type, cycle and value in columns.
fn parse(text: &str) -> Vec<Row> {
    let row = |row: &str| {
        let (kind, rest) = row.split_at(5);
        let (cycle, value) = rest.split_at(10);
        let cycle = Some(cycle.trim()).filter(|cycle| !cycle.is_empty()).map(hex);
        (kind.trim().to_owned(), cycle, value.trim().to_owned())
    };
    text.lines().skip(1).map(row).collect()
}

/// An execution, traced with branch broadcast.
struct Traced {
    registers: Registers,
    executed: Vec<Element>,
    /// For each block whether a synchronisation point is before it.
    synced: Vec<bool>,
    bytes: Vec<u8>,
    /// Whether each count is of the last P0 element before it: not where it commits less than there is.
    counts_newest: bool,
}

impl Traced {
    fn random(rng: &mut Rng, program: &Program) -> Self {
        let Run { mut registers, mut options, executed, .. } = Run::random(rng, program, 0x10, Reader::Any);
        registers.trcconfigr |= 1 << 3;
        if rng.one_in(3) {
            options.sync_every = NonZero::new(100);
        }
        let mut encoder = Encoder::new(&registers, options.clone()).unwrap();
        let (mut bytes, mut synced) = (Vec::new(), Vec::new());
        for element in &executed {
            let before = bytes.len();
            encoder.element(element, &mut bytes).unwrap();
            if matches!(element, Element::Block(_)) {
                let sync = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80];
                synced.push(bytes[before..].windows(12).any(|window| window == sync));
            }
        }
        let commopt = field(registers.trcidr0, 29, 29) == 1;
        let counts_newest = commopt || registers.trcidr8 == 0 || options.commits == Commits::AtMaxSpec;
        Self { registers, executed, synced, bytes, counts_newest }
    }

    /// What rows there must be. An executor says a count right after the branch it is of.
    fn expected(&self) -> Vec<Row> {
        #[derive(PartialEq)]
        enum Last {
            Taken,
            /// An E atom, but no branch: told only where a synchronisation point follows.
            Passed,
            NotTaken,
            /// Nothing since tracing began, or since an exception.
            Nothing,
            /// The middle of a block: nothing is told there.
            Run,
        }
        let ete = self.registers.protocol == Protocol::Ete;
        let waits =
            field(self.registers.trcidr2, 31, 31) == 1 && (ete || field(self.registers.trcidr1, 7, 4) >= 3);
        let mut rows: Vec<Row> = Vec::new();
        let mut cycle = 0;
        let mut last = Last::Nothing;
        let mut synced = self.synced.iter();
        for element in traced(&self.registers, self.executed.iter().copied()) {
            match element {
                Element::Block(block) => {
                    let synced = *synced.next().unwrap();
                    let address = format!("{:#x}", block.start);
                    match last {
                        Last::Taken => rows.push(row("Br", cycle, address)),
                        Last::Passed if synced => rows.push(row("Br", cycle, address)),
                        Last::NotTaken if synced => rows.push(row("At", cycle, address)),
                        Last::Nothing => rows.push(row("At", cycle, address)),
                        _ => assert!(!synced),
                    }
                    last = match (block.ended, block.class.flow) {
                        (Ended::Taken, _) => Last::Taken,
                        (Ended::NotTaken, _) => Last::NotTaken,
                        (Ended::Through, Flow::Wait) if !waits => Last::Run,
                        (Ended::Through, _) => Last::Passed,
                        (Ended::Cut, _) => Last::Run,
                    };
                }
                Element::Exception(exception) => {
                    let address = exception.return_address.unwrap();
                    match last {
                        Last::Taken => rows.push(row("Br", cycle, format!("{address:#x}"))),
                        Last::Nothing => rows.push(row("At", cycle, format!("{address:#x}"))),
                        _ => {}
                    }
                    rows.push(row("Exc", cycle, format!("returns to {address:#x}")));
                    last = Last::Nothing;
                }
                Element::TraceOn(_) => {
                    rows.push(row("On", cycle, ""));
                    last = Last::Nothing;
                }
                Element::Lost(_) => last = Last::Nothing,
                Element::Cycles(Some(cycles)) => cycle += u64::from(cycles),
                Element::Cycles(None) => {
                    rows.push(row("Cyc", cycle, ""));
                }
                Element::Timestamp { value, cycles } => {
                    rows.push(row("Ts", cycle + u64::from(cycles.unwrap_or(0)), format!("{value:#x}")));
                }
                Element::TimestampMarker => rows.push(row("Mark", cycle, "")),
                Element::Event(events) => {
                    for event in (0..4).filter(|event| events >> event & 1 == 1) {
                        rows.push(row("Evt", cycle, event.to_string()));
                    }
                }
                Element::ExceptionReturn if !ete => rows.push(row("Ret", cycle, "")),
                _ => {}
            }
        }
        let counts = field(self.registers.trcconfigr, 4, 4) == 1;
        rows.iter_mut().filter(|_| !counts).for_each(|row| row.1 = None);
        rows
    }
}

/// Without contexts, and without the words.
fn told(rows: Vec<Row>) -> Vec<Row> {
    let wanted = rows.into_iter().filter(|(kind, ..)| kind != "Ctx" && kind != "Gap");
    let bare = |(kind, cycle, value): Row| match kind.as_str() {
        "On" | "Cyc" | "Mark" | "Ret" => (kind, cycle, String::new()),
        "Exc" => (kind, cycle, value.split_once(", ").unwrap().1.into()),
        _ => (kind, cycle, value),
    };
    wanted.map(bare).collect()
}

fn image(program: &Program) -> Image {
    let mut builder = Image::builder();
    for segment in &program.segments {
        let bytes = Bytes::new(segment.bytes.clone());
        builder.raw("program", bytes, segment.address, MemorySpace::ANY).unwrap();
    }
    builder.build()
}

/// Where taken branches went, by decoding with the program.
fn targets(registers: &Registers, bytes: &[u8], image: &Image) -> Vec<String> {
    let params = Params::new(registers).unwrap();
    let mut decoder = Decoder::new(&params, image, Options::default()).unwrap();
    let mut parser = Parser::new(params);
    let (mut targets, mut taken) = (Vec::new(), false);
    let mut sink = |_: u64, element: &Element| {
        let (next, after) = match element {
            Element::Block(block) => (Some(block.start), block.ended == Ended::Taken),
            Element::Exception(exception) => (exception.return_address, false),
            Element::TraceOn(_) | Element::Lost(_) => (None, false),
            _ => return,
        };
        let branched = std::mem::replace(&mut taken, after);
        targets.extend(next.filter(|_| branched).map(|next| format!("{next:#x}")));
    };
    let mut packets = |offset: u64, _: &[u8], packet: &Packet| decoder.packet(offset, packet, &mut sink);
    parser.feed(bytes, &mut packets);
    parser.finish(&mut packets);
    decoder.finish(bytes.len() as u64, &mut sink);
    targets
}

#[track_caller]
fn assert_same(got: &[Row], expected: &[Row], what: &str) {
    if let Some(i) = (0..got.len().max(expected.len())).find(|&i| got.get(i) != expected.get(i)) {
        let around = |rows: &[Row]| {
            format!("{:x?}", &rows[i.saturating_sub(4).min(rows.len())..rows.len().min(i + 3)])
        };
        panic!("{what}, row {i}:\n  expected {}\n  got      {}", around(expected), around(got));
    }
}

/// More than usual: `NO_IMAGE_SEEDS=1000-3000 cargo test -p tracewright-cli --test it no_image`.
#[test]
fn rows_are_what_was_executed() {
    let (mut branches, mut with_cycles) = (0, 0);
    for seed in seeds("NO_IMAGE_SEEDS", 200) {
        let mut rng = Rng::new(seed);
        let size = 1 << (6 + rng.below(7));
        let program = program::generate(&mut rng, size);
        let run = Traced::random(&mut rng, &program);
        let what = format!("seed {seed}, {:x?}", run.registers);
        let mut expected = run.expected();
        let mut got = told(rows(&run.registers, &run.bytes, ""));
        if run.counts_newest {
            with_cycles +=
                expected.iter().filter(|(_, cycle, _)| cycle.is_some_and(|cycle| cycle > 0)).count();
        } else {
            // Counts are of earlier elements than the executor says them after: see the test below.
            expected.iter_mut().chain(&mut got).for_each(|row| row.1 = None);
            expected.retain(|row| row.0 != "Cyc");
            got.retain(|row| row.0 != "Cyc");
        }
        assert_same(&got, &expected, &what);
        // What is a branch to a program is one without; an address after a barrier may also be.
        let targets = targets(&run.registers, &run.bytes, &image(&program));
        let mut left = targets.iter().peekable();
        for (_, _, value) in got.iter().filter(|row| row.0 == "Br") {
            left.next_if(|target| *target == value);
        }
        assert_eq!(left.next(), None, "{what}");
        branches += targets.len();
    }
    assert!(branches > 20_000 && with_cycles > 10_000, "{branches} {with_cycles}");
}

/// Streams whose counts come after the addresses of their branches, as real trace units write them.
#[test]
fn counts_after_addresses_are_of_the_branch_before() {
    let registers = broadcast::registers();
    for (seed, bytes) in [(1, broadcast::program(1, 60_000)), (2, broadcast::noise(2, 60_000))] {
        // By packets: what comes between two atoms belongs to the first, and its cycle includes the count among it.
        let mut groups: Vec<(bool, Vec<Packet>)> = vec![(false, Vec::new())];
        let mut packets = |_: u64, _: &[u8], packet: &Packet| match packet {
            Packet::Atom(Atoms { bits, count }) => groups.push((bits >> (count - 1) & 1 == 1, Vec::new())),
            packet => groups.last_mut().unwrap().1.push(*packet),
        };
        let mut parser = Parser::new(Params::new(&registers).unwrap());
        parser.feed(&bytes, &mut packets);
        parser.finish(&mut packets);
        let mut cycle = 0;
        let mut expected = Vec::new();
        for (mut taken, group) in groups {
            let count = group.iter().find_map(|packet| match packet {
                Packet::CycleCount(count) => count.cycles,
                _ => None,
            });
            cycle += u64::from(count.unwrap_or(0));
            for packet in group {
                match packet {
                    Packet::Address(address) | Packet::AddressContext(address, _) => {
                        let kind = if std::mem::take(&mut taken) { "Br" } else { "At" };
                        expected.push(row(kind, cycle, format!("{:#x}", address.value)));
                    }
                    Packet::Event(events) => {
                        for event in (0..4).filter(|event| events >> event & 1 == 1) {
                            expected.push(row("Evt", cycle, event.to_string()));
                        }
                    }
                    Packet::Timestamp(timestamp) => {
                        expected.push(row("Ts", cycle, format!("{:#x}", timestamp.value)));
                    }
                    _ => {}
                }
            }
        }
        assert!(expected.len() > 15_000);
        assert_same(&told(rows(&registers, &bytes, "")), &expected, &format!("stream {seed}"));
        // A part has the cycles of the whole.
        let part = told(rows(&registers, &bytes, "--from 0x4000 --to 40000"));
        assert!(part.len() > 5000 && expected.windows(part.len()).any(|window| window == part));
    }
}

/// Packets to bytes.
fn emit(registers: &Registers, packets: &[Packet]) -> Vec<u8> {
    let mut emitter = Emitter::new(Params::new(registers).unwrap());
    let info =
        TraceInfo { plctl: TraceInfo::INFO | TraceInfo::CYCT, info: 1, cyct: 4, ..TraceInfo::default() };
    let start = address(0x1000);
    let context = Context::new(0, true, Security::NonSecure);
    let start = [Packet::Async, Packet::TraceInfo(info), Packet::AddressContext(start, context)];
    let all = start.iter().chain(packets);
    all.flat_map(|packet| emitter.emit(packet).unwrap_or_else(|error| panic!("{packet:?}: {error}")).to_vec())
        .collect()
}

fn address(value: u64) -> Address {
    Address { value, is: InstructionSet::Is0, form: AddressForm::Long64 }
}

fn count(commit: Option<i64>, cycles: Option<u32>) -> Packet {
    Packet::CycleCount(CycleCount { format: 1, commit, cycles })
}

fn branch(value: u64) -> [Packet; 2] {
    [Packet::Atom(Atoms::one(true)), Packet::Address(address(value))]
}

#[test]
fn counts_that_commit_are_of_the_last_branch_they_commit() {
    let registers = Registers { trcidr0: 0x0800_0ea1, trcidr8: 8, ..broadcast::registers() };
    let mut packets = [branch(0x2000), branch(0x3000), branch(0x4000)].concat();
    packets.extend([count(Some(2), Some(10)), Packet::Event(1), count(Some(1), Some(7))]);
    // Not committed: neither they nor the target of the last.
    packets.extend(branch(0x5000));
    let expected = [
        row("At", 0, "0x1000"),
        row("Br", 0, "0x2000"),
        row("Br", 10, "0x3000"),
        row("Br", 17, "0x4000"),
        row("Evt", 17, "0"),
    ];
    assert_same(&told(rows(&registers, &emit(&registers, &packets), "")), &expected, "committed");
}

#[test]
fn counts_after_an_exception_are_of_the_exception() {
    let exception = packet::Exception {
        number: 0xe,
        return_address: packet::ReturnAddress::FollowsAtTarget,
        fault_pending: false,
    };
    for (max_spec, late_commit) in [(0, false), (8, false), (8, true)] {
        let registers = Registers { trcidr8: max_spec, ..broadcast::registers() };
        let mut packets = vec![Packet::Atom(Atoms::one(true)), count(None, Some(10))];
        packets.extend([Packet::Exception(exception), Packet::Address(address(0x2000))]);
        let commit = (max_spec > 0).then_some(Packet::Commit(2));
        packets.extend(commit.filter(|_| !late_commit));
        packets.extend([Packet::Event(1), count(None, Some(7)), Packet::Address(address(0x8000))]);
        packets.extend(commit.filter(|_| late_commit));
        let expected = [
            row("At", 0, "0x1000"),
            row("Br", 10, "0x2000"),
            row("Exc", 17, "returns to 0x2000"),
            row("Evt", 17, "0"),
            row("At", 17, "0x8000"),
        ];
        assert_same(&told(rows(&registers, &emit(&registers, &packets), "")), &expected, "exception");
    }
}

#[test]
fn what_is_cancelled_has_no_row() {
    let registers = Registers { trcidr8: 8, ..broadcast::registers() };
    let mut packets = [branch(0x2000), branch(0x3000), branch(0x4000)].concat();
    packets.push(Packet::Event(2));
    packets.push(Packet::CancelF1 { count: 1, mispredict: true });
    packets.push(count(None, Some(10)));
    packets.extend([branch(0x5000).as_slice(), &[Packet::Commit(3)]].concat());
    let named = "--event 1=BR_MIS_PRED";
    // The second was not taken after all: its address and the third branch are gone, the event is not.
    let expected = [
        row("At", 0, "0x1000"),
        row("Br", 0, "0x2000"),
        row("Evt", 10, "BR_MIS_PRED"),
        row("Br", 10, "0x5000"),
    ];
    assert_same(&told(rows(&registers, &emit(&registers, &packets), named)), &expected, "cancelled");
}

#[test]
fn timestamps_count_from_the_last_count_before_them() {
    let registers = broadcast::registers();
    let timestamp = |value, cycles| Packet::Timestamp(Timestamp { value, bytes: 2, cycles });
    let mut packets = branch(0x2000).to_vec();
    packets.extend([count(None, Some(10)), timestamp(0x80, Some(5))]);
    packets.extend(branch(0x3000));
    packets.extend([timestamp(0x81, Some(8)), count(None, Some(20)), Packet::Event(1)]);
    packets.extend([count(None, None), Packet::Event(2)]);
    let expected = [
        row("At", 0, "0x1000"),
        row("Br", 10, "0x2000"),
        row("Ts", 15, "0x80"),
        row("Br", 10, "0x3000"),
        row("Ts", 18, "0x81"),
        row("Evt", 30, "0"),
        row("Cyc", 30, ""),
        row("Evt", 30, "1"),
    ];
    assert_same(&told(rows(&registers, &emit(&registers, &packets), "")), &expected, "timestamps");
}

/// A capture of a real trace unit with branch broadcast, which tells addresses after barriers, too.
#[test]
fn rows_of_a_capture_are_what_decoding_with_its_program_tells() {
    let test = "rows_of_a_capture_are_what_decoding_with_its_program_tells";
    let Some(captures) = captures_for(test, "coresight") else { return };
    for (name, least) in [("maxspec0_commopt1", 900), ("texit-poe2", 5)] {
        let capture = captures.join(name);
        let got = run!("decode {} --no-image --json", text(&capture)).out;
        let got = values(&got).filter(|object| object["kind"] == "target" && object["branch"] == true);
        let got: Vec<_> = got.map(|of| row("Br", number(&of, "cycle"), string(&of, "address"))).collect();
        let with_program = run!("decode {} --elements --json", text(&capture)).out;
        // A count is told after the blocks up to its branch, and before the block at the branch's target.
        let (mut cycle, mut went, mut expected) = (0, false, Vec::new());
        for element in values(&with_program) {
            match string(&element, "kind") {
                // They go on over gaps.
                "cycles" => cycle += element["cycles"].as_u64().unwrap_or(0),
                "trace on" => went = false,
                "block" => {
                    if went {
                        expected.push(row("Br", cycle, string(&element, "address")));
                    }
                    went = element["ended"] != "not taken" && element["ended"] != "cut";
                }
                "exception" => went = false,
                _ => {}
            }
        }
        // Where the last branch went, no block tells.
        let got = &got[..got.len().min(expected.len())];
        assert_same(got, &expected, name);
        assert!(got.len() >= least, "{name}: {}", got.len());
    }
}

#[test]
fn overlapping_images_are_told() {
    let scratch = Scratch::new("overlap");
    let name = |i: usize| scratch.join(&format!("{i}.bin"));
    let mut images = String::new();
    for i in 0..8 {
        fs::write(name(i), [i as u8; 64]).unwrap();
        images += &format!(" --image {}@{:#x}", name(i), 0x1000 + 32 * i);
    }
    let told = format!("warning: {} at 0x1020-0x1060 overlaps {}", name(1), name(0));
    let decoded = run!("decode samples/two-cores {images}").says(told).says("warning: 2 more like these");
    assert_eq!(decoded.err.matches("warning").count(), 6, "{}", decoded.err);
    let info = run!("info samples/two-cores {images}").prints("memory: 8 regions, 512 bytes");
    let info = info.prints("  0x00001020..0x00001060  any    raw       1.bin\n").out;
    assert_eq!(info.matches(" overlaps").count(), 7, "{info}");
}
