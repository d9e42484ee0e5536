//! Recordings that are not as they should be: programs that are missing, stripped or of another build, the wrong folder of them,
//! records that nobody knows, files that are cut off. What is wrong is named with the path that was tried, the rest comes out
//! as if nothing were wrong, and the funnel says what became of all else.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::run::{Ran, command, ran, run, text};
use crate::support::processes::{Made, programs};
use tracewright_etm::Protocol;
use tracewright_testkit::perf::{Form, Recording, Who, who};
use tracewright_testkit::program::Program;
use tracewright_testkit::{Rng, Scratch, captures_for};

/// Runs a verb on a recording.
fn tracewright(verb: &str, recording: &Path, symfs: &[&Path]) -> Ran {
    let symfs: String = symfs.iter().map(|dir| format!(" --symfs {}", text(dir))).collect();
    // Nothing is found by chance: neither in perf's store, nor where it was.
    let done = ran(command(format_args!("{verb} {} {symfs}", text(recording))).env("HOME", "/nonexistent"));
    assert_ne!(done.status, None, "no signal, no panic");
    done
}

/// A folder with a recording of simpleperf in it.
fn copied(folder: &Path, recording: &str, name: &str) -> (Scratch, PathBuf) {
    let scratch = Scratch::new(name);
    fs::create_dir_all(scratch.path().join("root")).unwrap();
    let path = scratch.path().join("perf.data");
    fs::write(&path, fs::read(folder.join(recording)).unwrap()).unwrap();
    (scratch, path)
}

const TWO_ID: [u8; 20] = [0x22; 20];

/// An ELF file of a program, without sections: what runs, and a build ID.
pub fn elf(program: &Program, id: &[u8; 20]) -> Vec<u8> {
    let segment = &program.segments[0];
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend([2_u16, 183].map(u16::to_le_bytes).concat());
    file.extend(1_u32.to_le_bytes());
    file.extend([segment.address, 64, 0].map(u64::to_le_bytes).concat());
    file.extend(0_u32.to_le_bytes());
    file.extend([64_u16, 56, 2, 64, 0, 0].map(u16::to_le_bytes).concat());
    let len = segment.bytes.len() as u64;
    // What is loaded (executable), and notes.
    for (kind, flags, words) in [
        (1_u32, 5_u32, [0x1000, segment.address, segment.address, len, len, 0x1000]),
        (4, 4, [0x200, 0, 0, 36, 36, 4]),
    ] {
        file.extend([kind, flags].map(u32::to_le_bytes).concat());
        file.extend(words.map(u64::to_le_bytes).concat());
    }
    file.resize(0x200, 0);
    file.extend([4_u32, 20, 3].map(u32::to_le_bytes).concat());
    file.extend(b"GNU\0");
    file.extend(id);
    file.resize(0x1000, 0);
    file.extend(&segment.bytes);
    file
}

/// Two processes that run programs at the same addresses.
struct Two {
    scratch: Scratch,
    root: PathBuf,
    path: PathBuf,
    /// Instructions of either.
    ran: [u64; 2],
    second: Program,
}

impl Two {
    fn new(name: &str, more: impl FnOnce(&mut Recording)) -> Self {
        let scratch = Scratch::new(name);
        let root = scratch.path().join("root");
        fs::create_dir_all(root.join("bin")).unwrap();
        let mut rng = Rng::new(44);
        let programs = programs(&mut rng);
        let mut made = Made::new(Protocol::Etm4);
        let ids = [[0x11; 20], TWO_ID];
        for (((name, pid), program), id) in [("one", 100), ("two", 200)].iter().zip(&programs).zip(&ids) {
            fs::write(root.join("bin").join(name), elf(program, id)).unwrap();
            let segment = &program.segments[0];
            let (path, len) = (format!("/bin/{name}"), segment.bytes.len() as u64);
            made.recording.mmap2_id(who(*pid, 0), segment.address, len, 0x1000, &path, id);
        }
        made.take_turns(&programs, &mut rng);
        more(&mut made.recording);
        let path = made.write(&scratch);
        let of = |is_two: bool| {
            let blocks = made.ran.iter().zip(&made.by).filter(|(_, by)| (**by == 200) == is_two);
            blocks.map(|(block, _)| u64::from(block.count)).sum()
        };
        let ran = [of(false), of(true)];
        assert!(ran.iter().all(|count| *count > 1000), "{ran:?}");
        let [_, second] = programs;
        Self { scratch, root, path, ran, second }
    }

