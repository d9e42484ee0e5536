//! The machine that a program runs on.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tracewright_capture::record::Loaded;
use tracewright_hart::Hart;
use tracewright_hart::bare::{self, Bare};
#[cfg(target_os = "linux")]
use tracewright_hart::linux::{self, Linux, Streams, program_in};
use tracewright_input::file::{MAX_PROGRAM, read_plain};

use super::{Opts, first};
use crate::output::Error;

/// What a program runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Linux, as a program in user mode sees it.
    Linux,
    /// A machine without an operating system.
    Bare,
}

/// Of Linux.
#[derive(Args)]
#[command(next_help_heading = "Programs for Linux")]
pub struct LinuxArgs {
    /// The folder that is / for the program. If not given, it sees the files that you see.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,

    /// Let the program change files. If not given, all are read-only.
    #[arg(long)]
    writable: bool,

    /// A variable of the program's environment (repeat for more). There are no others; with --qemu, there are yours.
    #[arg(long = "env", value_name = "NAME=VALUE")]
    pub environment: Vec<OsString>,

    /// Let the program see the time. If not given, its clocks count instructions, so that each run is the same.
    #[arg(long)]
    host_clock: bool,

    /// What random numbers come from.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    seed: u64,
}

impl LinuxArgs {
    /// Refuses a file that is to be written below a root in which the program may rename folders and make links: it could lead the
    /// recording to anywhere.
    pub fn refuse_inside(&self, path: &Path) -> Result<(), Error> {
        let Some(root) = self.root.as_deref().filter(|_| self.writable) else { return Ok(()) };
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let parent = whole.ancestors().skip(1).find_map(|folder| folder.canonicalize().ok());
        match root.canonicalize().ok().zip(parent) {
            Some((root, parent)) if parent.starts_with(&root) => Err(Error::Message(format!(
                "{}: is in --root, where the program may change everything: name a place elsewhere",
                path.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the first option that is given and that QEMU does not have.
    pub fn given(&self) -> Option<&'static str> {
        first(&[
            ("--root", self.root.is_some()),
            ("--writable", self.writable),
            ("--host-clock", self.host_clock),
            ("--seed", self.seed != 0),
        ])
    }

    /// Refuses options that are for Linux only.
    fn refuse(&self) -> Result<(), Error> {
        let environment = first(&[("--env", !self.environment.is_empty())]);
        let given = self.given().filter(|option| *option != "--seed").or(environment);
        refuse(given, "is for Linux programs, and this one runs without (--machine linux, if that is wrong)")
    }
}

/// Regions of physical memory protection, if nobody says how many.
const PMP_REGIONS: u8 = 16;

/// Of the bare machine.
#[derive(Args)]
#[command(next_help_heading = "Programs without an operating system")]
pub struct BareArgs {
    /// More memory: where and how much, in hexadecimal (repeat for more). There are 2 GiB at 0x80000000, and some around the program.
    #[arg(long, value_name = "ADDR:SIZE", value_parser = region)]
    ram: Vec<(u64, u64)>,

    /// Begin at this address, in hexadecimal, instead of at reset.
    #[arg(long, value_name = "ADDR", value_parser = hexadecimal)]
    entry: Option<u64>,

    /// Regions of physical memory protection.
    #[arg(long, value_name = "N", default_value_t = PMP_REGIONS, value_parser = clap::value_parser!(u8).range(0..=16))]
    pmp_regions: u8,

    /// Let loads and stores be misaligned instead of trapping.
    #[arg(long)]
    misaligned: bool,

    /// Let the program read files below this folder through the host interface (HTIF), as a proxy kernel does. Without it, such
    /// requests are refused.
    #[arg(long, value_name = "FOLDER")]
    host_files: Option<PathBuf>,

    /// Raise (1) or lower (0) the external interrupt line after so many instructions (repeat for more).
    #[arg(long, value_name = "N:0|1", value_parser = level)]
    interrupt: Vec<(u64, bool)>,
}

impl BareArgs {
    /// Returns the first option that is given.
    pub fn given(&self) -> Option<&'static str> {
        first(&[
            ("--ram", !self.ram.is_empty()),
            ("--entry", self.entry.is_some()),
            ("--pmp-regions", self.pmp_regions != PMP_REGIONS),
            ("--misaligned", self.misaligned),
            ("--host-files", self.host_files.is_some()),
            ("--interrupt", !self.interrupt.is_empty()),
        ])
    }

    /// Refuses options that are for the bare machine only.
    fn refuse(&self) -> Result<(), Error> {
        let why = "is for programs without an operating system, and this one is for Linux (--machine bare, if that is wrong)";
        refuse(self.given(), why)
    }
}

/// Fails if an option is given that would mean nothing.
fn refuse(given: Option<&str>, why: &str) -> Result<(), Error> {
    match given {
        Some(option) => Err(Error::Message(format!("{option} {why}"))),
        None => Ok(()),
    }
}

/// Loads the program.
pub fn load(opts: &Opts, program: &Path) -> Result<Loaded, Error> {
    if let Some(root) = opts.linux.root.as_deref().filter(|root| !root.is_dir()) {
        return Err(Error::Message(format!("--root {}: there is no such folder", root.display())));
    }
    let path = file(opts, program);
    let bytes = read_plain(&path, MAX_PROGRAM)
        .map_err(|error| Error::Message(format!("{}: {error}", path.display())))?;
    match opts.machine.unwrap_or_else(|| guess(&bytes)) {
        Kind::Linux => {
            opts.bare.refuse()?;
            load_linux(opts, program, &path)
        }
        Kind::Bare => {
            opts.linux.refuse()?;
            let options = bare_options(opts, program);
            let (core, machine) = Bare::new(&bytes, &options, bare::standard_output())
                .map_err(|error| Error::Message(format!("{}: {error}", path.display())))?;
            Ok(Loaded::Bare(Box::new(Hart::new(core, machine))))
        }
    }
}

/// Where the program is: a path in the root, or one of the host's.
fn file(opts: &Opts, program: &Path) -> PathBuf {
    let inside = opts.linux.root.as_ref().and_then(|root| program_in(root, program));
    inside.unwrap_or_else(|| program.to_path_buf())
}

#[cfg(not(target_os = "linux"))]
fn program_in(_: &Path, _: &Path) -> Option<PathBuf> {
    None
}

#[cfg(not(target_os = "linux"))]
fn load_linux(_: &Opts, _: &Path, _: &Path) -> Result<Loaded, Error> {
    Err(tracewright_capture::Error::LinuxOnly.into())
}

#[cfg(target_os = "linux")]
fn load_linux(opts: &Opts, program: &Path, path: &Path) -> Result<Loaded, Error> {
    let LinuxArgs { root, writable, environment, host_clock, seed } = &opts.linux;
    let name = program.as_os_str().to_owned();
    let options = linux::Options {
        arguments: std::iter::once(name).chain(opts.arguments().iter().cloned()).collect(),
        environment: environment.clone(),
        root: root.clone(),
        writable: *writable,
        memory: opts.memory.saturating_mul(1 << 20),
        seed: *seed,
        host_clock: *host_clock,
        streams: Streams::inherit(),
        ..linux::Options::default()
    };
    let (core, machine) = Linux::load(path, options).map_err(|error| Error::Message(error.to_string()))?;
    Ok(Loaded::Linux(Box::new(Hart::new(core, machine))))
}

fn bare_options(opts: &Opts, program: &Path) -> bare::Options {
    let BareArgs { ram, entry, pmp_regions, misaligned, host_files, interrupt } = &opts.bare;
    let name = file_name(program);
    let arguments = opts.arguments().iter().map(|argument| argument.to_string_lossy().into_owned());
    let mut external = interrupt.clone();
    external.sort_by_key(|&(at, _)| at);
    bare::Options {
        more_memory: ram.clone(),
        limit: opts.memory.saturating_mul(1 << 20),
        pmp_regions: *pmp_regions,
        misaligned: *misaligned,
        entry: *entry,
        external,
        host_is_quick: opts.output.is_some(),
        arguments: std::iter::once(name).chain(arguments).collect(),
        host_files: host_files.clone(),
        ..bare::Options::default()
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What a program was made for.
fn guess(elf: &[u8]) -> Kind {
    if bare::is_for_it(elf) { Kind::Bare } else { Kind::Linux }
}

fn hexadecimal(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").or(text.strip_prefix("0X")).unwrap_or(text);
    u64::from_str_radix(digits, 16).map_err(|_| "expected an address in hexadecimal".into())
}

fn region(text: &str) -> Result<(u64, u64), String> {
    let (start, size) = text.split_once(':').ok_or("expected ADDR:SIZE, in hexadecimal")?;
    let (start, size) = (hexadecimal(start)?, hexadecimal(size)?);
    if size == 0 || start.checked_add(size).is_none() {
        return Err("there is no such memory".into());
    }
    Ok((start, size))
}

fn level(text: &str) -> Result<(u64, bool), String> {
    let (at, level) = text.split_once(':').ok_or("expected N:1 or N:0")?;
    let at = at.parse().map_err(|_| "expected a number of instructions before the colon")?;
    match level {
        "0" => Ok((at, false)),
        "1" => Ok((at, true)),
        _ => Err("expected 1 or 0 after the colon".into()),
    }
}
