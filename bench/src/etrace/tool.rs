//! The whole tool on a long trace, on one core and on all: `tracewright record`, then `tracewright decode --summary`.

use std::fs;
use std::process::Command;

use crate::hart::program::{PROGRAMS, Size};
use crate::hart::sinks::Retired;
use crate::tool::{executable, one_and_all};
use crate::{head, inputs};

/// Prints the table; `Err` when a tool fails or an answer is wrong.
pub fn table() -> Result<(), String> {
    let Some(tracewright) = executable() else {
        println!("\nskipped: E-Trace by the whole tool: build it first (cargo build --release)");
        return Ok(());
    };
    head(
        1,
        "whole tool, E-Trace of | million instructions | trace MB | one core s | all cores s | M/s, all cores",
    );
    for program in PROGRAMS.iter().filter(|program| ["sort", "hash"].contains(&program.name)) {
        let folder = inputs::out_dir().join(format!("etrace-{}", program.name));
        fs::remove_dir_all(&folder).ok();
        let mut record = Command::new(&tracewright);
        record.args(["record", "--quiet", "--protocol", "etrace", "--output"]).arg(&folder);
        record.arg(program.elf()).arg("--").args(program.argument(Size::Large));
        let output = record.output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let mut retired = Retired::default();
        program.run(Size::Large, &mut retired)?;
        let decode = |jobs: &str| {
            let mut command = Command::new(&tracewright);
            command.arg("decode").arg(&folder).args(["--summary", "--jobs", jobs]);
            command
        };
        let (one, all) = one_and_all(decode, retired.0)?;
        let (millions, bytes) = (retired.0 as f64 / 1e6, size(&folder) as f64 / 1e6);
        let [one, all] = [one, all].map(|time| time.as_secs_f64());
        let (name, rate) = (program.named(Size::Large), millions / all);
        println!("| {name} | {millions:.1} | {bytes:.1} | {one:.2} | {all:.2} | {rate:.0} |");
        fs::remove_dir_all(folder).ok();
    }
    Ok(())
}

/// Bytes of the largest file: the trace.
fn size(folder: &std::path::Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).max().unwrap_or(0)
}
