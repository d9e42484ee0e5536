//! Random messages and streams of N-Trace.

use tracewright_core::Isa;
use tracewright_core::stream::PacketSink;
use tracewright_ntrace::packet::{Address, Packet, Values};
use tracewright_ntrace::stream::{Content, Message, Parser};
use tracewright_ntrace::{Dialect, ImplicitReturn, Mode, Params};

use crate::Rng;

/// What a parser reports of a stream: offset, bytes and message of each.
pub type Told = Vec<(u64, Vec<u8>, Message)>;

/// Sink that keeps all messages, with the bytes that were skipped.
#[derive(Default)]
struct Keep {
    told: Told,
    skipped: Vec<u8>,
}

impl PacketSink<Message> for Keep {
    fn packet(&mut self, offset: u64, bytes: &[u8], message: &Message) {
        let skipped = std::mem::take(&mut self.skipped);
        assert!(skipped.is_empty() || bytes.is_empty(), "{message:?}");
        self.told.push((offset, [&skipped, bytes].concat(), *message));
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

/// Checks that every byte of a stream that begins at `start` is part of one message or one gap.
pub fn account(told: &Told, start: u64, bytes: &[u8]) {
    let mut end = start;
    for (offset, message_bytes, message) in told {
        assert_eq!(*offset, end, "{message:?}");
        if let Content::NotSync { len } | Content::Idle { len } | Content::Other { len, .. } = message.content
        {
            assert_eq!(message_bytes.len() as u64, len);
        }
        let at = (offset - start) as usize;
        assert_eq!(message_bytes[..], bytes[at..at + message_bytes.len()]);
        end += message_bytes.len() as u64;
    }
    assert_eq!(end, start + bytes.len() as u64);
}

/// Returns any parameters.
pub fn any_params(rng: &mut Rng) -> Params {
    Params {
        src_bits: *rng.pick(&[0, 0, 1, 2, 5, 12]),
        mode: *rng.pick(&[Mode::Branch, Mode::History]),
        implicit_return: *rng.pick(&[ImplicitReturn::Off, ImplicitReturn::LowBits(8), ImplicitReturn::Stack]),
        sequential_jump: rng.one_in(2),
        all_jumps: rng.one_in(4),
        extend_addr_msb: rng.one_in(2),
        ts_width: *rng.pick(&[8, 40, 64]),
        dialect: *rng.pick(&[Dialect::Standard, Dialect::Standard, Dialect::Spacemit, Dialect::Sifive]),
    }
}

/// Returns any message that such an encoder may send.
pub fn any_packet(rng: &mut Rng, params: &Params) -> Packet {
    let isa = *rng.pick(&[Isa::Rv32, Isa::Rv64]);
    let address = |rng: &mut Rng| Address::new(any_number(rng), params, isa);
    let (sync, btype) = (rng.below(16) as u8, rng.below(4) as u8);
    let (icnt, hist) = (rng.sized(30), rng.sized(32).max(1));
    let kinds = if params.dialect == Dialect::Sifive { 16 } else { 12 };
    match rng.below(kinds) {
        0 => Packet::Ownership { process: rng.sized(64) },
        1 => Packet::DirectBranch { icnt },
        2 => Packet::IndirectBranch { btype, icnt, uaddr: address(rng) },
        3 => Packet::Error { etype: sync, ecode: rng.sized(8) },
        4 => Packet::ProgTraceSync { sync, icnt, faddr: address(rng) },
        5 => Packet::DirectBranchSync { sync, icnt, faddr: address(rng) },
        6 => Packet::IndirectBranchSync { sync, btype, icnt, faddr: address(rng) },
        7 => {
            let rcode = *rng.pick(&[0, 1, 2, 2, sync]);
            Packet::ResourceFull { rcode, rdata: hist, hrepeat: (rcode == 2).then(|| rng.sized(18)) }
        }
        8 => Packet::IndirectBranchHist { btype, icnt, uaddr: address(rng), hist },
        9 => Packet::IndirectBranchHistSync { sync, btype, icnt, faddr: address(rng), hist },
        10 => Packet::RepeatBranch { bcnt: rng.sized(18) },
        11 => {
            let cdf = btype % 2;
            Packet::ProgTraceCorrelation { evcode: sync, cdf, icnt, hist: (cdf == 1).then_some(hist) }
        }
        12 => Packet::DataAcquisition { idtag: rng.sized(32), data: rng.sized(32) },
        13 => Packet::AuxAccessWrite { addr: any_number(rng), data: rng.sized(32) },
        kind => {
            let mut ckdata = Values::default();
            (0..=btype).for_each(|_| ckdata.push(rng.sized(64)));
            match kind {
                14 => Packet::InCircuitTrace { cksrc: sync, ckdf: btype, ckdata },
                _ => Packet::InCircuitTraceSync { cksrc: sync, ckdf: btype, ckdata },
            }
        }
    }
}

/// Returns a number with few bits set, or few bits clear.
fn any_number(rng: &mut Rng) -> u64 {
    let value = rng.sized(64);
    if rng.one_in(2) { !value } else { value }
}
