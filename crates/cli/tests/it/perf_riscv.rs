//! Recordings of perf with RISC-V trace, in both layouts: each block must come from the program of the process that ran it.

use std::fs;

use tracewright_core::TraceId;
use tracewright_frames::{Framer, Options};
use tracewright_testkit::perf::{Form as FileForm, Recording, who};
use tracewright_testkit::{Rng, Scratch};

use crate::run::{run, text};
use crate::support::riscv_perf::{Form, Made, Ran, blocks};

const FORMS: [Form; 3] = [Form::Ntrace, Form::Bare, Form::Etrace];

/// A recording of many slices on two CPUs.
fn made(form: Form, seed: u64) -> Made {
    let (mut made, mut rng) = (Made::new(form), Rng::new(seed));
    for turn in 0..20 {
        let cpu = turn % 2;
        let (bytes, tid) = made.slice(cpu, &mut rng);
        made.add(cpu, tid, &bytes);
    }
    made
}

#[test]
fn processes_are_kept_apart() {
    for (seed, form) in (1..).zip(FORMS) {
        let scratch = Scratch::new(&format!("perf-riscv-{form:?}"));
        let mut made = made(form, seed);
        let root = made.install(&scratch);
        let path = made.write(&scratch, FileForm::File);
        made.compare(&path, &root);
    }
}

#[test]
fn pipes_and_compressed_files_are_the_same() {
    let forms = [FileForm::Pipe, FileForm::Compressed, FileForm::Compressed2, FileForm::CompressedTrace];
    for (seed, form) in (10..).zip(forms) {
        let scratch = Scratch::new(&format!("perf-riscv-{form:?}"));
        let mut made = made(Form::Ntrace, seed);
        let root = made.install(&scratch);
        let path = made.write(&scratch, form);
        made.compare(&path, &root);
    }
}

/// Bytes of two CPUs in frames, with a trace ID each that changes anywhere, also inside messages.
fn framed(streams: [&[u8]; 2], rng: &mut Rng) -> Vec<u8> {
    let (mut framer, mut frames) = (Framer::new(Options::default()), Vec::new());
    let mut rest = streams;
    while rest.iter().any(|rest| !rest.is_empty()) {
        let which = rng.below(2) as usize;
        let len = (1 + rng.below(20) as usize).min(rest[which].len());
        let (now, later) = rest[which].split_at(len);
        // The IDs are not the numbers of CPUs.
        framer.push(TraceId::new(0x20 - which as u8).unwrap(), now, &mut frames).unwrap();
        rest[which] = later;
    }
    framer.flush(&mut frames);
    frames
}

#[test]
fn frames_of_spacemit_hold_messages_of_all_cpus() {
    let scratch = Scratch::new("perf-riscv-spacemit");
    let (mut made, mut rng) = (Made::new(Form::Spacemit), Rng::new(4));
    let root = made.install(&scratch);
    for _ in 0..12 {
        let mut frames = Vec::new();
        let mut first = 0;
        for _ in 0..1 + rng.below(3) {
            let [one, other] = [0, 1].map(|cpu| made.slice(cpu, &mut rng));
            frames.extend(framed([&one.0, &other.0], &mut rng));
            // perf puts a barrier wherever it joins two recordings.
            frames.extend([[0xff, 0xff, 0xff, 0x7f]; 4].concat());
            first = one.1;
        }
        made.add(0, first, &frames);
    }
    let path = made.write(&scratch, FileForm::File);
    made.compare(&path, &root);
    // What is listed of packets is all there is.
    let line = made.line(&path, &root);
    let stats = run!("stats {line}").ends(0);
    stats.prints("Ownership").prints("ProgTraceSync");
}

/// The example of the fact sheet: two messages of one CPU, and idle bytes.
#[test]
fn the_example_of_a_frame() {
    let frame = [0x21, 0x24, 0xa4, 1, 0, 0, 0, 0, 0, 7, 8, 0xc4, 0xa0, 0x0b, 0xfe, 0x80];
    let mut recording = Recording::new();
    let words = [0xc_0000_0002, 0, 5, 1, 1, 0, 3, 0, 1, 5, 1, 1, 0, 3, 1];
    recording.machine("riscv64").unit_names(&[(12, "rvtrace")]).units_of(8, &words);
    recording.aux(who(7, 5), 0, 16, 0).trace(0, 0, &frame);
    let scratch = Scratch::new("perf-riscv-frame");
    let path = scratch.write("perf.data", &recording.write(FileForm::File));
    let packets = run!("packets {}", text(&path)).good();
    for part in ["ProgTraceSync sync=5 icnt=0x0", "faddr=0x40000000", "Ownership process=0x546"] {
        assert!(packets.contains(part), "{part}: {packets}");
    }
}

