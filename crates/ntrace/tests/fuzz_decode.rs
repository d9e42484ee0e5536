//! Fuzzing of the decoder. Each body is a plain function, for `cargo test` and for a fuzzer.

use tracewright_core::{Element, Isa, MemorySpace};
use tracewright_image::{Bytes, Image};
use tracewright_ntrace::Params;
use tracewright_ntrace::decode::{Decoder, Options, Snapshot};
use tracewright_ntrace::encode::{Config, Encoder, Resync, SyncMode, Timestamps};
use tracewright_ntrace::packet::{self, Address, MessageBytes, Packet};
use tracewright_ntrace::stream::{Message, Parser};
use tracewright_testkit::ntrace::{any_packet, any_params, read};
use tracewright_testkit::riscv::walk::{Event, Program, Trap, Walk};
use tracewright_testkit::{Rng, check_blocks, damage};

/// Random program, encoder, and the stream of an execution.
struct Case {
    program: Program,
    image: Image,
    params: Params,
    bytes: Vec<u8>,
}

impl Case {
    fn new(rng: &mut Rng) -> Self {
        let program = Program::generate(rng);
        let params = Params { src_bits: 0, ..any_params(rng) };
        let mut encoder = Encoder::new(Config {
            repeated_history: rng.one_in(2),
            repeated_branch: rng.one_in(2),
            history_branches: 4 + rng.below(28) as u8,
            icnt_bits: 8,
            contexts: rng.one_in(2),
            timestamps: *rng.pick(&[Timestamps::Off, Timestamps::All]),
            resync: Resync { mode: SyncMode::Messages, max: rng.below(2) as u8 },
            ..Config::new(params.clone(), program.isa)
        });
        let mut bytes = Vec::new();
        let mut walk = Walk::new(&program, Rng::new(rng.next_u64()));
        walk.run(1_000, &mut |event| {
            let mut out = |packet: &Packet, timestamp: Option<u64>| {
                let mut message = MessageBytes::default();
                packet::emit(packet, 0, timestamp, &params, &mut message).unwrap();
                bytes.extend(&message[..]);
            };
            match *event {
                Event::Block(block) => encoder.block(&block, &mut out),
                Event::Trap(Trap { pc, interrupt, .. }) => encoder.trap(pc, interrupt, &mut out),
                Event::Privilege(privilege) => encoder.privilege(privilege, false),
                Event::Context { .. } => {}
            }
        });
        let mut builder = Image::builder();
        builder.raw("code", Bytes::from(program.bytes.clone()), program.address, MemorySpace::ANY).unwrap();
        Self { image: builder.build(), program, params, bytes }
    }

    /// Returns a decoder that does not follow billions of blocks because of damage.
    fn decoder(&self) -> Decoder<'_> {
        let options = Options { most_blocks: Some(5_000), ..Options::default() };
        Decoder::new(&self.params, options, &self.image, self.program.isa)
    }

    fn decode<'a>(&self, chunks: impl Iterator<Item = &'a [u8]>) -> Vec<(u64, Element)> {
        let mut elements = Vec::new();
        let mut tell = |offset: u64, element: &Element| elements.push((offset, *element));
        let mut decoder = self.decoder();
        let mut parser = Parser::new(self.params.clone());
        let mut sink = |offset: u64, _: &[u8], message: &Message| decoder.message(offset, message, &mut tell);
        chunks.for_each(|chunk| parser.feed(chunk, &mut sink));
        parser.finish(&mut sink);
        let end = parser.position();
        decoder.finish(end, &mut tell);
        assert!(decoder.facts().is_suspicious() != decoder.facts().to_string().is_empty());
        elements
    }
}

/// Decodes damaged streams, or any bytes. The decoder terminates and emits only what the program allows, the same in any chunking. The
/// first eight bytes choose the case; the others replace the start of the stream.
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

/// Decodes valid messages in an order that no encoder sends, with the same expectations.
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
        let few = rng.below(30);
        let mut packet = any_packet(&mut rng, &case.params);
        match &mut packet {
            Packet::ProgTraceSync { icnt, faddr, .. }
            | Packet::DirectBranchSync { icnt, faddr, .. }
            | Packet::IndirectBranchSync { icnt, faddr, .. }
            | Packet::IndirectBranchHistSync { icnt, faddr, .. } => {
                (*icnt, *faddr) = (few, Address::new(address, &case.params, case.program.isa));
            }
            Packet::IndirectBranch { icnt, uaddr, .. } | Packet::IndirectBranchHist { icnt, uaddr, .. } => {
                (*icnt, *uaddr) = (few, Address::new(rng.below(64) * 2, &case.params, Isa::Rv64));
            }
            Packet::DirectBranch { icnt } => *icnt = few,
            _ => {}
        }
        decoder.packet(offset, &packet, &mut tell);
    }
    decoder.finish(200, &mut tell);
    check_blocks(&case.image, &elements);
}

/// Checks that a decoder that starts anywhere emits the same as one that started earlier, once their states are equal.
pub fn snapshots(data: &[u8]) {
    meets(data);
}

/// Returns whether their states became equal.
fn meets(data: &[u8]) -> bool {
    let Some((seed, _)) = data.split_first_chunk() else { return false };
    let mut rng = Rng::new(u64::from_le_bytes(*seed));
    let case = Case::new(&mut rng);
    let messages: Vec<_> = read(Parser::new(case.params.clone()), [&case.bytes[..]])
        .into_iter()
        .map(|(offset, _, message)| (offset, message))
        .collect();
    let (told, states) = tell_all(case.decoder(), &messages);
    let from = rng.below(messages.len() as u64) as usize;
    let mut late = case.decoder();
    late.restart(messages[from].0);
    let (late_told, late_states) = tell_all(late, &messages[from..]);
    let equal = (from..messages.len()).find(|&i| states[i] == late_states[i - from]);
    for i in equal.map_or(messages.len(), |equal| equal + 1)..messages.len() {
        assert_eq!(states[i], late_states[i - from], "after message {i}");
        assert_eq!(told[i], late_told[i - from], "message {i} {:x?}", messages[i]);
    }
    equal.is_some_and(|equal| equal + 1 < messages.len())
}

/// Returns the elements of each message, and the state after it.
fn tell_all(mut decoder: Decoder<'_>, messages: &[(u64, Message)]) -> (Vec<Vec<Element>>, Vec<Snapshot>) {
    let (mut told, mut states) = (Vec::new(), Vec::new());
    for (offset, message) in messages {
        let mut elements = Vec::new();
        decoder.message(*offset, message, &mut |_: u64, element: &Element| elements.push(*element));
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
