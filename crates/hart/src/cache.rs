//! Cache of decoded instructions.

use std::collections::HashMap;

use tracewright_core::{Block, Class, Ended};
use tracewright_isa::riscv::{Instruction, Op, Xlen, decode};

use crate::float::registers;
use crate::machine::{Exception, Machine, cause};
use crate::memory::{PAGE, Rights};
use crate::state::{Core, X0_SINK};

/// A decoded instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub op: Op,
    /// Destination register; [`X0_SINK`] instead of x0.
    pub rd: u8,
    pub rs1: u8,
    pub rs2: u8,
    pub rs3: u8,
    pub mode: u8,
    /// Distance from the start of its piece.
    pub at: u16,
    /// Immediate. If it is relative to the program counter, the sum.
    pub imm: i64,
}

/// Consecutive instructions up to one that may not continue with the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// The block that the piece forms if nothing came before it.
    pub block: Block,
    /// Index of its first instruction.
    pub first: u32,
    /// Successor pieces if its branch is not taken and if it is; [`NONE`] if unknown or not constant.
    pub links: [u32; 2],
    /// Set if [`links`](Self::links) may be filled in, because the last instruction has fixed successors.
    pub links_are_fixed: bool,
}

pub(crate) const NONE: u32 = u32::MAX;

/// Decoded pieces by address.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    pub pieces: Vec<Piece>,
    pub ready: Vec<Ready>,
    /// Bits of each instruction.
    pub bits: Vec<u32>,
    by_address: HashMap<u64, u32>,
    /// Direct-mapped cache of `by_address` for recent lookups.
    quick: Box<[(u64, u32); QUICK]>,
}

const QUICK: usize = 1 << 12;
/// Maximum number of instructions in a piece.
const MOST: usize = 512;
/// Maximum number of decoded instructions. When it is reached, the cache is emptied, which bounds memory.
const MOST_READY: usize = 1 << 22;

impl Cache {
    pub fn new() -> Self {
        Self {
            pieces: Vec::new(),
            ready: Vec::new(),
            bits: Vec::new(),
            by_address: HashMap::new(),
            quick: Box::new([(u64::MAX, NONE); QUICK]),
        }
    }

    pub fn clear(&mut self) {
        self.pieces.clear();
        self.ready.clear();
        self.bits.clear();
        self.by_address.clear();
        self.quick.fill((u64::MAX, NONE));
    }

    /// Returns the piece at `core.pc`.
    ///
    /// # Errors
    /// Returns the exception that fetching its first instruction raises.
    #[inline]
    pub fn at<M: Machine>(&mut self, core: &mut Core, machine: &mut M) -> Result<u32, Exception> {
        let slot = (core.pc >> 1) as usize % QUICK;
        let (address, id) = self.quick[slot];
        // An empty slot also has an address, which execution can reach.
        if address == core.pc && id != NONE {
            return Ok(id);
        }
        let id = self.find(core, machine)?;
        self.quick[slot] = (core.pc, id);
        Ok(id)
    }

    #[cold]
    fn find<M: Machine>(&mut self, core: &mut Core, machine: &mut M) -> Result<u32, Exception> {
        if let Some(&id) = self.by_address.get(&core.pc) {
            return Ok(id);
        }
        if self.ready.len() > MOST_READY {
            self.clear();
        }
        let xlen = if core.is_rv32 { Xlen::Rv32 } else { Xlen::Rv64 };
        let start = core.pc;
        let first = self.ready.len();
        let mut pc = start;
        // The instruction before an indirect jump may determine its target.
        let mut previous = None;
        let last = loop {
            let bits = match fetch(core, machine, pc) {
                Ok(bits) => bits,
                Err(exception) if pc == start => return Err(exception),
                // The exception is raised when execution gets there.
                Err(_) => break None,
            };
            let mut instruction = decode(xlen, bits);
            if !core.fp_enabled && is_float(instruction.op) {
                instruction.op = Op::Illegal;
            }
            self.ready.push(ready(&instruction, pc, start, core.is_rv32));
            self.bits.push(if instruction.len == 2 { bits & 0xffff } else { bits });
            pc = core.address(pc.wrapping_add(instruction.len.into()));
            let is_long = self.ready.len() - first >= MOST && !matches!(instruction.op, Op::Lui | Op::Auipc);
            if ends_piece(&instruction) || is_long {
                break Some(instruction);
            }
            previous = Some(instruction);
        };
        let count = (self.ready.len() - first) as u32;
        let class = match (last, previous) {
            (Some(last), Some(previous)) => last.class_after(&previous),
            (Some(last), None) => last.class(),
            (None, _) => Class::NEXT,
        };
        let last_len = if self.bits.last().is_some_and(|bits| bits & 3 == 3) { 4 } else { 2 };
        let block = Block { start, end: pc, count, isa: core.isa(), last_len, class, ended: Ended::Cut };
        use Op::{Ebreak, Ecall, FenceI, Jalr, Mret, SfenceVma, Sret, Wfi};
        let links_are_fixed = !last.is_some_and(|last| {
            matches!(last.op, Jalr | Mret | Sret | Wfi | Ecall | Ebreak | SfenceVma | FenceI)
        });
        let id = self.pieces.len() as u32;
        self.pieces.push(Piece { block, first: first as u32, links: [NONE; 2], links_are_fixed });
        self.by_address.insert(start, id);
        Ok(id)
    }
}

