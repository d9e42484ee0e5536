//! Fuzzing of the decoder. Each body is a plain function, for `cargo test` and for a fuzzer.

use tracewright_core::{Element, MemorySpace};
use tracewright_etrace::decode::{self, Decoder, Snapshot};
use tracewright_etrace::encode::{self, Resync, ResyncMode};
use tracewright_etrace::ingress::Executed;
use tracewright_etrace::packet::Packet;
use tracewright_etrace::stream::{Config, Content, Encapsulation, Message, Parser, Writer};
use tracewright_etrace::{Options, Params, SupportLayout};
use tracewright_image::{Bytes, Image};
use tracewright_testkit::etrace::{any_packet, encode, entry, read};
use tracewright_testkit::riscv::walk::{Program, Walk};
use tracewright_testkit::{Rng, check_blocks, damage};

/// Random program, encoder, and the stream of an execution.
struct Case {
    program: Program,
    image: Image,
    config: Config,
    bytes: Vec<u8>,
}

impl Case {
    fn new(rng: &mut Rng) -> Self {
        let program = Program::generate(rng);
        let params = Params {
            iaddress_width: if program.isa == tracewright_core::Isa::Rv32 { 32 } else { 64 },
            nocontext: rng.one_in(2),
            bpred_size: 1 + rng.below(5) as u8,
            cache_size: 1 + rng.below(5) as u8,
            return_stack_size: rng.below(4) as u8,
            call_counter_size: 1 + rng.below(4) as u8,
            sijump: true,
            iret_ext: rng.one_in(2),
            support: *rng.pick(&[SupportLayout::Pulp, SupportLayout::Standard]),
            ..Params::default()
        };
        let options = Options {
            implicit_return: rng.one_in(2),
            implicit_exception: rng.one_in(4),
            full_address: rng.one_in(2),
            jump_target_cache: rng.one_in(2),
            branch_prediction: rng.one_in(2),
            sijump: rng.one_in(2),
        };
        let encapsulation = match rng.below(3) {
            0 => Encapsulation::Smi,
            1 => Encapsulation::Pulp,
            _ => Encapsulation::Standard { source_bits: 0, timestamp_bytes: 2, type_bits: 0 },
        };
        let config = Config { params: params.clone(), encapsulation, options, ..Config::default() };
        let resync = Resync { mode: ResyncMode::Packets, max: rng.below(2) as u8, anywhere: false };
        let encoder = encode::Config { params, options, resync, ..encode::Config::default() };
        let mut writer = Writer::new(config.clone()).with_alignment(if rng.one_in(2) { 0 } else { 20 });
        let (mut executed, mut entries, mut bytes) = (Executed::default(), Vec::new(), Vec::new());
        let mut walk = Walk::new(&program, Rng::new(rng.next_u64()));
        walk.run(1_000, &mut |event| entries.extend(entry(&mut executed, event)));
        for packet in encode(encoder, &entries) {
            writer.instruction(0, None, &packet, &mut bytes).unwrap();
        }
        let mut builder = Image::builder();
        builder.raw("code", Bytes::from(program.bytes.clone()), program.address, MemorySpace::ANY).unwrap();
        Self { program, image: builder.build(), config, bytes }
    }

    /// Returns a decoder that does not follow billions of branches because of damage.
    fn decoder(&self) -> Decoder<'_> {
        let options = decode::Options {
            initial: self.config.options,
            most_branches: Some(5_000),
            ..decode::Options::default()
        };
        Decoder::new(&self.config.params, options, &self.image, self.program.isa)
    }

    fn decode<'a>(&self, chunks: impl Iterator<Item = &'a [u8]>) -> Vec<(u64, Element)> {
        let mut elements = Vec::new();
        let mut tell = |offset: u64, element: &Element| elements.push((offset, *element));
        let mut decoder = self.decoder();
        let mut parser = Parser::new(self.config.clone());
        let mut sink = |offset: u64, _: &[u8], message: &Message| decoder.message(offset, message, &mut tell);
        chunks.for_each(|chunk| parser.feed(chunk, &mut sink));
        parser.finish(&mut sink);
        let end = parser.position();
        decoder.finish(end, &mut tell);
        elements
    }
}

