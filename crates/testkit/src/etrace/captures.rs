use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tracewright_etrace::Params;

/// A program that the reference flow's encoder traced.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The folder of its set, such as `itype4_basic`.
    pub set: String,
    /// The program.
    pub program: String,
    /// The encoder, from the set's `.scf` file.
    pub params: Params,
    folder: PathBuf,
}

impl Flow {
    /// The packets as bytes, in SMI framing.
    ///
    /// # Panics
    /// If there are none.
    pub fn raw(&self) -> Vec<u8> {
        fs::read(self.file("te_inst_raw")).unwrap()
    }

    /// The packets' fields, if the flow wrote them and `xz` is here.
    pub fn csv(&self) -> Option<String> {
        text(&self.file("te_inst.csv.xz"))
    }

    /// The encoder's input, if the flow wrote it and `xz` is here.
    pub fn encoder_input(&self) -> Option<String> {
        text(&self.file("encoder_input.xz"))
    }

    /// A file of this program and set.
    pub fn file(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.program))
    }
}

/// All that the reference flow traced, in the folder of captures.
///
/// # Panics
/// If a file cannot be read.
pub fn flows(captures: &Path) -> Vec<Flow> {
    let mut flows = Vec::new();
    for set in ["itype3_basic", "itype3_debug", "itype4_basic", "itype4_debug", "itype4_fake_scf"] {
        let folder = captures.join("riscv/etrace").join(set);
        let scf = |name| fs::read_to_string(folder.join(name)).unwrap();
        // The model sends ones where the specification repeats a bit.
        let params = |name| Params { irdepth_ones: true, ..Params::from_scf(&scf(name)).unwrap() };
        let (rv32, rv64) = (params("hardware_32.scf"), params("hardware_64.scf"));
        for entry in fs::read_dir(&folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if let Some(program) = name.strip_suffix(".te_inst_raw") {
                let (set, program) = (set.to_owned(), program.to_owned());
                let params = if is_rv32(&program) { rv32.clone() } else { rv64.clone() };
                flows.push(Flow { set, program, params, folder: folder.clone() });
            }
        }
    }
    flows.sort_by(|a, b| (&a.set, &a.program).cmp(&(&b.set, &b.program)));
    flows
}

/// Whether a shared program is for RV32.
fn is_rv32(program: &str) -> bool {
    program == "xrle" || program.starts_with("embench-")
}

/// A text file, compressed or not; `None` if it, or `xz`, is not here.
pub fn text(path: &Path) -> Option<String> {
    if !path.exists() {
        return None;
    }
    if path.extension().is_none_or(|extension| extension != "xz") {
        return fs::read_to_string(path).ok();
    }
    let output = Command::new("xz").arg("-dc").arg(path).output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).ok())?
}
