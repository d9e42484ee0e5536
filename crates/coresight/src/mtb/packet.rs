//! Packets of an MTB: bytes to packets and back.

use core::fmt;

use tracewright_core::stream::PacketSink;

/// Bytes of a packet.
pub const SIZE: usize = 8;

/// Addresses from here on are no code: the processor goes there to return from an exception (EXC_RETURN).
const EXC_RETURN: u32 = 0xff00_0000;

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// A change of flow.
    Branch(Branch),
    /// Words that were never written: all bits are clear, or all are set.
    Unused,
    /// The start of a packet at the end of the stream.
    Incomplete,
}

/// A change of flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Address of the branch; with `exception`, the address at which the program goes on later.
    pub source: u32,
    /// Address at which execution went on.
    pub target: u32,
    /// Whether no instruction made the change, but an exception, a return from one, or a debugger (bit A of the source).
    pub exception: bool,
    /// Whether tracing started just before (bit S of the target).
    pub start: bool,
}

/// A kind of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A branch of the program.
    Branch,
    /// An exception.
    Exception,
    /// An instruction that returns from an exception.
    ExceptionReturn,
    /// Where execution went on after a return from an exception.
    Resumed,
    /// Words that were never written.
    Unused,
    /// The start of a packet at the end of the stream.
    Incomplete,
}

impl Kind {
    /// Number of kinds.
    pub const COUNT: usize = 6;
    /// All kinds, in order.
    pub const ALL: [Self; Self::COUNT] =
        [Self::Branch, Self::Exception, Self::ExceptionReturn, Self::Resumed, Self::Unused, Self::Incomplete];

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Branch => "Branch",
            Self::Exception => "Exception",
            Self::ExceptionReturn => "Exception Return",
            Self::Resumed => "Resumed",
            Self::Unused => "Unused",
            Self::Incomplete => "Incomplete",
        }
    }
}

impl Branch {
    /// Returns whether an instruction returned from an exception.
    pub const fn is_return(&self) -> bool {
        !self.exception && self.target >= EXC_RETURN
    }

    /// Returns whether execution went on after a return from an exception.
    pub const fn is_resumed(&self) -> bool {
        self.exception && self.source >= EXC_RETURN
    }

    /// Returns the bytes.
    pub const fn bytes(&self) -> [u8; SIZE] {
        let source = self.source & !1 | self.exception as u32;
        let target = self.target & !1 | self.start as u32;
        (source as u64 | (target as u64) << 32).to_le_bytes()
    }
}

impl Packet {
    /// Reads a packet.
    pub const fn read(bytes: [u8; SIZE]) -> Self {
        let words = u64::from_le_bytes(bytes);
        let (source, target) = (words as u32, (words >> 32) as u32);
        if words == 0 || words == u64::MAX {
            return Self::Unused;
        }
        Self::Branch(Branch {
            source: source & !1,
            target: target & !1,
            exception: source & 1 == 1,
            start: target & 1 == 1,
        })
    }

    /// Returns the kind.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Branch(branch) if branch.is_return() => Kind::ExceptionReturn,
            Self::Branch(branch) if branch.is_resumed() => Kind::Resumed,
            Self::Branch(Branch { exception: true, .. }) => Kind::Exception,
            Self::Branch(_) => Kind::Branch,
            Self::Unused => Kind::Unused,
            Self::Incomplete => Kind::Incomplete,
        }
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind().name())?;
        let Self::Branch(branch) = self else { return Ok(()) };
        write!(f, ": {:#010x} to {:#010x}", branch.source, branch.target)?;
        f.write_str(if branch.start { ", tracing started" } else { "" })
    }
}

/// A packet parser: bytes in, in chunks of any size, packets out. Packets are aligned: they have no pattern to find them by.
#[derive(Clone, Debug, Default)]
pub struct Parser {
    /// Stream position of the next byte to be fed.
    position: u64,
    /// Bytes of a packet whose end has not arrived yet.
    carry: [u8; SIZE],
    carried: usize,
}

impl Parser {
    /// Creates a parser for packets from stream position `position` on.
    pub fn starting_at(position: u64) -> Self {
        Self { position, ..Self::default() }
    }

    /// Returns the stream position of the next byte to be fed.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns the stream position of the first byte that is not reported yet.
    pub fn unfinished(&self) -> u64 {
        self.position - self.carried as u64
    }

    /// Parses the next bytes of the stream.
    pub fn feed(&mut self, mut bytes: &[u8], sink: &mut impl PacketSink<Packet>) {
        if self.carried > 0 {
            let missing = (SIZE - self.carried).min(bytes.len());
            let (taken, rest) = bytes.split_at(missing);
            self.carry[self.carried..self.carried + missing].copy_from_slice(taken);
            (self.carried, self.position, bytes) =
                (self.carried + missing, self.position + missing as u64, rest);
            if self.carried < SIZE {
                return;
            }
            self.carried = 0;
            sink.packet(self.position - SIZE as u64, &self.carry, &Packet::read(self.carry));
        }
        let (packets, rest) = bytes.as_chunks();
        for packet in packets {
            sink.packet(self.position, packet, &Packet::read(*packet));
            self.position += SIZE as u64;
        }
        self.carry[..rest.len()].copy_from_slice(rest);
        (self.carried, self.position) = (rest.len(), self.position + rest.len() as u64);
    }

    /// Ends the stream. Bytes fed afterwards are a new stream, with positions that continue.
    pub fn finish(&mut self, sink: &mut impl PacketSink<Packet>) {
        if self.carried > 0 {
            sink.packet(self.unfinished(), &self.carry[..self.carried], &Packet::Incomplete);
            self.carried = 0;
        }
    }
}
