use tracewright_core::port::{self, Rate, WhenFull};
use tracewright_isa::riscv::IType;

use super::run::{Run, START, check, config, encoded, packets, words};
use crate::encode::{Comparator, Config, Encoder, Filter, Port, Quirks};
use crate::ingress::Entry;
use crate::packet::{Packet, QualStatus};
use crate::{Options, data, stream};

/// Returns the statuses of all support packets.
fn statuses(packets: &[Packet]) -> Vec<(bool, QualStatus)> {
    let support = |packet: &Packet| match packet {
        Packet::Support(support) => Some((support.ienable, support.qual_status)),
        _ => None,
    };
    packets.iter().filter_map(support).collect()
}

#[test]
fn the_end_says_why_the_last_packet_was_sent() {
    let ends = |run: Run| statuses(&packets(&config(), &run))[1..].to_vec();
    assert_eq!(ends(Run::new().plain(3)), [(false, QualStatus::EndedRep)]);
    assert_eq!(ends(Run::new().plain(3).jump(0x2000).plain(1)), [(false, QualStatus::EndedNtr)]);
    assert_eq!(ends(Run::new().plain(3).jump(0x2000).plain(2)), [(false, QualStatus::EndedRep)]);
    assert_eq!(ends(Run::new().plain(1)), [(false, QualStatus::EndedRep)]);
    assert_eq!(ends(Run::new()), [(false, QualStatus::NoChange)]);
}

#[test]
fn the_reference_model_always_ends_with_an_address() {
    let config = Config { quirks: Quirks::REFERENCE, ..config() };
    let run = Run::new().plain(3).jump(0x2000).plain(1);
    check(&config, &run, &[START, "Address 0x2000", "Address 0x2000"]);
}

#[test]
fn filters_choose_entries() {
    let run = Run::new().plain(2).jump(0x2000).plain(2).branches("T").jump(0x1000).plain(1);
    let run = run.one(IType::TrapReturn, 0x2000).privilege(0).plain(1).branches("T").plain(2);
    let run = run.context(9, Default::default()).plain(1);
    let only = |filter: Filter| Config { filter, ..config() };
    let iaddr = only(Filter { iaddr: Comparator::Range(0x2000, 0x2fff), ..Filter::default() });
    check(
        &iaddr,
        &run,
        &[
            "Start 0x2000, M",
            "Branches T, 0x2008",
            "Support on, ended, reported, full_address",
            "Start 0x2000, U",
            "Branches T, 0x200c",
        ],
    );
    let privilege = only(Filter { privilege: Comparator::Match(0), ..Filter::default() });
    check(&privilege, &run, &["Start 0x2000, U", "Branches T, 0x200c"]);
    let context =
        only(Filter { context: Comparator::Match(9), privilege: Comparator::Match(0), ..Filter::default() });
    check(&context, &run, &["Start 0x200c, U, context 0x9"]);
    let nothing = only(Filter { itype: Comparator::Match(1), ..Filter::default() });
    check(&nothing, &run, &[]);
}

#[test]
fn comparators_agree_with_what_they_look_for() {
    assert!(Comparator::Off.agrees(7));
    assert!(Comparator::Match(7).agrees(7) && !Comparator::Match(7).agrees(8));
    let range = Comparator::Range(7, 9);
    assert_eq!([6, 7, 9, 10].map(|value| range.agrees(value)), [false, true, true, false]);
    assert!(!Comparator::Range(9, 7).agrees(8));
}

#[test]
fn each_input_has_a_comparator() {
    let entry = Entry {
        itype: IType::Exception,
        cause: 1,
        tval: 2,
        privilege: 3,
        iaddr: 4,
        context: 5,
        ctype: crate::ingress::CType::Precise,
        time: 6,
        iretire: 7,
        ilastsize: 1,
        ..Entry::NOTHING
    };
    let set = |set: fn(&mut Filter) -> &mut Comparator, value| {
        let mut filter = Filter::default();
        *set(&mut filter) = Comparator::Match(value);
        filter.qualifies(&entry)
    };
    type Field = fn(&mut Filter) -> &mut Comparator;
    let fields: [(Field, u64); 10] = [
        (|filter| &mut filter.itype, 1),
        (|filter| &mut filter.cause, 1),
        (|filter| &mut filter.tval, 2),
        (|filter| &mut filter.privilege, 3),
        (|filter| &mut filter.iaddr, 4),
        (|filter| &mut filter.context, 5),
        (|filter| &mut filter.ctype, 2),
        (|filter| &mut filter.time, 6),
        (|filter| &mut filter.iretire, 7),
        (|filter| &mut filter.ilastsize, 1),
    ];
    for (at, (field, value)) in fields.into_iter().enumerate() {
        assert!(set(field, value) && !set(field, value + 10), "field {at}");
    }
}

