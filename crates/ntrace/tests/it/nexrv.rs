//! The reference encoder's outputs.

use std::path::Path;

use tracewright_ntrace::Params;
use tracewright_ntrace::packet::{self, MessageBytes, Packet};
use tracewright_ntrace::stream::{Content, Parser};
use tracewright_testkit::ntrace::read;
use tracewright_testkit::{captures_for, unpacked_bytes};

/// A trace by the reference encoder.
struct Trace {
    name: String,
    bytes: Vec<u8>,
}

/// Returns all traces of the reference encoder, if they and `xz` are available.
fn traces(test: &str) -> Vec<Trace> {
    let Some(folder) = captures_for(test, "riscv/ntrace") else { return Vec::new() };
    let mut traces =
        vec![Trace { name: "t1".into(), bytes: std::fs::read(folder.join("t1/test-NEX.bin")).unwrap() }];
    let mut files: Vec<_> =
        std::fs::read_dir(folder.join("nexrv")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy();
        let Some(name) = name.strip_suffix(".nex.bin.xz") else { continue };
        if let Some(bytes) = unpacked_bytes(test, &path) {
            traces.push(Trace { name: name.to_owned(), bytes });
        }
    }
    traces
}

/// Messages and bytes that the reference encoder says it wrote.
fn stats(folder: &Path, name: &str) -> Option<(usize, usize)> {
    let text = std::fs::read_to_string(folder.join("nexrv/SUMMARY_measured.txt")).unwrap();
    let (program, option) = name.rsplit_once('-')?;
    let line = text.lines().find(|line| line.starts_with(&format!("{program} {option} ")))?;
    let words: Vec<_> = line.split_whitespace().collect();
    Some((words[4].parse().unwrap(), words[2].parse().unwrap()))
}

/// Every message is read and rewritten to the byte, and there are as many as the encoder counted.
#[test]
fn messages_are_rewritten_to_the_byte() {
    let traces = traces("messages_are_rewritten_to_the_byte");
    let Some(folder) = captures_for("messages_are_rewritten_to_the_byte", "riscv/ntrace") else { return };
    let (mut all, mut counted) = (0, 0);
    for Trace { name, bytes } in &traces {
        let told = read(Parser::new(Params::default()), [&bytes[..]]);
        let mut again: Vec<u8> = Vec::new();
        for (offset, _, message) in &told {
            let Content::Packet(packet) = message.content else { panic!("{name}: {offset:#x} {message:?}") };
            let mut bytes = MessageBytes::default();
            packet::emit(&packet, 0, None, &Params::default(), &mut bytes).unwrap();
            again.extend(&bytes[..]);
        }
        assert!(again == *bytes, "{name}");
        if let Some(stats) = stats(&folder, name) {
            assert_eq!((told.len(), bytes.len()), stats, "{name}");
            counted += 1;
        }
        all += told.len();
    }
    assert!(traces.len() == 51 && counted == 30 && all > 1_000_000, "{} {counted} {all}", traces.len());
}

/// The last message of the example: half-words and branches.
#[test]
fn the_last_message() {
    let Some(folder) = captures_for("the_last_message", "riscv/ntrace/t1") else { return };
    let told =
        read(Parser::new(Params::default()), [&std::fs::read(folder.join("test-NEX.bin")).unwrap()[..]]);
    let last = Packet::ProgTraceCorrelation { evcode: 0, cdf: 1, icnt: 0x45eea, hist: Some(0x2d) };
    assert_eq!((told.len(), told[366].2.content), (367, Content::Packet(last)));
}
