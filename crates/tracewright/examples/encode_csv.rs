//! Encodes encoder inputs (CSV) as E-Trace, and compares the trace with given bytes: a check for a hardware encoder.
//!
//!     cargo run -p tracewright --example encode_csv -- inputs.csv trace.bin

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::path::Path;

use tracewright::Isa;
use tracewright::capture::{CaptureOptions, encode};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, csv, given] = &args[..] else { return Err("usage: encode_csv CSV BYTES".into()) };
    let folder = std::env::temp_dir().join(format!("encode_csv-{}", std::process::id()));
    let capture = CaptureOptions::new(&folder);
    let encoded = encode::encoder_input(Path::new(csv), Isa::Rv64, &[], &capture, &mut Vec::new())?;
    let trace = std::fs::read(folder.join("trace.bin"))?;
    std::fs::remove_dir_all(folder)?;
    let given = std::fs::read(given)?;
    println!("{} instructions in {} bytes", encoded.instructions, trace.len());
    match trace.iter().zip(&given).position(|(ours, theirs)| ours != theirs) {
        Some(offset) => Err(format!("the bytes differ from offset {offset:#x} on").into()),
        None if trace.len() != given.len() => Err(format!("{} bytes are given", given.len()).into()),
        None => Ok(()),
    }
}
