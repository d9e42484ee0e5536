//! Inputs to begin with: good ones, and ones that the tests of the bodies make. Samples and shared captures are used where
//! they are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tracewright_hart::timing::Config;
use tracewright_profile::store;
use tracewright_testkit::etrace::any_config;
use tracewright_testkit::perf::Form;
use tracewright_testkit::{Rng, captures};

use crate::{
    BODIES, Body, coresight_etm3, coresight_itm, coresight_mtb, coresight_ptm, coresight_stm, delta, etm,
    etrace_data, etrace_encode, etrace_packets, frames, hart_logs, hart_programs, image, input,
    ntrace_messages, profile, qemu, tacit_packets,
};

const MADE: u64 = 24;

/// Writes the seeds of all bodies, a folder for each.
///
/// # Errors
/// When a folder or a file cannot be written.
pub fn write(folder: &Path) -> io::Result<()> {
    for body in BODIES {
        let folder = folder.join(body.name);
        fs::create_dir_all(&folder)?;
        for (number, seed) in of(body).iter().enumerate() {
            fs::write(folder.join(format!("seed-{number:03}")), seed)?;
        }
    }
    Ok(())
}

fn of(body: &Body) -> Vec<Vec<u8>> {
    let most = body.most;
    match body.name {
        "control" => texts(&[
            "pc in main",
            "priv = u & !(context = 3)",
            "start at main; stop at last for 100 cycles",
            "cause = 7 | isr | exception & instruction < 1000",
            "event button, cycle in 10..=20",
        ]),
        "timing" => vec![Config::cva6_like().to_text().into_bytes()],
        "compressed_file" => input::PACKED.map(<[u8]>::to_vec).to_vec(),
        "raw_source" => texts(input::SOURCES),
        "parameters" => texts(&[input::PARAMETERS]),
        "ini" => files(&["samples/hello", "samples/threads", "shared/captures/coresight"], &["ini"], most),
        "snapshot" => snapshots(most),
        "capture" => [texts(&[input::CAPTURE_TEXT]), files(&["samples/etrace"], &["toml"], most)].concat(),
        "mappings" => files(&["samples/threads"], &["toml"], most),
        "recording" => {
            let forms = [Form::File, Form::Pipe, Form::Compressed, Form::Compressed2, Form::CompressedTrace];
            let mut good = forms.map(input::good_recording).to_vec();
            good.extend([false, true].map(|is_spacemit| input::riscv_recording(Form::File, is_spacemit)));
            [good, files(&["samples/perf", "shared/captures/perf"], &["data"], most)].concat()
        }
        "map_names" => texts(&[input::MAP]),
        "server_answer" => vec![input::good_answer()],
        "jit_dump" => vec![input::good_dump()],
        "recorded_branches" => {
            let mut lists = files(&["shared/captures/perf/oracle"], &["bl"], most / 2);
            lists.push(input::NO_BRANCHES.to_vec());
            lists.iter().map(|list| input::recording_with_branches(list)).collect()
        }
        "profile" => made(|rng| store::write(&profile::random::random(rng))),
        "merged" => made(|rng| profile::pair(&profile::random::random(rng), &profile::random::random(rng))),
        "branch_list" => [
            files(&["shared/captures/perf"], &["bl"], most),
            files(&["shared/captures/perf/simpleperf"], &["old_branch_list.data"], most),
            vec![input::NO_BRANCHES.to_vec()],
        ]
        .concat(),
        "image" => prefixed(&[0; 9], programs(most)),
        "coverage" => prefixed(&[0; 8], programs(most)),
        "kernel_module" => {
            let mut modules = files(&["shared/captures/perf/simpleperf"], &["ko"], most);
            modules.push(image::module().write());
            prefixed(&[0, 0, 0, 0x10, 0, 0x80, 0xff, 0xff, 0, 4], modules)
        }
        "dwarf" => programs(1 << 17).iter().filter_map(|file| image::dwarf_of(file)).collect(),
        "symbol_names" => texts(image::NAMES),
        "xz" => files(&["shared/captures/riscv/spike_logs"], &["xz"], usize::MAX)
            .into_iter()
            .filter(|file| file.len() <= most)
            .collect(),
        "instructions" => {
            (0..5).flat_map(|isa| prefixed(&[isa, 0, 0, 1, 0, 0, 0, 0, 0], code(most))).collect()
        }
        "bare_program" => [
            made(|rng| [&[1; 8][..], &hart_programs::code(rng)].concat()),
            prefixed(&[0; 8], hart_programs::programs(|name| name.starts_with('t'))),
        ]
        .concat(),
        "linux_program" => [
            made(|rng| [&[1; 8][..], &hart_programs::calls(rng)].concat()),
            prefixed(&[0; 8], hart_programs::programs(|name| matches!(name, "args" | "hash"))),
        ]
        .concat(),
        "logs" => {
            let mut seeds = prefixed(&[0], hart_logs::LINES.iter().map(|line| line.as_bytes().to_vec()));
            seeds.push([b"\0", hart_logs::LINES.join("\n").as_bytes()].concat());
            seeds
        }
        "own_log" => made(hart_logs::any_chunk),
        "retirement_words" => made(qemu::any_words),
        "retirement_log" => files(&["samples"], &["log"], most),
        "etrace_input" => prefixed(&[0], texts(&[etrace_encode::GOOD, etrace_encode::PORTS])),
        "deframe" => made(frames::random_input)
            .into_iter()
            .chain(prefixed(&[0, 9], files(&["samples", "shared/captures/coresight"], &["bin"], most)))
            .collect(),
        "mtb" => (0..MADE).map(coresight_mtb::made).collect(),
        "itm" => (0..MADE).map(coresight_itm::made).collect(),
        "ptm" => (0..MADE).map(coresight_ptm::made).collect(),
        "stm" => (0..MADE).map(coresight_stm::made).collect(),
        "etm3" => made(coresight_etm3::any_bytes),
        "packets" => made(etm::any_bytes)
            .into_iter()
            .chain(prefixed(&[7; 8], files(&["shared/captures/coresight"], &["bin"], most)))
            .collect(),
        "decode" => (0..MADE)
            .map(|seed| {
                let (_, run, _) = etm::machine(&mut Rng::new(seed));
                [&seed.to_le_bytes(), &run.bytes[..run.bytes.len().min(most)]].concat()
            })
            .collect(),
        "etrace_streams" => (0..MADE)
            .map(|seed| {
                let config = any_config(&mut Rng::new(seed));
                let stream = etrace_packets::any_stream(&mut Rng::new(!seed), &config);
                [&seed.to_le_bytes(), &stream[..]].concat()
            })
            .chain(prefixed(
                &[3; 8],
                files(&["shared/captures/riscv"], &["te_inst_raw", "packets.bin"], most),
            ))
            .collect(),
        "ntrace_streams" => (0..MADE).map(ntrace_messages::made).collect(),
        "tacit_streams" => (0..MADE).map(tacit_packets::made).collect(),
        "data" => made(etrace_data::any_packets),
        "delta_streams" => made(delta::stream),
        // Any bytes will do: they choose what the body makes.
        _ => made(|rng| {
            let len = 8 + rng.below(most as u64 - 7) as usize;
            rng.bytes(len)
        }),
    }
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn made(make: impl Fn(&mut Rng) -> Vec<u8>) -> Vec<Vec<u8>> {
    (0..MADE).map(|seed| make(&mut Rng::new(seed))).collect()
}

fn prefixed(prefix: &[u8], seeds: impl IntoIterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
    seeds.into_iter().map(|seed| [prefix, &seed].concat()).collect()
}

/// The four files of each sample snapshot, as the body takes them.
fn snapshots(most: usize) -> Vec<Vec<u8>> {
    let folders = ["samples/hello", "samples/two-cores"].map(found);
    let name = ["device_0.ini", "device_1.ini", "trace.ini", "snapshot.ini"];
    let parts = |folder: &PathBuf| name.map(|name| fs::read(folder.join(name)).unwrap_or_default());
    let mut seeds: Vec<_> = folders.iter().map(|folder| parts(folder).join(&0)).collect();
    seeds.push(input::GOOD_SNAPSHOT.map(str::as_bytes).join(&0));
    seeds.retain(|seed| seed.len() <= most);
    seeds
}

/// Whole programs: what is behind a cut in an ELF file is what describes it.
fn programs(most: usize) -> Vec<Vec<u8>> {
    let mut files = hart_programs::programs(|_| true);
    let folders = ["samples/hello", "shared/captures/riscv/elf", "shared/captures/perf/simpleperf"];
    files.extend(self::files(&folders, &["elf", "riscv", "etm_test_loop"], usize::MAX));
    files.retain(|file| file.len() <= most);
    files
}

/// Code from the middle of programs.
fn code(most: usize) -> Vec<Vec<u8>> {
    let code = |file: Vec<u8>| file.get(0x1000..0x1000 + most.min(0x200)).map(<[u8]>::to_vec);
    programs(1 << 15).into_iter().filter_map(code).take(4).collect()
}

/// The start of each file below these folders whose name ends with one of `ends`.
fn files(folders: &[&str], ends: &[&str], most: usize) -> Vec<Vec<u8>> {
    let mut paths = Vec::new();
    for folder in folders {
        collect(&found(folder), ends, &mut paths);
    }
    paths.sort();
    let read = paths.iter().filter_map(|path| fs::read(path).ok());
    read.map(|mut bytes| {
        bytes.truncate(most);
        bytes
    })
    .collect()
}

fn collect(folder: &Path, ends: &[&str], paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, ends, paths);
        } else if ends.iter().any(|end| entry.file_name().to_string_lossy().ends_with(end)) {
            paths.push(path);
        }
    }
}

/// A folder of the repository, or of the shared captures.
fn found(folder: &str) -> PathBuf {
    match folder.strip_prefix("shared/captures") {
        Some(rest) => {
            captures().map(|captures| captures.join(rest.trim_start_matches('/'))).unwrap_or_default()
        }
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder),
    }
}
