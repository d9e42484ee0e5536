use std::io::{self, Read};

use tracewright_core::{Block, Class, Isa};
use tracewright_isa::riscv::Xlen;

use super::bytes::{Cursor, HEAD, Head, LARGEST, unzigzag};
use super::model::{Model, Slot};
use super::{ENDS, Error, FLOWS, ISAS, KINDS, MAGIC, ROLES, VERSION, code};
use crate::{HartSink, Privilege, Trap};

/// Contents of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Register width.
    pub xlen: Xlen,
    /// Set if accesses are included.
    pub accesses: bool,
    /// Set if instructions are included.
    pub instructions: bool,
    /// Set if cycles are included.
    pub cycles: bool,
}

impl Header {
    /// Bytes of the header.
    pub const LEN: usize = MAGIC.len() + 4;

    /// Reads the first bytes of a log.
    ///
    /// # Errors
    /// Returns an error if they are not those of a supported log.
    pub fn read(header: &[u8]) -> Result<Self, Error> {
        let (magic, rest) = header.split_at_checked(MAGIC.len()).ok_or(Error::NotALog)?;
        let (MAGIC, &[version, xlen, contents, zero]) = (magic.try_into().unwrap_or(&[0; 8]), rest) else {
            return Err(Error::NotALog);
        };
        if !(1..=VERSION).contains(&version) {
            return Err(Error::Version(version));
        }
        let xlen = match xlen {
            32 => Xlen::Rv32,
            64 => Xlen::Rv64,
            _ => return Err(Error::NotALog),
        };
        if contents & !7 != 0 || zero != 0 {
            return Err(Error::Contents(contents & !7));
        }
        Ok(Self {
            xlen,
            accesses: contents & 1 != 0,
            instructions: contents & 2 != 0,
            cycles: contents & 4 != 0,
        })
    }
}

/// Reader of a log.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    chunk: Vec<u8>,
    decoder: Decoder,
}

/// Decoder of a log's chunks, which whoever has them passes one by one.
#[derive(Debug)]
pub struct Decoder {
    header: Header,
    model: Model,
    /// Offset of the next chunk.
    offset: u64,
    cycles: Vec<u64>,
    blocks: u64,
    instructions: u64,
    is_at_end: bool,
    /// Set after an error, since what follows cannot be decoded.
    has_failed: bool,
}

impl<R: Read> Reader<R> {
    /// Creates a reader of `input`, which need not be buffered since whole chunks are read.
    ///
    /// # Errors
    /// Returns an error if `input` cannot be read or is no supported log.
    pub fn new(mut input: R) -> Result<Self, Error> {
        let mut header = [0; Header::LEN];
        let len = fill(&mut input, &mut header)?;
        let header = Header::read(&header[..len])?;
        Ok(Self { input, chunk: Vec::new(), decoder: Decoder::new(header) })
    }

    /// Returns the contents.
    pub fn header(&self) -> Header {
        self.decoder.header
    }

    /// Returns the number of blocks reported so far.
    pub fn blocks(&self) -> u64 {
        self.decoder.blocks
    }

    /// Returns the number of their instructions.
    pub fn instructions(&self) -> u64 {
        self.decoder.instructions
    }

    /// Replays the whole log to `sink`.
    ///
    /// # Errors
    /// Returns an error if the log cannot be read to its end. What comes before was reported.
    pub fn read(&mut self, sink: &mut impl HartSink) -> Result<(), Error> {
        while self.read_chunk(sink)? {}
        Ok(())
    }

    /// Replays the next chunk to `sink`. Returns `false` at the end.
    ///
    /// # Errors
    /// Returns an error if there is no complete, sound chunk. Nothing of it was reported, unless the chunk has wrong
    /// contents with a correct checksum. What follows cannot be read, since it depends on what is missing.
    pub fn read_chunk(&mut self, sink: &mut impl HartSink) -> Result<bool, Error> {
        if self.decoder.is_at_end {
            return Ok(false);
        }
        if !self.decoder.has_failed {
            self.load().inspect_err(|_| self.decoder.has_failed = true)?;
        }
        self.decoder.chunk(&self.chunk, sink)
    }

    /// Reads the next chunk, or what there is of it.
    fn load(&mut self) -> Result<(), Error> {
        self.chunk.resize(HEAD, 0);
        let len = fill(&mut self.input, &mut self.chunk)?;
        self.chunk.truncate(len);
        if let Some(len) = Decoder::chunk_len(&self.chunk) {
            self.chunk.resize(len, 0);
            let len = HEAD + fill(&mut self.input, &mut self.chunk[HEAD..])?;
            self.chunk.truncate(len);
        }
        Ok(())
    }
}

impl Decoder {
    /// Bytes of a chunk's head.
    pub const HEAD: usize = HEAD;

