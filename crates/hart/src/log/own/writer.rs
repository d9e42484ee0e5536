use std::io::{self, Write};
use std::mem;

use tracewright_core::Block;
use tracewright_isa::riscv::Xlen;

use super::bytes::{Head, MOST, put_fixed, put_varint, zigzag};
use super::model::{Model, NONE, Slot};
use super::{ENDS, FLOWS, ISAS, KINDS, MAGIC, ROLES, VERSION, code, number};
use crate::{Access, FirstErrorWriter, HartSink, Privilege, Trap};

/// Size in bytes at which a chunk is written. The number of blocks follows.
const CHUNK: usize = 1 << 16;
const CHUNK_BLOCKS: u32 = 1 << 20;

/// Number of index bits of the heads of chains of blocks with the same hash.
const CHAINS: u32 = 16;
/// Maximum number of steps along a chain. A block beyond it is added again, which does no harm.
const CHAIN_STEPS: u32 = 16;

/// Writer of a log: with accesses if `ACCESSES`, with instructions if `INSTRUCTIONS`, with cycles if `CYCLES`.
///
/// A write error stops the log; [`finish`](Self::finish) returns it. A log that was not finished can be read up to its
/// last chunk.
#[derive(Debug)]
pub struct Writer<W, const ACCESSES: bool, const INSTRUCTIONS: bool, const CYCLES: bool = false> {
    output: FirstErrorWriter<W>,
    model: Model,
    chains: Box<[u32]>,
    /// Next block in the chain of each block.
    chained: Vec<u32>,
    // Data of the current block.
    bits: Vec<u32>,
    accesses: Vec<Access>,
    cycles: Vec<u64>,
    /// Set if parts of it are already written.
    has_parts: bool,
    // Data of the current chunk.
    codes: Vec<u8>,
    data: Vec<u8>,
    head: Head,
    /// Number of predicted blocks not written yet; after one of the second prediction if `after_second`.
    run: u32,
    after_second: bool,
    /// Instructions in all previous chunks.
    instructions: u64,
}

