//! Programs that compute: ours on three processors, and Debian's where they were fetched.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use tracewright_testkit::debian;
use tracewright_testkit::qemu::{self, Guest, Variant, build};

use crate::inputs;

/// A program, and how it is run.
pub struct Program {
    /// In tables.
    pub name: String,
    pub guest: Guest,
    pub elf: PathBuf,
    pub arguments: Vec<&'static str>,
    pub environment: Vec<(&'static str, OsString)>,
    pub root: PathBuf,
    pub folder: PathBuf,
}

/// What `cpu` does, and how much of it takes about a second with a plugin.
const AMOUNTS: [(&str, &str); 5] =
    [("sort", "60"), ("sieve", "150"), ("text", "400"), ("matrix", "60"), ("calls", "700")];

/// Those of Debian that run longest.
const DEBIAN: [&str; 6] = ["lame", "xz", "bzip2", "lua5.4", "python3", "gs"];

impl Program {
    /// One for each processor, with little to do.
    pub fn small() -> Vec<Self> {
        Guest::ALL.into_iter().filter_map(|guest| Self::own(guest, "text", "1")).collect()
    }

    /// All of them.
    pub fn all() -> Vec<Self> {
        let own = Guest::ALL.into_iter().flat_map(|guest| {
            AMOUNTS.into_iter().filter_map(move |(what, amount)| Self::own(guest, what, amount))
        });
        own.chain(debian::Program::all().into_iter().filter_map(|program| Self::debian(&program))).collect()
    }

    fn own(guest: Guest, what: &'static str, amount: &'static str) -> Option<Self> {
        let elf = build("programs for QEMU", guest, "cpu", Variant::Static)?;
        Some(Self {
            name: format!("{} {what} {amount}", guest.name()),
            guest,
            elf,
            arguments: vec![what, amount],
            environment: Vec::new(),
            root: guest.libraries().to_owned(),
            folder: inputs::out_dir(),
        })
    }

    fn debian(program: &debian::Program) -> Option<Self> {
        if program.small || !DEBIAN.contains(&program.name) {
            return None;
        }
        let folder = inputs::out_dir().join("debian");
        fs::create_dir_all(&folder).ok()?;
        debian::write_inputs(&folder).ok()?;
        Some(Self {
            name: format!("{} {}", program.architecture.guest.name(), program.name),
            guest: program.architecture.guest,
            elf: program.path()?,
            arguments: program.arguments.clone(),
            environment: program.environment(),
            root: program.architecture.root()?,
            folder,
        })
    }

    /// As QEMU is told.
    pub fn how(&self) -> qemu::Program<'_> {
        qemu::Program {
            guest: self.guest,
            elf: &self.elf,
            arguments: &self.arguments,
            environment: &self.environment,
            root: Some(&self.root),
            folder: Some(&self.folder),
        }
    }
}
