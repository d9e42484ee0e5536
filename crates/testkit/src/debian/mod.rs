//! Programs of Debian for other architectures: `tests/debian` fetches them, `tests/debian.txt` says how they are run,
//! on [inputs](write_inputs) that are made here.
//!
//! `DEBIAN=FOLDER` tells tests of the folder with one root for each architecture, `DEBIAN_FULL=1` that all programs
//! are to be run and not only the small ones. Tests never fetch.

mod inputs;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs};

pub use inputs::{picture, sound, wave, write_inputs};

use crate::qemu::Guest;

/// A line of `tests/debian.txt`, for one architecture.
#[derive(Clone, Debug)]
pub struct Program {
    /// Whether it is one of the few that are always run.
    pub small: bool,
    /// The processor.
    pub guest: Guest,
    /// The package that has it.
    pub package: &'static str,
    /// Variables of its environment.
    environment: Vec<(&'static str, &'static str)>,
    /// Its name, in `/usr/bin`.
    pub name: &'static str,
    /// Its arguments.
    pub arguments: Vec<&'static str>,
}

impl Program {
    /// All of them, in order.
    ///
    /// # Panics
    /// If the table is not as its head says.
    pub fn all() -> Vec<Self> {
        include_str!("../../../../tests/debian.txt").lines().flat_map(of_line).collect()
    }

    /// Where it is; `None` if it was not fetched.
    pub fn path(&self) -> Option<PathBuf> {
        Some(root(self.guest)?.join("usr/bin").join(self.name)).filter(|path| path.is_file())
    }

    /// The variables of its environment, with their paths.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let Some(root) = root(self.guest) else { return Vec::new() };
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

/// The root of an architecture's programs, if it was made.
pub fn root(guest: Guest) -> Option<PathBuf> {
    let folder = PathBuf::from(env::var_os("DEBIAN")?).join(guest.debian());
    folder.is_dir().then_some(folder)
}

/// Whether all programs are to be run.
pub fn is_full() -> bool {
    env::var_os("DEBIAN_FULL").is_some()
}

fn of_line(line: &'static str) -> Vec<Program> {
    if line.is_empty() || line.starts_with('#') {
        return Vec::new();
    }
    let mut words = line.split_whitespace().peekable();
    let mut next = || words.next().unwrap_or_else(|| panic!("{line}"));
    let (set, architectures, package) = (next(), next(), next());
    assert!(matches!(set, "small" | "full"), "{line}");
    let mut environment = Vec::new();
    while let Some(variable) = words.next_if(|word| word.contains('=')) {
        environment.extend(variable.split_once('='));
    }
    let name = words.next().unwrap_or_else(|| panic!("{line}"));
    let arguments: Vec<_> = words.collect();
    let guest = |name| Guest::ALL.into_iter().find(|guest| guest.debian() == name);
    let program = |architecture| Program {
        small: set == "small",
        guest: guest(architecture).unwrap_or_else(|| panic!("{line}")),
        package,
        environment: environment.clone(),
        name,
        arguments: arguments.clone(),
    };
    architectures.split(',').map(program).collect()
}

/// The path below `root` in which a component `*` is the only name that leads to something.
fn only_match(root: &Path, path: &str) -> PathBuf {
    let Some((before, after)) = path.split_once("/*/") else { return root.join(path) };
    let entries = fs::read_dir(root.join(before)).into_iter().flatten().flatten();
    let mut found = entries.map(|entry| entry.path().join(after)).filter(|path| path.exists());
    found.next().unwrap_or_else(|| root.join(path))
}
