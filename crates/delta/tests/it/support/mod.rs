//! Shared parts of the tests: retirement sequences, and the bits of packets by a naive writer and reader.

pub mod naive;

use tracewright_delta::{Code, Config, DCode, Decoder, Encoder, Format, Item, Kind, Packet, Packing, Read};
use tracewright_testkit::Rng;

/// Parses how many instructions retire in each cycle, as in the slides: `3` retires three, `S` stalls.
pub fn sequence(text: &str) -> Vec<u8> {
    text.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect()
}

/// Returns the cycle of each instruction of a sequence that begins in cycle `from`.
pub fn cycles(sequence: &[u8], from: u64) -> Vec<u64> {
    let each = sequence.iter().zip(from..);
    each.flat_map(|(&count, cycle)| std::iter::repeat_n(cycle, usize::from(count))).collect()
}

/// Encodes instructions in one block, up to cycle `end`.
pub fn encoded(config: Config, cycles: &[u64], end: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(config, Packing::default()).unwrap();
    encoder.block(0x8000_0000, cycles, &mut bytes).unwrap();
    encoder.off(end, &mut bytes);
    bytes
}

/// Decodes a stream.
pub fn decoded(bytes: &[u8]) -> Vec<Item> {
    decoded_in([bytes])
}

/// Decodes a stream in chunks.
pub fn decoded_in<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Item> {
    let mut items = Vec::new();
    let mut decoder = Decoder::new();
    chunks.into_iter().for_each(|chunk| decoder.feed(chunk, &mut items));
    decoder.finish(&mut items);
    items
}

/// Returns the packets of an undamaged stream.
pub fn packets(bytes: &[u8]) -> Vec<Packet<'_>> {
    let mut at = 0;
    let mut packets = Vec::new();
    while at < bytes.len() {
        let Read::Packet(packet) = Packet::read(&bytes[at..]) else { panic!("no packet at {at}") };
        at += packet.len();
        packets.push(packet);
    }
    packets
}

/// Returns the payloads of groups, and whether the last group of each was cut.
pub fn payloads(bytes: &[u8]) -> Vec<(Vec<u8>, bool)> {
    let groups = packets(bytes).into_iter().filter(|packet| matches!(packet.kind, Kind::Groups | Kind::Cut));
    groups.map(|packet| (packet.payload.to_vec(), packet.kind == Kind::Cut)).collect()
}

/// Returns any valid configuration.
pub fn any_config(rng: &mut Rng) -> Config {
    let width = 1 + rng.below(8) as u8;
    let mut config = match rng.below(3) {
        0 => Config::ac(),
        1 => Config::abc(width),
        _ => Config::de(width),
    };
    if rng.one_in(3) {
        config.code = Code::Delta;
    }
    if rng.one_in(3) {
        config.d = DCode::Elias;
    }
    if config.format == Format::Abc && rng.one_in(2) {
        config.amortise = rng.below(6) as u32;
    }
    config
}

/// Returns cycles of instructions, at most `width` in each, from a random cycle on: long and short runs, stalls of
/// all sizes.
pub fn any_cycles(rng: &mut Rng, width: u8, count: usize) -> Vec<u64> {
    let mut cycle = rng.sized(40);
    let mut cycles = Vec::with_capacity(count + 8);
    let (stall, full) = (1 + rng.below(12), 1 + rng.below(6));
    while cycles.len() < count {
        let retired = if rng.one_in(full) { u64::from(width) } else { 1 + rng.below(u64::from(width)) };
        cycles.extend(std::iter::repeat_n(cycle, retired as usize));
        cycle += 1;
        if rng.one_in(stall) {
            let bits = if rng.one_in(200) { 40 } else { 4 };
            cycle += rng.sized(bits);
        }
    }
    cycles.truncate(count);
    cycles
}
