//! Code that changes at run time, in recordings that our own writer made: each block must come from the code that was there when
//! it ran. perf reads the same recordings.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::perf::perf_script;
use crate::perf_bad::elf;
use crate::run::{run, text};
use crate::support::processes::{Made, Running, programs};
use tracewright_core::Element;
use tracewright_etm::Protocol;
use tracewright_testkit::perf::{BpfProgram, JitDump, who};
use tracewright_testkit::{Rng, Scratch, skip};

const ETM: Protocol = Protocol::Etm4;

/// Process 100 makes code and runs it. Twice, and it replaces the code by other code at the same address.
pub fn jitted(scratch: &Scratch, times: usize) -> Made {
    let mut rng = Rng::new(51);
    let programs = programs(&mut rng);
    let mut made = Made::new(ETM);
    fs::create_dir_all(scratch.path().join("root")).unwrap();
    let dump = scratch.path().join("root/jit-100.dump");
    made.recording.monotonic().comm(who(100, 0), "node", false);
    made.recording.mmap2(who(100, 1), 0x7000_0000, 0x1000, 0, text(&dump));
    let mut code = JitDump::new(100, 183, 0, false);
    for (index, (program, name)) in programs.iter().zip(["Lfirst", "Lsecond"]).take(times).enumerate() {
        let time = 100 * index as u64;
        let segment = &program.segments[0];
        let mut running = Running::new(program, 100, &mut rng);
        code.load(time + 5, segment.address, index as u64 + 1, name, &segment.bytes);
        for turn in 1..4 {
            made.piece(who(100, time + 10 * turn), &running.run(ETM, 500));
        }
    }
    fs::write(dump, code.bytes()).unwrap();
    made
}

#[test]
fn jitted_code_is_decoded_as_it_was() {
    let scratch = Scratch::new("perf-jit");
    let made = jitted(&scratch, 2);
    made.check(&scratch);
    let (path, root) = (scratch.join("perf.data"), scratch.join("root"));
    let functions = run!("profile --top 10 {path} --symfs {root}").good();
    assert!(functions.contains("Lfirst") && functions.contains("Lsecond"), "{functions}");
    let listed = run!("decode {path} --symfs {root}").good();
    assert!(listed.contains(" Lfirst+0x0") && listed.contains(" Lsecond+0x0"), "{listed}");
    let trace = scratch.join("timeline.json");
    run!("timeline -o {trace} {path} --symfs {root}").good();
    let trace = fs::read_to_string(trace).unwrap();
    assert!(trace.contains("Lfirst") && trace.contains("Lsecond"));
}

/// Lets perf make files of the code (`perf inject --jit`), in the folder of the dump, which is then removed. Returns the new
/// recording.
fn injected(made: &mut Made, scratch: &Scratch) -> Option<PathBuf> {
    let path = made.write(scratch);
    let injected = scratch.path().join("injected.data");
    let mut inject = Command::new("perf");
    inject.args(["inject", "--jit", "-i"]).arg(&path).arg("-o").arg(&injected);
    inject.output().ok().filter(|done| done.status.success())?;
    let root = scratch.path().join("root");
    let mut images: Vec<_> = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).collect();
    images.retain(|path| path.extension().is_some_and(|ending| ending == "so"));
    assert!(!images.is_empty());
    for image in images {
        // perf writes the machine that it runs on.
        let mut bytes = fs::read(&image).unwrap();
        bytes[18..20].copy_from_slice(&183_u16.to_le_bytes());
        fs::write(image, bytes).unwrap();
    }
    fs::remove_file(root.join("jit-100.dump")).unwrap();
    Some(injected)
}

#[test]
fn code_that_perf_injects_is_the_same() {
    let scratch = Scratch::new("perf-inject");
    let mut made = jitted(&scratch, 2);
    let Some(injected) = injected(&mut made, &scratch) else { return skip("perf inject --jit", "no perf") };
    made.compare(&injected, &scratch);
    let listed = run!("decode {} --symfs {}", text(&injected), scratch.join("root")).good();
    assert!(listed.contains(" Lfirst+0x0") && listed.contains(" Lsecond+0x0"), "{listed}");
}

/// perf applies all mappings before it decodes, so that it is asked about code that is not replaced.
#[test]
fn perf_decodes_jitted_code_as_we_do() {
    let scratch = Scratch::new("perf-jit-script");
    let mut made = jitted(&scratch, 1);
    let Some(injected) = injected(&mut made, &scratch) else { return skip("perf inject --jit", "no perf") };
    let Some(listed) = perf_script(&injected, Path::new("/"), &["--itrace=i1i", "-F", "ip,sym"]) else {
        return skip("jitted code by perf", "no perf that reads CoreSight");
    };
    let named = listed.lines().filter_map(|line| line.trim().strip_suffix(" Lfirst"));
    let listed: Vec<u64> = named.map(|address| u64::from_str_radix(address, 16).unwrap()).collect();
    let expected: Vec<u64> = made.ran.iter().flat_map(|block| (block.start..block.end).step_by(4)).collect();
    assert!(listed == expected, "{} instructions by perf, {} ran", listed.len(), expected.len());
}

