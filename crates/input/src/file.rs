//! Opening of input files: every file that a user, an option or another file names, except the trace itself.
//!
//! A file name from an untrusted file may lead to a pipe without a writer or to an endless device. Only plain
//! files are opened, and files that are read whole have a size limit. `tests/it/opening.rs` keeps other ways
//! of opening files out of this crate and the command.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Most bytes of text with parameters, events or timings. Files written by people are much shorter.
pub const MAX_TEXT: u64 = 16 << 20;

/// Most bytes of a program that is read whole.
pub const MAX_PROGRAM: u64 = 4 << 30;

/// Opens a plain file. Never blocks, and opens no device.
///
/// # Errors
/// Fails if the file cannot be opened or is not a plain file.
pub fn open_plain(path: &Path) -> io::Result<File> {
    // Opening some devices has an effect, so check first. A pipe that replaces the file in between must not
    // block.
    check(fs::metadata(path)?.file_type())?;
    let file = open_now(path)?;
    check(file.metadata()?.file_type())?;
    Ok(file)
}

/// Opens anything without waiting for a writer.
pub(crate) fn open_now(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, NONBLOCK);
    options.open(path)
}

/// `O_NONBLOCK` where its value is known. It has no effect on plain files.
#[cfg(unix)]
const NONBLOCK: i32 = {
    let is_usual = cfg!(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"));
    if cfg!(target_os = "linux") && is_usual { 0o4000 } else { 0 }
};

/// Reads a plain file of at most `limit` bytes.
///
/// # Errors
/// Fails if the file cannot be read, is not a plain file, or is longer.
pub fn read_plain(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_plain(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::other(format!(
            "longer than {limit} bytes, the most that is read of such a file"
        )));
    }
    Ok(bytes)
}

/// Reads a plain text file of at most [`MAX_TEXT`] bytes.
///
/// # Errors
/// Fails like [`read_plain`], and if the text is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_plain(path, MAX_TEXT)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not UTF-8 text"))
}

/// Returns the first `N` bytes of a plain file; `None` if it cannot be read, or is shorter.
pub fn first_bytes<const N: usize>(path: &Path) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    open_plain(path).and_then(|mut file| file.read_exact(&mut bytes)).ok()?;
    Some(bytes)
}

fn check(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    let what = if kind.is_dir() { "a folder" } else { "a pipe, a socket or a device" };
    Err(io::Error::other(format!("{what}, not a plain file")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_files_are_opened() {
        for path in ["/dev/null", "/dev/zero", "/dev/tty"] {
            let error = open_plain(Path::new(path)).unwrap_err();
            assert_eq!(error.to_string(), "a pipe, a socket or a device, not a plain file", "{path}");
        }
        assert_eq!(open_plain(Path::new("/")).unwrap_err().to_string(), "a folder, not a plain file");
        assert_eq!(open_plain(Path::new("/none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn what_is_read_whole_has_a_limit() {
        let scratch = tracewright_testkit::Scratch::new("file");
        let path = scratch.write("five", b"12345");
        assert_eq!(read_plain(&path, 5).unwrap(), b"12345");
        assert!(read_plain(&path, 4).unwrap_err().to_string().starts_with("longer than 4 bytes"));
        assert_eq!(read_text(&path).unwrap(), "12345");
        assert_eq!(first_bytes(&path), Some(*b"123"));
        assert_eq!(first_bytes::<6>(&path), None);
    }
}
