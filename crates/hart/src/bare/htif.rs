//! Host interface (HTIF): commands that programs write to `tohost`.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use crate::machine::Stop;
use crate::memory::{Memory, PAGE};
use crate::state::Core;

use super::host_files::HostFiles;

/// The host, and the files that a proxy kernel opened.
#[derive(Debug)]
pub(super) struct Htif {
    tohost: Option<u64>,
    fromhost: Option<u64>,
    /// Answers that wait until the program has taken the last one.
    answers: Vec<u64>,
    arguments: Vec<String>,
    /// Files of the host that the program may read.
    host_files: Option<HostFiles>,
    /// Open files by descriptor. The first three descriptors are the console.
    files: Vec<Option<File>>,
    /// First file that the program asked for, if it may read none.
    pub refused: Option<String>,
}

/// Bits of a command that select the device.
const DEVICE: u64 = 0xffff << 48;
/// Maximum number of answers that wait.
const MOST_ANSWERS: usize = 1024;
const MOST_FILES: usize = 256;
/// Maximum number of bytes that one call moves.
const MOST_BYTES: u64 = 1 << 24;

const ENOENT: u64 = -2i64 as u64;
const EBADF: u64 = -9i64 as u64;
const EMFILE: u64 = -24i64 as u64;
const EFAULT: u64 = -14i64 as u64;
const EROFS: u64 = -30i64 as u64;
const ENOSYS: u64 = -38i64 as u64;

impl Htif {
    pub fn new(symbols: [Option<u64>; 2], arguments: Vec<String>, host_files: Option<HostFiles>) -> Self {
        let [tohost, fromhost] = symbols;
        let (answers, files) = (Vec::new(), Vec::new());
        Self { tohost, fromhost, answers, arguments, host_files, files, refused: None }
    }

    /// Returns whether an address is in the page of `tohost`.
    pub fn shares_page(&self, address: u64) -> bool {
        self.tohost.is_some_and(|tohost| tohost / PAGE == address / PAGE)
    }

    /// Returns whether a write to an address is a command.
    pub fn is_called_by(&self, address: u64) -> bool {
        self.tohost.is_some_and(|tohost| address.wrapping_sub(tohost) < 8)
    }

    /// Handles the program's command, if there is one.
    pub fn look(&mut self, core: &mut Core, out: &mut dyn Write) -> Result<(), Stop> {
        let Some(tohost) = self.tohost else { return Ok(()) };
        let command = core.memory.peek::<8>(tohost).map_or(0, u64::from_le_bytes);
        if command != 0 {
            let _ = core.memory.load(tohost, &[0; 8]);
            self.serve(command, core, out)?;
        }
        if let (Some(fromhost), Some(&answer)) = (self.fromhost, self.answers.first())
            && core.memory.peek::<8>(fromhost) == Some([0; 8])
        {
            let _ = core.memory.load(fromhost, &answer.to_le_bytes());
            self.answers.remove(0);
        }
        Ok(())
    }

    fn serve(&mut self, command: u64, core: &mut Core, out: &mut dyn Write) -> Result<(), Stop> {
        let payload = command & !DEVICE;
        match (command >> 56, command >> 48 & 0xff) {
            (0, 0) if payload & 1 == 1 => return Err(Stop::Exit { status: (payload >> 1) as i32 }),
            (0, 0) => {
                self.call(payload, core, out)?;
                if self.answers.len() < MOST_ANSWERS {
                    self.answers.push(command & DEVICE | 1);
                }
            }
            // Console output.
            (1, 1) => {
                let _ = out.write_all(&[payload as u8]);
            }
            // There is no console input.
            _ => {}
        }
        Ok(())
    }

