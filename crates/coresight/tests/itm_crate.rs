//! ITM packets against the `itm` crate, on random streams.
//!
//! The crate does not know what Armv8-M added (matches, prohibited samples, the performance monitor) nor extensions of more than one byte,
//! and it takes global timestamps with less than four bytes for whole ones: the streams have none of these.

use itm::cortex_m::{Exception, VectActive};
use itm::{
    Decoder, DecoderOptions, ExceptionAction, MemoryAccessType, TimestampDataRelation as Relation,
    TracePacket,
};
use tracewright_core::{Delay, ExceptionChange, Message, Sample, Watched};
use tracewright_coresight::itm::Params;
use tracewright_coresight::itm::hardware::Hardware;
use tracewright_coresight::itm::packet::{Packet, Parser};
use tracewright_testkit::Rng;

const STREAMS: u64 = 200;

/// Returns what the crate should report for a packet.
fn expected(packet: &Packet) -> TracePacket {
    let payload = |size: u8, value: u32| value.to_le_bytes()[..size.into()].to_vec();
    match *packet {
        Packet::Async => TracePacket::Sync,
        Packet::Overflow => TracePacket::Overflow,
        Packet::Stimulus { port, size, value } => {
            TracePacket::Instrumentation { port: port & 31, payload: payload(size, value) }
        }
        Packet::LocalTimestamp { value, bytes: 0, .. } => TracePacket::LocalTimestamp2 { ts: value as u8 },
        Packet::LocalTimestamp { value, delay, .. } => TracePacket::LocalTimestamp1 {
            ts: value,
            data_relation: match (delay.timestamp, delay.packet) {
                (false, false) => Relation::Sync,
                (true, false) => Relation::UnknownDelay,
                (false, true) => Relation::AssocEventDelay,
                (true, true) => Relation::UnknownAssocEventDelay,
            },
        },
        Packet::GlobalLow { value, clock_changed, wrapped, .. } => {
            TracePacket::GlobalTimestamp1 { ts: value.into(), wrap: wrapped, clkch: clock_changed }
        }
        Packet::GlobalHigh { value, .. } => TracePacket::GlobalTimestamp2 { ts: value },
        Packet::Extension { .. } => TracePacket::Extension { page: packet.page().unwrap() },
        Packet::Hardware(hardware) => message(&hardware.message()),
        _ => panic!("{packet:?}"),
    }
}

fn message(message: &Message) -> TracePacket {
    match *message {
        Message::Counters(bits) => {
            let [cpi, exc, sleep, lsu, fold, cyc] = [0, 1, 2, 3, 4, 5].map(|bit| bits >> bit & 1 == 1);
            TracePacket::EventCounterWrap { cyc, fold, lsu, sleep, exc, cpi }
        }
        Message::Exception { number, change } => TracePacket::ExceptionTrace {
            exception: match number {
                0 => VectActive::ThreadMode,
                2 => VectActive::Exception(Exception::NonMaskableInt),
                3 => VectActive::Exception(Exception::HardFault),
                7 => VectActive::Exception(Exception::SecureFault),
                11 => VectActive::Exception(Exception::SVCall),
                14 => VectActive::Exception(Exception::PendSV),
                15 => VectActive::Exception(Exception::SysTick),
                _ => VectActive::Interrupt { irqn: number - 16 },
            },
            action: match change {
                ExceptionChange::Entered => ExceptionAction::Entered,
                ExceptionChange::Left => ExceptionAction::Exited,
                ExceptionChange::Resumed => ExceptionAction::Returned,
            },
        },
        Message::Sample(Sample::At(address)) => TracePacket::PCSample { pc: Some(address as u32) },
        Message::Sample(Sample::Asleep) => TracePacket::PCSample { pc: None },
        Message::Watch { comparator, watched } => match watched {
            Watched::By(pc) => TracePacket::DataTracePC { comparator, pc },
            Watched::AddressLow(low) => {
                TracePacket::DataTraceAddress { comparator, data: low.to_le_bytes().to_vec() }
            }
            Watched::Read { size, value } => {
                let value = value.to_le_bytes()[..size.into()].to_vec();
                TracePacket::DataTraceValue { comparator, access_type: MemoryAccessType::Read, value }
            }
            Watched::Wrote { size, value } => {
                let value = value.to_le_bytes()[..size.into()].to_vec();
                TracePacket::DataTraceValue { comparator, access_type: MemoryAccessType::Write, value }
            }
            Watched::Match => panic!("it is not made"),
        },
        _ => panic!("{message:?}"),
    }
}

