//! What the reference code, NexRv, made of programs, as its authors publish it.

use std::fs;

use tracewright_testkit::captures;

/// A program's trace by NexRv.
pub struct Published {
    pub program: String,
    pub instructions: u64,
    /// Bytes by option: n, h, hr, hc, hcr.
    pub bytes: [u64; 5],
}

/// All of its tables; none if they are not here.
pub fn all() -> Vec<Published> {
    let Some(folder) = captures().map(|captures| captures.join("riscv/ntrace/published")) else {
        return Vec::new();
    };
    let mut found: Vec<Published> = Vec::new();
    for option in 0..5 {
        let text = fs::read_to_string(folder.join(format!("all{option}.txt"))).unwrap_or_default();
        for (program, bytes, instructions) in text.lines().filter_map(line) {
            let known = found.iter().position(|known| known.program == program);
            let index = known.unwrap_or_else(|| {
                found.push(Published { program: program.into(), instructions, bytes: [0; 5] });
                found.len() - 1
            });
            found[index].bytes[option] = bytes;
        }
    }
    found
}

/// The program, bytes and instructions of a line: `NAME-report.txt:Stat: N bytes, ..., N instr, ...`.
fn line(line: &str) -> Option<(&str, u64, u64)> {
    let (program, rest) = line.split_once("-report.txt:Stat: ")?;
    let number = |unit: &str| {
        let part = rest.split(", ").find_map(|part| part.strip_suffix(unit))?;
        part.trim().parse().ok()
    };
    Some((program, number(" bytes")?, number(" instr")?))
}
