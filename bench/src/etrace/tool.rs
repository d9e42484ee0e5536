//! The whole tool on a long trace, on one core and on all: `tracewright record`, then `tracewright decode --summary`.

use std::fs;
use std::process::Command;

use crate::hart::program::{PROGRAMS, Size};
use crate::hart::sinks::Retired;
use crate::inputs;
use crate::tool::{executable, time};

/// Prints the table; `Err` when a tool fails or an answer is wrong.
pub fn table() -> Result<(), String> {
    let Some(tracewright) = executable() else {
        println!("\nskipped: E-Trace by the whole tool: build it first (cargo build --release)");
        return Ok(());
    };
    println!(
        "\n| whole tool, E-Trace of | million instructions | trace MB | one core s | all cores s | M/s, all cores |"
    );
    println!("|---|--:|--:|--:|--:|--:|");
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
        let (one, said) = time(&mut decode("1"))?;
        let (all, said_by_all) = time(&mut decode("0"))?;
        let expected = format!(" {} instructions ", retired.0);
        if !said.contains(&expected) || said != said_by_all {
            return Err(format!("expected{expected}: {said}{said_by_all}"));
        }
        println!(
            "| {} | {:.1} | {:.1} | {:.2} | {:.2} | {:.0} |",
            program.named(Size::Large),
            retired.0 as f64 / 1e6,
            size(&folder) as f64 / 1e6,
            one.as_secs_f64(),
            all.as_secs_f64(),
            retired.0 as f64 / 1e6 / all.as_secs_f64(),
        );
        fs::remove_dir_all(folder).ok();
    }
    Ok(())
}

/// Bytes of the largest file: the trace.
fn size(folder: &std::path::Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).max().unwrap_or(0)
}