/// Decodes damaged streams, or any bytes. The decoder terminates and emits only what the program allows, the
/// same in any chunking. The first eight bytes choose the case; the others replace the start of the stream.
pub fn decode(data: &[u8]) {
    let Some((seed, given)) = data.split_first_chunk() else { return };
    let mut rng = Rng::new(u64::from_le_bytes(*seed));
    let case = Case::new(&mut rng);
    let mut bytes = case.bytes.clone();
    damage(&mut bytes, &mut rng);
    let at = if rng.one_in(2) { 0 } else { rng.below(bytes.len() as u64 + 1) as usize };
    let end = (at + given.len()).min(bytes.len());
    bytes.splice(at..end, given.iter().copied());
    let elements = case.decode([&bytes[..]].into_iter());
    check_blocks(&case.image, &elements);
    let chunk = 1 + rng.below(40) as usize;
    assert_eq!(elements, case.decode(bytes.chunks(chunk)), "chunks of {chunk}");
}

/// Decodes valid packets in an order that no encoder sends, with the same expectations.
pub fn packets(data: &[u8]) {
    let Some((seed, _)) = data.split_first_chunk() else { return };
    let mut rng = Rng::new(u64::from_le_bytes(*seed));
    let case = Case::new(&mut rng);
    let mut elements = Vec::new();
    let mut tell = |offset: u64, element: &Element| elements.push((offset, *element));
    let mut decoder = case.decoder();
    let size = case.program.bytes.len() as u64;
    for offset in 0..200 {
        let address = case.program.address.wrapping_add(rng.below(size));
        let mut packet = any_packet(&mut rng, &case.config.params, &case.config.options);
        match &mut packet {
            Packet::Start(start) => start.address = address,
            Packet::Trap(trap) => trap.address = trap.address.map(|_| address),
            Packet::Address(sent) | Packet::Branches(_, Some(sent)) => sent.value = rng.below(64) * 2,
            _ => {}
        }
        decoder.packet(offset, &packet, &mut tell);
    }
    decoder.finish(200, &mut tell);
    check_blocks(&case.image, &elements);
}

/// Checks that a decoder that starts anywhere emits the same as one that started earlier, once their states
/// are equal.
pub fn snapshots(data: &[u8]) {
    meets(data);
}

/// Returns whether their states became equal.
fn meets(data: &[u8]) -> bool {
    let Some((seed, _)) = data.split_first_chunk() else { return false };
    let mut rng = Rng::new(u64::from_le_bytes(*seed));
    let case = Case::new(&mut rng);
    let told = read(Parser::new(case.config.clone()), [&case.bytes[..]]);
    let packets: Vec<_> = told
        .iter()
        .filter_map(|(offset, _, message)| match message.content {
            Content::Instruction(packet) => Some((*offset, packet)),
            _ => None,
        })
        .collect();
    let (told, states) = tell_all(case.decoder(), &packets);
    let from = rng.below(packets.len() as u64) as usize;
    let mut late = case.decoder();
    late.restart(packets[from].0);
    let (late_told, late_states) = tell_all(late, &packets[from..]);
    let equal = (from..packets.len()).find(|&i| states[i] == late_states[i - from]);
    for i in equal.map_or(packets.len(), |equal| equal + 1)..packets.len() {
        assert_eq!(states[i], late_states[i - from], "after packet {i}");
        assert_eq!(told[i], late_told[i - from], "packet {i} {:x?}", packets[i]);
    }
    equal.is_some_and(|equal| equal + 1 < packets.len())
}

/// Returns the elements of each packet, and the state after it.
fn tell_all(mut decoder: Decoder<'_>, packets: &[(u64, Packet)]) -> (Vec<Vec<Element>>, Vec<Snapshot>) {
    let (mut told, mut states) = (Vec::new(), Vec::new());
    for (offset, packet) in packets {
        let mut elements = Vec::new();
        decoder.packet(*offset, packet, &mut |_: u64, element: &Element| elements.push(*element));
        told.push(elements);
        states.push(decoder.snapshot());
    }
    (told, states)
}

#[test]
fn decoding_damaged_streams() {
    for seed in 0..1_500_u64 {
        decode(&[&seed.to_le_bytes(), &Rng::new(seed).bytes_below(200)[..]].concat());
    }
}

#[test]
fn decoding_any_packets() {
    (0..1_500_u64).for_each(|seed| packets(&seed.to_le_bytes()));
}

#[test]
fn decoding_from_anywhere() {
    let met = (0..500_u64).filter(|seed| meets(&seed.to_le_bytes())).count();
    assert!(met > 350, "{met} of 500");
}
