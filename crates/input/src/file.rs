//! Opening of input files: every file that a user, an option or another file names, except the trace itself.
//!
//! A file name from an untrusted file may lead to a pipe without a writer or to an endless device. Only plain
//! files are opened, and files that are read whole have a size limit. `tests/it/opening.rs` keeps other ways
//! of opening files out of this crate and the command.
//!
//! Any of these files may be [compressed](crate::compressed): it is unpacked while it is read, or, where it is
//! read at any place, once into a temporary file ([`open_seekable`]). A file that is not there is looked for under
//! its name with `.xz`, `.zst` or `.gz`.

use std::borrow::Cow;
use std::env;
use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::compressed::{Compression, UnpackError, Unpacked};

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

/// Most bytes that are unpacked of a compressed file that is read at any place.
pub const MAX_UNPACKED: u64 = 8 << 30;

/// Returns the path of a file, or that of its compressed form if only that is there.
pub fn existing(path: &Path) -> Cow<'_, Path> {
    let is_missing =
        |path: &Path| fs::metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    if !is_missing(path) {
        return path.into();
    }
    let packed = Compression::ENDINGS.into_iter().map(|ending| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    });
    packed.into_iter().find(|packed| packed.is_file()).map_or(path.into(), Cow::from)
}

/// Opens a plain file, and unpacks it while it is read if it is compressed.
///
/// # Errors
/// Fails like [`open_plain`].
pub fn open_unpacked(path: &Path) -> io::Result<Unpacked<File>> {
    Unpacked::new(open_plain(&existing(path))?)
}

/// Opens a plain file to be read at any place. If it is compressed, this is a temporary file, already removed,
/// with its contents: [`MAX_UNPACKED`] bytes at most.
///
/// # Errors
/// Fails like [`open_plain`], and if the file cannot be unpacked.
pub fn open_seekable(path: &Path) -> io::Result<File> {
    unpacked_to(path, MAX_UNPACKED)
}

fn unpacked_to(path: &Path, most: u64) -> io::Result<File> {
    let mut file = open_plain(&existing(path))?;
    let mut unpacked = Unpacked::new(&mut file)?;
    let Some(compression) = unpacked.compression() else {
        drop(unpacked);
        file.rewind()?;
        return Ok(file);
    };
    let mut temporary = temporary()?;
    if io::copy(&mut (&mut unpacked).take(most), &mut temporary)? == most && unpacked.read(&mut [0])? > 0 {
        return Err(UnpackError::too_large(compression, most));
    }
    temporary.rewind()?;
    Ok(temporary)
}

/// Creates a file that has no name any more.
fn temporary() -> io::Result<File> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("tracewright-unpacked-{}-{number}", std::process::id()));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&path) {
            Ok(file) => {
                fs::remove_file(&path)?;
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns whether a plain file is compressed, and how.
pub fn compression(path: &Path) -> Option<Compression> {
    open_unpacked(path).ok()?.compression()
}

/// Returns the size of a plain file. A compressed one is unpacked to find out.
///
/// # Errors
/// Fails like [`open_plain`], and if the file cannot be unpacked.
pub fn size(path: &Path) -> io::Result<u64> {
    let path = existing(path);
    let mut file = open_unpacked(&path)?;
    match file.compression() {
        None => Ok(fs::metadata(&path)?.len()),
        Some(_) => io::copy(&mut file, &mut io::sink()),
    }
}

/// Reads a plain file of at most `limit` bytes.
///
/// # Errors
/// Fails if the file cannot be read, is not a plain file, or is longer.
pub fn read_plain(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_all(open_unpacked(path)?, limit)
}

/// Reads standard input, unpacked, of at most `limit` bytes.
pub(crate) fn read_stdin(limit: u64) -> io::Result<Vec<u8>> {
    read_all(Unpacked::new(io::stdin())?, limit)
}

fn read_all(input: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
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

/// Returns the first bytes of a plain file, `most` or all that it has.
///
/// # Errors
/// Fails if the file cannot be read, or is not a plain file.
pub fn start_of(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_unpacked(path)?.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the first `N` bytes of a plain file; `None` if it cannot be read, or is shorter.
pub fn first_bytes<const N: usize>(path: &Path) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    open_unpacked(path).and_then(|mut file| file.read_exact(&mut bytes)).ok()?;
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

    /// gzip's file of the text "12345", without compression.
    const PACKED: [u8; 28] = [
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 5, 0, 0xfa, 0xff, b'1', b'2', b'3', b'4', b'5', 0x1c, 0x3a,
        0xf5, 0xcb, 5, 0, 0, 0,
    ];

    #[test]
    fn compressed_files_are_unpacked() {
        let scratch = tracewright_testkit::Scratch::new("file");
        let packed = scratch.write("five.gz", &PACKED);
        // Also under the name that it had.
        for path in [&packed, &packed.with_extension("")] {
            assert_eq!(read_plain(path, 5).unwrap(), b"12345");
            assert!(read_plain(path, 4).unwrap_err().to_string().starts_with("longer than 4 bytes"));
            assert_eq!((size(path).unwrap(), first_bytes(path)), (5, Some(*b"123")));
            assert_eq!(compression(path), Some(Compression::Gzip));
            let mut text = String::new();
            let mut file = open_seekable(path).unwrap();
            file.seek(io::SeekFrom::Start(2)).unwrap();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(text, "345");
            let error = unpacked_to(path, 4).unwrap_err().to_string();
            assert!(error.starts_with("compressed with gzip, and more than 0 MiB"), "{error}");
            assert!(unpacked_to(path, 5).is_ok());
        }
        scratch.write("five", b"other");
        assert_eq!(read_plain(&packed.with_extension(""), 5).unwrap(), b"other");
        let mut damaged = PACKED;
        damaged[20] ^= 1;
        let error = read_plain(&scratch.write("bad", &damaged), 9).unwrap_err().to_string();
        assert_eq!(error, "compressed with gzip, and damaged: its checksum is wrong");
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