    /// Handles a system call, whose number and arguments are at `at`. Its result goes there.
    fn call(&mut self, at: u64, core: &mut Core, out: &mut dyn Write) -> Result<(), Stop> {
        let memory = &mut core.memory;
        let mut words = [0; 8];
        for (i, word) in words.iter_mut().enumerate() {
            *word = memory.peek::<8>(at + 8 * i as u64).map_or(0, u64::from_le_bytes);
        }
        let [number, a, b, c, d, ..] = words;
        let result = match number {
            // close
            57 => self.files.get_mut(a as usize).and_then(Option::take).map_or(EBADF, |_| 0),
            // lseek
            62 => self.seek(a, b, c),
            63 => self.read(memory, a, b, c, None),
            64 => write(memory, a, b, c, out),
            67 => self.read(memory, a, b, c, Some(d)),
            80 => self.stat(memory, a, b),
            // openat: folder, path, length, flags
            56 => self.open(memory, b, c, d),
            // exit
            93 => return Err(Stop::Exit { status: a as i32 }),
            // The proxy kernel's own call for the arguments.
            2011 => self.main_variables(memory, a, b),
            _ => ENOSYS,
        };
        let _ = memory.load(at, &result.to_le_bytes());
        Ok(())
    }

    fn open(&mut self, memory: &mut Memory, path: u64, len: u64, flags: u64) -> u64 {
        let Some(bytes) = bytes(memory, path, len.min(4096)) else { return EFAULT };
        let path: Vec<u8> = bytes.into_iter().take_while(|&byte| byte != 0).collect();
        if flags & 3 != 0 {
            return EROFS;
        }
        let Some(host_files) = &self.host_files else {
            self.refused.get_or_insert_with(|| String::from_utf8_lossy(&path).into_owned());
            return ENOENT;
        };
        let Some(file) = host_files.open(&path) else { return ENOENT };
        let number = (3..MOST_FILES).find(|&number| self.file(number as u64).is_none());
        let Some(number) = number else { return EMFILE };
        self.files.resize_with(self.files.len().max(number + 1), || None);
        self.files[number] = Some(file);
        number as u64
    }

    fn file(&self, number: u64) -> Option<&File> {
        self.files.get(usize::try_from(number).ok()?)?.as_ref()
    }

    fn seek(&self, number: u64, offset: u64, whence: u64) -> u64 {
        let Some(mut file) = self.file(number) else { return EBADF };
        let to = match whence {
            0 => SeekFrom::Start(offset),
            1 => SeekFrom::Current(offset as i64),
            _ => SeekFrom::End(offset as i64),
        };
        file.seek(to).unwrap_or(EBADF)
    }

    fn read(&self, memory: &mut Memory, number: u64, to: u64, len: u64, offset: Option<u64>) -> u64 {
        if number == 0 {
            return 0;
        }
        let Some(mut file) = self.file(number) else { return EBADF };
        let before = file.stream_position().unwrap_or(0);
        if let Some(offset) = offset
            && file.seek(SeekFrom::Start(offset)).is_err()
        {
            return EBADF;
        }
        let mut bytes = vec![0; len.min(MOST_BYTES) as usize];
        let count = file.read(&mut bytes).unwrap_or(0);
        if offset.is_some() {
            let _ = file.seek(SeekFrom::Start(before));
        }
        if memory.load(to, &bytes[..count]).is_err() { EFAULT } else { count as u64 }
    }

    /// Writes a file's status in the proxy kernel's layout.
    fn stat(&self, memory: &mut Memory, number: u64, to: u64) -> u64 {
        let (mode, size) = match self.file(number).map(File::metadata) {
            Some(Ok(metadata)) => (0o100_444u32, metadata.len()),
            _ if number < 3 => (0o020_620, 0),
            _ => return EBADF,
        };
        let mut status = [0; 128];
        status[16..20].copy_from_slice(&mode.to_le_bytes());
        status[20..24].copy_from_slice(&1u32.to_le_bytes());
        status[48..56].copy_from_slice(&size.to_le_bytes());
        status[56..60].copy_from_slice(&4096u32.to_le_bytes());
        status[64..72].copy_from_slice(&size.div_ceil(512).to_le_bytes());
        if memory.load(to, &status).is_err() { EFAULT } else { 0 }
    }