    /// Creates a decoder of the chunks after this header.
    pub fn new(header: Header) -> Self {
        Self {
            header,
            model: Model::new(),
            offset: Header::LEN as u64,
            cycles: Vec::new(),
            blocks: 0,
            instructions: 0,
            is_at_end: false,
            has_failed: false,
        }
    }

    /// Returns the length of the chunk that begins with `bytes`; `None` if its head is incomplete, or if no chunk is as long.
    pub fn chunk_len(bytes: &[u8]) -> Option<usize> {
        let Head { codes, data, .. } = Head::read(bytes.first_chunk()?);
        let len = codes.checked_add(data)? as usize;
        (len <= LARGEST).then_some(HEAD + len)
    }

    /// Returns whether the end of the log was reached.
    pub fn is_at_end(&self) -> bool {
        self.is_at_end
    }

    /// Passes what is in the next chunk to `sink`, with [offsets](HartSink::offset) from the start of the log. Returns `false` for the
    /// chunk that ends the log.
    ///
    /// # Errors
    /// Returns an error if the chunk is not complete and sound, as [`Reader::read_chunk`] does.
    pub fn chunk(&mut self, chunk: &[u8], sink: &mut impl HartSink) -> Result<bool, Error> {
        if self.has_failed {
            return Err(Error::Damaged { offset: self.offset, what: "reading ended here" });
        }
        let read = self.take(chunk, sink);
        self.has_failed = read.is_err();
        read
    }

    fn take(&mut self, bytes: &[u8], sink: &mut impl HartSink) -> Result<bool, Error> {
        let offset = self.offset;
        let damaged = |what| Error::Damaged { offset, what };
        let Some((head, chunk)) = bytes.split_first_chunk::<HEAD>() else {
            return Err(Error::Truncated { offset });
        };
        let Head { codes, blocks, instructions, .. } = Head::read(head);
        match Self::chunk_len(bytes) {
            None => return Err(damaged("it is larger than any")),
            Some(len) if len > bytes.len() => return Err(Error::Truncated { offset }),
            Some(_) if !Head::is_sound(head, chunk) => return Err(damaged("its checksum is wrong")),
            Some(_) => {}
        }
        if chunk.is_empty() {
            if instructions != self.instructions {
                return Err(damaged("there were not as many instructions as it says"));
            }
            self.is_at_end = true;
            return Ok(false);
        }
        let before = (self.blocks, self.instructions);
        let (codes, data) = chunk.split_at(codes as usize);
        self.tell(codes, data, sink).ok_or(damaged("it tells nonsense"))?;
        let counts = (self.blocks - before.0, self.instructions.wrapping_sub(before.1));
        if counts != (u64::from(blocks), instructions) {
            return Err(damaged("it does not tell as much as it says"));
        }
        self.offset += bytes.len() as u64;
        Ok(true)
    }

    fn tell(&mut self, codes: &[u8], data: &[u8], sink: &mut impl HartSink) -> Option<()> {
        let mut data = Cursor(data);
        let first = self.offset + HEAD as u64;
        for (offset, &code) in (first..).zip(codes) {
            sink.offset(offset);
            match code {
                _ if code < code::SECOND => self.run(u32::from(code) + 1, &mut data, sink)?,
                _ if code < code::KNOWN => {
                    self.known(self.model.second_guess(), &mut data, sink)?;
                    self.run(u32::from(code - code::SECOND), &mut data, sink)?;
                }
                code::KNOWN => {
                    let id = data.small()?;
                    self.known(id, &mut data, sink)?;
                }
                code::NEW => {
                    let id = self.add(&mut data)?;
                    self.known(id, &mut data, sink)?;
                }
                code::LONG => {
                    let block = self.block(&mut data)?;
                    self.rest(&mut data, sink)?;
                    self.model.end = block.end;
                    self.count(&block);
                    sink.block(&block);
                }
                code::PART => self.rest(&mut data, sink)?,
                code::TRAP => sink.trap(&self.trap(&mut data)?),
                code::CONTEXT => sink.context(data.varint()?),
                code::LOST => sink.lost(),
                code::CODE => {
                    let (address, len) = (data.varint()?, data.count()?);
                    let (bytes, rest) = data.0.split_at_checked(len)?;
                    data.0 = rest;
                    sink.code(address, bytes);
                }
                _ if code & !3 == code::PRIVILEGE => {
                    sink.privilege(Privilege::from_bits(u64::from(code & 3))?);
                }
                _ => return None,
            }
        }
        data.0.is_empty().then_some(())
    }

    fn run(&mut self, count: u32, data: &mut Cursor<'_>, sink: &mut impl HartSink) -> Option<()> {
        for _ in 0..count {
            self.known(self.model.first_guess(), data, sink)?;
        }
        Some(())
    }

