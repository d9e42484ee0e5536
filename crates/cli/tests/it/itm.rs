//! ITM against OpenCSD 1.8.0's listings of a real chip's capture and of one of its own: packets and elements, per ID and in order.

use std::fs;
use std::path::Path;

use tracewright_core::{Delay, Element, ExceptionChange, Message, Watched};
use tracewright_coresight::itm::encode::{Encoder, Options};
use tracewright_coresight::itm::{Params, Registers};
use tracewright_testkit::Scratch;

use crate::run::{command, run};
use crate::support::opencsd::{each, unpack};

/// Captures with the ID of their ITM. That of `TC2` sent nothing.
const CAPTURES: [(&str, &str); 2] = [("itm_only_csformat", "14"), ("TC2", "20")];

/// The lines of an ID, of elements or of packets.
fn lines(text: &[u8], id: &str, elements: bool) -> Vec<String> {
    let of_id = format!("; ID:{id};");
    let text = String::from_utf8_lossy(text);
    let lines = text.lines().filter_map(|line| line.find("Idx:").map(|at| line[at..].trim_end()));
    let wanted = |line: &&str| line.contains(&of_id) && line.contains("OCSD_GEN_TRC_ELEM_") == elements;
    lines.filter(wanted).map(str::to_owned).collect()
}

fn check(coresight: &Path, name: &str) -> Option<()> {
    let listing = unpack(coresight, name).output().ok()?;
    assert!(listing.status.success(), "{name}");
    let id = CAPTURES.iter().find(|(capture, _)| *capture == name)?.1;
    for (verb, elements) in [("packets --style opencsd", false), ("decode --elements --style opencsd", true)]
    {
        let ours = command(verb).arg(coresight.join(name)).output().unwrap();
        let (ours, theirs) = (lines(&ours.stdout, id, elements), lines(&listing.stdout, id, elements));
        for (i, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            assert_eq!(ours, theirs, "{verb} {name}: line {i}");
        }
        assert_eq!(ours.len(), theirs.len(), "{verb} {name}: number of lines");
        assert!(!theirs.is_empty() || !elements, "{verb} {name}: nothing compared");
    }
    Some(())
}

#[test]
fn packets_and_elements_are_those_of_the_listings() {
    for (name, _) in CAPTURES {
        each("itm", name, check);
    }
}

/// A message of the DWT, and the cycles since the last one.
fn dwt(trace: &mut Vec<u8>, encoder: &mut Encoder, cycles: u64, message: Message) {
    let delay = Delay { timestamp: false, packet: false };
    for element in [Element::Message(message), Element::LocalTime { cycles, delay }] {
        assert!(encoder.element(&element, trace), "{element:?}");
    }
}

/// Exceptions that the DWT tells have names, durations in cycles and depths. A comparator tells threads.
#[test]
fn exceptions_and_threads_of_the_dwt() {
    use ExceptionChange::{Entered, Left, Resumed};
    let exception = |number, change| Message::Exception { number, change };
    let wrote = |value| Message::Watch { comparator: 1, watched: Watched::Wrote { size: 4, value } };
    let params = Params::new(&Registers { itmtcr: 0x0001_0110 });
    let mut encoder = Encoder::new(&params, Options::default());
    let mut trace = Vec::new();
    for turn in 0..50 {
        // SysTick every 4,000 cycles, for 400 or 800; in each second one IRQ4 comes for 200. In each fifth PendSV chooses a thread.
        let nested = turn % 2 == 1;
        dwt(&mut trace, &mut encoder, if nested { 3200 } else { 3600 }, exception(15, Entered));
        if nested {
            dwt(&mut trace, &mut encoder, 300, exception(20, Entered));
            dwt(&mut trace, &mut encoder, 200, exception(20, Left));
            dwt(&mut trace, &mut encoder, 0, exception(15, Resumed));
        }
        dwt(&mut trace, &mut encoder, if nested { 300 } else { 400 }, exception(15, Left));
        if turn % 5 == 4 {
            dwt(&mut trace, &mut encoder, 0, exception(14, Entered));
            dwt(&mut trace, &mut encoder, 40, wrote(0x2000_0000 + 0x100 * (turn % 3)));
            dwt(&mut trace, &mut encoder, 60, exception(14, Left));
        }
        dwt(&mut trace, &mut encoder, 0, exception(0, Resumed));
    }
    let place = Scratch::new("isr-of-dwt");
    let file = place.join("swo.bin");
    fs::write(&file, &trace).unwrap();
    // One step is four cycles.
    let isr = format!("isr {file} --packing source --source itm,ITMTCR=0x00010110");
    let ran = run!("{isr} --json");
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    let object = ran.json();
    let rows: Vec<_> = object["exceptions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let durations = &row["durations"];
            let of = |name: &str| durations[name].as_u64().unwrap();
            let name = row["name"].as_str().unwrap().to_owned();
            assert_eq!((&row["unit"], &row["unfinished"]), (&"cycles".into(), &0.into()));
            (
                name,
                row["count"].as_u64().unwrap(),
                row["interrupted"].as_u64().unwrap(),
                [of("shortest"), of("longest")],
            )
        })
        .collect();
    let expected = [
        ("PendSV".to_owned(), 10, 0, [100, 100]),
        ("SysTick".to_owned(), 50, 25, [400, 800]),
        ("IRQ4".to_owned(), 25, 0, [200, 200]),
    ];
    assert_eq!(rows, expected);
    assert_eq!(object["deepest"], 2);
    let threads = run!("{isr} --thread-comparator 1 --json").json();
    let names: Vec<_> = threads["threads"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["thread 0x20000000", "thread 0x20000100", "thread 0x20000200"]);
}

/// A trace without synchronisation packets, as most SWO lines have it, is read from its first byte.
#[test]
fn a_trace_without_synchronisation_packets_is_whole() {
    let place = Scratch::new("itm-without-sync");
    let file = place.join("swo.bin");
    fs::write(&file, [0x01, b'h', 0x01, b'i', 0x01, b'\n']).unwrap();
    for (verb, shows) in [
        ("packets", "value 0x68"),
        ("packets --text 0", "hi\n"),
        ("decode", "write port 0: 0x69"),
        ("stats", "3 packets, 6 bytes"),
    ] {
        let read = format!("{verb} {file} --packing source --source itm");
        let ran = run!("{read},sync=0");
        assert_eq!(ran.status, Some(0), "{verb}: {}", ran.err);
        assert!(ran.out.contains(shows), "{verb}: {}", ran.out);
        // Else nothing tells where packets begin.
        let ran = run!("{read}");
        assert_eq!(ran.status, Some(2), "{verb}: {}", ran.err);
    }
    fs::write(&file, []).unwrap();
    let empty = run!("decode {file} --packing source --source itm,sync=0");
    assert_eq!(empty.status, Some(2), "{}", empty.err);
}
