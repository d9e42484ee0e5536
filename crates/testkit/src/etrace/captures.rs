use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tracewright_etrace::{Options, Params};

/// A program that another encoder traced.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Set of the reference flow, such as `itype4_basic`. For the old C codec its enabled options: `base`, or letters (`f` full
    /// address, `i` implicit return, `b` branch prediction, `j` jump target cache).
    pub set: String,
    /// Name of the program.
    pub program: String,
    /// Parameters of the encoder.
    pub params: Params,
    folder: PathBuf,
    /// Start of the names of its files.
    stem: String,
    /// End of the name of the file with the fields of packets.
    fields: &'static str,
}

impl Flow {
    /// Returns the packets as bytes, in SMI framing.
    pub fn raw(&self) -> Vec<u8> {
        fs::read(self.file("te_inst_raw")).unwrap()
    }

    /// Returns the fields of the packets, if there are any and `xz` is available.
    pub fn csv(&self) -> Option<String> {
        text(&self.file(self.fields))
    }

    /// Returns the encoder's input, if the flow wrote it and `xz` is available.
    pub fn encoder_input(&self) -> Option<String> {
        text(&self.file("encoder_input.xz"))
    }

    /// Returns the path of a file of this program and set.
    pub fn file(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.stem))
    }
}

/// Returns everything that the reference flow traced, in the folder of captures.
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
                let (folder, stem) = (folder.clone(), program.clone());
                flows.push(Flow { set, program, params, folder, stem, fields: "te_inst.csv.xz" });
            }
        }
    }
    flows.sort_by(|a, b| (&a.set, &a.program).cmp(&(&b.set, &b.program)));
    flows
}

/// Returns everything that the C codec traced, in the folder of captures, with the options of the letters.
pub fn mixes(captures: &Path) -> Vec<(Flow, Options)> {
    let folder = captures.join("riscv/etrace/c_codec_options");
    let mut mixes = Vec::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(stem) = name.strip_suffix(".te_inst_raw") else { continue };
        let Some((program, set)) = stem.split_once('.') else { continue };
        let has = |letter| set != "base" && set.contains(letter);
        let options = Options {
            full_address: has('f'),
            implicit_return: has('i'),
            branch_prediction: has('b'),
            jump_target_cache: has('j'),
            ..Options::default()
        };
        let (program, set, stem) = (program.to_owned(), set.to_owned(), stem.to_owned());
        let params = c_codec_params(&program, &options);
        let (folder, fields) = (folder.clone(), "packets.csv.xz");
        mixes.push((Flow { set, program, params, folder, stem, fields }, options));
    }
    mixes.sort_by(|(a, _), (b, _)| (&a.program, &a.set).cmp(&(&b.program, &b.set)));
    mixes
}

/// Returns the parameters of the C codec's encoder: tables of 128 entries, a call counter. Format 0 has a subformat
/// only if both of its packets can be sent.
fn c_codec_params(program: &str, options: &Options) -> Params {
    let (count, index) = (options.branch_prediction, options.jump_target_cache);
    Params {
        iaddress_width: if is_rv32(program) { 32 } else { 64 },
        nocontext: false,
        f0s_width: u8::from(count && index),
        bpred_size: if count { 7 } else { 0 },
        cache_size: if index { 7 } else { 0 },
        call_counter_size: 7,
        ..Params::default()
    }
}

/// Returns whether a shared program is for RV32.
fn is_rv32(program: &str) -> bool {
    program == "xrle" || program.starts_with("embench-")
}

/// Reads a text file, compressed or not; `None` if it, or `xz`, is missing.
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