    /// Reports a block of the dictionary.
    #[inline]
    fn known<S: HartSink>(&mut self, id: u32, data: &mut Cursor<'_>, sink: &mut S) -> Option<()> {
        let entry = *self.model.entries.get(id as usize)?;
        if S::INSTRUCTIONS && self.header.instructions {
            sink.instructions(self.model.bits_of(&entry));
        }
        for at in self.model.slots_of(&entry) {
            let access = self.model.take_access(data, at)?;
            if S::ACCESSES {
                sink.access(&access);
            }
        }
        if self.header.cycles {
            self.model.take_cycles(data, id, &mut self.cycles)?;
            if S::CYCLES && !self.cycles.is_empty() {
                sink.cycles(&self.cycles);
            }
        }
        self.model.step(id);
        self.count(&entry.block);
        sink.block(&entry.block);
        Some(())
    }

    fn count(&mut self, block: &Block) {
        self.blocks += 1;
        self.instructions = self.instructions.wrapping_add(u64::from(block.count));
    }

    /// Adds a block to the dictionary.
    fn add(&mut self, data: &mut Cursor<'_>) -> Option<u32> {
        let block = self.block(data)?;
        let (bits, slots) = (self.bits(data)?, self.layout(data)?);
        let cycles = if self.header.cycles { data.count()? } else { 0 };
        self.model.make_room(bits.len(), slots.len(), cycles);
        Some(self.model.add(block, &bits, slots.into_iter(), cycles))
    }

    /// Reports instructions, accesses and cycles of a block that is not in the dictionary.
    fn rest<S: HartSink>(&mut self, data: &mut Cursor<'_>, sink: &mut S) -> Option<()> {
        let bits = self.bits(data)?;
        if S::INSTRUCTIONS && !bits.is_empty() {
            sink.instructions(&bits);
        }
        for slot in self.layout(data)? {
            let slot = Slot::new(slot.index, slot.kind, slot.size, self.model.address);
            let access = self.model.take_other(data, slot)?;
            if S::ACCESSES {
                sink.access(&access);
            }
        }
        if self.header.cycles {
            self.model.take_other_cycles(data, &mut self.cycles)?;
            if S::CYCLES && !self.cycles.is_empty() {
                sink.cycles(&self.cycles);
            }
        }
        Some(())
    }

    fn block(&self, data: &mut Cursor<'_>) -> Option<Block> {
        let start = self.model.end.wrapping_add(unzigzag(data.varint()?));
        let end = start.wrapping_add(data.varint()?);
        let count = data.small()?;
        let last_len = data.byte()?;
        let class = data.byte()?;
        let how = data.byte()?;
        let flow = *FLOWS.get(usize::from(class & 7))?;
        let role = *ROLES.get(usize::from(class >> 3 & 7))?;
        let ended = ENDS[usize::from(how & 3)];
        let isa = *ISAS.get(usize::from(how >> 2))?;
        let class = Class { flow, role, conditional: class >> 6 & 1 != 0 };
        // Instructions have two or four bytes. A longer block would take long to walk, for nothing.
        let len =
            if isa == Isa::Rv32 { end.wrapping_sub(start) & 0xffff_ffff } else { end.wrapping_sub(start) };
        if !(2 * u64::from(count)..=4 * u64::from(count)).contains(&len) {
            return None;
        }
        Some(Block { start, end, count, isa, last_len, class, ended })
    }

    fn bits(&self, data: &mut Cursor<'_>) -> Option<Vec<u32>> {
        if !self.header.instructions {
            return Some(Vec::new());
        }
        let count = data.count()?;
        let is_plain = data.byte()? == 0;
        let bits = |_| {
            let is_short = is_plain && data.0.first()? & 3 != 3;
            Some(data.fixed(if is_short { 2 } else { 4 })? as u32)
        };
        (0..count).map(bits).collect()
    }

    fn layout(&self, data: &mut Cursor<'_>) -> Option<Vec<Slot>> {
        if !self.header.accesses {
            return Some(Vec::new());
        }
        let (count, mut index) = (data.count()?, 0_u32);
        let slot = |_| {
            index = index.wrapping_add(data.small()?);
            let kind = *KINDS.get(usize::from(data.byte()?))?;
            Some(Slot::new(index, kind, data.byte()?, self.model.address))
        };
        (0..count).map(slot).collect()
    }

    fn trap(&self, data: &mut Cursor<'_>) -> Option<Trap> {
        let flags = data.byte()?;
        let pc = self.model.end.wrapping_add(unzigzag(data.varint()?));
        let cause = data.varint()?;
        let value = data.varint()?;
        let next = pc.wrapping_add(unzigzag(data.varint()?));
        Some(Trap { pc, cause, interrupt: flags & 1 != 0, value, next, served: flags & 2 != 0 })
    }
}

/// Reads until `to` is full or the input ends. Returns the number of bytes.
fn fill(input: &mut impl Read, to: &mut [u8]) -> Result<usize, Error> {
    let mut len = 0;
    while len < to.len() {
        match input.read(&mut to[len..]) {
            Ok(0) => break,
            Ok(count) => len += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::Io(error)),
        }
    }
    Ok(len)
}