    /// Writes the number of arguments, their addresses, a zero, the environment's zero, and the arguments.
    fn main_variables(&self, memory: &mut Memory, to: u64, limit: u64) -> u64 {
        let mut at = to.wrapping_add(8 * (self.arguments.len() as u64 + 3));
        let mut words = vec![self.arguments.len() as u64];
        let mut text = Vec::new();
        for argument in &self.arguments {
            words.push(at);
            text.extend(argument.bytes().chain([0]));
            at = at.wrapping_add(argument.len() as u64 + 1);
        }
        words.extend([0, 0]);
        let mut all: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        all.extend(text);
        if all.len() as u64 > limit {
            return -12i64 as u64;
        }
        if memory.load(to, &all).is_err() { EFAULT } else { 0 }
    }
}

fn write(memory: &mut Memory, number: u64, from: u64, len: u64, out: &mut dyn Write) -> u64 {
    let Some(bytes) = bytes(memory, from, len.min(MOST_BYTES)) else { return EFAULT };
    match number {
        1 => drop(out.write_all(&bytes).and_then(|()| out.flush())),
        2 => drop(std::io::stderr().write_all(&bytes)),
        _ => return EBADF,
    }
    bytes.len() as u64
}

fn bytes(memory: &mut Memory, from: u64, len: u64) -> Option<Vec<u8>> {
    (0..len).map(|i| memory.peek::<1>(from.wrapping_add(i)).map(|[byte]| byte)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opens a file as a program does. Returns its number or the error.
    fn open(htif: &mut Htif, memory: &mut Memory, path: &str) -> i64 {
        memory.write(0x1000, path.as_bytes()).unwrap();
        htif.open(memory, 0x1000, path.len() as u64, 0) as i64
    }

    #[test]
    fn host_files_are_those_below_the_folder() {
        let scratch = tracewright_testkit::Scratch::new("htif");
        let folder = scratch.path().join("folder");
        std::fs::create_dir_all(folder.join("inner")).unwrap();
        std::fs::write(folder.join("inner/file"), "text").unwrap();
        let outside = scratch.join("secret");
        std::fs::write(&outside, "secret").unwrap();
        std::os::unix::fs::symlink("../secret", folder.join("up")).unwrap();
        std::os::unix::fs::symlink(&outside, folder.join("out")).unwrap();
        std::os::unix::fs::symlink("/inner/file", folder.join("in")).unwrap();
        let mut memory = Memory::new(1 << 20);
        memory.map(0x1000, 0x1000, crate::memory::Rights::ALL);
        let inside = folder.join("inner/file").display().to_string();
        let around = folder.join("../folder/in").display().to_string();

        let mut htif = Htif::new([None, None], Vec::new(), None);
        for path in [&inside[..], "inner/file", "/etc/passwd"] {
            assert_eq!(open(&mut htif, &mut memory, path), -2, "{path}");
        }
        assert_eq!(htif.refused.as_deref(), Some(&inside[..]), "the first is told");

        let mut htif = Htif::new([None, None], Vec::new(), Some(HostFiles::below(&folder).unwrap()));
        for path in [
            "../secret",
            "up",
            "out",
            &outside,
            "/etc/passwd",
            "/inner/file",
            "inner",
            "/proc/self/maps",
            "/dev/zero",
            "",
        ] {
            assert_eq!(open(&mut htif, &mut memory, path), -2, "{path}");
        }
        for (number, path) in [&inside[..], "inner/file", "./inner/../in", &around].into_iter().enumerate() {
            assert_eq!(open(&mut htif, &mut memory, path), 3 + number as i64, "{path}");
        }
        assert_eq!(htif.read(&mut memory, 4, 0x1100, 10, None), 4);
        assert_eq!(memory.peek(0x1100), Some(*b"text"));
        assert_eq!(htif.refused.as_deref(), None);
    }

    #[test]
    fn arguments_wanted_at_the_end_of_the_address_space() {
        let htif = Htif::new([None, None], vec!["program".into()], None);
        let mut memory = Memory::new(1 << 20);
        for to in [u64::MAX, u64::MAX - 30, u64::MAX - 35] {
            assert_eq!(htif.main_variables(&mut memory, to, 1000), EFAULT);
        }
    }
}