    fn profile(&self) -> Ran {
        tracewright("profile", &self.path, &[&self.root])
    }

    /// What ran of the first program comes out, and nothing else.
    fn gives_the_first(&self) -> Ran {
        let done = self.profile().ends(1);
        for step in ["instructions", "of a known binary", "in the output"] {
            assert_eq!(done.funnel(step), self.ran[0], "{step}");
        }
        done.says("times no image has the code that ran")
    }

    /// What ran of both comes out.
    fn gives_both(&self, symfs: &[&Path]) -> Ran {
        let done = tracewright("profile", &self.path, symfs).nameless();
        assert_eq!(done.funnel("instructions"), self.ran[0] + self.ran[1], "{}", done.err);
        done
    }
}

#[test]
fn of_two_programs_that_are_there_all_comes_out() {
    let two = Two::new("bad-none", |_| {});
    // They have no symbols: that is said with the path, too.
    let path = two.root.join("bin/two");
    let done = two.gives_both(&[&two.root]).says(format!("{}: no symbols for", path.display()));
    done.says("was it stripped?");
}

#[test]
fn a_program_that_is_missing_is_named() {
    let two = Two::new("bad-missing", |_| {});
    let missing = two.root.join("bin/two");
    fs::remove_file(&missing).unwrap();
    let done = two.gives_the_first().says_not("which was mapped");
    done.says(text(&missing)).says("no code of /bin/two");
}

#[test]
fn a_program_of_another_build_is_named_and_not_used() {
    let two = Two::new("bad-build", |_| {});
    let path = two.root.join("bin/two");
    fs::write(&path, elf(&two.second, &[0x33; 20])).unwrap();
    let [here, ran] = ["33", "22"].map(|byte| byte.repeat(20));
    let expected = format!("{} (its build ID is {here}, and {ran} ran)", path.display());
    let done = two.gives_the_first().says(expected).says("no code of /bin/two");
    done.says_not("nothing of what was mapped");
}

#[test]
fn a_program_that_is_something_else_is_named() {
    let two = Two::new("bad-program", |_| {});
    let path = two.root.join("bin/two");
    let whole = fs::read(&path).unwrap();
    let mut foreign = whole.clone();
    foreign[18] = 62;
    // Debug information alone: its code is not in the file.
    let mut names_only = whole.clone();
    names_only[64 + 32..][..8].fill(0);
    for (bytes, why) in [
        (&foreign[..], "(a program for x86-64)"),
        (&names_only, "(it has no code, only debug information)"),
        // Of ELF there is too little to tell who it is.
        (&whole[..100], "(it has no build ID, and 2222"),
    ] {
        fs::write(&path, bytes).unwrap();
        two.gives_the_first().says(format!("{} {why}", path.display()));
    }
    // Cut off in its code: what is there is used.
    fs::write(&path, &whole[..0x1004]).unwrap();
    let done = two.profile().says("no image has the code that ran");
    assert!((two.ran[0]..two.ran[0] + two.ran[1]).contains(&done.funnel("instructions")), "{}", done.err);
}

#[test]
fn a_folder_that_is_the_wrong_one_is_named() {
    let two = Two::new("bad-folder", |_| {});
    let wrong = two.scratch.path().join("wrong");
    let nothing = || {
        let done = tracewright("profile", &two.path, &[&wrong]).ends(1);
        assert_eq!(done.funnel("instructions"), 0);
        done
    };
    let done = nothing().says(format!("{}: error: no such folder (--symfs)", wrong.display()));
    let done = done.says(text(&wrong.join("bin/one"))).says("--symfs FOLDER");
    done.says("nothing is in the output: no image has the code that ran");
    fs::create_dir_all(wrong.join("lib")).unwrap();
    let warning = "warning: nothing of what was mapped is in this folder (--symfs)";
    nothing().says(format!("{}: {warning}", wrong.display()));
    // Beside the right one it does no harm.
    two.gives_both(&[&wrong, &two.root]);
}

#[test]
fn records_that_nobody_knows_are_named_and_passed_over() {
    let two = Two::new("bad-records", |recording| {
        for kind in [40, 99, 99, 99, 33_000] {
            recording.record(kind, 0, vec![0xee; 24], Who::default());
        }
    });
    let unknown = "warning: records that are not known here were passed over: type 99 (3, the first at 0x";
    let done = two.gives_both(&[&two.root]).says(format!("{}: {unknown}", two.path.display()));
    done.says("type 40 (one, at 0x").says("type 33000 (one, at 0x");
}

