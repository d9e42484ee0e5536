//! Logs as CSV that cannot be, or have nothing in them.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use tracewright_image::Image;
use tracewright_testkit::Scratch;

use super::{Outputs, ReadOptions, Recording, read};
use crate::{CaptureOptions, Error, Remark, StopFlag};

const HEADER: &str = "VALID,ADDRESS,INSN,PRIVILEGE,EXCEPTION,ECAUSE,TVAL,INTERRUPT\n";

/// Encodes a log with these lines and options. Returns the result, remarks, and whether there is a capture.
fn encode(lines: &str, options: &[&str]) -> (Result<Recording, Error>, Vec<Remark>, bool) {
    let scratch = Scratch::new("record-csv");
    let log = scratch.write("log.csv", lines.as_bytes());
    let dir = PathBuf::from(scratch.join("out"));
    let options = options.iter().map(ToString::to_string).collect();
    let options = ReadOptions {
        log,
        thread: None,
        is_rv32: false,
        programs: Vec::new(),
        image: Arc::new(Image::builder().build()),
        outputs: Outputs::default(),
        capture: Some(CaptureOptions { options, ..CaptureOptions::new(&dir) }),
        stop: StopFlag::default(),
    };
    let mut remarks = Vec::new();
    let result = read(options, &mut |_| {}, &mut remarks);
    let has_capture = fs::exists(&dir).unwrap();
    (result, remarks, has_capture)
}

/// Returns the message of an encoding that makes no capture.
fn refused(lines: &str, options: &[&str]) -> String {
    let (result, _, has_capture) = encode(lines, options);
    assert!(!has_capture);
    let error = result.expect_err("no error").to_string();
    error.split_once(": ").expect("a path or an option").1.to_owned()
}

/// Two instructions, an exception with cause 11, and its handler.
const TRAPS: &str =
    "1,80000000,13,3,0,0,0,0\n1,80000004,13,3,0,0,0,0\n1,80000008,73,3,1,b,0,0\n1,80001002,13,3,0,0,0,0\n";

#[test]
fn what_does_not_fit_is_refused() {
    let log = format!("{HEADER}{TRAPS}");
    let (result, ..) = encode(&log, &[]);
    assert!(result.unwrap().log_error.is_none());
    for (option, what) in [
        ("ecause_width=2", "cause 11 does not fit ecause_width=2: no capture is written"),
        ("privilege_width=1", "privilege 3 does not fit privilege_width=1: no capture is written"),
        ("iaddress_width=16", "address 0x80000000 does not fit iaddress_width=16: no capture is written"),
        ("iaddress_lsb=2", "address 0x80001002 does not fit iaddress_lsb=2: no capture is written"),
    ] {
        assert_eq!(refused(&log, &[option]), what);
    }
}

#[test]
fn a_log_that_contradicts_itself_ends_there() {
    let log =
        format!("{HEADER}1,80000004,13,3,0,0,0,0\n1,80000008,fe029ee3,3,0,0,0,0\n1,80000100,13,3,0,0,0,0\n");
    let (result, remarks, has_capture) = encode(&log, &[]);
    let recording = result.unwrap();
    assert_eq!((recording.counts.instructions, has_capture), (2, true));
    let error = recording.log_error.unwrap().to_string();
    assert!(error.starts_with("line 4: does not follow from line 3: "), "{error}");
    assert!(remarks.iter().any(|remark| matches!(remark, Remark::LogDamaged(_, what) if *what == error)));
}

#[test]
fn nothing_is_no_capture() {
    assert_eq!(refused(HEADER, &[]), "the log has no instruction");
    let bad = refused(&format!("{HEADER}1,0x80000000,13,3,0,0,0,0\n"), &[]);
    assert_eq!(bad, "line 2: expected hexadecimal digits without 0x, found \"0x80000000\"");
    let head = refused(&HEADER.to_lowercase(), &[]);
    assert!(head.starts_with("line 1: expected VALID,ADDRESS,"), "{head}");
}
