//! The files of a kit.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use tracewright_input::Buffer;
use tracewright_input::file::read_plain;

use super::cases::unreached;
use super::{Case, Error, Kit, MANIFEST};
use crate::compare::Packets;
use crate::csv;
use crate::trace::Trace;

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |error| Error::File(path, error)
}

pub fn folder(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(failed(path))
}

pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    fs::write(path, bytes).map_err(failed(path))
}

/// Most bytes of a file of a kit.
const MOST_BYTES: u64 = 1 << 30;

/// Reads a file; `hint` is said if there is none.
pub fn read(path: &Path, hint: &str) -> Result<Vec<u8>, Error> {
    read_plain(path, MOST_BYTES).map_err(|error| Error::Kit(format!("{}: {error}; {hint}", path.display())))
}

/// Begins a kit beside its place, so that an earlier one stays until it is complete.
pub fn begin(dir: &Path, force: bool) -> Result<PathBuf, Error> {
    let is_there = fs::symlink_metadata(dir);
    if let Ok(there) = is_there {
        let is_empty = || fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
        let is_kit = there.is_dir() && (dir.join(MANIFEST).is_file() || is_empty());
        if !(is_kit || force && there.is_dir()) {
            let what = "there is something else than a kit: give another folder, or replace it with --force";
            return Err(Error::Kit(format!("{}: {what}", dir.display())));
        }
    }
    let mut name = dir.file_name().unwrap_or("kit".as_ref()).to_owned();
    name.push(".part");
    let part = dir.with_file_name(name);
    if part.exists() {
        fs::remove_dir_all(&part).map_err(failed(&part))?;
    }
    folder(&part)?;
    Ok(part)
}

/// Moves a complete kit to its place.
pub fn end(part: &Path, dir: &Path) -> Result<(), Error> {
    if dir.exists() {
        fs::remove_dir_all(dir).map_err(failed(dir))?;
    }
    fs::rename(part, dir).map_err(failed(dir))
}

/// Writes the other forms of a trace: bytes in hexadecimal, and the fields of its packets. Returns the number of bytes.
pub fn forms(trace: &Trace, buffer: &Buffer, dir: &Path) -> Result<u64, Error> {
    let bytes = read_plain(&buffer.path, MOST_BYTES).map_err(failed(&buffer.path))?;
    let (mut hex, mut end) =
        (String::from("// The bytes of trace.bin for $readmemh, a line for each packet.\n"), 0);
    let mut table = csv::packets::table();
    for packet in Packets::new(trace) {
        let next = (packet.offset as usize).saturating_add(packet.bytes.len()).min(bytes.len());
        let Some(of) = bytes.get(end..next) else { continue };
        end = next;
        hex_line(&mut hex, of, &packet.text);
        csv::packets::row(&mut table, &buffer.name, &packet);
    }
    hex_line(&mut hex, &bytes[end..], "");
    write(&dir.join("trace.hex"), hex.as_bytes())?;
    write(&dir.join("packets.csv"), table.finish().as_bytes())?;
    Ok(bytes.len() as u64)
}

fn hex_line(hex: &mut String, bytes: &[u8], text: &str) {
    if bytes.is_empty() {
        return;
    }
    bytes.iter().for_each(|byte| _ = write!(hex, "{byte:02x} "));
    let _ = writeln!(hex, "// {text}");
}

impl Kit {
    /// Writes the description, for programs and for people.
    pub(super) fn describe(&self) -> Result<(), Error> {
        write(&self.dir.join(MANIFEST), format!("{:#}\n", self.json()).as_bytes())?;
        write(&self.dir.join("README.md"), self.readme().as_bytes())?;
        let mut coverage = csv::Csv::new("what,name,cases");
        for (what, lists) in [("packet", &self.kinds), ("option", &self.options)] {
            for (name, cases) in lists {
                coverage.row([what.into(), name.as_str().into(), cases.join(" ").into()]);
            }
        }
        write(&self.dir.join("coverage.csv"), coverage.finish().as_bytes())
    }

    fn readme(&self) -> String {
        let inputs = match self.protocol.as_str() {
            "etm4" => {
                "| `runs/*/program.bin` | the program's code; `kit.json` has its address |\n\
                 | `runs/*/retirement.csv` | what is executed, in order: blocks, exceptions, contexts, and what else a trace unit is told |\n"
            }
            _ => {
                "| `runs/*/program.elf` | the program |\n\
                 | `runs/*/retirement.csv` | each instruction that retires, and each trap (columns of the E-Trace reference flow) |\n\
                 | `runs/*/ingress.csv` | the inputs of the encoder's port, block by block (itype, cause, tval, priv, iaddr, ...) |\n"
            }
        };
        let mut text = format!(
            "# Conformance kit: {}\n\nWhat a core executes, and the bytes that an encoder must make of it.\n\n\
             | | |\n|---|---|\n{inputs}\
             | `cases/NAME/trace.bin` | the expected bytes |\n\
             | `cases/NAME/trace.hex` | the same for `$readmemh`, a line for each packet |\n\
             | `cases/NAME/packets.csv` | the fields of the expected packets |\n\
             | `kit.json` | all of this for programs: cases, options, coverage |\n\
             | `coverage.csv` | which case reaches which packet and option |\n\n\
             Feed a run to your encoder, set up with a case's options, and write its bytes to `mine/NAME.bin` (or `.hex`). Then, in this \
             folder:\n\n    tracewright conform --compare mine\n\n## Cases\n\n| case | run | for | options |\n|---|---|---|---|\n",
            self.protocol
        );
        for Case { name, about, options, run, also, .. } in &self.cases {
            let also = also.as_ref().map_or(String::new(), |also| format!(" ({also})"));
            let _ = writeln!(text, "| `{name}` | `{run}` | {about}{also} | {} |", options.join(" "));
        }
        if !self.left_out.is_empty() {
            text += "\n## Left out for this encoder\n\n";
            self.left_out.iter().for_each(|(name, why)| text += &format!("* `{name}`: {why}\n"));
        }
        text += "\n## Packets\n\n| packet | cases |\n|---|---|\n";
        for (kind, cases) in &self.kinds {
            let none = || format!("none: {}", unreached(&self.protocol, kind));
            let cases = if cases.is_empty() { none() } else { cases.join(", ") };
            let _ = writeln!(text, "| {kind} | {cases} |");
        }
        text
    }
}
