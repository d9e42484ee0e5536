use tracewright_core::{Block, Isa};
use tracewright_hart::{HartSink, Trap};
use tracewright_isa::{riscv, t32};
use tracewright_qemu::format::Off;
use tracewright_qemu::read::Log;

/// What a thread ran, instruction by instruction.
#[derive(Debug, Default)]
pub struct Addresses {
    /// Addresses of instructions, including those that raised an exception, as in QEMU's own log.
    pub all: Vec<u64>,
    pub traps: Vec<Trap>,
    /// Number of gaps.
    pub lost: usize,
    bits: Vec<u32>,
    isa: Option<Isa>,
}

impl Addresses {
    /// Reads a thread. Also returns why its log ends.
    pub fn of(log: &mut Log, thread: u32) -> (Self, Option<Off>) {
        let mut addresses = Self::default();
        let off = log.read(thread, &mut addresses).unwrap();
        (addresses, off)
    }
}

impl HartSink for Addresses {
    const INSTRUCTIONS: bool = true;

    fn instructions(&mut self, bits: &[u32]) {
        self.bits.extend(bits);
    }

    fn block(&mut self, block: &Block) {
        assert_eq!(self.bits.len(), block.count as usize, "{block:x?}");
        self.isa = Some(block.isa);
        let mut pc = block.start;
        for &bits in &self.bits {
            self.all.push(pc);
            pc += u64::from(match block.isa {
                Isa::A64 | Isa::A32 => 4,
                Isa::T32 if bits > 0xffff => t32::len((bits >> 16) as u16),
                Isa::T32 => t32::len(bits as u16),
                Isa::Rv32 | Isa::Rv64 => riscv::len(bits as u16),
            });
        }
        assert_eq!(pc, block.end, "{block:x?}");
        self.bits.clear();
    }

    fn trap(&mut self, trap: &Trap) {
        // An instruction with an exception did not retire, but QEMU logs it before it tries; a system call of Arm did retire.
        let is_arm_call = matches!(self.isa, Some(Isa::A64 | Isa::A32 | Isa::T32)) && trap.cause == 2;
        if !trap.interrupt && !is_arm_call {
            self.all.push(trap.pc);
        }
        self.traps.push(*trap);
    }

    fn lost(&mut self) {
        self.lost += 1;
    }
}
