//! Programs of Debian for other architectures: `tests/debian` fetches them, `tests/debian.txt` says how they are run,
//! on [inputs](write_inputs) that are made here.
//!
//! `DEBIAN=FOLDER` is the folder with one root for each architecture; `DEBIAN_FULL=1` runs all programs and not only
//! the small ones. Tests never fetch.

mod inputs;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs};

pub use inputs::write_inputs;

use crate::qemu::Guest;

/// An architecture of Debian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Architecture {
    /// Debian's name.
    pub name: &'static str,
    /// Processor that runs it. An Arm processor runs two: `armhf` is mostly T32, `armel` is A32 without floating point.
    pub guest: Guest,
}

impl Architecture {
    /// Architectures that `tests/debian` fetches programs for.
    pub const ALL: [Self; 4] = [
        Self { name: "arm64", guest: Guest::Aarch64 },
        Self { name: "armhf", guest: Guest::Arm },
        Self { name: "armel", guest: Guest::Arm },
        Self::RISCV64,
    ];
    /// RV64.
    pub const RISCV64: Self = Self { name: "riscv64", guest: Guest::Riscv64 };

    /// Returns the root of its programs, if it exists.
    pub fn root(self) -> Option<PathBuf> {
        let folder = PathBuf::from(env::var_os("DEBIAN")?).join(self.name);
        folder.is_dir().then_some(folder)
    }
}

/// A line of `tests/debian.txt`, for one architecture.
#[derive(Clone, Debug)]
pub struct Program {
    /// Set if it is one of the few that always run.
    pub small: bool,
    /// Architecture.
    pub architecture: Architecture,
    /// Environment variables.
    environment: Vec<(&'static str, &'static str)>,
    /// Name in `/usr/bin`.
    pub name: &'static str,
    /// Arguments.
    pub arguments: Vec<&'static str>,
}

impl Program {
    /// Returns all programs, in order.
    pub fn all() -> Vec<Self> {
        include_str!("../../../../tests/debian.txt").lines().flat_map(of_line).collect()
    }

    /// Returns the path of the program; `None` if it was not fetched.
    pub fn path(&self) -> Option<PathBuf> {
        Some(self.architecture.root()?.join("usr/bin").join(self.name)).filter(|path| path.is_file())
    }

    /// Returns its environment variables with their paths.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let Some(root) = self.architecture.root() else { return Vec::new() };
        let value = |value: &str| {
            let parts = value.split(':').map(|part| match part.strip_prefix("ROOT/") {
                Some(part) => only_match(&root, part).into_os_string(),
                None => part.into(),
            });
            parts.collect::<Vec<_>>().join(":".as_ref())
        };
        self.environment.iter().map(|&(name, text)| (name, value(text))).collect()
    }
}

/// Returns whether all programs are to be run.
pub fn is_full() -> bool {
    env::var_os("DEBIAN_FULL").is_some()
}

fn of_line(line: &'static str) -> Vec<Program> {
    if line.is_empty() || line.starts_with('#') {
        return Vec::new();
    }
    let mut words = line.split_whitespace().peekable();
    let mut next = || words.next().unwrap_or_else(|| panic!("{line}"));
    let (set, architectures, _package) = (next(), next(), next());
    assert!(matches!(set, "small" | "full"), "{line}");
    let mut environment = Vec::new();
    while let Some(variable) = words.next_if(|word| word.contains('=')) {
        environment.extend(variable.split_once('='));
    }
    let name = words.next().unwrap_or_else(|| panic!("{line}"));
    let arguments: Vec<_> = words.collect();
    let program = |on: &str| Program {
        small: set == "small",
        architecture: Architecture::ALL
            .into_iter()
            .find(|of| of.name == on)
            .unwrap_or_else(|| panic!("{line}")),
        environment: environment.clone(),
        name,
        arguments: arguments.clone(),
    };
    architectures.split(',').map(program).collect()
}

/// Returns the path below `root` in which a component `*` is replaced by the only match.
fn only_match(root: &Path, path: &str) -> PathBuf {
    let Some((before, after)) = path.split_once("/*/") else { return root.join(path) };
    let entries = fs::read_dir(root.join(before)).into_iter().flatten().flatten();
    let mut found = entries.map(|entry| entry.path().join(after)).filter(|path| path.exists());
    found.next().unwrap_or_else(|| root.join(path))
}
