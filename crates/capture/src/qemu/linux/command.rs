//! QEMU's command line.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::Command;

use super::QemuOptions;
use super::program::Program;

/// Returns the command that makes QEMU run a program with the plugin. `plugin_arguments` are the plugin's own.
pub fn command(
    (qemu, plugin): (&Path, &Path),
    program: &Program,
    symfs: Option<&Path>,
    options: &QemuOptions,
    plugin_arguments: &[(&str, OsString)],
) -> Command {
    let mut command = Command::new(qemu);
    command.arg("-plugin").arg(plugin_option(plugin, plugin_arguments));
    if let Some(symfs) = symfs {
        command.arg("-L").arg(symfs);
    }
    for variable in &options.environment {
        set(&mut command, variable);
    }
    command.args(&options.qemu_options);
    // The program's own name (argv[0]) is the given one, not the path where it was found.
    command.arg("-0").arg(&options.program).arg(&program.path).args(&options.arguments);
    command
}

/// Sets a variable of the program's environment. QEMU's option for it splits at commas. QEMU's own environment, which programs inherit,
/// does not, but QEMU's own dynamic linker would read variables that are meant for the program's.
fn set(command: &mut Command, variable: &OsStr) {
    let bytes = variable.as_bytes();
    let at = bytes.iter().position(|&byte| byte == b'=').unwrap_or(bytes.len());
    if bytes.contains(&b',') {
        let (name, value) = (&bytes[..at], bytes.get(at + 1..).unwrap_or_default());
        command.env(OsStr::from_bytes(name), OsStr::from_bytes(value));
    } else {
        command.arg("-E").arg(variable);
    }
}

/// Returns `FILE,name=value,...`, with commas in values doubled.
fn plugin_option(plugin: &Path, arguments: &[(&str, OsString)]) -> OsString {
    let mut option = escaped(plugin.as_os_str());
    for (name, value) in arguments {
        option.extend(b",");
        option.extend(name.as_bytes());
        option.extend(b"=");
        option.extend(escaped(value));
    }
    OsString::from_vec(option)
}

fn escaped(text: &OsStr) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &byte in text.as_bytes() {
        bytes.extend(std::iter::repeat_n(byte, if byte == b',' { 2 } else { 1 }));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_are_doubled() {
        let option = plugin_option(Path::new("/a,b.so"), &[("log", "x,y".into()), ("slots", "64".into())]);
        assert_eq!(option, "/a,,b.so,log=x,,y,slots=64");
    }

    #[test]
    fn variables_are_the_programs_own() {
        let mut command = Command::new("qemu");
        set(&mut command, OsStr::new("LD_PRELOAD=x"));
        set(&mut command, OsStr::new("LIST=a,b=c"));
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["-E", "LD_PRELOAD=x"]);
        let environment: Vec<_> = command.get_envs().collect();
        assert_eq!(environment, [(OsStr::new("LIST"), Some(OsStr::new("a,b=c")))]);
    }
}
