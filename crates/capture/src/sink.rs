//! Sinks that hand on what they are told: to two others, or to one whose type is not known where it is called.

use tracewright_core::Block;
use tracewright_hart::HartSink;

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

/// Two sinks; each is told what it asks for.
#[derive(Debug)]
pub struct Pair<A, B>(pub A, pub B);

/// A sink behind a pointer. It asks for everything, and its target is told what that asks for.
pub(crate) struct AnySink<'a, D: ?Sized>(pub &'a mut D);

/// Gives `$make` the calls of [`HartSink`], some of which a constant asks for: it makes sinks that hand them on.
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
            checkpoint(),
        }
    };
}

pub(crate) use hart_calls;

macro_rules! make {
    ($($call:ident($($name:ident: $type:ty),*) $(if $asked:ident)?,)*) => {
        /// A [`HartSink`] as an object. Every sink is one, and is told only what it asks for.
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
