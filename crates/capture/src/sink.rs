//! Sinks whose type is not known where they are called.

use tracewright_core::{Block, DataAccess};
use tracewright_hart::{Access, HartSink, Privilege, Trap};

/// Makes a sink of a type that wraps another, by handing on all but blocks.
macro_rules! hand_on {
    () => {
        fn access(&mut self, access: &tracewright_hart::Access) {
            self.0.access(access);
        }

        fn data(&mut self, pc: u64, access: &tracewright_core::DataAccess) {
            self.0.data(pc, access);
        }

        fn instructions(&mut self, bits: &[u32]) {
            self.0.instructions(bits);
        }

        fn cycles(&mut self, cycles: &[u64]) {
            self.0.cycles(cycles);
        }

        fn trap(&mut self, trap: &tracewright_hart::Trap) {
            self.0.trap(trap);
        }

        fn lost(&mut self) {
            self.0.lost();
        }

        fn privilege(&mut self, privilege: tracewright_hart::Privilege) {
            self.0.privilege(privilege);
        }

        fn context(&mut self, context: u64) {
            self.0.context(context);
        }

        fn checkpoint(&mut self) {
            self.0.checkpoint();
        }
    };
}

pub(crate) use hand_on;

/// A sink that makes trace of what it is told.
pub trait TraceSink: HartSink {
    /// Returns how many bytes of trace were made so far.
    fn bytes(&self) -> u64;
}

impl<S: TraceSink> TraceSink for &mut S {
    fn bytes(&self) -> u64 {
        (**self).bytes()
    }
}

/// A [`HartSink`] as an object. Every sink is one, and is told only what it asks for.
#[allow(missing_docs, reason = "the methods of HartSink, which are described there")]
pub trait DynSink {
    fn block(&mut self, block: &Block);
    fn access(&mut self, access: &Access);
    fn data(&mut self, pc: u64, access: &DataAccess);
    fn instructions(&mut self, bits: &[u32]);
    fn cycles(&mut self, cycles: &[u64]);
    fn trap(&mut self, trap: &Trap);
    fn lost(&mut self);
    fn privilege(&mut self, privilege: Privilege);
    fn context(&mut self, context: u64);
    fn checkpoint(&mut self);
}

impl<S: HartSink> DynSink for S {
    fn block(&mut self, block: &Block) {
        HartSink::block(self, block);
    }

    fn access(&mut self, access: &Access) {
        if S::ACCESSES {
            HartSink::access(self, access);
        }
    }

    fn data(&mut self, pc: u64, access: &DataAccess) {
        if S::DATA {
            HartSink::data(self, pc, access);
        }
    }

    fn instructions(&mut self, bits: &[u32]) {
        if S::INSTRUCTIONS {
            HartSink::instructions(self, bits);
        }
    }

    fn cycles(&mut self, cycles: &[u64]) {
        if S::CYCLES {
            HartSink::cycles(self, cycles);
        }
    }

    fn trap(&mut self, trap: &Trap) {
        HartSink::trap(self, trap);
    }

    fn lost(&mut self) {
        HartSink::lost(self);
    }

    fn privilege(&mut self, privilege: Privilege) {
        HartSink::privilege(self, privilege);
    }

    fn context(&mut self, context: u64) {
        HartSink::context(self, context);
    }

    fn checkpoint(&mut self) {
        HartSink::checkpoint(self);
    }
}

/// A [`TraceSink`] as an object.
pub trait DynTraceSink: DynSink {
    /// Returns how many bytes of trace were made so far.
    fn traced_bytes(&self) -> u64;
}

impl<S: TraceSink> DynTraceSink for S {
    fn traced_bytes(&self) -> u64 {
        self.bytes()
    }
}

/// A sink behind a pointer. It asks for everything, and its target is told what that asks for.
pub(crate) struct AnySink<'a, D: ?Sized>(pub &'a mut D);

impl<D: DynSink + ?Sized> HartSink for AnySink<'_, D> {
    const ACCESSES: bool = true;
    const DATA: bool = true;
    const INSTRUCTIONS: bool = true;
    const CYCLES: bool = true;

    fn block(&mut self, block: &Block) {
        self.0.block(block);
    }

    hand_on!();
}

impl<D: DynTraceSink + ?Sized> TraceSink for AnySink<'_, D> {
    fn bytes(&self) -> u64 {
        self.0.traced_bytes()
    }
}

/// A sink for runs that nobody traces.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NoTrace;

impl HartSink for NoTrace {
    #[inline(always)]
    fn block(&mut self, _: &Block) {}
}

impl TraceSink for NoTrace {
    fn bytes(&self) -> u64 {
        0
    }
}
