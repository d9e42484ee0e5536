//! Packets: a mark that gives the kind, a sequence number, a length, a payload, a checksum. See `FORMAT.md`.

use crate::config::Config;
use crate::crc::crc16;

/// The kind of a packet, with the first byte of such packets. Any two of these differ in at least three bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Whole groups.
    Groups = 0xd0,
    /// Groups of which the last one was cut, so that it lacks its last token.
    Cut = 0xd7,
    /// A sync: absolute cycle, address and count, and the configuration. Decoding can begin here.
    Sync = 0xe9,
    /// A deliberate stop of tracing: the cycle up to which the trace is complete, and the count.
    Off = 0xee,
    /// A notice that packets before this one did not fit through the port.
    Overflow = 0xb4,
}

impl Kind {
    /// Returns the first byte of such a packet.
    #[must_use]
    pub const fn mark(self) -> u8 {
        self as u8
    }

    /// Returns the kind of packet that begins with `mark`.
    #[must_use]
    pub fn of(mark: u8) -> Option<Self> {
        let all = [Self::Groups, Self::Cut, Self::Sync, Self::Off, Self::Overflow];
        all.into_iter().find(|kind| kind.mark() == mark)
    }
}

/// Size of a packet before its payload, in bytes.
pub(crate) const HEAD: usize = 3;
/// Size of a packet without its payload, in bytes.
pub const AROUND: usize = HEAD + 2;
/// Size of the longest packet, in bytes.
pub const LONGEST: usize = 255 + AROUND;
/// First bytes of a sync packet's payload: three letters and the version.
pub(crate) const MAGIC: [u8; 4] = *b"TWD\x01";

/// The contents of a sync packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sync {
    /// The cycle in which the next instruction retires.
    pub cycle: u64,
    /// Address of that instruction.
    pub address: u64,
    /// Number of instructions that retired before it, since the encoder began.
    pub retired: u64,
    /// Configuration of the groups that follow.
    pub config: Config,
}

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Kind of the packet.
    pub kind: Kind,
    /// Sequence number among all packets of the encoder, modulo 256.
    pub sequence: u8,
    /// Payload.
    pub payload: &'a [u8],
}

/// The result of reading a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read<'a> {
    /// A packet.
    Packet(Packet<'a>),
    /// Possibly the start of a packet: this many bytes are needed to decide.
    More(usize),
    /// Not a packet.
    Bad,
}

impl<'a> Packet<'a> {
    /// Reads the packet at the start of `bytes`.
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

    /// Returns the length in bytes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.payload.len() + AROUND
    }

    /// Returns false: a packet is never empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Returns the contents of a sync packet, or `None` for other packets and for contents that no encoder emits.
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

    /// Returns the contents of an off packet: the cycle up to which the trace is complete, and how many instructions
    /// retired until then.
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

/// The buffer of the packet that is being written, reused for the next one.
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
        // All that is put comes from this crate, and fits.
        if let Some(room) = self.bytes.get_mut(self.len..self.len + bytes.len()) {
            room.copy_from_slice(bytes);
            self.len += bytes.len();
        }
    }

    /// Appends a number, seven bits in a byte, lowest first. The highest bit says that more follow.
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

    /// Returns the packet with the contents of the buffer.
    pub(crate) fn finish(&mut self, kind: Kind, sequence: u8) -> &[u8] {
        let len = self.len;
        self.len = HEAD;
        self.bytes[..HEAD].copy_from_slice(&[kind.mark(), sequence, (len - HEAD) as u8]);
        let sum = crc16(&self.bytes[..len]).to_be_bytes();
        self.bytes[len..len + 2].copy_from_slice(&sum);
        &self.bytes[..len + 2]
    }
}

/// Returns the packet that reports that packets before it did not fit through the port. It has no sequence number.
#[must_use]
pub fn overflow() -> [u8; AROUND] {
    let mut bytes = [0; AROUND];
    bytes.copy_from_slice(Assembly::new().finish(Kind::Overflow, 0));
    bytes
}

/// Reads a number. Returns `None` if it is cut, too large, or longer than needed.
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
