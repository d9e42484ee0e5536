//! Serial Wire Output as people record it: `info` recognises it, and the line that it prints reads it.

use std::fs;

use tracewright_core::TraceId;
use tracewright_frames::{Framer, Line, Options};
use tracewright_testkit::Scratch;

use crate::run::run;
use crate::support::swo::{self, sampled};

/// Puts bytes into frames of ID 1, with a frame sync every eight.
fn framed(bytes: &[u8]) -> Vec<u8> {
    let mut framer = Framer::new(Options { fsync_every: 8.try_into().ok(), hsync_every: None });
    let mut frames = Vec::new();
    framer.push(TraceId::new(1).unwrap(), bytes, &mut frames).unwrap();
    framer.flush(&mut frames);
    frames
}

/// All ways in which the same bytes come: packing, file, and what `info` says of it.
fn recordings(bytes: &[u8]) -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let mut aligned = Vec::new();
    let mut framer = Framer::new(Options::default());
    framer.push(TraceId::new(1).unwrap(), bytes, &mut aligned).unwrap();
    framer.flush(&mut aligned);
    let (uart, manchester) = (Line::Uart, Line::Manchester);
    vec![
        ("source", bytes.to_vec(), "one source, unframed\n"),
        ("coresight", aligned, "CoreSight frames\n"),
        ("fsync", framed(bytes), "CoreSight frames with frame syncs\n"),
        (
            "uart",
            sampled(uart, 12.5, bytes),
            "samples of a serial line (UART), one source, 12.5 samples a bit\n",
        ),
        (
            "manchester",
            sampled(manchester, 9.3, bytes),
            "samples of a serial line (Manchester code), one source, 9.3 samples a bit\n",
        ),
        (
            "uart-fsync",
            sampled(uart, 6.0, &framed(bytes)),
            "samples of a serial line (UART), CoreSight frames with frame syncs, 6.0 samples a bit\n",
        ),
        (
            "manchester-fsync",
            sampled(manchester, 20.0, &framed(bytes)),
            "samples of a serial line (Manchester code), CoreSight frames with frame syncs, 20.0 samples a bit\n",
        ),
    ]
}

/// Returns the first line that `info` suggests.
fn suggested(info: &str) -> String {
    let (_, after) = info.split_once("  try      ").unwrap_or_else(|| panic!("nothing to try:\n{info}"));
    let mut words = String::new();
    for line in after.lines() {
        words += line.trim_end_matches('\\');
        if !line.ends_with('\\') {
            break;
        }
    }
    words
}

#[test]
fn every_recording_is_recognised_and_read() {
    let place = Scratch::new("swo-recordings");
    let file = place.join("swo.bin");
    for syncs in [true, false] {
        let bytes = swo::trace(syncs);
        for (packing, samples, words) in recordings(&bytes) {
            // Frames without a pattern inside are recognised if there are many.
            let is_framed = packing == "coresight" || packing.contains("fsync");
            if is_framed && !syncs {
                continue;
            }
            fs::write(&file, &samples).unwrap();
            let info = run!("info {file}");
            assert_eq!(info.status, Some(0), "{packing}: {}", info.err);
            assert!(info.out.contains(&format!("looks like {words}")), "{packing}: {}", info.out);
            assert!(info.out.contains("  ITM: "), "{packing}: {}", info.out);
            let options = suggested(&info.out);
            assert!(options.starts_with(&format!("--packing {packing} --source itm")), "{options}");
            assert_eq!(options.contains("sync=0"), !syncs, "{packing}: {options}");
            let ran = run!("packets {file} {options} --text 0");
            assert_eq!((ran.status, &*ran.out), (Some(0), swo::TEXT), "{packing}: {}", ran.err);
            let decoded = run!("decode {file} {options} --json");
            assert_eq!(decoded.status, Some(0), "{packing}: {}", decoded.err);
            // Offsets are those of the samples.
            let offsets: Vec<_> = decoded
                .out
                .lines()
                .filter_map(|line| {
                    serde_json::from_str::<serde_json::Value>(line).unwrap()["offset"].as_u64()
                })
                .collect();
            let last = *offsets.last().unwrap();
            assert!(offsets.is_sorted() && last <= samples.len() as u64, "{packing}: {offsets:?}");
            assert!(last > samples.len() as u64 * 9 / 10, "{packing}: {last} of {}", samples.len());
        }
    }
}

#[test]
fn damage_of_a_line_is_told() {
    let place = Scratch::new("swo-damage");
    let file = place.join("swo.bin");
    for line in [Line::Uart, Line::Manchester] {
        let packing = if line == Line::Uart { "uart" } else { "manchester" };
        let mut samples = sampled(line, 12.0, &swo::trace(true));
        let middle = samples.len() / 2;
        samples[middle..middle + 40].fill(0x33);
        fs::write(&file, &samples).unwrap();
        let ran = run!("packets {file} --packing {packing} --source itm --text 0");
        assert_eq!(ran.status, Some(1), "{packing}: {}", ran.err);
        assert!(ran.err.contains("lost: no characters of a serial line"), "{packing}: {}", ran.err);
        assert!(swo::TEXT.starts_with(ran.out.split('[').next().unwrap()), "{packing}: {}", ran.out);
        // A line that only idles has nothing to read.
        fs::write(&file, vec![samples[0]; 1000]).unwrap();
        let idle = run!("packets {file} --packing {packing} --source itm");
        assert_eq!(idle.status, Some(2), "{packing}: {}", idle.err);
        assert!(idle.err.contains("no data of any source"), "{packing}: {}", idle.err);
    }
    let two = run!("packets {file} --packing uart --source itm --source itm,id=2");
    assert!(two.err.contains("holds only one source's bytes"), "{}", two.err);
}