/// Returns whether an instruction ends a piece: it may not continue with the next, or code must be decoded anew after it.
fn ends_piece(instruction: &Instruction) -> bool {
    use Op::{Csrrc, Csrrci, Csrrs, Csrrsi, Csrrw, Csrrwi, Ebreak, Ecall, FenceI, Illegal, SfenceVma, Wfi};
    match instruction.op {
        FenceI | SfenceVma | Ecall | Ebreak | Illegal | Wfi => true,
        // All CSRs but the floating-point ones may change how code is decoded.
        Csrrw | Csrrs | Csrrc | Csrrwi | Csrrsi | Csrrci => !matches!(instruction.imm, 1..=3),
        _ => instruction.class().ends_block(),
    }
}

fn is_float(op: Op) -> bool {
    (Op::Flw as u8..=Op::FmvDX as u8).contains(&(op as u8))
}

/// Fetches the bits at `pc`. Only the low half of a compressed instruction is meaningful.
fn fetch<M: Machine>(core: &mut Core, machine: &mut M, pc: u64) -> Result<u32, Exception> {
    if pc & 1 != 0 {
        return Err(Exception { cause: cause::INSTRUCTION_MISALIGNED, value: pc });
    }
    let low = fetch_half(core, machine, pc)?;
    if low & 3 != 3 {
        return Ok(low.into());
    }
    let high = fetch_half(core, machine, core.address(pc.wrapping_add(2)))?;
    Ok(u32::from(high) << 16 | u32::from(low))
}

fn fetch_half<M: Machine>(core: &mut Core, machine: &mut M, pc: u64) -> Result<u16, Exception> {
    let fault = Exception { cause: cause::INSTRUCTION_ACCESS_FAULT, value: pc };
    let frame = machine.translate(core, pc, 2, Rights::EXECUTE);
    let at = frame.map_err(|exception| exception.or_device(fault))? + (pc % PAGE) as usize;
    let bytes = core.memory.bytes().get(at..at + 2).and_then(<[u8]>::first_chunk);
    bytes.map(|bytes| u16::from_le_bytes(*bytes)).ok_or(fault)
}

fn ready(instruction: &Instruction, pc: u64, start: u64, is_rv32: bool) -> Ready {
    let Instruction { op, rd, rs1, rs2, rs3, mode, imm, .. } = *instruction;
    let relative = || {
        let sum = pc.wrapping_add(imm as i64 as u64);
        if is_rv32 { sum as i32 as i64 } else { sum as i64 }
    };
    let address = || if is_rv32 { relative() & 0xffff_ffff } else { relative() };
    let imm = match op {
        Op::Auipc => relative(),
        Op::Jal | Op::Beq | Op::Bne | Op::Blt | Op::Bge | Op::Bltu | Op::Bgeu => address(),
        _ => imm.into(),
    };
    // Floating-point results go to f registers, where f0 is ordinary.
    let rd = if rd == 0 && registers(op)[0] != 2 { X0_SINK as u8 } else { rd };
    let op = if is_rv32 { narrow(op) } else { op };
    Ready { op, rd, rs1, rs2, rs3, mode, at: (pc.wrapping_sub(start)) as u16, imm }
}

/// Replaces RV64 operations by their word forms on RV32, whose values are kept sign-extended.
fn narrow(op: Op) -> Op {
    match op {
        Op::Add => Op::Addw,
        Op::Addi => Op::Addiw,
        Op::Sub => Op::Subw,
        Op::Sll => Op::Sllw,
        Op::Srl => Op::Srlw,
        Op::Sra => Op::Sraw,
        Op::Slli => Op::Slliw,
        Op::Srli => Op::Srliw,
        Op::Srai => Op::Sraiw,
        Op::Mul => Op::Mulw,
        Op::Div => Op::Divw,
        Op::Divu => Op::Divuw,
        Op::Rem => Op::Remw,
        Op::Remu => Op::Remuw,
        Op::Clz => Op::Clzw,
        Op::Ctz => Op::Ctzw,
        Op::Cpop => Op::Cpopw,
        Op::Rol => Op::Rolw,
        Op::Ror => Op::Rorw,
        Op::Rori => Op::Roriw,
        op => op,
    }
}
