//! Sizes of ETMv4 traces of the same sources, compiled for AArch64 and run under QEMU.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::hart::program::PROGRAMS;
use crate::tool::executable;
use crate::{head, inputs};

use super::record::MIXES;
use super::size::Row;
use crate::etrace::program;

/// What compiles, as for RISC-V (`programs/build`).
const GCC: &str = "aarch64-linux-gnu-gcc";
const FLAGS: &str = "-std=gnu11 -O2 -ffreestanding -fno-stack-protector -fno-pie -ffunction-sections -fdata-sections -fno-math-errno \
                     -fno-asynchronous-unwind-tables -fno-tree-loop-distribute-patterns -nostdlib -nostartfiles -static -no-pie \
                     -Wl,--gc-sections -w";
const RUNTIME: [&str; 5] = ["linux.c", "print.c", "print_double.c", "memory.c", "numbers.c"];

/// Prints the table, if what it needs is here.
pub fn table() -> Result<(), String> {
    let Some(tracewright) = executable() else {
        println!("\nskipped: ETMv4: build the command first (cargo build --release)");
        return Ok(());
    };
    if Command::new(GCC).arg("--version").output().is_err() {
        println!("\nskipped: ETMv4: no {GCC}");
        return Ok(());
    }
    head(
        1,
        "the same source | RISC-V instructions | N-Trace bytes, history | all | AArch64 instructions | ETMv4 bytes | N-Trace bits each, \
         history | all | ETMv4 bits each",
    );
    for traced in program::samples() {
        let Some(program) = PROGRAMS.iter().find(|program| program.name == traced.name) else { continue };
        let row = Row::new(&traced, u64::MAX, &MIXES)?;
        let (instructions, bytes) = record(&tracewright, program.name)?;
        let (history, all) = (row.bytes[1], row.bytes[3]);
        let each = |bytes: u64, count: u64| format!("{:.4}", 8.0 * bytes as f64 / count.max(1) as f64);
        println!(
            "| {} | {} | {history} | {all} | {instructions} | {bytes} | {} | {} | {} |",
            program.name,
            row.instructions,
            each(history, row.instructions),
            each(all, row.instructions),
            each(bytes, instructions)
        );
    }
    Ok(())
}

/// Compiles and records a program. Returns its instructions, and the bytes of its source in the trace.
fn record(tracewright: &Path, name: &str) -> Result<(u64, u64), String> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs");
    let elf = inputs::out_dir().join(format!("{name}-aarch64.elf"));
    let folder = inputs::out_dir().join(format!("{name}-etm4"));
    let mut gcc = Command::new(GCC);
    gcc.args(FLAGS.split_whitespace()).arg("-o").arg(&elf).arg(sources.join(format!("{name}.c")));
    // As for RISC-V: it is a program of calls.
    if name == "recursion" {
        gcc.args(["-fno-inline", "-fno-optimize-sibling-calls", "-fno-ipa-cp"]);
    }
    gcc.args(RUNTIME.map(|file| sources.join("runtime").join(file)));
    gcc.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ntrace/aarch64.S"));
    run(&mut gcc)?;
    fs::remove_dir_all(&folder).ok();
    run(Command::new(tracewright)
        .args(["record", "--quiet", "--qemu", "--protocol", "etm4", "--output"])
        .arg(&folder)
        .arg(&elf))?;
    let stats = run(Command::new(tracewright).args(["stats", "--json"]).arg(&folder))?;
    let decoded = run(Command::new(tracewright).args(["decode", "--summary", "--json"]).arg(&folder))?;
    let number = |text: &str, key: &str| -> Result<u64, String> {
        let value: serde_json::Value = serde_json::from_str(text.lines().last().unwrap_or_default())
            .map_err(|error| error.to_string())?;
        find(&value, key).ok_or_else(|| format!("{name}: no {key} in {text}"))
    };
    let found = (number(&decoded, "instructions")?, number(&stats, "bytes")?);
    fs::remove_dir_all(&folder).ok();
    Ok(found)
}

/// Finds the first number with this key.
fn find(value: &serde_json::Value, key: &str) -> Option<u64> {
    match value {
        serde_json::Value::Object(members) => {
            let own = members.get(key).and_then(serde_json::Value::as_u64);
            own.or_else(|| members.values().find_map(|member| find(member, key)))
        }
        serde_json::Value::Array(items) => items.iter().find_map(|item| find(item, key)),
        _ => None,
    }
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}
