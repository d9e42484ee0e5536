//! Real captures with bits flipped, beside OpenCSD's lister (Debian's `trc_pkt_lister`, 1.3.3): element by element the same, but
//! for what DIFFERENCES.md explains, each recognised here.
//!
//! `LISTER_SEEDS=A-B` asks for other damage than the usual.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use tracewright_testkit::qemu::Folder;
use tracewright_testkit::{Rng, captures, lister, skip};

/// Captures that 1.3.3 lists as 1.8.0 does while they are whole, and the file with their trace.
const CAPTURES: &[(&str, &str)] = &[
    ("juno_r1_1", "cstrace.bin"),
];

fn tracewright(folder: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tracewright"));
    command.arg("decode").arg(folder).args(["--elements", "--style", "opencsd"]);
    String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
}

fn opencsd(folder: &Path) -> String {
    let mut command = Command::new("trc_pkt_lister");
    command.args(["-ss_dir", folder.to_str().unwrap(), "-decode", "-logstdout"]).current_dir(folder);
    String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
}
