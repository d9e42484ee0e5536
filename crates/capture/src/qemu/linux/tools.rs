//! Finds QEMU and the plugin, and says what to install if they are missing.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tracewright_qemu::format::Target;

use crate::Error;

/// The plugin's file.
const PLUGIN: &str = "libtracewright_qemu.so";
/// The variable that names it.
const PLUGIN_VARIABLE: &str = "TRACEWRIGHT_QEMU_PLUGIN";

/// Returns QEMU for a processor: the `named` one, or the one in `path`.
pub fn qemu(target: Target, named: Option<&Path>, path: &OsStr) -> Result<PathBuf, Error> {
    if let Some(named) = named {
        return match named.is_file() {
            true => Ok(named.to_owned()),
            false => Err(Error::Qemu(format!("--qemu-path {}: there is no such file", named.display()))),
        };
    }
    let name = format!("qemu-{}", target.name());
    if let Some(found) = on_path(path, &name) {
        return Ok(found);
    }
    let advice = "install Debian's package qemu-user, or name it with --qemu-path FILE";
    Err(Error::Qemu(match on_path(path, &format!("{name}-static")) {
        Some(found) => format!(
            "{} cannot load plugins, since it is statically linked, and there is no {name} in PATH: {advice}",
            found.display()
        ),
        None => format!("there is no {name} in PATH: {advice}"),
    }))
}

/// Fails if QEMU was built without plugins, as Debian's is from version 13 on. QEMU's help shows it.
pub fn check_plugins(qemu: &Path) -> Result<(), Error> {
    let help = Command::new(qemu).arg("--help").output();
    let has_plugins = |output: &Output| output.stdout.windows(7).any(|word| word == b"-plugin");
    if help.as_ref().map_or(true, has_plugins) {
        return Ok(());
    }
    Err(Error::Qemu(format!(
        "{} was built without plugins, as Debian 13's is: take that of Debian 12, or build QEMU with --enable-plugins, and name it \
         with --qemu-path FILE",
        qemu.display()
    )))
}

fn on_path(path: &OsStr, name: &str) -> Option<PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Returns the plugin: the one that the environment variable names, or the newest where builds and packages put it.
pub fn plugin() -> Result<PathBuf, Error> {
    let named = std::env::var_os(PLUGIN_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    let executable = std::env::current_exe().and_then(std::fs::canonicalize);
    let folder = executable.ok().and_then(|file| file.parent().map(Path::to_owned));
    find_plugin(named, folder.as_deref())
}

fn find_plugin(named: Option<PathBuf>, folder: Option<&Path>) -> Result<PathBuf, Error> {
    let places = match (&named, folder) {
        (Some(named), _) => vec![named.clone()],
        (None, Some(folder)) => {
            let places = ["", "deps", "../lib/tracewright"];
            places.map(|place| folder.join(place).join(PLUGIN)).to_vec()
        }
        (None, None) => Vec::new(),
    };
    // A build of one crate puts it into only one of these places, so the other may be older.
    let age = |file: &&PathBuf| file.metadata().and_then(|metadata| metadata.modified()).ok();
    if let Some(found) = places.iter().rev().filter(|file| file.is_file()).max_by_key(age) {
        // QEMU runs in the caller's folder, but relative paths may mean something else under its sysroot.
        return std::fs::canonicalize(found)
            .map_err(|error| Error::Qemu(format!("{}: {error}", found.display())));
    }
    let advice = "build it with `cargo build --release -p tracewright-qemu`";
    Err(Error::Qemu(match named {
        Some(named) => {
            format!("${PLUGIN_VARIABLE} is {}, but there is no such file: {advice}", named.display())
        }
        None => format!(
            "the plugin {PLUGIN} for QEMU is not beside tracewright, nor in deps/ there, nor in ../lib/tracewright: {advice}, \
             or name it in ${PLUGIN_VARIABLE}"
        ),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("tracewright-tools-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    fn message<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn qemu_is_the_one_in_the_path() {
        let folder = folder("qemu");
        let path = std::env::join_paths([Path::new("/no/such/folder"), &folder]).unwrap();
        let missing = message(qemu(Target::Arm, None, &path));
        assert!(missing.starts_with("there is no qemu-arm in PATH: install Debian's package qemu-user"));
        std::fs::write(folder.join("qemu-arm-static"), "").unwrap();
        let only_static = message(qemu(Target::Arm, None, &path));
        assert!(only_static.contains("qemu-arm-static cannot load plugins"), "{only_static}");
        std::fs::write(folder.join("qemu-arm"), "").unwrap();
        assert_eq!(qemu(Target::Arm, None, &path).unwrap(), folder.join("qemu-arm"));
        let named = message(qemu(Target::Arm, Some(Path::new("/no/qemu")), &path));
        assert_eq!(named, "--qemu-path /no/qemu: there is no such file");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_plugin_lies_where_builds_put_it() {
        let root = std::fs::canonicalize(folder("plugin")).unwrap();
        let bin = root.join("bin");
        std::fs::create_dir_all(bin.join("deps")).unwrap();
        let missing = message(find_plugin(None, Some(&bin)));
        assert!(missing.contains("cargo build --release -p tracewright-qemu"), "{missing}");
        let named = message(find_plugin(Some("/no/plugin.so".into()), Some(&bin)));
        assert!(named.starts_with("$TRACEWRIGHT_QEMU_PLUGIN is /no/plugin.so, but"), "{named}");
        std::fs::create_dir_all(root.join("lib/tracewright")).unwrap();
        // The later are the earlier in the search.
        for place in ["lib/tracewright", "bin/deps", "bin"] {
            let file = root.join(place).join(PLUGIN);
            std::fs::write(&file, "").unwrap();
            assert_eq!(find_plugin(None, Some(&bin)).unwrap(), file);
        }
        std::fs::remove_dir_all(root).unwrap();
    }
}
