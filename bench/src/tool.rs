//! The whole tool, from file to text, on one core and on all: `tracewright decode` beside OpenCSD's `trc_pkt_lister`.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tracewright_testkit::captures;

use crate::inputs::{self, Input};
use crate::{Layer, head};

/// Rounds; the best of each counts.
const ROUNDS: usize = 3;
/// Bytes of the long trace, and of the one that OpenCSD reads.
const LONG: usize = 128 << 20;

/// Prints the table; `Err` when a tool fails or an answer is wrong.
pub fn table(executed: &Input) -> Result<(), String> {
    let Some(tracewright) = executable() else {
        println!("\nskipped: the whole tool: build it first (cargo build --release)");
        return Ok(());
    };
    head(1, "whole tool | OpenCSD s | one core s | all cores s | x OpenCSD, one core | all cores");
    if let Some(captures) = captures() {
        let dir = captures.join("coresight/bugfix-exact-match");
        let listing = |jobs: &str| {
            let mut command = Command::new(&tracewright);
            command.arg("decode").arg(&dir).args(["--style", "opencsd", "--jobs", jobs]);
            command
        };
        let mut lister = Command::new("trc_pkt_lister");
        lister.arg("-ss_dir").arg(&dir).args(["-decode_only", "-no_time_print", "-logfilename", "/dev/null"]);
        let rival = time(&mut lister).ok().map(|(time, _)| time);
        row("(a) to OpenCSD's element lines", rival, time(&mut listing("1"))?.0, time(&mut listing("0"))?.0);
    }
    let (file, instructions) = long(executed)?;
    let count = |jobs: &str| {
        let mut command = Command::new(&tracewright);
        command.arg("decode").arg(&file).args(["--packing", "coresight", "--summary", "--jobs", jobs]);
        command.arg("--source").arg("etm4,id=0x10,TRCIDR0=0x28000ea1,TRCIDR1=0x4100f430,TRCIDR2=0x80000488");
        for (path, address) in &executed.files {
            command.arg("--image").arg(format!("{}@{address:#x}", path.display()));
        }
        command
    };
    let (one, all) = one_and_all(count, instructions)?;
    let times = LONG / executed.bytes(Layer::Blocks).len();
    let name = format!("(e) {times} times, {} M instructions, summary", instructions / 1_000_000);
    row(&name, None, one, all);
    fs::remove_file(file).ok();
    Ok(())
}

/// The tool, if it was built.
pub fn executable() -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.with_file_name("tracewright");
    path.exists().then_some(path)
}

/// The best times on one core and on all. `Err` when what is said is not the same, or not so many instructions.
pub fn one_and_all(
    command: impl Fn(&str) -> Command,
    instructions: u64,
) -> Result<(Duration, Duration), String> {
    let (one, said) = time(&mut command("1"))?;
    let (all, said_by_all) = time(&mut command("0"))?;
    let expected = format!(" {instructions} instructions ");
    if !said.contains(&expected) || said != said_by_all {
        return Err(format!("expected{expected}: {said}{said_by_all}"));
    }
    Ok((one, all))
}

/// The best time, and what was said on standard error.
pub fn time(command: &mut Command) -> Result<(Duration, String), String> {
    let mut best: Option<(Duration, String)> = None;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let output = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .output()
            .map_err(|error| error.to_string())?;
        let time = start.elapsed();
        // 1: the answer is there, but the capture lacks some code.
        if !matches!(output.status.code(), Some(0 | 1)) {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        if best.as_ref().is_none_or(|(best, _)| time < *best) {
            best = Some((time, String::from_utf8_lossy(&output.stderr).into_owned()));
        }
    }
    best.ok_or("no round".into())
}

fn row(name: &str, rival: Option<Duration>, one: Duration, all: Duration) {
    let seconds = |time: Duration| format!("{:.2}", time.as_secs_f64());
    let ratio = |time: Duration| {
        rival.map_or("-".into(), |rival| format!("{:.1}", rival.as_secs_f64() / time.as_secs_f64()))
    };
    let rival = rival.map_or("-".into(), seconds);
    println!("| {name} | {rival} | {} | {} | {} | {} |", seconds(one), seconds(all), ratio(one), ratio(all));
}

/// A long trace: the input again and again. Returns the file and how many instructions it tells.
fn long(executed: &Input) -> Result<(PathBuf, u64), String> {
    let bytes = executed.bytes(Layer::Blocks);
    let path = inputs::out_dir().join("long.bin");
    let times = LONG / bytes.len();
    let write = |path: &Path| {
        let mut file = File::create(path)?;
        (0..times).try_for_each(|_| file.write_all(bytes))
    };
    write(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let (_, answer) = crate::ours::run(executed, Layer::Blocks, 1);
    Ok((path, answer.counts.get("instructions").copied().unwrap_or(0) * times as u64))
}
