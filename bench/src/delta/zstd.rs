//! The rival: zstd's own benchmark, in memory, of the plain distances.

use std::process::Command;

use tracewright_testkit::Scratch;

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
    let folder = Scratch::new("zstd");
    let path = folder.write("plain", plain);
    let output = Command::new("zstd").args(["-b1", "-i1", "-T1"]).arg(path).output().ok()?;
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