/// A random packet that the crate knows.
fn packet(rng: &mut Rng) -> Packet {
    let size = 1 << rng.below(3);
    let value = (rng.next_u64() as u32) >> (32 - 8 * u32::from(size));
    let comparator = rng.below(4) as u8;
    let hardware = |message: &Message| Packet::Hardware(Hardware::of(message).unwrap());
    let watch = |watched| hardware(&Message::Watch { comparator, watched });
    match rng.below(13) {
        0 => Packet::Async,
        1 => Packet::Overflow,
        2 | 3 => Packet::Stimulus { port: rng.below(32) as u8, size, value },
        4 => {
            let bytes = rng.below(5) as u8;
            let value = if bytes == 0 { 1 + rng.below(6) } else { rng.below(1 << (7 * bytes)) };
            let delay = Delay { timestamp: rng.one_in(2), packet: rng.one_in(2) };
            let delay = if bytes == 0 { Delay { timestamp: false, packet: false } } else { delay };
            Packet::LocalTimestamp { value: value as u32, delay, bytes }
        }
        5 => {
            let (clock_changed, wrapped) = (rng.one_in(2), rng.one_in(2));
            Packet::GlobalLow { value: rng.below(1 << 26) as u32, clock_changed, wrapped, bytes: 4 }
        }
        6 => {
            let (bits, bytes) = *rng.pick(&[(22, 4), (38, 6)]);
            Packet::GlobalHigh { value: rng.below(1 << bits), bytes }
        }
        7 => Packet::Extension { hardware: false, value: rng.below(8) as u32, bytes: 0 },
        8 => hardware(&Message::Counters(rng.below(64) as u8)),
        9 => {
            let number = *rng.pick(&[0, 2, 3, 7, 11, 14, 15, 16, 255, 256, 511]);
            let change =
                *rng.pick(&[ExceptionChange::Entered, ExceptionChange::Left, ExceptionChange::Resumed]);
            hardware(&Message::Exception { number, change })
        }
        10 if rng.one_in(3) => hardware(&Message::Sample(Sample::Asleep)),
        10 => hardware(&Message::Sample(Sample::At(rng.next_u64() >> 32))),
        11 if rng.one_in(2) => watch(Watched::By(rng.next_u64() as u32)),
        11 => watch(Watched::AddressLow(rng.next_u64() as u16)),
        _ if rng.one_in(2) => watch(Watched::Read { size, value }),
        _ => watch(Watched::Wrote { size, value }),
    }
}

#[test]
fn the_crate_reads_what_we_write_and_we_read_the_same() {
    let mut kinds = std::collections::BTreeSet::new();
    for seed in 0..STREAMS {
        let mut rng = Rng::new(seed);
        let mut packets = vec![Packet::Async];
        packets.extend((0..rng.below(300)).map(|_| packet(&mut rng)));
        let mut bytes = Vec::new();
        packets.iter().for_each(|packet| packet.write(&mut bytes));

        // Packets hold whole ports.
        let mut page = 0;
        for packet in &mut packets {
            page = packet.page().unwrap_or(page);
            if let Packet::Stimulus { port, .. } = packet {
                *port |= page << 5;
            }
        }
        let mut ours = Vec::new();
        let mut parser = Parser::new(Params::default());
        let mut sink = |_: u64, _: &[u8], packet: &Packet| ours.push(*packet);
        parser.feed(&bytes, &mut sink);
        parser.finish(&mut sink);
        assert_eq!(ours, packets, "{seed}");

        let theirs: Vec<TracePacket> = Decoder::new(&bytes[..], DecoderOptions { ignore_eof: false })
            .singles()
            .map(|packet| packet.unwrap())
            .collect();
        let expected: Vec<TracePacket> = ours.iter().map(expected).collect();
        assert_eq!(theirs, expected, "{seed}");
        kinds.extend(ours.iter().map(Packet::kind));
    }
    assert_eq!(kinds.len(), 11, "{kinds:?}");
}
