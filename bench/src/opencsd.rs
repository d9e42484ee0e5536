//! OpenCSD's library, driven by `engines/opencsd.c`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Layer;
use crate::answer::Answer;
use crate::inputs::{self, Input};

/// The built driver.
pub struct OpenCsd {
    program: PathBuf,
    dir: PathBuf,
}

impl OpenCsd {
    /// Compiles the driver; `Err` says why there is none.
    pub fn build() -> Result<Self, String> {
        let bench = Path::new(env!("CARGO_MANIFEST_DIR"));
        let dir = inputs::out_dir();
        let program = dir.join("opencsd");
        let output = Command::new("cc")
            .args(["-O2", "-o"])
            .arg(&program)
            .arg(bench.join("engines/opencsd.c"))
            .args(["-lopencsd_c_api", "-lopencsd"])
            .output()
            .map_err(|error| format!("no C compiler: {error}"))?;
        if !output.status.success() {
            return Err("its driver does not compile (Debian package libopencsd-dev is needed)".into());
        }
        Ok(Self { program, dir })
    }

    /// Reads the input `repeat` times: nanoseconds and, if asked for, the answer.
    pub fn run(
        &self,
        input: &Input,
        layer: Layer,
        repeat: usize,
        digest: bool,
    ) -> Result<(u64, Answer), String> {
        let is_read = |i: usize| match layer {
            Layer::Frames => false,
            Layer::Packets => i == input.main,
            _ => true,
        };
        let sources = input.sources.iter().enumerate().filter(|(i, _)| is_read(*i));
        let specs: Vec<_> = sources.map(|(_, (spec, _))| &spec[..]).collect();
        self.read(layer, input.bytes(layer), &specs, &input.files, repeat, digest)
    }

    /// Reads `bytes`, with these sources and this program: raw files with their addresses.
    pub fn read(
        &self,
        layer: Layer,
        bytes: &[u8],
        specs: &[&str],
        files: &[(PathBuf, u64)],
        repeat: usize,
        digest: bool,
    ) -> Result<(u64, Answer), String> {
        let mode = match layer {
            Layer::Frames => "frames",
            Layer::Packets => "source",
            Layer::Both => "formatted",
            Layer::Blocks | Layer::Profile => "decode",
        };
        let file = self.dir.join("input.bin");
        fs::write(&file, bytes).map_err(|error| error.to_string())?;
        let mut command = Command::new(&self.program);
        command.arg(mode).arg(&file).args(["--repeat", &repeat.to_string()]);
        if digest {
            command.arg("--digest");
        }
        for spec in specs {
            command.args(["--source", spec]);
        }
        if matches!(layer, Layer::Blocks | Layer::Profile) {
            for (path, address) in files {
                command.arg("--image").arg(format!("{},{address:x}", path.display()));
            }
        }
        let output = command.output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(format!("OpenCSD: {}", String::from_utf8_lossy(&output.stderr)));
        }
        let json: Value =
            serde_json::from_slice(&output.stdout).map_err(|error| format!("OpenCSD's answer: {error}"))?;
        let counts = json[if layer == Layer::Frames { "ids" } else { "kinds" }].as_object();
        let counts = counts
            .into_iter()
            .flatten()
            .filter(|(name, _)| layer != Layer::Profile || *name != "exceptions")
            .map(|(name, count)| (name.clone(), count.as_u64().unwrap_or(0)));
        let hex = json[if layer == Layer::Profile { "profile" } else { "digest" }]
            .as_str()
            .and_then(|digest| u64::from_str_radix(digest, 16).ok());
        let ns = json["ns"].as_u64().ok_or("OpenCSD's answer has no time")?;
        Ok((ns, Answer { counts: counts.collect(), digest: hex }))
    }
}
