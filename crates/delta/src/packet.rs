//! Packets: a mark that says the kind, a sequence number, a length, that many bytes, a checksum. See `FORMAT.md`.

use crate::config::Config;
use crate::crc::crc16;

/// What a packet holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole groups.
    Groups,
    /// Groups of which the last one was cut: it has no last token.
    Cut,
    /// Absolute cycle, address and count, and the configuration: reading can begin here.
    Sync,
    /// Tracing stopped, on purpose: the cycle up to which it told everything, and the count.
    Off,
    /// Packets before this one did not fit through the port.
    Overflow,
}

impl Kind {
    /// The first byte of such a packet. Any two differ in three bits at least.
    #[must_use]
    pub const fn mark(self) -> u8 {
        match self {
            Self::Groups => 0xd0,
            Self::Cut => 0xd7,
            Self::Sync => 0xe9,
            Self::Off => 0xee,
            Self::Overflow => 0xb4,
        }
    }

    /// The kind of a first byte.
    #[must_use]
    pub const fn of(mark: u8) -> Option<Self> {
        Some(match mark {
            0xd0 => Self::Groups,
            0xd7 => Self::Cut,
            0xe9 => Self::Sync,
            0xee => Self::Off,
            0xb4 => Self::Overflow,
            _ => return None,
        })
    }
}

/// Bytes before the payload.
pub(crate) const HEAD: usize = 3;
/// Bytes that are not payload.
pub const AROUND: usize = HEAD + 2;
/// The longest packet.
pub const LONGEST: usize = 255 + AROUND;
/// What the payload of a sync packet begins with: three letters and the version.
pub(crate) const MAGIC: [u8; 4] = *b"TWD\x01";

/// What a sync packet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sync {
    /// The cycle in which the next instruction retires.
    pub cycle: u64,
    /// Where that instruction is.
    pub address: u64,
    /// How many instructions retired before it, since the encoder began.
    pub retired: u64,
    /// What the groups that follow are made with.
    pub config: Config,
}

/// A packet in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// What it holds.
    pub kind: Kind,
    /// Its number, of all that the encoder made, modulo 256.
    pub sequence: u8,
    /// What it holds, as bytes.
    pub payload: &'a [u8],
}

/// What the beginning of some bytes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read<'a> {
    /// A packet.
    Packet(Packet<'a>),
    /// Maybe the beginning of one: it takes this many bytes to say more.
    More(usize),
    /// No packet.
    Bad,
}

impl<'a> Packet<'a> {
    /// Reads the packet that some bytes begin with.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Read<'a> {
        let Some(&mark) = bytes.first() else { return Read::More(1) };
        let Some(kind) = Kind::of(mark) else { return Read::Bad };
        let Some(&[_, sequence, len]) = bytes.first_chunk::<HEAD>() else { return Read::More(HEAD) };
        let len = usize::from(len);
        let Some(rest) = bytes.get(..len + AROUND) else { return Read::More(len + AROUND) };
        let (told, sum) = rest.split_at(len + HEAD);
        if sum != crc16(told).to_be_bytes() {
            return Read::Bad;
        }
        Read::Packet(Self { kind, sequence, payload: &told[HEAD..] })
    }

    /// How many bytes it has.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.payload.len() + AROUND
    }

    /// Never: a packet has bytes around its payload.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// What a sync packet says; `None` of other packets and of what no encoder writes.
    #[must_use]
    pub fn sync(&self) -> Option<Sync> {
        if self.kind != Kind::Sync {
            return None;
        }
        let mut rest = self.payload.strip_prefix(&MAGIC)?;
        let (&format, after) = rest.split_first()?;
        rest = after;
        let amortise = u32::try_from(number(&mut rest)?).ok()?;
        let sync = Sync {
            config: Config::from_byte(format, amortise)?,
            cycle: number(&mut rest)?,
            address: number(&mut rest)?,
            retired: number(&mut rest)?,
        };
        rest.is_empty().then_some(sync)
    }

    /// What an off packet says: the cycle up to which everything was told, and how many instructions retired until then.
    #[must_use]
    pub fn off(&self) -> Option<(u64, u64)> {
        if self.kind != Kind::Off {
            return None;
        }
        let mut rest = self.payload;
        let off = (number(&mut rest)?, number(&mut rest)?);
        rest.is_empty().then_some(off)
    }
}

/// Packets being written: bytes of one, used again for the next.
#[derive(Clone, Debug)]
pub(crate) struct Assembly {
    bytes: [u8; LONGEST],
    len: usize,
}

impl Assembly {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; LONGEST], len: HEAD }
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) {
        // What is put is made here, and fits.
        if let Some(room) = self.bytes.get_mut(self.len..self.len + bytes.len()) {
            room.copy_from_slice(bytes);
            self.len += bytes.len();
        }
    }

    /// A number, seven bits in a byte, the lowest first; the highest bit says that more follow.
    pub(crate) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.put(&[number as u8 | 0x80]);
            number >>= 7;
        }
        self.put(&[number as u8]);
    }

    pub(crate) fn sync(&mut self, sync: &Sync) {
        self.put(&MAGIC);
        self.put(&[sync.config.to_byte()]);
        self.number(u64::from(sync.config.amortise));
        self.number(sync.cycle);
        self.number(sync.address);
        self.number(sync.retired);
    }

    /// The packet with what was put into it.
    pub(crate) fn finish(&mut self, kind: Kind, sequence: u8) -> &[u8] {
        let len = self.len;
        self.len = HEAD;
        self.bytes[..HEAD].copy_from_slice(&[kind.mark(), sequence, (len - HEAD) as u8]);
        let sum = crc16(&self.bytes[..len]).to_be_bytes();
        self.bytes[len..len + 2].copy_from_slice(&sum);
        &self.bytes[..len + 2]
    }
}

/// The packet that says that packets before it did not fit through the port. It has no number of its own.
#[must_use]
pub fn overflow() -> [u8; AROUND] {
    let mut bytes = [0; AROUND];
    bytes.copy_from_slice(Assembly::new().finish(Kind::Overflow, 0));
    bytes
}

/// A number at the front; `None` if it is cut, too large, or longer than it need be.
fn number(from: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for at in 0..10 {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        let bits = u64::from(byte & 0x7f);
        number |= bits.checked_shl(7 * at).filter(|&moved| moved >> (7 * at) == bits)?;
        if byte & 0x80 == 0 {
            return (byte != 0 || at == 0).then_some(number);
        }
    }
    None
}
