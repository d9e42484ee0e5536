//! The rival: zstd's own benchmark, in memory, of the plain distances.

use std::env;
use std::fs;
use std::process::{self, Command};

/// What zstd says of some bytes.
#[derive(Clone, Copy, Debug)]
pub struct Zstd {
    /// How small they are.
    pub bytes: usize,
    /// Megabytes of them in a second.
    pub compress: f64,
    /// The same, back.
    pub decompress: f64,
}

/// Level 1, in one thread. `None` where there is no zstd.
pub fn measure(plain: &[u8]) -> Option<Zstd> {
    let path = env::temp_dir().join(format!("tracewright-delta-{}", process::id()));
    fs::write(&path, plain).ok()?;
    let output = Command::new("zstd").args(["-b1", "-i1", "-T1"]).arg(&path).output();
    // If it stays, it stays: the folder is for that.
    let _ = fs::remove_file(&path);
    let output = output.ok()?;
    let text = [output.stdout, output.stderr].concat();
    parse(&String::from_utf8_lossy(&text))
}

/// `NAME : 3000000 -> 123456 (x24.3), 1107.2 MB/s, 3526.7 MB/s`, the last of many that overwrite each other.
fn parse(text: &str) -> Option<Zstd> {
    let line = text.rsplit(['\r', '\n']).find(|line| line.matches("MB/s").count() == 2)?;
    let (_, after) = line.split_once("->")?;
    let (bytes, after) = after.split_once('(')?;
    let mut speeds = after.split(',').skip(1).map(|part| part.trim().trim_end_matches("MB/s").trim().parse());
    Some(Zstd {
        bytes: bytes.trim().parse().ok()?,
        compress: speeds.next()?.ok()?,
        decompress: speeds.next()?.ok()?,
    })
}
