//! Random packets and streams of TACIT.

use tracewright_core::stream::PacketSink;
use tracewright_tacit::packet::{Packet, PacketBytes, SyncKind, TrapKind, emit};
use tracewright_tacit::stream::{Item, Parser};
use tracewright_tacit::{Form, Mode, Params};

use crate::Rng;

/// What a parser reports of a stream: offset, bytes and content of each item.
pub type Told = Vec<(u64, Vec<u8>, Item)>;

/// Sink that keeps all items, with the bytes that were skipped.
#[derive(Default)]
struct Keep {
    told: Told,
    skipped: Vec<u8>,
}

impl PacketSink<Item> for Keep {
    fn packet(&mut self, offset: u64, bytes: &[u8], item: &Item) {
        let skipped = std::mem::take(&mut self.skipped);
        assert!(skipped.is_empty() || bytes.is_empty(), "{item:?}");
        self.told.push((offset, [&skipped, bytes].concat(), *item));
    }

    fn skipped(&mut self, _: u64, bytes: &[u8]) {
        self.skipped.extend(bytes);
    }
}

/// Everything that a parser reports of chunks of a stream.
pub fn read<'a>(mut parser: Parser, chunks: impl IntoIterator<Item = &'a [u8]>) -> Told {
    let mut keep = Keep::default();
    for chunk in chunks {
        parser.feed(chunk, &mut keep);
    }
    parser.finish(&mut keep);
    keep.told
}

/// Checks that every byte of a stream that begins at `start` is part of one packet or one gap.
pub fn account(told: &Told, start: u64, bytes: &[u8]) {
    let mut end = start;
    for (offset, item_bytes, item) in told {
        assert_eq!(*offset, end, "{item:?}");
        if let Item::NotSync { len } = item {
            assert_eq!(item_bytes.len() as u64, *len);
        }
        let at = (offset - start) as usize;
        assert_eq!(item_bytes[..], bytes[at..at + item_bytes.len()]);
        end += item_bytes.len() as u64;
    }
    assert_eq!(end, start + bytes.len() as u64);
}

/// Returns the bytes of a packet.
pub fn emitted(packet: &Packet, params: &Params) -> PacketBytes {
    let mut bytes = PacketBytes::default();
    emit(packet, params, &mut bytes);
    bytes
}

/// Returns any parameters.
pub fn any_params(rng: &mut Rng) -> Params {
    Params {
        mode: *rng.pick(&[Mode::Target, Mode::Predict]),
        entries: *rng.pick(&[64, 128, 256, 512, 1024]),
        address_bits: *rng.pick(&[32, 40, 57, 64]),
        asid_bits: *rng.pick(&[9, 16]),
        form: *rng.pick(&[Form::Full, Form::Full, Form::Rtl, Form::Plain]),
    }
}

/// Returns any packet that such an encoder may send.
pub fn any_packet(rng: &mut Rng, params: &Params) -> Packet {
    let time = if rng.one_in(3) { rng.sized(64) } else { rng.below(70) };
    let (from, difference) = (any_address(rng, params), any_address(rng, params));
    let is_tagged = params.form != Form::Plain;
    let levels = [rng.below(4) as u8, rng.below(4) as u8];
    let asid = rng.sized(params.asid_bits.into());
    match (rng.below(10), params.mode) {
        (0..3, Mode::Target) => Packet::TakenBranch { time },
        (3..5, Mode::Target) => Packet::NotTakenBranch { time },
        (5..6, Mode::Target) => Packet::InferableJump { time },
        (0..3, Mode::Predict) => Packet::Hits { count: time },
        (3..6, Mode::Predict) => Packet::Miss { time },
        (6, _) => Packet::UninferableJump { difference, time },
        (7 | 8, _) => {
            let kind = *rng.pick(&[TrapKind::Exception, TrapKind::Interrupt, TrapKind::Return]);
            let to_user = is_tagged && kind == TrapKind::Return && levels[1] == 0;
            Packet::Trap {
                kind,
                privilege: is_tagged.then_some(levels),
                asid: to_user.then_some(asid),
                from,
                difference,
                time,
            }
        }
        _ => {
            let kind = *rng.pick(&[SyncKind::Start, SyncKind::Periodic, SyncKind::End]);
            any_sync(rng, params, kind)
        }
    }
}

/// Returns any synchronisation packet of this kind.
pub fn any_sync(rng: &mut Rng, params: &Params, kind: SyncKind) -> Packet {
    let is_tagged = params.form != Form::Plain;
    let has_configuration = is_tagged && (params.form == Form::Full || kind == SyncKind::Start);
    Packet::Sync {
        kind,
        privilege: is_tagged.then(|| rng.below(4) as u8),
        asid: is_tagged.then(|| rng.sized(params.asid_bits.into())),
        configuration: has_configuration.then(|| rng.next_u64() as u8),
        target: any_address(rng, params),
        time: rng.sized(64),
    }
}

/// Returns an address with few bits set, or few bits clear.
fn any_address(rng: &mut Rng, params: &Params) -> u64 {
    let value = rng.sized(64);
    let value = if rng.one_in(2) { !value } else { value };
    value & (u64::MAX >> (64 - params.address_bits)) & !1
}