#[test]
fn tracing_is_switched_off_and_on() {
    let mut encoder = Encoder::new(config());
    let mut packets = Vec::new();
    let mut out = |packet: &Packet| packets.push(*packet);
    let run = Run::new().plain(2).plain(2).jump(0x2000).plain(2).plain(2);
    for (at, entry) in run.entries.iter().enumerate() {
        match at {
            1 => encoder.enable(false, &mut out),
            3 => encoder.enable(true, &mut out),
            4 => encoder.halt(&mut out),
            _ => {}
        }
        encoder.entry(entry, &mut out);
    }
    encoder.set_options(
        Options { full_address: true, implicit_exception: true, ..Options::default() },
        &mut out,
    );
    encoder.entry(&run.entries[0], &mut out);
    encoder.finish(&mut out);
    encoder.entry(&run.entries[0], &mut out);
    let expected = [
        "Support on, full_address",
        START,
        "Address 0x1004",
        "Support off, ended, reported, full_address",
        "Support on, full_address",
        "Start 0x2000, M",
        "Address 0x2004",
        "Support on, ended, reported, full_address",
        "Start 0x2008, M",
        "Address 0x200c",
        "Support on, ended, reported, full_address",
        "Support on, implicit_exception, full_address",
        START,
        "Address 0x1004",
        "Support off, ended, reported, implicit_exception, full_address",
    ];
    assert_eq!(words(&packets, &config().options), expected);
}

#[test]
fn support_packets_tell_of_data_trace() {
    let data = Some(data::Options { no_data: true, ..data::Options::default() });
    let packets = packets(&Config { data, ..config() }, &Run::new().plain(1));
    let Packet::Support(support) = packets[0] else { panic!() };
    assert!(support.denable && support.doptions.no_data);
}

/// Returns a port that holds `bytes` bytes and sends one byte a cycle.
fn port(bytes: u64, when_full: WhenFull) -> Config {
    let config = config();
    let rate = Rate::whole(8).unwrap();
    let stream = stream::Config {
        params: config.params.clone(),
        options: config.options,
        ..stream::Config::default()
    };
    let port =
        Some(Port { port: port::Port { rate, bits: 8 * bytes, when_full }, stream, source: 0, align: 0 });
    Config { port, ..config }
}

/// Returns a run with many packets in a short time.
fn busy() -> Run {
    let mut run = Run::new();
    for round in 0..40 {
        run = run.plain(1).jump(0x2000 + round * 0x1234 * 4);
    }
    run.cycles(400).plain(4).jump(0x7000).plain(2).cycles(400).plain(2)
}

#[test]
fn a_port_that_is_fast_enough_changes_nothing() {
    let told = packets(&port(10_000, WhenFull::Drop), &busy());
    assert_eq!(told, packets(&config(), &busy()));
}

#[test]
fn lossless_tracing_makes_the_hart_wait() {
    let mut encoder = Encoder::new(port(40, WhenFull::Stall));
    let told = encoded(&mut encoder, &busy());
    assert_eq!(told, packets(&config(), &busy()));
    let stats = encoder.port_stats();
    assert_eq!(stats.packets, told.len() as u64);
    assert_eq!(stats.refused, 0);
    // A packet that does not fit stalls one cycle a byte, less the cycles that pass anyway.
    assert!(stats.stall_cycles > 0 && stats.stall_cycles < stats.bits / 8, "{stats:?}");
}

#[test]
fn what_does_not_fit_is_lost_up_to_a_synchronisation() {
    let mut encoder = Encoder::new(port(40, WhenFull::Drop));
    let told = encoded(&mut encoder, &busy());
    let stats = encoder.port_stats();
    assert!(stats.refused > 0, "{stats:?}");
    assert_eq!(stats.stall_cycles, 0);
    let lost = |packet: &Packet| matches!(packet, Packet::Support(support) if support.qual_status == QualStatus::TraceLost);
    assert_eq!(told.iter().filter(|packet| lost(packet)).count() as u64, stats.refused);
    for pair in told.windows(2).filter(|pair| lost(&pair[0])) {
        assert!(pair[1].is_sync(), "{pair:?}");
    }
}
