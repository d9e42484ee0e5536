//! Builds the programs of `programs/qemu` with Debian's cross compilers when a test needs them. What a compiler links
//! in is not ours, so they are not in the repository.

use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;
use std::{env, fs, io};

use super::Guest;
use super::guest::find;

/// Way of linking a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Static, at a fixed address.
    Static,
    /// Static, at any address. Debian supports this for aarch64 only.
    StaticPie,
    /// Dynamic, at any address.
    Pie,
    /// Like `Pie`, without symbols.
    Stripped,
}

impl Variant {
    /// All variants.
    pub const ALL: [Self; 4] = [Self::Static, Self::StaticPie, Self::Pie, Self::Stripped];

    const fn options(self) -> &'static [&'static str] {
        match self {
            Self::Static => &["-static"],
            Self::StaticPie => &["-static-pie", "-fPIE"],
            Self::Pie => &["-pie", "-fPIE"],
            Self::Stripped => &["-pie", "-fPIE", "-s"],
        }
    }

    /// Returns whether programs can be linked like this.
    pub fn is_for(self, guest: Guest) -> bool {
        self != Self::StaticPie || guest == Guest::Aarch64
    }
}

/// Builds `programs/qemu/NAME.c` if that was not done yet. Without a compiler, returns `None` and reports that `test` is skipped.
pub fn build(test: &str, guest: Guest, name: &str, variant: Variant) -> Option<PathBuf> {
    let compiler = format!("{}-gcc", guest.triple());
    let libc = guest.libraries().join("lib/libc.so.6");
    if find(&compiler).is_none() || !libc.exists() {
        let (triple, arch) = (guest.triple().replace('_', "-"), guest.debian());
        crate::skip(test, &format!("no {compiler} (Debian: gcc-{triple}, libc6-dev-{arch}-cross)"));
        return None;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../programs/qemu/{name}.c"));
    let folder = target().join("programs-qemu").join(guest.name());
    let built = folder.join(format!("{name}-{variant:?}").to_lowercase());
    if is_newer(&built, &source).unwrap_or(false) {
        return Some(built);
    }
    // Built aside and renamed, since tests may do this at the same time.
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let aside = folder.join(format!("{name}-{}-{number}", process::id()));
    fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let output = Command::new(&compiler)
        .args(["-O2", "-g", "-Wall", "-Werror", "-pthread"])
        .args(variant.options())
        .arg("-o")
        .arg(&aside)
        .arg(&source)
        .arg("-ldl")
        .output()
        .unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(output.status.success(), "{}: {}", source.display(), String::from_utf8_lossy(&output.stderr));
    fs::rename(&aside, &built).unwrap_or_else(|error| panic!("{}: {error}", built.display()));
    Some(built)
}

fn is_newer(built: &Path, source: &Path) -> io::Result<bool> {
    let when = |path: &Path| -> io::Result<SystemTime> { fs::metadata(path)?.modified() };
    Ok(when(built)? > when(source)?)
}

/// Returns the folder that Cargo builds into: tests run from `target/PROFILE/deps`, benchmarks from `target/PROFILE`.
fn target() -> PathBuf {
    let program = env::current_exe().unwrap_or_default();
    let is_cargos = |folder: &&Path| folder.join("CACHEDIR.TAG").is_file();
    let found = program.ancestors().skip(1).find(is_cargos);
    found.map_or_else(env::temp_dir, Path::to_path_buf)
}
