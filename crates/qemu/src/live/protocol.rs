//! Protocol between plugin and recorder over a Unix socket, in little-endian words.
//!
//! The recorder listens. The plugin creates the log file with its slots allocated and zeroed, connects, and sends [`Hello`]. Then
//! each side sends slot numbers: the plugin when the chunk in a slot is done, the recorder when it has read the chunk and zeroed
//! the slot. Chunks of definitions are in slots as well. If no slot is free, the plugin waits for one.
//!
//! When the connection ends, unannounced contents of the slots are read as well, so that nothing is lost.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use super::Broken;

/// First word of [`Hello`].
const HELLO_MAGIC: u32 = 0x7477_6c76;
/// Protocol version.
pub(super) const PROTOCOL: u32 = 1;
/// Default number of slots of a log.
pub const SLOTS: u32 = 64;
/// Maximum number of slots of a log.
pub const MOST_SLOTS: u32 = 1 << 12;
/// Maximum length of a path in bytes: Linux's own limit.
const MOST_PATH: u32 = 4096;

/// Greeting of the plugin: five words and a path, padded with zeros to whole words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Process that is recorded.
    pub pid: u32,
    /// Number of slots of the log.
    pub slots: u32,
    /// Path of the log.
    pub path: PathBuf,
}

impl Hello {
    /// Encodes the greeting.
    pub fn to_bytes(&self) -> Vec<u8> {
        let path = self.path.as_os_str().as_bytes();
        let words = [HELLO_MAGIC, PROTOCOL, self.pid, self.slots, path.len() as u32];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(path);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    /// Reads a greeting. At most `MOST_PATH` bytes are kept, whatever comes.
    ///
    /// # Errors
    /// Returns an error if something else comes.
    pub fn read(from: &mut impl Read) -> Result<Self, Broken> {
        let mut word = || {
            let mut bytes = [0; 4];
            from.read_exact(&mut bytes).map(|()| u32::from_le_bytes(bytes)).map_err(Broken::Silent)
        };
        let magic = word()?;
        if magic != HELLO_MAGIC {
            return Err(Broken::Magic(magic));
        }
        let version = word()?;
        if version != PROTOCOL {
            return Err(Broken::Version(version));
        }
        let (pid, slots, len) = (word()?, word()?, word()?);
        if !(1..=MOST_SLOTS).contains(&slots) {
            return Err(Broken::Slots(slots));
        }
        if !(1..=MOST_PATH).contains(&len) {
            return Err(Broken::Path(len));
        }
        let mut path = vec![0; len.next_multiple_of(4) as usize];
        from.read_exact(&mut path).map_err(Broken::Silent)?;
        path.truncate(len as usize);
        Ok(Self { pid, slots, path: OsString::from_vec(path).into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        Hello { pid: 7, slots: 64, path: "/run/x/log".into() }
    }

    #[test]
    fn what_is_said_is_heard() {
        let bytes = hello().to_bytes();
        assert_eq!(bytes.len(), 5 * 4 + 12);
        assert_eq!(Hello::read(&mut &bytes[..]).unwrap(), hello());
    }

    #[test]
    fn what_is_no_hello_is_refused() {
        let with = |word: usize, value: u32| {
            let mut bytes = hello().to_bytes();
            bytes[4 * word..][..4].copy_from_slice(&value.to_le_bytes());
            Hello::read(&mut &bytes[..]).unwrap_err()
        };
        assert!(matches!(with(0, 1), Broken::Magic(1)));
        assert!(matches!(with(1, 2), Broken::Version(2)));
        assert!(matches!(with(3, 0), Broken::Slots(0)));
        assert!(matches!(with(3, u32::MAX), Broken::Slots(u32::MAX)));
        assert!(matches!(with(4, 0), Broken::Path(0)));
        assert!(matches!(with(4, u32::MAX), Broken::Path(u32::MAX)));
        let bytes = hello().to_bytes();
        for len in 0..bytes.len() {
            assert!(matches!(Hello::read(&mut &bytes[..len]), Err(Broken::Silent(_))));
        }
    }
}