impl<W: Write, const ACCESSES: bool, const INSTRUCTIONS: bool, const CYCLES: bool>
    Writer<W, ACCESSES, INSTRUCTIONS, CYCLES>
{
    /// Creates a writer to `output`, which need not be a `BufWriter` since chunks of some 64 KiB are written at once.
    ///
    /// # Errors
    /// Returns an error if the header cannot be written.
    pub fn new(mut output: W, xlen: Xlen) -> io::Result<Self> {
        let xlen = match xlen {
            Xlen::Rv32 => 32,
            Xlen::Rv64 => 64,
        };
        let contents = u8::from(ACCESSES) | u8::from(INSTRUCTIONS) << 1 | u8::from(CYCLES) << 2;
        output.write_all(MAGIC)?;
        output.write_all(&[VERSION, xlen, contents, 0])?;
        Ok(Self {
            output: FirstErrorWriter::new(output),
            model: Model::new(),
            chains: vec![NONE; 1 << CHAINS].into(),
            chained: Vec::new(),
            bits: Vec::new(),
            accesses: Vec::new(),
            cycles: Vec::new(),
            has_parts: false,
            codes: Vec::with_capacity(CHUNK),
            data: Vec::with_capacity(2 * CHUNK),
            head: Head::default(),
            run: 0,
            after_second: false,
            instructions: 0,
        })
    }

    /// Writes the rest and the end of the log, and returns the file.
    ///
    /// # Errors
    /// Returns the first write error, whenever it occurred.
    pub fn finish(mut self) -> io::Result<W> {
        if !self.bits.is_empty() || !self.accesses.is_empty() || !self.cycles.is_empty() {
            self.part();
        }
        self.write_chunk();
        let end = Head { instructions: self.instructions, ..Head::default() };
        self.output.write(|output| output.write_all(&end.write(&[], &[])));
        self.output.finish()
    }

    /// Returns whether block `id` of the dictionary equals this one, with the same instructions and accesses.
    #[inline]
    fn is(&self, id: u32, block: &Block) -> bool {
        let Some(entry) = self.model.entries.get(id as usize) else { return false };
        if entry.block != *block || INSTRUCTIONS && self.model.bits_of(entry) != self.bits {
            return false;
        }
        if CYCLES && entry.gaps as usize != self.cycles.len() {
            return false;
        }
        let slots = &self.model.slots[self.model.slots_of(entry)];
        !ACCESSES
            || slots.len() == self.accesses.len()
                && slots.iter().zip(&self.accesses).all(|(slot, access)| slot.fits(access))
    }

    fn chain(block: &Block) -> usize {
        let key = block.start ^ u64::from(block.count) << 48 ^ (block.ended as u64) << 62;
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - CHAINS)) as usize
    }

    fn find(&self, block: &Block) -> Option<u32> {
        let mut id = self.chains[Self::chain(block)];
        for _ in 0..CHAIN_STEPS {
            if id == NONE {
                break;
            }
            if self.is(id, block) {
                return Some(id);
            }
            id = self.chained[id as usize];
        }
        None
    }

    /// Writes a block that was not predicted.
    #[inline(never)]
    fn other(&mut self, block: &Block) -> u32 {
        self.write_run();
        if let Some(id) = self.find(block) {
            self.codes.push(code::KNOWN);
            put_varint(&mut self.data, u64::from(id));
            return id;
        }
        if self.model.make_room(self.bits.len(), self.accesses.len(), self.cycles.len()) {
            self.chains.fill(NONE);
            self.chained.clear();
        }
        self.codes.push(code::NEW);
        self.put_block(block);
        self.put_bits();
        self.put_layout();
        if CYCLES {
            put_varint(&mut self.data, self.cycles.len() as u64);
        }
        let address = self.model.address;
        let slots =
            self.accesses.iter().map(|access| Slot::new(access.index, access.kind, access.size, address));
        let id = self.model.add(*block, &self.bits, slots, self.cycles.len());
        let chain = &mut self.chains[Self::chain(block)];
        self.chained.push(*chain);
        *chain = id;
        id
    }

    /// Writes what was reported for the current block, since it becomes too long.
    fn part(&mut self) {
        self.write_run();
        self.codes.push(code::PART);
        self.put_rest();
        self.has_parts = true;
        self.end_of_chunk();
    }

    /// Writes the last part of a block that is too long for the dictionary.
    fn long(&mut self, block: &Block) {
        self.write_run();
        self.codes.push(code::LONG);
        self.put_block(block);
        self.put_rest();
        self.model.end = block.end;
        self.has_parts = false;
    }

    fn put_rest(&mut self) {
        self.put_bits();
        self.put_layout();
        for access in &self.accesses {
            self.model.put_other(&mut self.data, access);
        }
        if CYCLES {
            self.model.put_other_cycles(&mut self.data, &self.cycles);
        }
        self.bits.clear();
        self.accesses.clear();
        self.cycles.clear();
    }

    fn put_block(&mut self, block: &Block) {
        put_varint(&mut self.data, zigzag(block.start.wrapping_sub(self.model.end)));
        put_varint(&mut self.data, block.end.wrapping_sub(block.start));
        put_varint(&mut self.data, u64::from(block.count));
        let (flow, role) = (number(&FLOWS, &block.class.flow), number(&ROLES, &block.class.role));
        let class = flow | role << 3 | u8::from(block.class.conditional) << 6;
        let how = number(&ENDS, &block.ended) | number(&ISAS, &block.isa) << 2;
        self.data.extend_from_slice(&[block.last_len, class, how]);
    }

    fn put_bits(&mut self) {
        if !INSTRUCTIONS {
            return;
        }
        put_varint(&mut self.data, self.bits.len() as u64);
        // Two bytes suffice for the length of an instruction, but the bits may be anything.
        let is_plain = self.bits.iter().all(|&bits| bits & 3 == 3 || bits <= 0xffff);
        self.data.push(u8::from(!is_plain));
        for &bits in &self.bits {
            let len = if is_plain && bits & 3 != 3 { 2 } else { 4 };
            put_fixed(&mut self.data, u64::from(bits), len);
        }
    }

    /// Writes which instructions access memory, and how.
    fn put_layout(&mut self) {
        if !ACCESSES {
            return;
        }
        put_varint(&mut self.data, self.accesses.len() as u64);
        let mut last = 0_u32;
        for access in &self.accesses {
            put_varint(&mut self.data, u64::from(access.index.wrapping_sub(last)));
            last = access.index;
            self.data.extend_from_slice(&[number(&KINDS, &access.kind), access.size]);
        }
    }

    #[inline]
    fn write_run(&mut self) {
        if mem::take(&mut self.after_second) {
            let with = self.run.min(u32::from(code::KNOWN - code::SECOND - 1));
            self.codes.push(code::SECOND | with as u8);
            self.run -= with;
        }
        while self.run > 0 {
            let with = self.run.min(u32::from(code::SECOND));
            self.codes.push(with as u8 - 1);
            self.run -= with;
        }
    }

    #[inline]
    fn end_of_chunk(&mut self) {
        if self.codes.len() + self.data.len() >= CHUNK || self.head.blocks >= CHUNK_BLOCKS {
            self.write_chunk();
        }
    }

    #[inline(never)]
    fn write_chunk(&mut self) {
        self.write_run();
        let mut head = mem::take(&mut self.head);
        self.instructions += head.instructions;
        if self.codes.is_empty() {
            return;
        }
        head.codes = self.codes.len() as u32;
        head.data = self.data.len() as u32;
        let bytes = head.write(&self.codes, &self.data);
        let parts = [&bytes, &self.codes[..], &self.data];
        self.output.write(|output| parts.iter().try_for_each(|bytes| output.write_all(bytes)));
        self.codes.clear();
        self.data.clear();
    }
}