/// The same of what simpleperf recorded: a program whose symbols are taken out.
#[test]
fn a_program_that_was_stripped_is_named() {
    let Some(folder) = captures_for("a stripped program", "perf/simpleperf") else { return };
    let (scratch, path) = copied(&folder, "perf_etm.data", "bad-symbols");
    let root = scratch.path().join("root");
    let mut program = fs::read(folder.join("etm_test_loop")).unwrap();
    fs::write(root.join("etm_test_loop"), &program).unwrap();
    let whole = tracewright("profile", &path, &[&root]).says_not("stripped").prints(" Loop()");
    let counts = ["instructions", "of a known function"].map(|name| whole.funnel(name));
    assert_eq!(counts, [944, 944], "{}", whole.err);
    // Its symbols are in a section that is compressed; under another name nobody finds it.
    let at = program.windows(14).position(|bytes| bytes == b".gnu_debugdata").unwrap();
    program[at..at + 14].copy_from_slice(b".not_debugdata");
    let here = root.join("etm_test_loop");
    fs::write(&here, &program).unwrap();
    let stripped = tracewright("profile", &path, &[&root]).nameless();
    assert_eq!(stripped.funnel("instructions"), 944);
    assert_eq!(stripped.funnel("of a known binary"), 944);
    assert_eq!(stripped.funnel("of a known function"), 4, "the stub through which another library is called");
    let no_symbols = "no symbols for 940 of 944 instructions that ran there: was it stripped?";
    let stripped = stripped.says(format!("{}: {no_symbols}", here.display()));
    stripped.says("  - 940 of etm_test_loop, without symbols there");
    // Profiles for compilers need none.
    let afdo = tracewright("profile --format autofdo", &path, &[&root]);
    assert_eq!(afdo.out, fs::read_to_string(folder.join("perf_inject.data")).unwrap());
}

/// The kernel is not there; its module is.
#[test]
fn without_the_kernel_its_modules_come_out() {
    let Some(folder) = captures_for("a kernel that is missing", "perf/simpleperf") else { return };
    let (scratch, path) = copied(&folder, "perf_kernel.data", "bad-kernel");
    let root = scratch.path().join("root");
    fs::copy(folder.join("rq_stats.ko"), root.join("rq_stats.ko")).unwrap();
    let done = tracewright("profile", &path, &[&root]).ends(1);
    let names = ["bytes of trace", "instructions", "of a known binary", "in the output"];
    assert_eq!(names.map(|name| done.funnel(name)), [39_200, 46, 46, 46], "{}", done.err);
    let done = done.says("no code of [kernel.kallsyms]").says(text(&root.join("vmlinux")));
    done.says("4 740 times no image has the code that ran");
}

/// Where records begin in a recording, as its header says.
fn boundaries(file: &[u8]) -> Vec<usize> {
    let word = |at: usize| u64::from_le_bytes(*file[at..].first_chunk().unwrap()) as usize;
    let (mut at, len) = (word(40), word(48));
    let end = at + len;
    let mut all = vec![0, 104, at];
    while at < end {
        let kind = u32::from_le_bytes(*file[at..].first_chunk().unwrap());
        let size = usize::from(u16::from_le_bytes(*file[at + 6..].first_chunk().unwrap()));
        let trace = if kind == 71 { word(at + 8) } else { 0 };
        all.push(at + size);
        at += size + trace;
        all.push(at);
    }
    all
}

/// Cut off anywhere: always a reason, never more than the whole.
#[test]
fn recordings_that_are_cut_off_say_so() {
    let Some(folder) = captures_for("recordings that are cut off", "perf/simpleperf") else { return };
    for name in ["perf_etm.data", "perf_header_v0.data", "perf_with_unformatted_trace.data"] {
        cut_off_anywhere(&folder, name);
    }
    // Where all trace is there, and only what tells of it is cut, the status is the same.
    let place = Scratch::new("perf-cut");
    let whole = fs::read(folder.join("perf_with_unformatted_trace.data")).unwrap();
    let cut = place.write("perf.data", &whole[..20_000]);
    let cut = text(&cut);
    for verb in ["info", "decode --summary", "packets"] {
        run!("{verb} {cut}").ends(1).says("error: cut off: features");
    }
}