/// Moves what ran to the kernel.
fn in_kernel(mut elements: Vec<Element>) -> Vec<Element> {
    for element in &mut elements {
        if let Element::Context(context, _) = element {
            context.level = 1;
        }
    }
    elements
}

/// The whole code of the kernel is patched while it is traced, and the code of a BPF program is replaced.
#[test]
fn patched_code_is_decoded_as_it_was() {
    let scratch = Scratch::new("perf-poke");
    let mut rng = Rng::new(52);
    let [one, two] = programs(&mut rng);
    fs::create_dir_all(scratch.path().join("root")).unwrap();
    fs::write(scratch.path().join("root/vmlinux"), elf(&one, &[1; 20])).unwrap();
    let mut made = Made::new(ETM);
    let (start, len) = (one.segments[0].address, one.segments[0].bytes.len());
    made.recording.kernel_mmap(start, len as u64, 0, "[kernel.kallsyms]_text");
    let mut running = Running::new(&one, 100, &mut rng);
    made.piece(who(100, 10), &in_kernel(running.run(ETM, 1000)));
    let old = one.segments[0].bytes.chunks(1024);
    let parts = old.zip(two.segments[0].bytes.chunks(1024));
    for (index, (old, new)) in parts.enumerate() {
        made.recording.text_poke(15, start + 1024 * index as u64, old, new);
    }
    let both = one.segments[0].bytes.len().min(two.segments[0].bytes.len());
    made.recording.text_poke(16, start + both as u64, &[], &two.segments[0].bytes[both..]);
    let mut running = Running::new(&two, 100, &mut rng);
    made.piece(who(100, 20), &in_kernel(running.run(ETM, 1000)));
    made.check(&scratch);
}

#[test]
fn bpf_programs_are_decoded_and_named() {
    let scratch = Scratch::new("perf-bpf");
    let mut rng = Rng::new(53);
    let programs = programs(&mut rng);
    fs::create_dir_all(scratch.path().join("root")).unwrap();
    let mut made = Made::new(ETM);
    let mut described = Vec::new();
    for (index, (program, name)) in programs.iter().zip(["first", "second"]).enumerate() {
        let (segment, time, tag) = (&program.segments[0], 100 * index as u64, [index as u8 + 1; 8]);
        let symbol = format!("bpf_prog_{}_{name}", format!("{:02x}", index + 1).repeat(8));
        made.recording.ksymbol(time + 5, segment.address, segment.bytes.len() as u32, 1, false, &symbol);
        made.recording.bpf_event(time + 5, 1, 10 + index as u32, tag);
        let mut running = Running::new(program, 100, &mut rng);
        made.piece(who(100, time + 10), &in_kernel(running.run(ETM, 1000)));
        made.recording.ksymbol(time + 90, segment.address, segment.bytes.len() as u32, 1, true, &symbol);
        let functions = vec![(segment.address, tag, segment.bytes.clone())];
        described.push(BpfProgram { id: 10 + index as u32, name, functions });
    }
    made.recording.text_poke(95, 0xffff_8000_0000_0000, &[1, 2, 3, 4], &[5, 6, 7, 8]);
    made.recording.bpf_programs(&described);
    made.check(&scratch);
    let (path, root) = (scratch.join("perf.data"), scratch.join("root"));
    let functions = run!("profile {path} --symfs {root}").good();
    for name in ["bpf_prog_0101010101010101_first", "bpf_prog_0202020202020202_second"] {
        assert!(functions.contains(name), "{functions}");
    }
    // perf reads the same records.
    let output = |arguments: &[&str]| {
        let done = Command::new("perf").args(arguments).args(["-i", &path]).output().ok()?;
        Some(String::from_utf8_lossy(&done.stdout).into_owned())
    };
    let Some(header) = output(&["report", "--header-only", "-I"]) else {
        return skip("bpf by perf", "no perf");
    };
    assert!(
        header.contains("bpf_prog_info 10: bpf_prog_0101010101010101_first addr 0x8000 size")
            && header.contains("bpf_prog_info 11: bpf_prog_0202020202020202_second addr 0x8000 size"),
        "{header}"
    );
    let listed = output(&["script", "--show-bpf-events", "--show-text-poke-events"]).unwrap();
    for expected in [
        "PERF_RECORD_KSYMBOL addr",
        "type 1 flags 0x0 name bpf_prog_0101010101010101_first",
        "type 1 flags 0x1 name bpf_prog_0202020202020202_second",
        "PERF_RECORD_BPF_EVENT type 1, flags 0, id 11",
        "PERF_RECORD_TEXT_POKE ffff800000000000  old len 4 new len 4",
    ] {
        assert!(listed.contains(expected), "no {expected} in {listed}");
    }
}
