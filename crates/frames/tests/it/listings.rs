//! Real captures, compared with OpenCSD's listings.

use tracewright_frames::Format;
use tracewright_testkit::{captures_for, unpacked};

use crate::common::{Container, Event, deframe};

/// Parses `Idx:86; ID:10; [0x95 0xaf ]; I_NOT_SYNC : ...` into index, ID, bytes and packet.
fn packet_line(line: &str) -> Option<(u64, u8, Vec<u8>, &str)> {
    let (index, line) = line.strip_prefix("Idx:")?.split_once("; ID:")?;
    let (id, line) = line.split_once("; [0x")?;
    let (bytes, rest) = line.split_once(" ];")?;
    let bytes = bytes.split(" 0x").map(|byte| u8::from_str_radix(byte, 16)).collect::<Result<_, _>>().ok()?;
    Some((index.parse().ok()?, u8::from_str_radix(id, 16).ok()?, bytes, rest))
}

/// Checks that every packet of OpenCSD consists of the next bytes of its source, and begins at the index that we
/// compute.
fn check_packets(snapshot: &str, buffer: &str) {
    let Some(coresight) = captures_for(snapshot, "coresight") else { return };
    let Some(listing) = unpacked(snapshot, &coresight.join(format!("listings/{snapshot}.ppl.xz"))) else {
        return;
    };
    let input = std::fs::read(coresight.join(snapshot).join(buffer)).expect("the buffer of the listing");

    let events = deframe(Format::Aligned, Container::Plain, [&input[..]]).events;
    let mut streams = vec![Vec::new(); 128];
    for event in events {
        if let Event::Data { id, byte, opencsd_index, .. } = event {
            streams[usize::from(id)].push((byte, opencsd_index));
        }
    }
    let mut done = [0; 128];
    let mut packets = 0;
    for (index, id, bytes, what) in listing.lines().filter_map(packet_line) {
        let done = &mut done[usize::from(id)];
        let here = &streams[usize::from(id)][*done..][..bytes.len()];
        assert!(
            here.iter().map(|(byte, _)| *byte).eq(bytes.iter().copied()),
            "{snapshot}: ID {id:#x} Idx {index}"
        );
        // Before the first synchronisation, OpenCSD collects and numbers bytes in portions of its own.
        if !what.contains("NOT_SYNC") && !what.contains("NOTSYNC") {
            assert_eq!(here[0].1, index, "{snapshot}: ID {id:#x}, its byte {done}");
        }
        *done += bytes.len();
        packets += 1;
    }
    assert!(packets > 0, "{snapshot}");
    for (id, done) in (0..).zip(done).filter(|(_, done)| *done > 0) {
        // A packet that is cut by the end of the capture is not listed.
        let left = streams[id as usize].len() - done;
        assert!(left < 32, "{snapshot}: ID {id:#x}: {left} bytes of {done} not in the listing");
    }
}

#[test]
fn packets_are_those_of_opencsd() {
    check_packets("juno_r1_1", "cstrace.bin");
    check_packets("juno-uname-002", "trace.bin");
    check_packets("juno-ret-stck", "cstrace.bin");
    check_packets("a57_single_step", "CSTMC_TRACE_FIFO.bin");
    check_packets("TC2", "cstrace.bin");
}

/// A stream of a trace port in DSTREAM blocks. Its listing shows each group of bytes that OpenCSD took from a frame.
#[test]
fn a55_test_tpiu() {
    let Some(coresight) = captures_for("a55_test_tpiu", "coresight") else { return };
    let Some(listing) = unpacked("a55_test_tpiu", &coresight.join("listings/a55-test-tpiu.ppl.xz")) else {
        return;
    };
    let input =
        std::fs::read(coresight.join("a55-test-tpiu/DSTREAM_0.bin")).expect("the buffer of the listing");

    let record = deframe(Format::Fsync, Container::Dstream, [&input[..]]);
    let (mut source, mut padding) = (Vec::new(), 0);
    for line in listing.lines().filter_map(|line| line.strip_prefix("Frame Data; Index ")) {
        let Some((index, group)) = line.split_once(";   ID_DATA[0x") else { continue };
        let (id, bytes) = group.split_once("]; ").expect("an ID and bytes");
        let bytes = bytes.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).expect("a byte"));
        if id == "00" {
            padding += bytes.count() as u64;
        } else {
            let first: u64 = index.trim().parse().expect("an index");
            source.extend((first..).zip(bytes));
        }
    }
    let data = record.events.iter().filter_map(|event| match *event {
        Event::Data { id: 1, byte, opencsd_index, .. } => Some((opencsd_index, byte)),
        _ => None,
    });
    assert!(source.len() > 30_000);
    assert_eq!(data.collect::<Vec<_>>(), source);
    assert_eq!(record.padding, padding);
}
