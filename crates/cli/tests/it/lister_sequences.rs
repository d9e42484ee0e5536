//! All short sequences of ETE packets, compared with OpenCSD's lister (Debian's `trc_pkt_lister`, 1.3.3):
//! transactions, exceptions, contexts, events, times and cycle counts, with and without speculation.
//!
//! Many sequences are in one capture, each as a source of its own, so that its end is an end of trace.

use std::collections::BTreeMap;
use std::process::Command;

use tracewright_core::{Element, GapReason, MemorySpace, TraceId};
use tracewright_etm::decode::{Decoder, Feed, Options};
use tracewright_etm::packet::{
    Address, AddressForm, Atoms, Context, CycleCount, Emitter, Exception, InstructionSet, Packet, Parser,
    ReturnAddress, Security, Timestamp, TraceInfo,
};
use tracewright_etm::{Params, Protocol, Registers};
use tracewright_frames::Framer;
use tracewright_image::{Bytes, Image};
use tracewright_input::{Packing, SnapshotWriter};
use tracewright_testkit::{Rng, Scratch, lister, without_repeated_contexts};

const CODE: u64 = 0x1000;
/// Number of sources in one capture.
const AT_ONCE: usize = 100;

/// Returns code that repeats three instructions and a conditional branch over one.
fn code() -> Vec<u8> {
    let words = (0..0x400).map(|i| if i % 4 == 3 { 0x5400_0040_u32 } else { 0xd503_201f });
    words.flat_map(u32::to_le_bytes).collect()
}

fn address(value: u64) -> Address {
    Address { value, is: InstructionSet::Is0, form: AddressForm::Long64 }
}

/// Returns the parts of sequences: packets that belong together.
fn alphabet() -> Vec<(&'static str, Vec<Packet>)> {
    let context = |level| Context::new(level, true, Security::NonSecure);
    let exception =
        |return_address| Packet::Exception(Exception { number: 0xe, return_address, fault_pending: false });
    let one = |name, packet| (name, vec![packet]);
    vec![
        one("start", Packet::TransactionStart),
        one("commit transaction", Packet::TransactionCommit),
        one("fail", Packet::TransactionFailure),
        one("E", Packet::Atom(Atoms::one(true))),
        one("N", Packet::Atom(Atoms::one(false))),
        one("address", Packet::Address(address(CODE + 0x100))),
        one("address and context", Packet::AddressContext(address(CODE + 0x200), context(1))),
        one("context", Packet::Context(context(2))),
        one("event", Packet::Event(1)),
        one("timestamp", Packet::Timestamp(Timestamp { value: 0x25, bytes: 1, cycles: None })),
        one("cycles", Packet::CycleCount(CycleCount { format: 3, commit: None, cycles: Some(3) })),
        ("exception", vec![exception(ReturnAddress::Follows), Packet::Address(address(CODE + 4))]),
        (
            "exception at target",
            vec![exception(ReturnAddress::FollowsAtTarget), Packet::Address(address(CODE + 0x300))],
        ),
        one("trace on", Packet::TraceOn),
        one("commit", Packet::Commit(1)),
        one("cancel", Packet::CancelF1 { count: 1, mispredict: false }),
        one("mispredict", Packet::Mispredict(Atoms::NONE)),
        one("discard", Packet::Discard),
        one("overflow", Packet::Overflow),
        ("synchronisation", vec![Packet::Async, Packet::TraceInfo(TraceInfo::default())]),
    ]
}

/// Returns the registers of a trace unit, with Transaction Start as a P0 element or not, with or without speculation.
fn registers(id: u8, start_is_p0: bool, max_spec: u32) -> Registers {
    Registers {
        protocol: Protocol::Ete,
        trcconfigr: 0x11,
        trctraceidr: id.into(),
        trcidr0: 0x2801_cea1 | u32::from(!start_is_p0) << 30,
        trcidr1: 0x4100_fff0,
        trcidr2: 0xd000_1088,
        trcidr8: max_spec,
        ..Registers::default()
    }
}

