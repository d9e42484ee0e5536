//! PTM against OpenCSD 1.8.0's listings of real chips' captures: packets and elements, per ID and in order; and Debian's
//! lister (1.3.3) on random packets that we write.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::run::command;
use crate::support::opencsd::{each, unpack};
use tracewright_coresight::ptm::packet::{Address, Atoms, Branch, ISync, ISyncReason, Packet, Timestamp};
use tracewright_coresight::ptm::{Params, Registers};
use tracewright_coresight::shared::address::State;
use tracewright_coresight::shared::exception::ExceptionBytes;
use tracewright_input::{Packing, SnapshotWriter};
use tracewright_testkit::{Rng, Scratch, lister};

/// Captures with the IDs of their PTMs in lines of packets and of elements: unframed packets have no ID.
const CAPTURES: [(&str, &[&str]); 3] =
    [("Snowball", &["10", "11"]), ("tc2-ptm-rstk-t32", &["0", "2"]), ("TC2", &["13", "14"])];

/// Lines of skipped bytes that are left out, by their index: where such bytes end with a zero at the end of a run in a frame, OpenCSD
/// shows the zero twice, and a byte behind its input (see DIFFERENCES.md).
const PAST_THE_END: [&str; 4] =
    ["Idx:4662; ID:11;", "Idx:4669; ID:11;", "Idx:4670; ID:11;", "Idx:4672; ID:11;"];

/// The lines of each ID, of elements or of packets.
fn lines(text: &[u8], ids: &[&str], elements: bool) -> BTreeMap<String, Vec<String>> {
    let mut by_id = BTreeMap::<_, Vec<_>>::new();
    for line in String::from_utf8_lossy(text).lines() {
        let Some(line) = line.find("Idx:").map(|at| line[at..].trim_end()) else { continue };
        let id = line.split_once("; ID:").and_then(|(_, rest)| rest.split(';').next()).unwrap_or_default();
        let is_left_out = line.ends_with("PTM Not Synchronised;")
            && PAST_THE_END.iter().any(|start| line.starts_with(start));
        if !is_left_out && ids.contains(&id) && line.contains("OCSD_GEN_TRC_ELEM_") == elements {
            by_id.entry(id.to_owned()).or_default().push(line.to_owned());
        }
    }
    by_id
}

#[track_caller]
fn compare(what: &str, ours: &BTreeMap<String, Vec<String>>, theirs: &BTreeMap<String, Vec<String>>) {
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>(), "{what}: IDs");
    for (id, theirs) in theirs {
        let ours = &ours[id];
        for (i, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
            assert_eq!(ours, theirs, "{what}: ID {id}, line {i}");
        }
        assert_eq!(ours.len(), theirs.len(), "{what}: ID {id}, number of lines");
    }
    assert!(!theirs.is_empty(), "{what}: nothing compared");
}

fn check(coresight: &Path, name: &str) -> Option<()> {
    let listing = unpack(coresight, name).output().ok()?;
    assert!(listing.status.success(), "{name}");
    let ids = CAPTURES.iter().find(|(capture, _)| *capture == name)?.1;
    let verbs = ["packets --style opencsd", "decode --elements --style opencsd --jobs 1"];
    let parallel = "decode --elements --style opencsd --jobs 3";
    for (verb, elements) in verbs.into_iter().chain([parallel]).zip([false, true, true]) {
        let ours = command(verb).arg(coresight.join(name)).output().unwrap();
        let what = format!("{verb} {name}");
        compare(&what, &lines(&ours.stdout, ids, elements), &lines(&listing.stdout, ids, elements));
    }
    Some(())
}

#[test]
fn packets_and_elements_are_those_of_the_listings() {
    for (name, _) in CAPTURES {
        each("ptm", name, check);
    }
}

