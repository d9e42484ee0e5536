//! What the encoder and packets write, as OpenCSD's own lister reads it (Debian's `trc_pkt_lister`, 1.3.3).

use std::num::NonZero;

use tracewright_core::Element;
use tracewright_testkit::{Rng, lister};

use super::decode::tests::{decode, encoded, messages};
use super::decode::{self, Options};
use super::encode;
use super::packet::tests::random;
use super::packet::{Encoding, Kind, Nibbles, ONES, Packet, Parser, Span, State, opencsd};

const STREAMS: u64 = 200;

fn list(bytes: &[u8], option: &str) -> String {
    let registers = &[("STMTCSR(0x3A0)", 0x0010_0007)];
    lister::Source { device: "STM", registers, id: 0x10, core: None, memory: &[], bytes }.list(&[option])
}

/// Bits of a timestamp in Gray code that 1.3.3 decodes: it shifts numbers of 32 bits.
const GRAY: u32 = 31;

/// Messages as the lister shows them. Timestamps are part of their lines.
fn shown(elements: &[Element]) -> Vec<String> {
    let (mut lines, mut time) = (Vec::new(), None);
    for element in elements {
        match element {
            Element::Timestamp { value, .. } => time = Some(*value),
            Element::Message(message) => {
                let mut line = String::new();
                decode::opencsd::write(&mut line, message, time.take()).unwrap();
                lines.push(line);
            }
            _ => {}
        }
    }
    lines
}

/// A frequency has no master: OpenCSD shows the current one, and 1.3.3 keeps it after a VERSION, unlike 1.8.0.
fn without_masters(lines: &[String]) -> Vec<&str> {
    let of = |line: &'_ String| line.contains("Freq").then(|| line.find(") ")).flatten().unwrap_or(0);
    lines.iter().map(|line| &line[of(line)..]).collect()
}

/// Random messages: OpenCSD shows what was encoded.
#[test]
fn opencsd_reads_what_was_encoded() {
    if !lister::available("opencsd_reads_what_was_encoded") {
        return;
    }
    for seed in 0..STREAMS {
        let mut rng = Rng::new(seed);
        let (encoding, bits) = *rng.pick(&[(Encoding::Natural, 64), (Encoding::Gray, GRAY)]);
        let elements = messages(&mut rng, 100, bits);
        let sync_every = NonZero::new(rng.below(300) as u32);
        let bytes = encoded(&elements, encode::Options { sync_every, encoding });
        let text = list(&bytes, "-decode");
        let theirs =
            text.lines().filter_map(|line| Some(line.split_once("OCSD_GEN_TRC_ELEM_")?.1.to_owned()));
        let theirs: Vec<_> = theirs.filter(|line| line.starts_with("SWTRACE")).collect();
        let ours = shown(&elements);
        assert_eq!(without_masters(&theirs), without_masters(&ours), "seed {seed}");
        // What our decoder emits in OpenCSD's way is the same to the letter.
        let found = decode(&bytes, Options { like_opencsd: true });
        let found: Vec<_> = found.into_iter().map(|(_, element)| element).collect();
        assert_eq!(without_masters(&shown(&found)), without_masters(&theirs), "seed {seed}");
    }
}

/// Every kind of packet that an Arm STM sends, with random values: OpenCSD prints what was written.
#[test]
fn opencsd_prints_the_packets_that_were_written() {
    if !lister::available("opencsd_prints_the_packets_that_were_written") {
        return;
    }
    // Others have no meaning for OpenCSD.
    let is_known = |kind| {
        !matches!(kind, Kind::M16 | Kind::User | Kind::UserTs | Kind::FreqTs | Kind::Xsync | Kind::XsyncTs)
    };
    for seed in 0..STREAMS {
        let mut rng = Rng::new(seed);
        let (mut state, mut nibbles, mut packets) = (State::default(), Nibbles::new(), Vec::new());
        let first = [Packet::Async { ones: ONES }, Packet::Version(Encoding::Natural)];
        while packets.len() < 200 {
            let packet = first.get(packets.len()).copied().unwrap_or_else(|| random(&mut rng, &state, GRAY));
            if is_known(packet.kind()) {
                packet.write(state.encoding.unwrap_or(Encoding::Natural), &mut nibbles);
                state.apply(&packet);
                packets.push(packet);
            }
        }
        let mut texts = Vec::new();
        let mut parser = Parser::new();
        let mut previous = None;
        parser.feed(nibbles.bytes(), &mut |_: Span, _: &[u8], packet: &Packet| {
            let mut text = String::new();
            opencsd::write(&mut text, packet, previous).unwrap();
            previous = Some(packet.kind());
            texts.push(text);
        });
        let listing = list(nibbles.bytes(), "-pkt_mon");
        let lines = listing.lines().filter_map(|line| line.strip_prefix("Idx:")?.split_once("];\t"));
        for (index, ((place, theirs), ours)) in lines.clone().zip(&texts).enumerate() {
            assert_eq!(theirs, ours, "seed {seed}, packet {index}, {place}");
        }
        assert_eq!(lines.count(), texts.len(), "seed {seed}");
    }
}