impl<W: Write, const ACCESSES: bool, const INSTRUCTIONS: bool, const CYCLES: bool> HartSink
    for Writer<W, ACCESSES, INSTRUCTIONS, CYCLES>
{
    const ACCESSES: bool = ACCESSES;
    const INSTRUCTIONS: bool = INSTRUCTIONS;
    const CYCLES: bool = CYCLES;

    #[inline]
    fn block(&mut self, block: &Block) {
        self.head.blocks += 1;
        self.head.instructions += u64::from(block.count);
        if self.has_parts {
            self.long(block);
            return self.end_of_chunk();
        }
        let mut id = self.model.first_guess();
        if self.is(id, block) {
            self.run += 1;
        } else {
            id = self.model.second_guess();
            if self.is(id, block) {
                self.write_run();
                self.after_second = true;
            } else {
                id = self.other(block);
            }
        }
        if ACCESSES {
            let slots = self.model.slots_of(&self.model.entries[id as usize]);
            for (at, access) in slots.zip(&self.accesses) {
                self.model.put_access(&mut self.data, at, access);
            }
            self.accesses.clear();
        }
        if CYCLES {
            self.model.put_cycles(&mut self.data, id, &self.cycles);
            self.cycles.clear();
        }
        self.bits.clear();
        self.model.step(id);
        self.end_of_chunk();
    }

    #[inline]
    fn access(&mut self, access: &Access) {
        if ACCESSES {
            if self.accesses.len() >= MOST {
                self.part();
            }
            self.accesses.push(*access);
        }
    }

    #[inline]
    fn instructions(&mut self, bits: &[u32]) {
        if !INSTRUCTIONS {
            return;
        }
        if self.bits.len() + bits.len() <= MOST {
            return self.bits.extend_from_slice(bits);
        }
        for piece in bits.chunks(MOST) {
            if self.bits.len() + piece.len() > MOST {
                self.part();
            }
            self.bits.extend_from_slice(piece);
        }
    }

    #[inline]
    fn cycles(&mut self, cycles: &[u64]) {
        if CYCLES {
            for piece in cycles.chunks(MOST) {
                if self.cycles.len() + piece.len() > MOST {
                    self.part();
                }
                self.cycles.extend_from_slice(piece);
            }
        }
    }

    fn trap(&mut self, trap: &Trap) {
        self.write_run();
        self.codes.push(code::TRAP);
        self.data.push(u8::from(trap.interrupt) | u8::from(trap.served) << 1);
        put_varint(&mut self.data, zigzag(trap.pc.wrapping_sub(self.model.end)));
        put_varint(&mut self.data, trap.cause);
        put_varint(&mut self.data, trap.value);
        put_varint(&mut self.data, zigzag(trap.next.wrapping_sub(trap.pc)));
        self.end_of_chunk();
    }

    fn context(&mut self, context: u64) {
        self.write_run();
        self.codes.push(code::CONTEXT);
        put_varint(&mut self.data, context);
        self.end_of_chunk();
    }

    fn lost(&mut self) {
        self.write_run();
        self.codes.push(code::LOST);
        self.end_of_chunk();
    }

    fn code(&mut self, address: u64, bytes: &[u8]) {
        for (index, bytes) in (0..).zip(bytes.chunks(MOST)) {
            self.write_run();
            self.codes.push(code::CODE);
            put_varint(&mut self.data, address.wrapping_add(index * MOST as u64));
            put_varint(&mut self.data, bytes.len() as u64);
            self.data.extend_from_slice(bytes);
            self.end_of_chunk();
        }
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.write_run();
        self.codes.push(code::PRIVILEGE | privilege as u8);
        self.end_of_chunk();
    }
}
