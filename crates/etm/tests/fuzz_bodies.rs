//! Fuzz bodies: the packet parser and the decoder, fed with anything. Each body is a plain function, for `cargo test`
//! and for a fuzzer.

use tracewright_core::{Element, MemorySpace};
use tracewright_etm::decode::{self, Decoder, Snapshot};
use tracewright_etm::encode::Encoder;
use tracewright_etm::packet::bytewise::{StreamState, Trace, step};
use tracewright_etm::packet::{ASYNC, AtomRun, Emitter, Packet, PacketSink, Parser, Resync};
use tracewright_etm::{Params, Registers};
use tracewright_image::{Builder, Bytes, Image};
use tracewright_testkit::program::{self, Program};
use tracewright_testkit::{Reader, Rng, Run, etm};

/// The output of a parser, with skipped bytes joined.
#[derive(Debug, Default, PartialEq, Eq)]
struct Log {
    packets: Vec<(u64, Vec<u8>, Packet)>,
    skipped: Vec<u8>,
}

impl PacketSink<Packet, AtomRun> for Log {
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &Packet) {
        self.packets.push((offset, bytes.to_vec(), *packet));
    }

    fn skipped(&mut self, _offset: u64, bytes: &[u8]) {
        self.skipped.extend_from_slice(bytes);
    }
}

fn parse<'a>(params: &Params, resync: Resync, chunks: impl Iterator<Item = &'a [u8]>) -> Log {
    let mut parser = Parser::new(params.clone()).with_resync(resync);
    let mut log = Log::default();
    chunks.for_each(|chunk| parser.feed(chunk, &mut log));
    parser.finish(&mut log);
    log
}

/// Parses any bytes in any configuration. Every byte is reported once, chunking does not matter, the byte-wise
/// decoder finds the same packets, and the packets survive a round trip. The first eight bytes select configuration
/// and chunking.
pub fn packets(data: &[u8]) {
    let Some((seed, bytes)) = data.split_first_chunk() else { return };
    let mut rng = Rng::new(u64::from_le_bytes(*seed));
    let registers: Registers = etm::registers(&mut rng);
    let params = Params::new(&registers).unwrap();
    for resync in [Resync::NextAsync, Resync::NextByte] {
        let whole = parse(&params, resync, [bytes].into_iter());
        let chunk = 1 + rng.below(40) as usize;
        assert_eq!(whole, parse(&params, resync, bytes.chunks(chunk)), "chunks of {chunk}");
        account(&whole, bytes);
        round_trip(&params, &whole);
        if resync == Resync::NextAsync {
            compare_bytewise(&params, &whole, bytes);
        }
    }
}

fn account(log: &Log, bytes: &[u8]) {
    let (mut end, mut skipped) = (0, 0);
    for (offset, packet_bytes, packet) in &log.packets {
        assert_eq!(*offset, end);
        let start = end as usize;
        end += match packet {
            Packet::NotSync { len } => {
                let piece = &bytes[start..start + *len as usize];
                assert_eq!(log.skipped[skipped..skipped + *len as usize], *piece);
                skipped += *len as usize;
                *len
            }
            _ => {
                assert_eq!(packet_bytes[..], bytes[start..start + packet_bytes.len()]);
                packet_bytes.len() as u64
            }
        };
    }
    assert_eq!((end, skipped), (bytes.len() as u64, log.skipped.len()));
}

/// Checks that emitting and reading the packets gives the same packets, though the bytes may not have been canonical.
fn round_trip(params: &Params, log: &Log) {
    let mut emitter = Emitter::new(params.clone());
    // The start of a stream. Its packets come before those of the log.
    let mut bytes = ASYNC.to_vec();
    let mut expected = Vec::new();
    let mut after_error = false;
    for (_, _, packet) in &log.packets {
        if packet.kind().is_error() {
            after_error = true;
            continue;
        }
        match emitter.emit(packet) {
            Ok(emitted) => {
                bytes.extend_from_slice(&emitted);
                expected.push(*packet);
            }
            // After an error, the compression registers of the parser may differ from those of the packets seen. A
            // count of more than 20 bits can be read, but is never emitted.
            Err(error) => {
                let long_count = matches!(packet, Packet::CycleCount(count) if count.format == 1);
                assert!(after_error || long_count, "{packet:?}: {error}");
            }
        }
    }
    let again = parse(params, Resync::NextByte, [&bytes[..]].into_iter());
    let again: Vec<_> = again.packets.iter().skip(1).map(|(.., packet)| *packet).collect();
    assert_eq!(again, expected);
}

fn compare_bytewise(params: &Params, log: &Log, bytes: &[u8]) {
    let whole = |packet: &&Packet| !matches!(packet, Packet::NotSync { .. } | Packet::Incomplete { .. });
    let mut expected = log.packets.iter().map(|(.., packet)| packet).filter(whole);
    let (mut s, mut t) = (StreamState::default(), Trace::default());
    for &byte in bytes {
        let packet;
        (s, t, packet) = step(byte, s, t, params);
        if let Some(packet) = packet {
            assert_eq!(Some(&packet), expected.next());
        }
    }
    assert_eq!(expected.next(), None);
}

