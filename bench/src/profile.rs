//! `tracewright profile` of a gigabyte of real trace, from file to profile, beside OpenCSD's plain decode of the same bytes.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tracewright_core::text::Grouped;
use tracewright_testkit::captures;

use crate::opencsd::OpenCsd;
use crate::tool::{executable, time};
use crate::{Layer, head, inputs};

/// The capture, a megabyte, and how often it is repeated: to measure, and to check answers.
const NAME: &str = "coresight/bugfix-exact-match";
const TIMES: u64 = 1000;
const CHECK: u64 = 3;
/// Rounds; the best of each counts, since noise only ever adds.
const ROUNDS: usize = 3;

pub fn tables(check: bool) -> Result<usize, String> {
    let Some(captures) = captures() else {
        println!("skipped: profile: no captures");
        return Ok(0);
    };
    let Some(tracewright) = executable() else {
        println!("skipped: profile: build the tool first (cargo build --release)");
        return Ok(0);
    };
    let times = if check { CHECK } else { TIMES };
    let folder = repeated(&captures.join(NAME), times).map_err(|error| format!("profile: {error}"))?;
    let result = measure(&tracewright, &folder, times, check);
    fs::remove_dir_all(&folder).ok();
    result
}

fn measure(tracewright: &Path, folder: &Path, times: u64, check: bool) -> Result<usize, String> {
    let Some(input) = inputs::all().into_iter().find(|input| input.name.starts_with("(a)")) else {
        return Err("profile: no input".into());
    };
    let (_, answer) = crate::ours::run(&input, Layer::Blocks, 1);
    let instructions = answer.counts.get("instructions").copied().unwrap_or(0) * times;
    // As the closing lines have it.
    let expected = format!("instructions {} of", Grouped(instructions.into()));
    let bytes = input.bytes(Layer::Blocks).len() as f64;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let rival = match OpenCsd::build() {
        Ok(opencsd) if !check => {
            let mut best = u64::MAX;
            for _ in 0..ROUNDS {
                best = best.min(opencsd.run(&input, Layer::Profile, 1, false)?.0);
            }
            Some(best as f64 / 1e9)
        }
        _ => None,
    };
    if !check {
        let megabytes = (bytes * times as f64 / 1e6) as u64;
        head(1, &format!("profile of {megabytes} MB | threads | s | MB/s | peak MB | x OpenCSD"));
        if let Some(rival) = rival {
            println!("| OpenCSD, decode of one copy | 1 | {rival:.2} | {:.1} | | 1 |", bytes / 1e6 / rival);
        }
    }
    let mut runs: Vec<(usize, &[&str])> = Vec::new();
    let jobs = std::iter::successors(Some(1), |jobs| Some(2 * jobs)).take_while(|&jobs| jobs <= cores);
    runs.extend(jobs.map(|jobs| (jobs, &[][..])));
    runs.push((1, &["--calls"]));
    for (jobs, options) in &runs {
        let mut command = Command::new("/usr/bin/env");
        let peak = folder.join("peak");
        if Path::new("/usr/bin/time").exists() {
            command = Command::new("/usr/bin/time");
            command.args(["-f", "%M", "-o"]).arg(&peak).arg(tracewright);
        } else {
            command.arg(tracewright);
        }
        command
            .arg("profile")
            .arg(folder)
            .args(["--jobs", &jobs.to_string(), "-o", "/dev/null"])
            .args(*options);
        let rounds = if check || !options.is_empty() { 1 } else { ROUNDS };
        let mut took = Duration::MAX;
        for _ in 0..rounds {
            let (time, said) = time(&mut command)?;
            if !said.split_whitespace().collect::<Vec<_>>().join(" ").contains(&expected) {
                return Err(format!("profile: expected {expected}: {said}"));
            }
            took = took.min(time);
        }
        let peak = fs::read_to_string(&peak).ok().and_then(|text| text.trim().parse::<f64>().ok());
        let peak = peak.map_or("-".into(), |kilobytes| format!("{:.0}", kilobytes / 1e3));
        let rate = bytes * times as f64 / 1e6 / took.as_secs_f64();
        let ratio = rival.map_or("-".into(), |rival| format!("{:.1}", rate / (bytes / 1e6 / rival)));
        let what = ["profile", &options.join(" ")].join(" ");
        let what = what.trim();
        if check {
            println!("{what}, {jobs} threads: answers agree");
        } else {
            let seconds = took.as_secs_f64();
            println!("| tracewright {what} | {jobs} | {seconds:.2} | {rate:.0} | {peak} | {ratio} |");
        }
    }
    Ok(runs.len())
}

/// The capture with its trace again and again.
fn repeated(capture: &Path, times: u64) -> std::io::Result<PathBuf> {
    let folder = inputs::out_dir().join("repeated");
    fs::remove_dir_all(&folder).ok();
    fs::create_dir_all(&folder)?;
    for entry in fs::read_dir(capture)? {
        let entry = entry?;
        if entry.file_name() != "cstrace.bin" {
            symlink(entry.path().canonicalize()?, folder.join(entry.file_name()))?;
        }
    }
    let bytes = fs::read(capture.join("cstrace.bin"))?;
    let mut file = File::create(folder.join("cstrace.bin"))?;
    (0..times).try_for_each(|_| file.write_all(&bytes))?;
    Ok(folder)
}
