//! STM against OpenCSD 1.8.0's listings of real chips' captures: packets and elements, in order; and the verbs on them.

use std::path::Path;

use crate::run::{command, ran};
use crate::support::opencsd::{each, unpack};
use tracewright_testkit::captures_for;

/// The lines of elements or of packets. Where bytes are skipped over several runs of frames, OpenCSD shows bytes from behind its input:
/// these lines are left out (see DIFFERENCES.md).
fn lines(text: &[u8], elements: bool, with_skipped: bool) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let lines = text.lines().filter_map(|line| Some(line[line.find("Idx:")?..].trim_end().to_owned()));
    let is_wanted = |line: &String| {
        line.contains("OCSD_GEN_TRC_ELEM_") == elements && (with_skipped || !line.contains("NOTSYNC:"))
    };
    lines.filter(is_wanted).collect()
}

fn check(coresight: &Path, name: &str) -> Option<()> {
    let listing = unpack(coresight, name).output().ok()?;
    assert!(listing.status.success(), "{name}");
    for (verb, elements) in [
        ("packets --style opencsd", false),
        ("decode --elements --style opencsd --jobs 1", true),
        ("decode --elements --style opencsd --jobs 3", true),
    ] {
        let ours = command(verb).arg(coresight.join(name)).output().unwrap();
        let with_skipped = name == "stm-issue-27";
        let [ours, theirs] = [&ours, &listing].map(|of| lines(&of.stdout, elements, with_skipped));
        assert!(theirs.len() > 100);
        for (index, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            assert_eq!(ours, theirs, "{verb} {name}: line {index}");
        }
        assert_eq!(ours.len(), theirs.len(), "{verb} {name}: number of lines");
    }
    Some(())
}

#[test]
fn packets_and_elements_are_those_of_the_listings() {
    each("stm", "stm_only stm_only-2 stm-issue-27", check);
}

#[test]
fn verbs_read_messages() {
    let Some(coresight) = captures_for("verbs_read_messages", "coresight") else { return };
    let run = |verb: &str, name: &str| {
        let mut command = command(verb);
        command.arg(coresight.join(name));
        ran(&mut command)
    };
    let info = run("info", "stm-issue-27");
    assert!(info.out.contains("STM (STPv2)"), "{}", info.out);
    // The last byte of a packet may be the first of the next.
    let packets = run("packets", "stm-issue-27");
    let expected = "0x20  0x10  06 00 00 10 .5     D32: 0x00000015";
    assert!(packets.out.contains(expected), "{}", packets.out);
    assert!(packets.out.contains("0x24  0x10  6. ff ff ff 00     D32: 0xffffff00"), "{}", packets.out);
    let json = run("packets --json", "stm-issue-27");
    let expected =
        r#""offset":36,"id":16,"kind":"D32","hex":"65ffffff00","half":1,"bits":32,"value":"0xffffff00""#;
    assert!(json.out.contains(expected), "{}", json.out);
    // Each byte counts once.
    let stats = run("stats", "stm-issue-27");
    assert!(stats.out.contains("169 packets, 714 bytes"), "{}", stats.out);
    let decode = run("decode", "stm-issue-27");
    assert!(decode.out.contains("write master 64 channel 1152: 0x01021010, marked"), "{}", decode.out);
    // The second buffer of Juno is that of its STM.
    let juno = run("packets --buffer ETB_1 --id 0x20", "juno_r1_1");
    assert!(juno.out.contains("D32M: 0x10000004"), "{}", juno.out);
}

#[test]
fn bytes_without_a_snapshot() {
    let folder = tracewright_testkit::Scratch::new("stm-raw");
    // ASYNC, VERSION 3, M8 0x41, D8 0x2a, and a NULL.
    let mut bytes = vec![0xff; 10];
    bytes.extend([0x0f, 0x0f, 0x30, 0x41, 0x41, 0x2a, 0x00]);
    std::fs::write(folder.join("raw.bin"), &bytes).unwrap();
    let mut command = command("decode --elements --packing source --source stm,id=0x20");
    let ran = ran(command.arg(folder.join("raw.bin")));
    assert!(ran.out.contains("write master 65 channel 0: 0xa2"), "{}\n{}", ran.out, ran.err);
}
