//! What the encoder writes, as OpenCSD's own lister reads it (Debian's `trc_pkt_lister`, 1.3.3).

use core::num::NonZero;

use tracewright_core::{Context, Element, Security};
use tracewright_testkit::{Rng, lister};

use super::decode::tests::{encode, execute, plain, program};
use super::packet::{Address, Atoms, Branch, ISync, ISyncReason, Packet, Parser, Timestamp, opencsd};
use super::{Params, Registers, encode};
use crate::shared::address::State;
use crate::shared::exception::ExceptionBytes;
use crate::shared::timestamp::{TimestampBytes, Width};

const STREAMS: u64 = 200;
const ID: u8 = 0x10;

/// What both sides must agree on: all elements in their order, but for what OpenCSD does not tell or tells later.
fn comparable(elements: impl IntoIterator<Item = Element>) -> Vec<Element> {
    let told = elements.into_iter().filter_map(|element| match element {
        // A change of the security state has no line of its own.
        Element::Context(context, isa) => {
            Some(Element::Context(Context { security: Security::Secure, ..context }, isa))
        }
        // It prints a count wherever there may be one.
        Element::Cycles(None | Some(0)) => None,
        Element::Timestamp { value, .. } => Some(Element::Timestamp { value, cycles: None }),
        _ => Some(element),
    });
    plain(told)
}

fn listed(text: &str) -> Vec<Element> {
    let mut elements = Vec::new();
    for line in lister::lines(text).filter(|line| line.id == ID) {
        let element = line.element.unwrap_or_else(|text| panic!("{text}"));
        elements.push(element);
        elements.extend(line.cycles.map(|cycles| Element::Cycles(Some(cycles))));
    }
    comparable(elements)
}

/// Branch broadcast, cycles, context IDs, timestamps, return stack, VMIDs; timestamps of 48 or 64 bits.
fn registers(rng: &mut Rng) -> Registers {
    let etmcr = rng.next_u64() as u32 & (1 << 8 | 1 << 12 | 3 << 14 | 1 << 28 | 1 << 29 | 1 << 30);
    let etmccer = Registers::default().etmccer & !(u32::from(rng.one_in(3)) << 29);
    Registers { etmcr, etmccer, etmtraceidr: ID.into(), ..Registers::default() }
}

fn list(registers: &Registers, memory: &[(u64, &[u8])], bytes: &[u8], option: &str) -> String {
    let source = lister::Source {
        device: "PTM1.1",
        registers: &[
            ("ETMCR(0x000)", registers.etmcr),
            ("ETMIDR(0x079)", registers.etmidr),
            ("ETMCCER(0x07A)", registers.etmccer),
            ("ETMTRACEIDR(0x080)", registers.etmtraceidr),
        ],
        id: ID,
        core: Some("Cortex-A15"),
        memory,
        bytes,
    };
    source.list(&[option])
}

#[test]
fn opencsd_reads_what_was_encoded() {
    if !lister::available("opencsd_reads_what_was_encoded") {
        return;
    }
    let (mut compared, mut calls) = (0, 0);
    for seed in 0..STREAMS {
        let mut rng = Rng::new(seed);
        let registers = registers(&mut rng);
        let params = Params::new(&registers).unwrap();
        let program = program(&mut rng);
        let ran = execute(&program, &mut rng, 300, &params);
        let sync_every = NonZero::new(40 + rng.below(400) as u32);
        let options = encode::Options { sync_every, return_stack: 1 + rng.below(16) as u8 };
        let bytes = encode(&params, &ran, options);
        let memory: Vec<_> = program.code.iter().map(|(address, bytes)| (*address, &bytes[..])).collect();
        let listing = list(&registers, &memory, &bytes, "-decode");
        let (ours, theirs) = (comparable(ran), listed(&listing));
        for (index, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            assert_eq!(ours, theirs, "seed {seed}, element {index}: {registers:x?}");
        }
        assert_eq!(ours.len(), theirs.len(), "seed {seed}: {registers:x?}");
        compared += ours.len();
        calls += usize::from(params.return_stack() && !params.branch_broadcast());
    }
    assert!(compared > 50_000 && calls > 20, "{compared} elements, {calls} streams with a return stack");
}

/// Random packets, also of what no encoder of A32 and T32 writes.
struct Packets<'a> {
    rng: &'a mut Rng,
    params: Params,
    /// Last address, and whether its instruction set is the other one of its kind.
    address: (u32, State),
    alternative: bool,
    /// Whether ThumbEE was told last: OpenCSD then takes addresses without that bit for ThumbEE or not as it was there.
    was_alternative: bool,
    hyp: bool,
    timestamp: u64,
}