/// Returns a program, a run of it, and perhaps other registers than the run's.
pub fn machine(rng: &mut Rng) -> (Program, Run, Registers) {
    let size = 1 << (4 + rng.below(5));
    let program = program::generate(rng, size);
    let run = Run::random(rng, &program, 0x10, Reader::Any);
    let registers = if rng.one_in(4) { etm::registers(rng) } else { run.registers.clone() };
    (program, run, registers)
}

/// Elements with their offsets, and the state of the decoder after each packet that follows a Trace Info: offset of
/// the packet, number of elements, state.
#[derive(Default)]
struct Decoded {
    elements: Vec<(u64, Element)>,
    states: Vec<(u64, usize, Snapshot)>,
    syncs: Vec<u64>,
}

/// Decodes the bytes from stream position `start` on.
fn decoded<'a>(
    decoder: &mut Decoder<'_>,
    start: u64,
    chunks: impl Iterator<Item = &'a [u8]>,
    with_states: bool,
) -> Decoded {
    let mut parser = Parser::starting_at(decoder.params().clone(), start);
    decoder.restart(start);
    let Decoded { mut elements, mut states, mut syncs } = Decoded::default();
    let mut informed = false;
    let mut packets = |offset: u64, _: &[u8], packet: &Packet| {
        decoder
            .packet(offset, packet, &mut |offset: u64, element: &Element| elements.push((offset, *element)));
        informed |= matches!(packet, Packet::TraceInfo(_));
        if *packet == Packet::Async {
            syncs.push(offset);
        }
        if with_states && informed {
            states.push((offset, elements.len(), decoder.snapshot()));
        }
    };
    chunks.for_each(|chunk| parser.feed(chunk, &mut packets));
    parser.finish(&mut packets);
    let end = parser.position();
    decoder.finish(end, &mut |offset: u64, element: &Element| elements.push((offset, *element)));
    Decoded { elements, states, syncs }
}

/// Decodes any bytes as a trace of any program. Nothing hangs, the output is bounded, and neither chunking nor
/// earlier input of the decoder matters. Where decoding from an A-Sync reaches the same state as decoding from an
/// earlier one, both emit the same elements from there on. The first eight bytes select program, registers and
/// chunking.
pub fn decode(data: &[u8]) {
    let Some((seed, bytes)) = data.split_first_chunk() else { return };
    let mut rng = Rng::new(u64::from_le_bytes(*seed));
    let (program, _, registers) = machine(&mut rng);
    let params = Params::new(&registers).unwrap();
    let image = image(&program, &mut rng);
    let options = decode::Options {
        trust_images: rng.one_in(2),
        join_source_walks: rng.one_in(2),
        repeat_no_code: rng.one_in(2),
        no_image: rng.one_in(3),
    };
    let Ok(mut decoder) = Decoder::new(&params, &image, options) else { return };
    let whole = decoded(&mut decoder, 0, [bytes].into_iter(), true);
    // A packet has at most 24 atoms, or walks through the program once.
    let most = (bytes.len() + 1) * (32 + program.instructions());
    assert!(whole.elements.len() <= most, "{} elements", whole.elements.len());
    assert_eq!(whole.elements.last().map(|&(_, element)| element), Some(Element::End));

    let chunk = 1 + rng.below(40) as usize;
    let again = decoded(&mut decoder, 0, bytes.chunks(chunk), false);
    assert_eq!(again.elements, whole.elements, "chunks of {chunk}");

    for &sync in whole.syncs.iter().take(5) {
        let cold = decoded(&mut decoder, sync, [&bytes[sync as usize..]].into_iter(), true);
        let met = cold.states.iter().find_map(|(offset, told, state)| {
            let same = whole.states.binary_search_by_key(offset, |state| state.0).ok()?;
            (whole.states[same].2 == *state).then_some((whole.states[same].1, *told))
        });
        if let Some((whole_told, cold_told)) = met {
            assert_eq!(
                cold.elements[cold_told..],
                whole.elements[whole_told..],
                "from the A-Sync at {sync} on"
            );
        }
    }
}

