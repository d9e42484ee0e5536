//! Instructions, and a driver that runs them through a model.

use tracewright_core::{Block, Class, Ended, Isa};
use tracewright_hart::Access;
use tracewright_hart::timing::{CacheConfig, Config, Model, Reason, Stats};
use tracewright_isa::riscv::{self, Xlen};

pub fn addi(rd: u32, rs1: u32) -> u32 {
    1 << 20 | rs1 << 15 | rd << 7 | 0x13
}

/// Encodes OP: `add`, or with `funct7` 1 the multiplications and divisions.
pub fn op(funct7: u32, funct3: u32, rd: u32, rs1: u32, rs2: u32) -> u32 {
    funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | 0x33
}

pub fn mul(rd: u32, rs1: u32, rs2: u32) -> u32 {
    op(1, 0, rd, rs1, rs2)
}

pub fn div(rd: u32, rs1: u32, rs2: u32) -> u32 {
    op(1, 4, rd, rs1, rs2)
}

/// Encodes DIVW.
pub fn divw(rd: u32, rs1: u32, rs2: u32) -> u32 {
    div(rd, rs1, rs2) | 8
}

pub fn ld(rd: u32, rs1: u32) -> u32 {
    rs1 << 15 | 3 << 12 | rd << 7 | 0x03
}

pub fn sd(rs2: u32, rs1: u32) -> u32 {
    rs2 << 20 | rs1 << 15 | 3 << 12 | 0x23
}

pub fn fadd_d(rd: u32, rs1: u32, rs2: u32) -> u32 {
    0x01 << 25 | rs2 << 20 | rs1 << 15 | 7 << 12 | rd << 7 | 0x53
}

/// Encodes AMOADD.D.
pub fn amoadd(rd: u32, rs1: u32, rs2: u32) -> u32 {
    rs2 << 20 | rs1 << 15 | 3 << 12 | rd << 7 | 0x2f
}

/// Encodes CSRRS of mscratch.
pub fn csr(rd: u32) -> u32 {
    0x340 << 20 | 2 << 12 | rd << 7 | 0x73
}

/// Encodes BNE backward by 4 bytes. The next block shows where it really goes.
pub fn bne_back() -> u32 {
    let bits = 0xfe00_1ee3;
    assert_eq!(riscv::decode(Xlen::Rv64, bits).imm, -4);
    bits
}

/// Encodes BEQ forward by 16 bytes.
pub fn beq_forward() -> u32 {
    let bits = 0x0000_0863;
    assert_eq!(riscv::decode(Xlen::Rv64, bits).imm, 16);
    bits
}

/// Encodes JAL by 0.
pub fn jal(rd: u32) -> u32 {
    rd << 7 | 0x6f
}

pub fn jalr(rd: u32, rs1: u32) -> u32 {
    rs1 << 15 | rd << 7 | 0x67
}

/// A small cache with long misses.
pub const CACHE: CacheConfig = CacheConfig { size: 1024, ways: 2, line: 64, hit: 1, miss: 10 };

/// Returns a configuration with one instruction per cycle and no misses.
pub fn ideal() -> Config {
    let none = CacheConfig { size: 0, ..Config::default().icache };
    Config { icache: none, dcache: none, ..Config::default() }
}

/// Returns a configuration with `count` instructions per cycle.
pub fn wide(count: u32) -> Config {
    Config { issue_width: count, retire_width: count, fetch_bytes: 16, fetch_queue: 16, ..ideal() }
}

/// A model and its cycles.
pub struct Run {
    pub model: Model,
    pub cycles: Vec<u64>,
}

impl Run {
    pub fn new(config: &Config) -> Self {
        Self { model: Model::new(config).unwrap(), cycles: Vec::new() }
    }

    /// Runs a block at `start` without accesses.
    pub fn block(&mut self, start: u64, bits: &[u32], ended: Ended) -> &mut Self {
        self.accessing(start, bits, &[], ended)
    }

    /// Runs a block at `start`; `addresses` are those of its loads and stores in turn, eight bytes each.
    pub fn accessing(&mut self, start: u64, bits: &[u32], addresses: &[u64], ended: Ended) -> &mut Self {
        let mut lens = bits.iter().map(|&bits| u64::from(riscv::len(bits as u16)));
        let end = start + lens.clone().sum::<u64>();
        let kinds = bits.iter().enumerate().filter_map(|(i, &bits)| {
            let (kind, size) = riscv::decode(Xlen::Rv64, bits).access()?;
            Some((i as u32, kind, size))
        });
        let accesses: Vec<Access> = kinds
            .zip(addresses)
            .map(|((index, kind, size), &address)| Access { index, kind, size, address, value: 0 })
            .collect();
        let class = if ended == Ended::Cut {
            Class::NEXT
        } else {
            riscv::decode(Xlen::Rv64, *bits.last().unwrap()).class()
        };
        let last_len = lens.next_back().unwrap_or(4) as u8;
        let block = Block { start, end, count: bits.len() as u32, isa: Isa::Rv64, last_len, class, ended };
        self.model.block(&block, bits, &accesses, &mut self.cycles);
        self.check();
        self
    }

    pub fn stats(&self) -> &Stats {
        self.model.stats()
    }

    /// Returns the cycles lost to `reason`.
    pub fn stall(&self, reason: Reason) -> u64 {
        self.stats().stall(reason)
    }

    /// Checks invariants.
    pub fn check(&self) {
        let stats = self.stats();
        assert_eq!(stats.busy + stats.stalls.iter().sum::<u64>(), stats.cycles, "{stats:?}");
        assert_eq!(stats.instructions, self.cycles.len() as u64);
        assert_eq!(self.cycles.last().copied().unwrap_or(0), stats.cycles);
        assert_eq!(self.model.cycle(), stats.cycles);
    }
}

/// Returns the cycles of straight code at address 0.
pub fn cycles(config: &Config, bits: &[u32]) -> Vec<u64> {
    Run::new(config).block(0, bits, Ended::Cut).cycles.clone()
}
