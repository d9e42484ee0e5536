//! `packets --text`: what software wrote to stimulus ports and channels, as text.

use std::fs;

use tracewright_core::{Element, GapReason, Message, TraceId, Write};
use tracewright_coresight::{itm, stm};
use tracewright_frames::{Framer, Options};
use tracewright_testkit::Scratch;

use crate::book;
use crate::run::run;

/// Writes text in values of `bits`.
fn write(master: Option<u16>, channel: u32, bits: u8, text: &[u8]) -> Vec<Element> {
    let values = text.chunks(usize::from(bits / 8)).map(|bytes| {
        let mut value = [0; 8];
        value[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(value)
    });
    let message = |value| Message::Write(Write { master, channel, bits, value, ..Write::default() });
    values.map(|value| Element::Message(message(value))).collect()
}

fn itm(elements: &[Element]) -> Vec<u8> {
    let mut encoder = itm::encode::Encoder::new(
        &itm::Params::new(&itm::Registers::default()),
        itm::encode::Options::default(),
    );
    let mut bytes = Vec::new();
    for element in elements {
        assert!(encoder.element(element, &mut bytes), "{element:?}");
    }
    bytes
}

#[test]
fn text_of_ports_is_what_was_written() {
    let gap = Element::Gap { reason: GapReason::Overflow, from: 0, to: 0 };
    let elements = [
        write(None, 0, 8, b"hello\n\twor"),
        write(None, 1, 32, b"count=1\n\n"),
        write(None, 0, 16, b"ld \x1b[31m\xff\r\n"),
        // A port of another page.
        write(None, 35, 8, b"page 1\n"),
        write(None, 0, 8, b"cut"),
        vec![gap],
        write(None, 0, 8, b"off\n\nno end"),
    ]
    .concat();
    let place = Scratch::new("text-of-ports");
    let file = place.join("swo.bin");
    fs::write(&file, itm(&elements)).unwrap();
    let verb = format!("packets {file} --packing source --source itm,id=0x14");
    let ran = run!("{verb} --text 0");
    let expected = "hello\n\tworld \\x1b[31m\\\\xff\ncut\n[trace is missing: overflow: the trace unit could not keep up]\noff\n\nno end\n";
    assert_eq!(ran.out, expected.replace("\\\\xff", "\\xff"), "{}", ran.err);
    // Text may be missing.
    assert_eq!(ran.status, Some(1));
    let several = run!("{verb} --text 1,35");
    let expected = "port 1: count=1\nport 1: \nport 35: page 1\n[trace is missing: overflow: the trace unit could not keep up]\n";
    assert_eq!(several.out, expected);
    let lines = run!("{verb} --text 0 --json");
    let objects: Vec<serde_json::Value> =
        lines.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // The last line tells why the status is 1.
    objects[1..objects.len() - 1].iter().for_each(|object| book::json::check("packets", object));
    let texts: Vec<_> = objects.iter().filter_map(|object| object["text"].as_str()).collect();
    assert_eq!(texts, ["hello", "\tworld \u{1b}[31m\\xff", "cut", "off", "", "no end"]);
    let offsets: Vec<_> = objects.iter().filter_map(|object| object["offset"].as_u64()).collect();
    assert!(offsets.is_sorted() && offsets.len() == 7, "{offsets:?}");
    assert_eq!(objects.last().unwrap()["incomplete"][0], "lost-trace");
    let rows = run!("{verb} --text 0 --format csv");
    assert!(rows.out.starts_with("buffer,offset,id,kind,master,channel,text\n"), "{}", rows.out);
    assert_eq!(rows.out.lines().count(), 8, "{}", rows.out);
    // Nothing was written there, but elsewhere.
    let nothing = run!("{verb} --text 2");
    assert!(
        nothing.err.contains("no text was written to port or channel 2; something was to 0, 1, 35"),
        "{}",
        nothing.err
    );
}

#[test]
fn sources_and_masters_are_told_apart() {
    let of_itm = itm(&write(None, 3, 8, b"from the core\n"));
    let mut encoder = stm::encode::Encoder::new(stm::encode::Options::default());
    let mut of_stm = Vec::new();
    let mut written = Vec::new();
    // Two masters, letter by letter, in values of several sizes. A flag ends a message.
    for letters in b"one|two|".chunks(2) {
        written.extend(write(Some(64), 3, 16, letters));
        written.extend(write(Some(65), 3, 8, letters));
    }
    let flag = |master| {
        Element::Message(Message::Write(Write {
            master: Some(master),
            channel: 3,
            marked: true,
            ..Write::default()
        }))
    };
    written.extend([flag(65), flag(64)]);
    written.extend(write(Some(65), 3, 64, b"eight bytes\n"));
    written.iter().for_each(|element| encoder.element(element, &mut of_stm));
    let mut framer = Framer::new(Options::default());
    let mut frames = Vec::new();
    for (id, bytes) in [(0x14, &of_itm), (0x20, &of_stm)] {
        framer.push(TraceId::new(id).unwrap(), bytes, &mut frames).unwrap();
    }
    framer.flush(&mut frames);
    let place = Scratch::new("text-of-masters");
    let file = place.join("etb.bin");
    fs::write(&file, frames).unwrap();
    let verb =
        format!("packets {file} --packing coresight --source itm,id=0x14 --source stm,id=0x20 --text 3");
    let ran = run!("{verb}");
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    let mut lines: Vec<_> = ran.out.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines.len(), 4, "{}", ran.out);
    assert!(lines[0].ends_with(": from the core"), "{}", ran.out);
    assert!(lines[1].ends_with(" master 64: one|two|"), "{}", ran.out);
    assert!(lines[2].ends_with(" master 65: eight bytes"), "{}", ran.out);
    assert!(lines[3].ends_with(" master 65: one|two|"), "{}", ran.out);
    let objects = run!("{verb} --json").out;
    objects
        .lines()
        .skip(1)
        .for_each(|line| book::json::check("packets", &serde_json::from_str(line).unwrap()));
    let packets = run!("packets {file} --packing coresight --source itm,id=0x14 --source stm,id=0x20 --json");
    packets
        .out
        .lines()
        .skip(1)
        .for_each(|line| book::json::check("packets", &serde_json::from_str(line).unwrap()));
    let one = run!("{verb} --id 0x20");
    assert_eq!(one.out, "master 65: one|two|\nmaster 64: one|two|\nmaster 65: eight bytes\n");
    let refused = run!("packets {file} --packing coresight --source ptm,id=0x14,ETMCR=0 --text 3");
    assert_eq!(refused.status, Some(2));
    assert!(refused.err.contains("no source here has stimulus ports"), "{}", refused.err);
}
