//! The inputs and their answers.

use std::collections::BTreeMap;
use std::fs;

use tracewright_core::TraceId;
use tracewright_etm::{Params, Registers};
use tracewright_frames::{Framer, Options};
use tracewright_input::{Capture, Protocol};
use tracewright_testkit::{captures, etm, skip};

use crate::Layer;
use crate::answer::Answer;
use crate::ours;

/// Bytes to read, framed and unframed, with the answer that a correct reader gives.
pub struct Input {
    /// Its name in tables.
    pub name: &'static str,
    framed: Vec<u8>,
    /// The bytes of the source with the most, unframed.
    unframed: Vec<u8>,
    /// The sources in the frames: registers as OpenCSD's driver takes them, and our parameters.
    pub sources: Vec<(String, Params)>,
    /// Which of them is unframed.
    pub main: usize,
    /// Packets and digest of the framed bytes, as found when the benchmark was written.
    expected: (u64, u64),
}

impl Input {
    /// The bytes a layer reads.
    pub fn bytes(&self, layer: Layer) -> &[u8] {
        if layer == Layer::Packets { &self.unframed } else { &self.framed }
    }

    /// What a layer must find: packets were counted once and for all, the rest follows from a second, naive reader.
    pub fn answer(&self, layer: Layer) -> Answer {
        let (_, answer) = ours::run(self, layer, 1);
        if layer == Layer::Both {
            let packets: u64 =
                answer.counts.iter().filter(|(kind, _)| *kind != "I_NOT_SYNC").map(|(_, n)| n).sum();
            assert_eq!((packets, answer.digest), (self.expected.0, Some(self.expected.1)), "{}", self.name);
        }
        answer
    }
}

/// All inputs that can be had here.
pub fn all() -> Vec<Input> {
    let mut inputs = vec![worst_case()];
    match captures() {
        Some(captures) => {
            let capture = |name: &'static str, folder: &str, expected| {
                let capture = Capture::open(&captures.join("coresight").join(folder)).expect("a snapshot");
                from_capture(name, &capture, expected)
            };
            inputs.insert(
                0,
                capture("(a) largest capture", "bugfix-exact-match", (687_740, 0xa78a_dcb2_aca2_a0cf)),
            );
            inputs.push(capture("(c) many sources", "juno_r1_1", (31_050, 0x7465_5b91_b7b5_8d96)));
        }
        None => skip("benchmarks on captures", "no shared captures"),
    }
    inputs
}

fn from_capture(name: &'static str, capture: &Capture, expected: (u64, u64)) -> Input {
    let buffer = &capture.buffers[0];
    let framed = fs::read(&buffer.path).expect("the trace file");
    let mut sources = Vec::new();
    for &index in &buffer.sources {
        let source = &capture.sources[index];
        if let Protocol::Etm(params) = &source.protocol {
            let register = |name| source.register(name).unwrap_or(0);
            let spec = spec(
                params.id().get(),
                &["TRCCONFIGR", "TRCIDR0", "TRCIDR1", "TRCIDR2", "TRCIDR8"].map(register),
            );
            sources.push((spec, (**params).clone()));
        }
    }
    let streams = ours::deframe(&framed);
    let bytes_of = |params: &Params| streams.get(&params.id().get()).cloned().unwrap_or_default();
    let main = (0..sources.len()).max_by_key(|&i| bytes_of(&sources[i].1).len()).unwrap_or(0);
    let unframed = bytes_of(&sources[main].1);
    Input { name, framed, unframed, sources, main, expected }
}

/// How OpenCSD's driver is told of an ETMv4 source.
fn spec(id: u8, registers: &[u64; 5]) -> String {
    let registers: Vec<_> = registers.iter().map(|value| format!("{value:x}")).collect();
    format!("{id:x},etm4,{}", registers.join(","))
}

fn worst_case() -> Input {
    let unframed = etm::worst_case(1, 1 << 20);
    let r: Registers = etm::broadcast_registers();
    let params = Params::new(&r).expect("valid registers");
    let values = [r.trcconfigr, r.trcidr0, r.trcidr1, r.trcidr2, r.trcidr8].map(u64::from);
    let mut framed = Vec::new();
    let mut framer = Framer::new(Options::default());
    framer.push(TraceId::from_low_bits(r.trctraceidr as u8), &unframed, &mut framed).expect("a source's ID");
    framer.flush(&mut framed);
    let sources = vec![(spec(r.trctraceidr as u8, &values), params)];
    Input {
        name: "(b) worst case",
        framed,
        unframed,
        sources,
        main: 0,
        expected: (739_782, 0x6efbf4ee3cb1f6d1),
    }
}

/// Bytes by trace ID.
pub type Streams = BTreeMap<u8, Vec<u8>>;