/// A stream of random packets, with the registers of its trace unit.
fn random_stream(rng: &mut Rng) -> (Registers, Vec<u8>) {
    let mut etmcr = 0;
    for bit in [8, 12, 14, 15, 28, 29, 30] {
        etmcr |= (rng.below(2) as u32) << bit;
    }
    let registers = Registers { etmcr, etmtraceidr: 1 + rng.below(0x60) as u32, ..Registers::default() };
    let params = Params::new(&registers).unwrap();
    let cycles = |rng: &mut Rng| params.cycle_accurate().then(|| rng.sized(32) as u32);
    let place = |rng: &mut Rng| {
        let address = rng.sized(32) as u32;
        if rng.one_in(2) { (address & !3, State::Arm) } else { (address & !1, State::Thumb) }
    };
    let i_sync = |rng: &mut Rng, (address, state): (u32, State)| {
        let reason = *rng.pick(&[
            ISyncReason::Periodic,
            ISyncReason::TraceOn,
            ISyncReason::Overflow,
            ISyncReason::Debug,
        ]);
        let context_mask = match params.context_id_bytes() {
            0 => None,
            bytes => Some(u32::MAX >> (32 - 8 * u32::from(bytes))),
        };
        Packet::ISync(ISync {
            reason,
            address,
            thumb: state == State::Thumb,
            non_secure: rng.one_in(2),
            alternative: false,
            hyp: rng.one_in(4),
            cycles: cycles(rng).filter(|_| reason != ISyncReason::Periodic),
            context_id: context_mask.map(|mask| rng.sized(32) as u32 & mask),
        })
    };
    let mut at = place(rng);
    let mut packets = vec![Packet::Async, i_sync(rng, at)];
    while packets.len() < 120 {
        packets.push(match rng.below(16) {
            0 => Packet::Async,
            1 => {
                at = place(rng);
                i_sync(rng, at)
            }
            2..=6 => {
                let before = Some(std::mem::replace(&mut at, place(rng)));
                let exception = rng.one_in(3).then(|| ExceptionBytes {
                    number: rng.below(16) as u16,
                    non_secure: rng.one_in(2),
                    hyp: rng.one_in(4),
                    ..ExceptionBytes::default()
                });
                let address = Address::shortest(at.0, at.1, before, exception.is_some());
                Packet::Branch(Branch { address, exception, cycles: cycles(rng) })
            }
            7 => {
                let before = Some(std::mem::replace(&mut at, place(rng)));
                Packet::WaypointUpdate(Address::shortest(at.0, at.1, before, false))
            }
            8 => Packet::Timestamp(Timestamp {
                value: rng.sized(64),
                told: 64,
                clock_changed: rng.one_in(4),
                cycles: cycles(rng),
            }),
            9 if params.context_id_bytes() == 4 => Packet::ContextId(rng.sized(32) as u32),
            10 => Packet::Vmid(rng.sized(8) as u8),
            11 => Packet::Trigger,
            12 => Packet::ExceptionReturn,
            13 => Packet::Ignore,
            _ => match cycles(rng) {
                Some(cycles) => Packet::CycleAtom { taken: rng.one_in(2), cycles },
                None => {
                    let count = 1 + rng.below(5) as u8;
                    Packet::Atoms(Atoms { bits: rng.below(1 << count) as u8, count })
                }
            },
        });
    }
    let mut bytes = Vec::new();
    packets.iter().for_each(|packet| packet.write(&params, &mut bytes));
    (registers, bytes)
}

/// Index and text of each packet line.
fn texts(text: &str) -> Vec<(String, String)> {
    let line = |line: &str| {
        let (index, rest) = line[line.find("Idx:")? + 4..].split_once("; ID:")?;
        Some((index.to_owned(), rest.split_once('\t')?.1.trim_end().to_owned()))
    };
    text.lines().filter_map(line).collect()
}

#[test]
fn opencsd_reads_what_we_write() {
    if !lister::available("ptm::opencsd_reads_what_we_write") {
        return;
    }
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let (registers, bytes) = random_stream(&mut rng);
        let scratch = Scratch::new(&format!("ptm-lister-{seed}"));
        let mut writer = SnapshotWriter::create(scratch.path()).unwrap();
        let buffer = writer.buffer("ETB_0", Packing::Source, &bytes[..]).unwrap();
        let core = writer.core("cpu_0", "Cortex-A15", &[]).unwrap();
        let values = [
            ("ETMCR", registers.etmcr.into()),
            ("ETMIDR", registers.etmidr.into()),
            ("ETMCCER", registers.etmccer.into()),
            ("ETMTRACEIDR", registers.etmtraceidr.into()),
        ];
        let source = writer.source("PTM_0", "PTM1.1", &values).unwrap();
        writer.connect(source, buffer, Some(core)).unwrap();
        writer.finish().unwrap();
        let theirs = Command::new("trc_pkt_lister")
            .args(["-ss_dir", scratch.path().to_str().unwrap(), "-logstdout"])
            .current_dir(scratch.path())
            .output()
            .unwrap();
        let theirs = texts(&String::from_utf8_lossy(&theirs.stdout));
        let ours = command("packets --style opencsd").arg(scratch.path()).output().unwrap();
        let ours = texts(&String::from_utf8_lossy(&ours.stdout));
        assert_eq!(ours.len(), 120, "seed {seed}");
        for (i, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            assert_eq!(ours, theirs, "seed {seed}, packet {i}, {registers:x?}");
        }
        assert_eq!(ours.len(), theirs.len(), "seed {seed}");
    }
}
