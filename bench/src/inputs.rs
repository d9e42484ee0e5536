//! The inputs and their answers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tracewright_core::{Element, MemorySpace};
use tracewright_etm::encode::{self, Encoder};
use tracewright_etm::{Params, Registers};
use tracewright_frames::{Framer, Options};
use tracewright_image::Image;
use tracewright_input::{Capture, Protocol};
use tracewright_testkit::program::{self, Executor, Happenings};
use tracewright_testkit::{Rng, broadcast, captures, skip};

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
    /// The program, if it is at hand: raw files with their addresses, and all of it.
    pub files: Vec<(PathBuf, u64)>,
    pub image: Image,
}

impl Input {
    /// The bytes a layer reads.
    pub fn bytes(&self, layer: Layer) -> &[u8] {
        if layer == Layer::Packets { &self.unframed } else { &self.framed }
    }

    /// Whether the layer can be measured with it.
    pub fn has(&self, layer: Layer) -> bool {
        !matches!(layer, Layer::Blocks | Layer::Profile) || !self.files.is_empty()
    }

    /// Checks packets and digest of the framed bytes against what was found when the benchmark was written.
    pub fn check(&self, answer: &Answer) -> Result<(), String> {
        let packets: u64 =
            answer.counts.iter().filter(|(kind, _)| *kind != "I_NOT_SYNC").map(|(_, n)| n).sum();
        let (expected, digest) = self.expected;
        if (packets, answer.digest) == (expected, Some(digest)) {
            return Ok(());
        }
        Err(format!("{packets} packets, digest {:x?}; expected {expected}, {digest:#x}", answer.digest))
    }
}

/// Bytes of the generated inputs.
const LEN: usize = 1 << 20;

/// All inputs that can be had here.
pub fn all() -> Vec<Input> {
    let mut inputs = vec![
        executed("(e) encoder-made, 50 M instructions", 50_000_000, (3_288_265, 0x86f3_53ae_6a9c_dc5b)),
        broadcast("(b) worst case, a program", broadcast::program(1, LEN), (880_753, 0xecdb_c276_2cbe_8f2a)),
        broadcast("(c) worst case, noise", broadcast::noise(1, LEN), (738_621, 0xf855_2908_dc8f_8f17)),
    ];
    match captures() {
        Some(captures) => {
            let capture = |name, folder, expected| {
                let capture = Capture::open(&captures.join("coresight").join(folder)).expect("a snapshot");
                from_capture(name, &capture, expected)
            };
            let largest = (687_740, 0xa78a_dcb2_aca2_a0cf);
            inputs.insert(0, capture("(a) largest capture", "bugfix-exact-match", largest));
            let switching = (31_050, 0x7465_5b91_b7b5_8d96);
            inputs.push(capture("(d) five sources", "juno_r1_1", switching));
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
    let files = capture.memory.iter().map(|dump| (dump.path.clone(), dump.address)).collect();
    let (image, _) = capture.image(&[]);
    Input { name, framed, unframed, sources, main, expected, files, image }
}

/// How OpenCSD's driver is told of an ETMv4 source.
fn spec(id: u8, registers: &[u64; 5]) -> String {
    let registers: Vec<_> = registers.iter().map(|value| format!("{value:x}")).collect();
    format!("{id:x},etm4,{}", registers.join(","))
}

/// A random program that runs `instructions` instructions, as our encoder traces it: return stack off, as Linux has it.
fn executed(name: &'static str, instructions: u64, expected: (u64, u64)) -> Input {
    let mut rng = Rng::new(1);
    let program = program::generate_computing(&mut rng, 20_000);
    // WFXMODE: OpenCSD then cuts at waits as we always do, and the answers compare.
    let registers = Registers {
        trctraceidr: 0x10,
        trcidr0: 0x2800_0ea1,
        trcidr1: 0x4100_f430,
        trcidr2: 0x8000_0488,
        ..Registers::default()
    };
    let params = Params::new(&registers).expect("valid registers");
    let options = encode::Options::default();
    let mut encoder = Encoder::new(&registers, options).expect("valid registers");
    let mut unframed = Vec::new();
    // An interrupt in a hundred thousand instructions.
    let happenings = Happenings { exceptions: 20_000, ..Happenings::default() };
    let mut executor = Executor::new(&program, rng, happenings);
    executor.run(instructions, |element| encoder.element(element, &mut unframed).expect("can be said"));
    encoder.element(&Element::End, &mut unframed).expect("can be said");
    let (mut builder, mut files) = (Image::builder(), Vec::new());
    for (i, segment) in program.segments.iter().enumerate() {
        let path = out_dir().join(format!("program{i}.bin"));
        fs::write(&path, &segment.bytes).expect("can be written");
        let bytes = segment.bytes.clone().into();
        builder.raw("program", bytes, segment.address, MemorySpace::ANY).expect("is not empty");
        files.push((path, segment.address));
    }
    let image = builder.build();
    Input { files, image, ..single(name, &registers, &params, unframed, expected) }
}

/// Where generated files go.
pub fn out_dir() -> PathBuf {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("out");
    fs::create_dir_all(&dir).expect("can be made");
    dir
}

fn broadcast(name: &'static str, unframed: Vec<u8>, expected: (u64, u64)) -> Input {
    let registers = broadcast::registers();
    let params = Params::new(&registers).expect("valid registers");
    single(name, &registers, &params, unframed, expected)
}

/// The stream of a single source.
fn single(
    name: &'static str,
    r: &Registers,
    params: &Params,
    unframed: Vec<u8>,
    expected: (u64, u64),
) -> Input {
    let values = [r.trcconfigr, r.trcidr0, r.trcidr1, r.trcidr2, r.trcidr8].map(u64::from);
    let mut framed = Vec::new();
    let mut framer = Framer::new(Options::default());
    framer.push(params.id(), &unframed, &mut framed).expect("a source's ID");
    framer.flush(&mut framed);
    let sources = vec![(spec(params.id().get(), &values), params.clone())];
    let image = Image::builder().build();
    Input { name, framed, unframed, sources, main: 0, expected, files: Vec::new(), image }
}

/// Bytes by trace ID.
pub type Streams = BTreeMap<u8, Vec<u8>>;
