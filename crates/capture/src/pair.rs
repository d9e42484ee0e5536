use tracewright_core::{Block, DataAccess};
use tracewright_hart::{Access, HartSink, Privilege, Trap};

/// Two sinks; each is told what it asks for.
#[derive(Debug)]
pub struct Pair<A, B>(pub A, pub B);

impl<A: HartSink, B: HartSink> HartSink for Pair<A, B> {
    const ACCESSES: bool = A::ACCESSES || B::ACCESSES;
    const DATA: bool = A::DATA || B::DATA;
    const INSTRUCTIONS: bool = A::INSTRUCTIONS || B::INSTRUCTIONS;
    const CYCLES: bool = A::CYCLES || B::CYCLES;

    #[inline(always)]
    fn block(&mut self, block: &Block) {
        self.0.block(block);
        self.1.block(block);
    }

    #[inline(always)]
    fn access(&mut self, access: &Access) {
        if A::ACCESSES {
            self.0.access(access);
        }
        if B::ACCESSES {
            self.1.access(access);
        }
    }

    #[inline(always)]
    fn data(&mut self, pc: u64, access: &DataAccess) {
        if A::DATA {
            self.0.data(pc, access);
        }
        if B::DATA {
            self.1.data(pc, access);
        }
    }

    #[inline(always)]
    fn instructions(&mut self, bits: &[u32]) {
        if A::INSTRUCTIONS {
            self.0.instructions(bits);
        }
        if B::INSTRUCTIONS {
            self.1.instructions(bits);
        }
    }

    fn cycles(&mut self, cycles: &[u64]) {
        if A::CYCLES {
            self.0.cycles(cycles);
        }
        if B::CYCLES {
            self.1.cycles(cycles);
        }
    }

    fn trap(&mut self, trap: &Trap) {
        self.0.trap(trap);
        self.1.trap(trap);
    }

    fn lost(&mut self) {
        self.0.lost();
        self.1.lost();
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.0.privilege(privilege);
        self.1.privilege(privilege);
    }

    fn context(&mut self, context: u64) {
        self.0.context(context);
        self.1.context(context);
    }

    fn checkpoint(&mut self) {
        self.0.checkpoint();
        self.1.checkpoint();
    }
}