/// Whether all of these ran, in this order.
fn are_among(told: &[Ran], ran: &[Ran]) -> bool {
    let mut ran = ran.iter();
    told.iter().all(|told| ran.any(|ran| ran == told))
}

/// Slices that begin inside a message, because the encoder's memory has wrapped, and slices that end inside one: what is told has run.
#[test]
fn slices_that_begin_or_end_inside_a_message() {
    for (seed, form) in (20..).zip([Form::Ntrace, Form::Bare]) {
        let scratch = Scratch::new(&format!("perf-riscv-wrapped-{form:?}"));
        let (mut made, mut rng) = (Made::new(form), Rng::new(seed));
        let root = made.install(&scratch);
        for _ in 0..20 {
            let (bytes, tid) = made.slice(0, &mut rng);
            if bytes.len() < 64 {
                continue;
            }
            let from = rng.below(bytes.len() as u64 / 8) as usize;
            let upto = bytes.len() - rng.below(bytes.len() as u64 / 8) as usize;
            made.add(0, tid, &bytes[from..upto]);
        }
        let path = made.write(&scratch, FileForm::File);
        let decoded = run!("decode --json {}", made.line(&path, &root));
        let (told, ran) = (&blocks(made.form, &decoded.out)[&0], made.ran(0));
        assert!(told.len() > ran.len() / 4, "{form:?}: {} of {}", told.len(), ran.len());
        // The last block of a slice may be cut.
        let whole: Vec<_> = told.iter().copied().filter(|told| ran.contains(told)).collect();
        assert!(
            are_among(&whole, &ran) && whole.len() + 40 > told.len(),
            "{form:?}: {} of {}",
            whole.len(),
            told.len()
        );
    }
}

#[test]
fn damaged_recordings_tell_only_what_ran() {
    let scratch = Scratch::new("perf-riscv-cut");
    let mut made = made(Form::Ntrace, 30);
    let root = made.install(&scratch);
    let path = made.write(&scratch, FileForm::File);
    let whole = fs::read(&path).unwrap();
    let mut rng = Rng::new(1);
    for _ in 0..12 {
        fs::write(&path, &whole[..rng.below(whole.len() as u64) as usize]).unwrap();
        let decoded = run!("decode --json {}", made.line(&path, &root)).ends_within(1..=2);
        for (cpu, told) in blocks(made.form, &decoded.out) {
            let ran = made.ran(cpu);
            let whole: Vec<_> = told.iter().copied().filter(|told| ran.contains(told)).collect();
            assert!(are_among(&whole, &ran) && whole.len() + 1 >= told.len());
        }
    }
}

#[test]
fn what_is_missing_is_said() {
    let scratch = Scratch::new("perf-riscv-missing");
    for (form, what) in
        [(Form::Ntrace, "N-Trace of 2 CPUs, recorded by gtrace"), (Form::Etrace, "E-Trace of 2 CPUs")]
    {
        let mut made = made(form, 40);
        let (root, path) = (made.install(&scratch), made.write(&scratch, FileForm::File));
        let line = format!("{} --symfs {}", text(&path), text(&root));
        run!("profile {line}").ends(2).says(what).says("does not say how the encoders were set up");
        run!("info {line}").says(what);
        run!("decode {line} --source etm4,id=1").ends(2).says("--source must be ntrace or etrace");
        run!("decode {line} --packing source").ends(2).says("describes itself");
    }
}

/// Parameters that are wrong are named, with the likely right value.
#[test]
fn verbs_read_recordings() {
    let scratch = Scratch::new("perf-riscv-verbs");
    let mut made = made(Form::Ntrace, 50);
    let (root, path) = (made.install(&scratch), made.write(&scratch, FileForm::File));
    let line = made.line(&path, &root);
    let info = run!("info {line}").ends(0);
    info.prints("N-Trace").prints("sort");
    run!("coverage {line}").ends(0).prints("sort.c");
    run!("profile {line} --pid 200 --top 3").ends(0).prints("hash");
    for (verb, name) in [
        ("timeline", "timeline.json"),
        ("profile --format autofdo", "sort.afdo"),
        ("profile --format pprof", "x.pb.gz"),
    ] {
        run!("{verb} {line} -o {}", scratch.join(name)).ends_within(0..=1);
        assert!(fs::metadata(scratch.join(name)).unwrap().len() > 100, "{verb}");
    }
    let wrong = line.replace("src_bits=1", "src_bits=3");
    let decoded = run!("decode --json {wrong}").ends_within(1..=2);
    for (cpu, told) in blocks(made.form, &decoded.out) {
        assert!(are_among(&told, &made.ran(cpu)));
    }
    decoded.says("src_bits=1");
}