/// Returns the bytes of a sequence, or `None` if a trace unit cannot emit it.
fn bytes(params: &Params, packets: &[Packet]) -> Option<Vec<u8>> {
    let mut emitter = Emitter::new(params.clone());
    let mut bytes = Vec::new();
    for packet in packets {
        bytes.extend(emitter.emit(packet).ok()?.to_vec());
    }
    Some(bytes)
}

fn ours(params: &Params, image: &Image, bytes: &[u8]) -> Vec<Element> {
    let mut elements = Vec::new();
    let told = |_: u64, element: &Element| elements.push(*element);
    let options =
        Options { trust_images: true, join_source_walks: true, repeat_no_code: true, no_image: false };
    let mut feed = Feed { decoder: Decoder::new(params, image, options).unwrap(), sink: told };
    let mut parser = Parser::new(params.clone());
    parser.feed(bytes, &mut feed);
    parser.finish(&mut feed);
    feed.decoder.finish(parser.position(), &mut feed.sink);
    elements
}

/// Lists a capture with these sources. Returns the elements of each.
fn theirs(sources: &[(Registers, Vec<u8>)]) -> BTreeMap<u8, Result<Vec<Element>, String>> {
    let here = Scratch::new("sequences");
    let mut writer = SnapshotWriter::create(here.path()).unwrap();
    let (mut framer, mut frames) = (Framer::new(tracewright_frames::Options::default()), Vec::new());
    for (of, bytes) in sources {
        framer.push(TraceId::from_low_bits(of.trctraceidr as u8), bytes, &mut frames).unwrap();
    }
    framer.flush(&mut frames);
    let buffer = writer.buffer("ETB", Packing::CoreSight, &frames[..]).unwrap();
    let code = writer.memory(&code()[..]).unwrap();
    for (number, (of, _)) in sources.iter().enumerate() {
        let registers: Vec<_> = of.named().map(|(name, value)| (name, value.into())).collect();
        let unit = writer.source(&format!("ETE_{number}"), "ETE", &registers).unwrap();
        let core = writer.core(&format!("cpu_{number}"), "ARM-AA64", &[]).unwrap();
        writer.see(core, code, (0, 0x1000), CODE, MemorySpace::ANY).unwrap();
        writer.connect(unit, buffer, Some(core)).unwrap();
    }
    writer.finish().unwrap();
    let output = Command::new("trc_pkt_lister")
        .args(["-ss_dir", here.path().to_str().unwrap(), "-decode", "-logstdout"])
        .current_dir(here.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    if !text.contains("Trace buffer done") {
        // An error of one source ends the listing of all.
        let Some((first, rest @ [_, ..])) = sources.split_first() else {
            let why = text.lines().rev().find(|line| line.contains("0x0")).unwrap_or("no listing");
            return sources.iter().map(|(of, _)| (of.trctraceidr as u8, Err(why.to_owned()))).collect();
        };
        let middle = rest.len() / 2;
        let mut all = theirs(&[std::slice::from_ref(first), &rest[..middle]].concat());
        all.extend(theirs(&rest[middle..]));
        return all;
    }
    sources.iter().map(|(of, _)| of.trctraceidr as u8).map(|id| (id, lister::elements(&text, id))).collect()
}

/// If cycle counts are enabled, a timestamp without one has 0.
fn as_listed(element: Element) -> Element {
    match element {
        Element::Timestamp { value, cycles: None } => Element::Timestamp { value, cycles: Some(0) },
        element => element,
    }
}

/// Returns whether the trace contradicts itself or the program here. From there on, OpenCSD may differ
/// (DIFFERENCES.md).
fn is_contradiction(element: &Element) -> bool {
    let of = |reason: &GapReason| matches!(reason, GapReason::Contradiction(_));
    match element {
        Element::Lost(reason) | Element::Gap { reason, .. } => of(reason),
        Element::Mismatch(_) => true,
        _ => false,
    }
}

/// Returns whether the address is known whenever instructions run, as in all real trace: there was a context, and an
/// address since tracing began. Tracing does not stop twice.
fn is_trace(packets: &[Packet]) -> bool {
    let (mut has_context, mut has_address, mut has_stopped) = (false, false, false);
    packets.iter().all(|packet| {
        match packet {
            Packet::AddressContext(..) => (has_context, has_address) = (true, true),
            Packet::Context(_) => has_context = true,
            Packet::Address(_) => has_address = true,
            Packet::TraceOn => (has_address, has_stopped) = (false, false),
            Packet::Discard | Packet::Overflow if has_stopped => return false,
            Packet::Discard | Packet::Overflow => {
                (has_context, has_address, has_stopped) = (false, false, true);
            }
            Packet::Atom(_) | Packet::Exception(_) | Packet::Mispredict(_) => {
                return has_context && has_address;
            }
            _ => {}
        }
        true
    })
}

/// Returns all sequences of `len` parts, by their numbers in the alphabet.
fn sequences(letters: usize, len: u32) -> impl Iterator<Item = Vec<usize>> {
    (0..letters.pow(len)).map(move |number| (0..len).map(|at| number / letters.pow(at) % letters).collect())
}

/// All sequences of up to two parts, and some longer ones: 300 for each configuration, or those that
/// `LISTER_SEEDS=A-B` selects.
#[test]
fn short_sequences_tell_what_opencsd_lists() {
    let test = "short_sequences_tell_what_opencsd_lists";
    if !lister::available(test) {
        return;
    }
    let (letters, mut image) = (alphabet(), Image::builder());
    image.raw("code", Bytes::from(code()), CODE, MemorySpace::ANY).unwrap();
    let image = image.build();
    let seeds = std::env::var("LISTER_SEEDS").unwrap_or("0-300".into());
    let (from, to) = seeds.split_once('-').unwrap();
    let mut rng = Rng::new(from.parse().unwrap());
    let mut all: Vec<_> = (1..=2).flat_map(|len| sequences(letters.len(), len)).collect();
    for _ in from.parse::<u64>().unwrap()..to.parse().unwrap() {
        all.push((0..3 + rng.below(3)).map(|_| rng.below(letters.len() as u64) as usize).collect());
    }
    let mut wrong = Vec::new();
    let mut compared = 0;
    for (start_is_p0, max_spec) in [(true, 0), (false, 0), (true, 3), (false, 3)] {
        for started in [false, true] {
            for part in all.chunks(AT_ONCE) {
                let mut sources = Vec::new();
                let mut names = BTreeMap::new();
                for (id, sequence) in (1..).zip(part) {
                    let registers = registers(id, start_is_p0, max_spec);
                    let params = Params::new(&registers).unwrap();
                    let mut packets = vec![Packet::Async, Packet::TraceInfo(TraceInfo::default())];
                    if started {
                        let context = Context::new(1, true, Security::NonSecure);
                        packets.extend([Packet::TraceOn, Packet::AddressContext(address(CODE), context)]);
                    }
                    sequence.iter().for_each(|&letter| packets.extend(&letters[letter].1));
                    let Some(bytes) = bytes(&params, &packets).filter(|_| is_trace(&packets)) else {
                        continue;
                    };
                    names.insert(
                        id,
                        (sequence.iter().map(|&letter| letters[letter].0).collect::<Vec<_>>(), params),
                    );
                    sources.push((registers, bytes));
                }
                let listed = theirs(&sources);
                for (registers, bytes) in &sources {
                    let id = registers.trctraceidr as u8;
                    let (name, params) = &names[&id];
                    let ours = ours(params, &image, bytes);
                    if ours.iter().any(is_contradiction) {
                        continue;
                    }
                    let ours = ours.into_iter().filter(|element| {
                        !matches!(
                            element,
                            Element::Lost(GapReason::Start) | Element::Gap { .. } | Element::End
                        )
                    });
                    let ours = without_repeated_contexts(ours.map(as_listed));
                    compared += 1;
                    if Ok(&ours) != listed[&id].as_ref() {
                        let what =
                            format!("P0 {start_is_p0}, speculation {max_spec}, started {started}: {name:?}");
                        wrong.push(format!("{what}\n    ours    {ours:?}\n    OpenCSD {:?}", listed[&id]));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {compared}:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
    assert!(compared > 2500, "{compared}");
}