/// What a profile tells of, if it tells anything.
fn instructions(done: &Ran) -> u64 {
    if done.err.contains("in the output  ") { done.funnel("instructions") } else { 0 }
}

fn cut_off_anywhere(folder: &Path, name: &str) {
    let (scratch, path) = copied(folder, name, &format!("bad-cut-{name}"));
    let whole = fs::read(&path).unwrap();
    let mut places: BTreeSet<usize> = (0..whole.len()).step_by(4096).collect();
    places.extend(boundaries(&whole).iter().flat_map(|&at| [at.saturating_sub(1), at, at + 1]));
    let mut rng = Rng::new(45);
    places.extend((0..40).map(|_| rng.below(whole.len() as u64) as usize));
    places.retain(|at| *at < whole.len());
    let mut last = 0;
    for at in places {
        fs::write(&path, &whole[..at]).unwrap();
        let done = tracewright("profile", &path, &[folder]).ends_within(0..=2);
        let done = done.says(scratch.join("perf.data")).says_not("panicked");
        let why = ["cut off", "does not describe itself", "is text, not trace", "is empty"];
        assert!(why.iter().any(|why| done.err.contains(why)), "{name} cut at {at}: {}", done.err);
        // Less of the file never tells more.
        let told = instructions(&done);
        assert!((last..=944).contains(&told), "{name} cut at {at}: {told} instructions, {last} before");
        last = told;
        let is_whole = told == 944 && !done.err.contains("error: ");
        assert_eq!(done.status == Some(0), is_whole, "{name} cut at {at}: {}", done.err);
    }
    assert_eq!(last, 944);
}

/// The same of two programs, of which one recording is long.
#[test]
fn what_lies_before_the_cut_comes_out() {
    let two = Two::new("bad-cut-two", |_| {});
    let whole = fs::read(&two.path).unwrap();
    let all = two.ran[0] + two.ran[1];
    let mut last = 0;
    for at in (0..whole.len()).step_by(1 + whole.len() / 60) {
        fs::write(&two.path, &whole[..at]).unwrap();
        let told = instructions(&two.profile().says(if at < 8 { "perf.data" } else { "cut off" }));
        assert!((last..=all).contains(&told), "cut at {at}: {told} instructions, {last} before");
        last = told;
    }
    assert!(last > all / 2, "{last} of {all}");
    // A recorder that was killed has not said how long it is.
    let mut killed = whole;
    killed[48..56].fill(0);
    fs::write(&two.path, &killed).unwrap();
    let done = two.profile().says("was the recorder killed?");
    assert_eq!(done.funnel("instructions"), all, "{}", done.err);
}

/// All forms of a recording, damaged anywhere: whatever is told, it is told with a path, and is no more than ran.
#[test]
fn bytes_that_are_damaged_do_not_stop_the_rest() {
    let two = Two::new("bad-bytes", |_| {});
    let whole = fs::read(&two.path).unwrap();
    let mut rng = Rng::new(46);
    for _ in 0..60 {
        let mut bytes = whole.clone();
        for _ in 0..1 + rng.below(4) {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = rng.next_u64() as u8;
        }
        fs::write(&two.path, &bytes).unwrap();
        two.profile().ends_within(0..=2).says_not("panicked");
    }
}

#[test]
fn other_forms_say_so_as_well() {
    let mut rng = Rng::new(47);
    for form in [Form::Pipe, Form::Compressed, Form::Compressed2, Form::CompressedTrace] {
        let mut recording = Recording::new();
        recording.units(1, &[tracewright_testkit::perf::etm4(0, 0x40, 0x10)]);
        recording.mmap2(who(1, 0), 0x1000, 0x1000, 0, "/bin/one");
        recording.aux(who(1, 5), 0, 64, 0).trace(0, 0, &[0; 64]);
        let whole = recording.write(form);
        let scratch = Scratch::new(&format!("bad-form-{form:?}"));
        let path = scratch.path().join("perf.data");
        for _ in 0..15 {
            fs::write(&path, &whole[..rng.below(whole.len() as u64) as usize]).unwrap();
            let done = tracewright("profile", &path, &[]).ends_within(1..=2);
            done.says("perf.data").says_not("panicked");
        }
    }
}