impl Packets<'_> {
    fn cycles(&mut self) -> Option<u32> {
        self.params.cycle_accurate().then(|| self.rng.sized(32) as u32)
    }

    fn address(&mut self, has_exception: bool) -> Address {
        let (before, state_before) = self.address;
        let states = [State::Arm, State::Thumb, State::Jazelle];
        let state = if self.rng.one_in(8) { *self.rng.pick(&states) } else { state_before };
        let value = (before ^ self.rng.sized(32) as u32)
            & match state {
                State::Arm => !3,
                State::Thumb => !1,
                State::Jazelle => !0,
            };
        let address = Address::shortest(value, state, Some(self.address), has_exception);
        self.address = (value, state);
        let alternative = match address.width {
            _ if has_exception => state == State::Thumb && self.rng.one_in(3),
            32.. => false,
            _ => self.alternative,
        };
        let changes_state = address.changes_state || alternative != self.alternative;
        self.alternative = alternative;
        if has_exception {
            self.was_alternative = alternative;
        }
        Address { alternative, changes_state, ..address }
    }

    fn branch(&mut self) -> Branch {
        let has_exception = self.rng.one_in(3) || self.alternative || self.was_alternative;
        let exception = has_exception.then(|| {
            let numbers = if self.rng.one_in(3) { 0x200 } else { 0x10 };
            let number = self.rng.below(numbers) as u16;
            let (non_secure, hyp, cancel) = (self.rng.one_in(2), self.rng.one_in(4), self.rng.one_in(4));
            // Without a second byte OpenCSD keeps the last mode, and the architecture's is not Hyp mode.
            let second = number > 0xf || hyp || self.hyp || self.rng.one_in(4);
            self.hyp = hyp;
            ExceptionBytes { number, non_secure, hyp, cancel, second, ..ExceptionBytes::default() }
        });
        let address = self.address(exception.is_some());
        let alternative = address.alternative;
        let exception = exception.map(|exception| ExceptionBytes { alternative, ..exception });
        Branch { address, exception, cycles: self.cycles() }
    }

    fn i_sync(&mut self) -> ISync {
        let thumb = self.rng.one_in(2);
        let address = self.rng.next_u64() as u32 & if thumb { !1 } else { !3 };
        let reasons =
            [ISyncReason::Periodic, ISyncReason::TraceOn, ISyncReason::Overflow, ISyncReason::Debug];
        let reason = *self.rng.pick(&reasons);
        let sync = ISync {
            reason,
            address,
            thumb,
            non_secure: self.rng.one_in(2),
            alternative: thumb && self.rng.one_in(4),
            hyp: self.rng.one_in(4),
            cycles: self.cycles().filter(|_| reason != ISyncReason::Periodic),
            context_id: (self.params.context_id_bytes() > 0).then(|| self.context_id()),
        };
        (self.address, self.alternative) = ((address, sync.state()), sync.alternative);
        self.hyp = sync.hyp;
        sync
    }

    fn context_id(&mut self) -> u32 {
        let bits = 8 * u32::from(self.params.context_id_bytes());
        (self.rng.next_u64() & ((1 << bits) - 1)) as u32
    }

    fn timestamp(&mut self) -> Timestamp {
        let width = self.params.timestamp_width();
        let bits = if width == Width::Bits48 { 48 } else { 64 };
        let value = self.timestamp ^ self.rng.sized(bits);
        let told = TimestampBytes::shortest(value, self.timestamp, width).told;
        self.timestamp = value;
        Timestamp { value, told, clock_changed: false, cycles: self.cycles() }
    }

    fn next(&mut self) -> Packet {
        match self.rng.below(20) {
            0..6 => match self.cycles() {
                Some(cycles) => Packet::CycleAtom { taken: self.rng.one_in(2), cycles },
                None => {
                    let count = 1 + self.rng.below(5) as u8;
                    Packet::Atoms(Atoms { bits: self.rng.below(1 << count) as u8, count })
                }
            },
            6..11 => Packet::Branch(self.branch()),
            11 => {
                let information = self.rng.one_in(3) || self.alternative || self.was_alternative;
                // OpenCSD expects an information byte after whole addresses only.
                let width = if information { 32 } else { 0 };
                let address = self.address(information);
                Packet::WaypointUpdate(Address { information, width: address.width.max(width), ..address })
            }
            12 => Packet::Timestamp(self.timestamp()),
            13 if self.params.context_id_bytes() > 0 => Packet::ContextId(self.context_id()),
            14 => Packet::Vmid(self.rng.below(0x100) as u8),
            15 => Packet::Trigger,
            16 => Packet::ExceptionReturn,
            17 => Packet::ISync(self.i_sync()),
            18 => Packet::Async,
            _ => Packet::Ignore,
        }
    }
}

/// Every kind of packet with random values: OpenCSD prints what was written.
#[test]
fn opencsd_prints_the_packets_that_were_written() {
    if !lister::available("opencsd_prints_the_packets_that_were_written") {
        return;
    }
    for seed in 0..STREAMS {
        let mut rng = Rng::new(seed);
        let registers = registers(&mut rng);
        let params = Params::new(&registers).unwrap();
        let mut random = Packets {
            rng: &mut rng,
            params: params.clone(),
            address: (0, State::Arm),
            alternative: false,
            was_alternative: false,
            hyp: false,
            timestamp: 0,
        };
        let mut packets = vec![Packet::Async, Packet::ISync(random.i_sync())];
        packets.extend((0..200).map(|_| random.next()));
        let (mut bytes, mut texts) = (Vec::new(), Vec::new());
        for packet in &packets {
            packet.write(&params, &mut bytes);
            let mut text = String::new();
            opencsd::write(&mut text, packet).unwrap();
            texts.push(text);
        }
        let mut parsed = Vec::new();
        Parser::new(params).feed(&bytes, &mut |_: u64, _: &[u8], packet: &Packet| parsed.push(*packet));
        assert_eq!(parsed, packets, "seed {seed}");
        let listing = list(&registers, &[], &bytes, "-pkt_mon");
        let lines = listing.lines().filter_map(|line| line.strip_prefix("Idx:")?.split_once("];\t"));
        for (index, ((place, theirs), ours)) in lines.clone().zip(&texts).enumerate() {
            // 1.3.3 prints the number as a character.
            let is_garbled = matches!(packets[index], Packet::Vmid(_)) && theirs.starts_with("VMID : ");
            assert!(
                theirs == ours || is_garbled,
                "seed {seed}, packet {index}, {place}\n{theirs}\n{ours}\n{:x?}",
                packets[index]
            );
        }
        assert!(lines.count() == texts.len(), "seed {seed}");
    }
}
