//! Memory does not grow with the length of a trace.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::run::{Ran, command};
use tracewright_core::Element;
use tracewright_etm::Registers;
use tracewright_etm::encode::{Encoder, Options};
use tracewright_testkit::program::{Executor, Happenings, Program, generate};
use tracewright_testkit::{Rng, Scratch};

/// Bytes of trace, unless MEMORY_TEST_BYTES says otherwise. (4 GB take a minute or so in release mode.)
const BYTES: usize = 64 << 20;
/// Resident memory allowed, in kB.
const MOST: u64 = 200_000;

#[test]
fn a_long_trace_needs_no_more_memory_than_a_short_one() {
    let bytes = std::env::var("MEMORY_TEST_BYTES").ok().and_then(|bytes| bytes.parse().ok()).unwrap_or(BYTES);
    let mut rng = Rng::new(7);
    let program = generate(&mut rng, 20_000);
    let (trace, instructions) = trace(&program, rng);
    let scratch = Scratch::new("memory");
    for detail in ["--summary", "--blocks"] {
        let mut command = command(format_args!("decode - --packing source --source etm4,id=0x10 {detail}"));
        for (i, segment) in program.segments.iter().enumerate() {
            let path = scratch.join(&format!("{i}.bin"));
            fs::write(&path, &segment.bytes).unwrap();
            command.args(["--image", &format!("{path}@{:#x}", segment.address)]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command starts");
        // Text is slower than counting.
        let times = bytes.div_ceil(trace.len()) / if detail == "--summary" { 1 } else { 16 };
        let mut stdin = child.stdin.take().unwrap();
        for _ in 0..times {
            stdin.write_all(&trace).expect("it reads on");
        }
        let peak = peak(child.id());
        drop(stdin);
        let ran = Ran::new(detail.into(), child.wait_with_output().unwrap()).ends(0);
        ran.says(format!("{} instructions", instructions * times as u64));
        match peak {
            Some(peak) => assert!(peak < MOST, "{detail}: {peak} kB for {bytes} bytes"),
            None => tracewright_testkit::skip("peak memory", "no /proc here"),
        }
    }
}

/// A trace, and how many instructions it tells.
fn trace(program: &Program, rng: Rng) -> (Vec<u8>, u64) {
    let mut trace = Vec::new();
    let mut instructions = 0;
    let registers = Registers { trctraceidr: 0x10, ..Registers::default() };
    let mut encoder = Encoder::new(&registers, Options::default()).unwrap();
    let mut tell = |element: &Element| {
        if let Element::Block(block) = element {
            instructions += u64::from(block.count);
        }
        encoder.element(element, &mut trace).unwrap();
    };
    Executor::new(program, rng, Happenings::default()).run(2_000_000, &mut tell);
    tell(&Element::End);
    (trace, instructions)
}

/// Peak resident memory of a process in kB.
fn peak(id: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
