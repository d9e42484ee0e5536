//! A protocol of a few lines, registered in one place, works wherever captures are made.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracewright_capture::control::{ControlRequest, EventList};
use tracewright_capture::protocol::{Executed, Place, Protocol, Request, Subject, TraceWriter, Traced};
use tracewright_capture::record::{
    Loaded, LogOutput, Outputs, ReadOptions, Recording, RunOptions, read, run,
};
use tracewright_capture::{
    CaptureOptions, Condition, DynTraceSink, Error, Protocols, Remark, StopFlag, TraceSink, encode,
};
use tracewright_core::Block;
use tracewright_hart::linux::{Linux, Options};
use tracewright_hart::{Hart, HartSink};
use tracewright_image::Image;
use tracewright_input::OutputFolder;
use tracewright_testkit::Scratch;

/// A protocol that writes where each block begins, in eight bytes.
static TOY: Protocol = Protocol {
    name: "toy",
    about: "where blocks begin",
    help: || "Options of the toy: none\n".into(),
    supports: |_| true,
    has_data: false,
    create,
};

fn create(place: Place<'_>, request: &Request<'_>) -> Result<Box<dyn TraceWriter>, Error> {
    if let Some(option) = request.options.first() {
        return Err(Error::UnknownOption { name: option.clone(), protocol: "the toy" });
    }
    Ok(Box::new(ToyWriter { folder: place.claim()?, threads: Vec::new() }))
}

struct ToyWriter {
    folder: OutputFolder,
    threads: Vec<ToySink>,
}

#[derive(Default)]
struct ToySink(Vec<u8>);

impl HartSink for ToySink {
    fn block(&mut self, block: &Block) {
        self.0.extend(block.start.to_le_bytes());
    }
}

impl TraceSink for ToySink {
    fn bytes(&self) -> u64 {
        self.0.len() as u64
    }
}

impl TraceWriter for ToyWriter {
    fn add_thread(&mut self, _: &Subject<'_>, _: &mut Vec<Remark>) -> Result<(), Error> {
        self.threads.push(ToySink::default());
        Ok(())
    }

    fn sink(&mut self, thread: usize) -> &mut dyn DynTraceSink {
        &mut self.threads[thread]
    }

    fn bytes(&self, thread: usize) -> u64 {
        self.threads[thread].bytes()
    }

    fn check(&self, _: usize) -> Result<(), Error> {
        Ok(())
    }

    fn finish(self: Box<Self>, _: Executed<'_>, _: &mut Vec<Remark>) -> Result<Traced, Error> {
        let bytes = self.threads.into_iter().flat_map(|thread| thread.0).collect::<Vec<_>>();
        self.folder.replace("trace.toy", &bytes)?;
        self.folder.finish()?;
        Ok(Traced { bytes: bytes.len() as u64, ..Traced::default() })
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A capture in a folder of its own, in the toy protocol.
fn capture(scratch: &Scratch) -> CaptureOptions {
    let mut protocols = Protocols::default();
    protocols.register(&TOY);
    let dir = scratch.path().join("capture");
    CaptureOptions { protocols, protocol: Some("toy".into()), ..CaptureOptions::new(&dir) }
}

/// The trace, which is removed.
fn trace(capture: &CaptureOptions) -> Vec<u8> {
    let bytes = fs::read(capture.dir.join("trace.toy")).unwrap();
    fs::remove_dir_all(&capture.dir).unwrap();
    bytes
}

fn record(outputs: Outputs, capture: Option<CaptureOptions>) -> Recording {
    let program = root().join("programs/bin/sort.elf");
    let (core, machine) = Linux::load(&program, Options::default()).unwrap();
    let loaded = Loaded::Linux(Box::new(Hart::new(core, machine)));
    let options = RunOptions { outputs, capture, ..RunOptions::new(&program) };
    run(loaded, options, &mut |_| {}, &mut Vec::new()).unwrap()
}

#[test]
fn a_toy_is_recorded_and_encoded() {
    let scratch = Scratch::new("toy");
    let mut whole = capture(&scratch);
    let protocols = whole.protocols.iter().map(|protocol| protocol.name).collect::<Vec<_>>();
    assert_eq!(protocols, ["etrace", "ntrace", "tacit", "etm4", "ptm", "etm3", "toy"]);
    // On the hart.
    let ran = record(Outputs::default(), Some(whole.clone()));
    let expected = trace(&whole);
    assert_eq!(expected.len() as u64, 8 * ran.counts.blocks);
    // From a log of the same run.
    let log = scratch.path().join("run.log");
    let output = LogOutput { path: log.clone(), ..LogOutput::default() };
    record(Outputs { log: Some(output), listing: None }, None);
    let options = |capture| ReadOptions {
        log: log.clone(),
        thread: None,
        is_rv32: false,
        programs: Vec::new(),
        image: Arc::new(Image::builder().build()),
        outputs: Outputs::default(),
        capture: Some(capture),
        stop: StopFlag::default(),
    };
    read(options(whole.clone()), &mut |_| {}, &mut Vec::new()).unwrap();
    assert_eq!(trace(&whole), expected);
    // A part of it.
    let when = ControlRequest::new(Condition::When, "instruction < 1000", EventList::default()).unwrap();
    whole.control = Some(when);
    let ran = record(Outputs::default(), Some(whole.clone()));
    assert_eq!(ran.qualified.unwrap().qualified, 1000);
    assert!(expected.starts_with(&trace(&whole)[..8 * 100]));
    // What it does not have is refused.
    whole.options.push("banana=1".into());
    let refused = read(options(whole), &mut |_| {}, &mut Vec::new()).unwrap_err();
    assert_eq!(refused.to_string(), "there is no option \"banana=1\" for the toy");
}

#[test]
fn threads_of_a_log_are_encoded_in_a_toy() {
    let scratch = Scratch::new("toy");
    let capture = capture(&scratch);
    let log = root().join("samples/retirement.log");
    let encoded = encode::retirement_log(&log, None, &capture, &mut Vec::new()).unwrap();
    assert!(encoded.threads.len() > 1 && encoded.instructions > 0);
    assert_eq!(trace(&capture).len() as u64, encoded.traced.bytes);
}
