//! Checks the tables of the README against programs that run quickly.

#[path = "../../examples/bits/table.rs"]
mod table;

use tracewright_delta::{Config, Encoder, Packing};

const README: &str = include_str!("../../README.md");
/// Names of the programs. The others run for seconds.
const SHORT: [&str; 4] = ["args", "semihosting", "semihosting32", "traps"];

#[test]
fn the_tables_of_the_readme_are_true() {
    for model in table::models() {
        let after = README.split_once(model.title().trim_end()).map(|(_, after)| after);
        let after = after.unwrap_or_else(|| panic!("no table of {}", model.title()));
        // The text up to the next table.
        let text = after.trim_start().split("\n\n").next().unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        assert!(text.starts_with(&model.head()), "{text}");
        for program in table::programs() {
            assert!(lines.iter().any(|line| line.starts_with(&format!("| {} |", program.name))));
            if SHORT.contains(&program.name.as_str()) {
                let line = model.row(&program).unwrap().line(&program.name);
                assert!(lines.contains(&line.as_str()), "{}: {line}", model.title());
            }
        }
    }
}

/// The overhead of packets and syncs, as in `FORMAT.md`.
#[test]
fn packets_and_syncs_take_little() {
    // Groups of four bits.
    let cycles: Vec<u64> = (1..=1_000_000).map(|n| 2 * n).collect();
    for (sync, percent) in [(2048, 4), (1, 17)] {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(Config::ac(), Packing { sync, ..Packing::default() }).unwrap();
        for block in cycles.chunks(5) {
            encoder.block(0x8000_0000, block, &mut bytes).unwrap();
        }
        encoder.finish(&mut bytes);
        let added = 100.0 * (bytes.len() as f64 / 500_000.0 - 1.0);
        assert_eq!(added.round() as i32, percent, "{added}");
    }
}
