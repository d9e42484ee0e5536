//! Sinks that forward what they receive: to two others, or to a trait object.

use tracewright_core::Block;
use tracewright_hart::{HartSink, RegisterWrite};

/// A sink that encodes what it receives as trace.
pub trait TraceSink: HartSink {
    /// Returns the number of bytes of trace made so far.
    fn bytes(&self) -> u64;
}

impl<S: TraceSink> TraceSink for &mut S {
    fn bytes(&self) -> u64 {
        (**self).bytes()
    }
}

/// Two sinks. Each receives what it asks for.
#[derive(Debug)]
pub struct Pair<A, B>(pub A, pub B);

/// A sink behind a reference. It asks for everything but registers, and forwards what its target asks for.
pub(crate) struct AnySink<'a, D: ?Sized>(pub &'a mut D);

/// Calls `$make` with the methods of [`HartSink`], and the constants that some of them depend on, to make sinks that forward
/// them. Registers are left out: no trace has them, and telling them takes time.
macro_rules! hart_calls {
    ($make:ident) => {
        $make! {
            block(block: &tracewright_core::Block),
            access(access: &tracewright_hart::Access) if ACCESSES,
            data(pc: u64, access: &tracewright_core::DataAccess) if DATA,
            instructions(bits: &[u32]) if INSTRUCTIONS,
            cycles(cycles: &[u64]) if CYCLES,
            trap(trap: &tracewright_hart::Trap),
            lost(),
            privilege(privilege: tracewright_hart::Privilege),
            context(context: u64),
            code(address: u64, bytes: &[u8]),
            checkpoint(),
        }
    };
}

pub(crate) use hart_calls;

macro_rules! make {
    ($($call:ident($($name:ident: $type:ty),*) $(if $asked:ident)?,)*) => {
        /// A [`HartSink`] as a trait object. Every sink implements it, and receives only what it asks for.
        #[allow(missing_docs, reason = "the methods of HartSink, which are described there")]
        pub trait DynSink {
            $(fn $call(&mut self, $($name: $type),*);)*
        }

        impl<S: HartSink> DynSink for S {
            $(fn $call(&mut self, $($name: $type),*) {
                if true $(&& S::$asked)? {
                    HartSink::$call(self, $($name),*);
                }
            })*
        }

        impl<A: HartSink, B: HartSink> HartSink for Pair<A, B> {
            $($(const $asked: bool = A::$asked || B::$asked;)?)*
            const REGISTERS: bool = A::REGISTERS || B::REGISTERS;

            #[inline(always)]
            fn register(&mut self, write: &RegisterWrite) {
                if A::REGISTERS {
                    self.0.register(write);
                }
                if B::REGISTERS {
                    self.1.register(write);
                }
            }

            $(#[inline(always)]
            fn $call(&mut self, $($name: $type),*) {
                if true $(&& A::$asked)? {
                    HartSink::$call(&mut self.0, $($name),*);
                }
                if true $(&& B::$asked)? {
                    HartSink::$call(&mut self.1, $($name),*);
                }
            })*
        }

        impl<D: DynSink + ?Sized> HartSink for AnySink<'_, D> {
            $($(const $asked: bool = true;)?)*

            $(fn $call(&mut self, $($name: $type),*) {
                self.0.$call($($name),*);
            })*
        }
    };
}

hart_calls!(make);

/// A [`TraceSink`] as a trait object.
pub trait DynTraceSink: DynSink {
    /// Returns the number of bytes of trace made so far.
    fn traced_bytes(&self) -> u64;
}

impl<S: TraceSink> DynTraceSink for S {
    fn traced_bytes(&self) -> u64 {
        self.bytes()
    }
}

impl<D: DynTraceSink + ?Sized> TraceSink for AnySink<'_, D> {
    fn bytes(&self) -> u64 {
        self.0.traced_bytes()
    }
}

/// A sink for runs that are not traced.
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