/// Encodes impossible executions: elements of a run of any program, some of them dropped, doubled, swapped or with
/// other numbers, as the bytes say. An element is refused, or the encoder emits packets that can be decoded to the
/// end. The first eight bytes select program and trace unit.
pub fn encode(data: &[u8]) {
    let Some((seed, changes)) = data.split_first_chunk() else { return };
    let mut rng = Rng::new(u64::from_le_bytes(*seed));
    let (program, run, _) = machine(&mut rng);
    let mut elements: Vec<Element> = run.executed.iter().take(400).copied().collect();
    for change in changes.as_chunks::<4>().0.iter().take(100) {
        let [kind, at, other, value] = *change;
        let at = usize::from(at) * elements.len() / 256;
        let other = usize::from(other) * elements.len() / 256;
        let number = Rng::new(u64::from(value)).sized(64);
        match kind % 8 {
            0 if elements.len() > 1 => drop(elements.remove(at)),
            1 => elements.insert(at, elements[other]),
            2 => elements.swap(at, other),
            3 => elements.insert(at, Element::Timestamp { value: number, cycles: Some(number as u32) }),
            4 => elements.insert(at, Element::Cycles((value > 0).then_some(number as u32))),
            5 => elements.insert(at, Element::Event(value)),
            6 => elements.insert(at, Element::Instrumentation { level: value & 3, value: number }),
            _ => match &mut elements[at] {
                Element::Block(block) => (block.start, block.end) = (number, number.wrapping_add(block.end)),
                Element::Exception(exception) => exception.return_address = Some(number),
                Element::Context(context, _) => context.context_id = Some(number as u32),
                _ => {}
            },
        }
    }
    elements.push(Element::End);
    let mut encoder = Encoder::new(&run.registers, run.options.clone()).unwrap();
    let mut bytes = Vec::new();
    for element in &elements {
        let _ = encoder.element(element, &mut bytes);
    }
    let params = Params::new(&run.registers).unwrap();
    for (offset, _, packet) in &parse(&params, Resync::NextAsync, [&bytes[..]].into_iter()).packets {
        assert!(!packet.kind().is_error(), "{packet:?} at {offset:#x}");
    }
    let image = image(&program, &mut rng);
    let Ok(mut decoder) = Decoder::new(&params, &image, decode::Options::default()) else { return };
    let told = decoded(&mut decoder, 0, [&bytes[..]].into_iter(), false);
    assert_eq!(told.elements.last().map(|&(_, element)| element), Some(Element::End));
}

/// Returns the program, sometimes with other bytes in it.
fn image(program: &Program, rng: &mut Rng) -> Image {
    let mut builder = Builder::default();
    for segment in &program.segments {
        let mut bytes = segment.bytes.clone();
        if rng.one_in(3) {
            let at = rng.below(bytes.len() as u64) as usize;
            let random = rng.bytes((bytes.len() - at).min(64));
            bytes[at..at + random.len()].copy_from_slice(&random);
        }
        builder.raw("program", Bytes::new(bytes), segment.address, MemorySpace::ANY).unwrap();
    }
    builder.build()
}

/// Returns random bytes with many that are hard for parsers.
pub fn any_bytes(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = rng.bytes(8);
    for _ in 0..rng.below(60) {
        match rng.below(5) {
            0 => bytes.extend(ASYNC),
            1 => bytes.extend(std::iter::repeat_n(0, rng.below(14) as usize)),
            2 => bytes.extend(std::iter::repeat_n(0xff, rng.below(12) as usize)),
            _ => {
                bytes.extend(rng.bytes_below(30));
            }
        }
    }
    bytes
}

#[test]
fn packets_of_anything() {
    for seed in 0..4000 {
        packets(&any_bytes(&mut Rng::new(seed)));
    }
}

#[test]
fn decoding_of_anything() {
    for seed in 0..600_u64 {
        let mut rng = Rng::new(seed);
        let (_, run, _) = machine(&mut rng);
        let mut trace = run.bytes[..run.bytes.len().min(1500)].to_vec();
        // Often a damaged trace, otherwise anything.
        match rng.below(4) {
            0 => trace = any_bytes(&mut rng),
            1 => {}
            _ => {
                for _ in 0..1 + rng.below(8) {
                    let at = rng.below(trace.len() as u64) as usize;
                    match rng.below(3) {
                        0 => trace[at] = rng.next_u64() as u8,
                        1 => drop(trace.remove(at)),
                        _ => drop(trace.splice(at..at, rng.bytes(3))),
                    }
                }
            }
        }
        decode(&[&seed.to_le_bytes(), &trace[..]].concat());
    }
}

#[test]
fn encoding_of_anything() {
    for seed in 0..300_u64 {
        let len = 4 * Rng::new(seed).below(20) as usize;
        encode(&[&seed.to_le_bytes()[..], &Rng::new(!seed).bytes(len)].concat());
    }
}

/// The decoder's queue is bounded, whatever the registers are.
#[test]
fn waiting_elements_are_bounded() {
    let program = program::generate(&mut Rng::new(1), 100);
    let image = image(&program, &mut Rng::new(2));
    for max_spec in [0, 1, u32::MAX] {
        for atoms in [&[][..], &[0xf7]] {
            let registers = Registers { trcidr8: max_spec, trcidr0: 0x2800_0ea1, ..Registers::default() };
            let params = Params::new(&registers).unwrap();
            let mut decoder = Decoder::new(&params, &image, decode::Options::default()).unwrap();
            let mut parser = Parser::new(params);
            // Trace Info, an atom or none, then only events.
            let start = [&ASYNC[..], &[0x01, 0x00, 0x04], atoms].concat();
            let mut told = |_: u64, _: &Element| {};
            let mut packets =
                |offset: u64, _: &[u8], packet: &Packet| decoder.packet(offset, packet, &mut told);
            parser.feed(&start, &mut packets);
            parser.feed(&[0x71; 1 << 19], &mut packets);
            let end = parser.position();
            assert!(decoder.oldest().is_none_or(|oldest| end - oldest < 1 << 17), "{max_spec} {atoms:x?}");
        }
    }
}
