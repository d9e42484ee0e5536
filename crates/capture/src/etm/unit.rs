//! What a capture needs of a trace unit, whatever its protocol.

use tracewright_core::{Block, Element, TraceId};

use crate::{Error, Remark, port};

/// Settings of the trace units of a capture, which has one for each thread.
pub trait UnitSettings: Clone + Send + 'static {
    /// The encoder.
    type Unit: Unit;
    /// Name of the protocol in messages.
    const NAME: &'static str;
    /// Returns the type of the cores, as snapshots name it.
    fn core(&self) -> &str;
    /// Returns whether threads are in the 64-bit state.
    fn is_64bit(&self) -> bool;
    /// Creates the trace unit with this ID.
    ///
    /// # Errors
    /// Fails if no trace unit has these settings.
    fn device(&self, id: TraceId) -> Result<Device<Self::Unit>, Error>;
    /// Returns a remark about the settings, if there is one to make.
    fn remark(&self) -> Option<Remark> {
        None
    }
}

/// A trace unit, as a snapshot describes it.
#[derive(Debug)]
pub struct Device<U> {
    /// Its type.
    pub kind: &'static str,
    /// Its registers.
    pub registers: Vec<(&'static str, u64)>,
    /// Its encoder.
    pub unit: U,
}

/// The encoder of a trace unit.
pub trait Unit: Send {
    /// Whether the trace tells where the last instruction began that ran before trace is switched off.
    const TELLS_LAST: bool = false;
    /// Appends the bytes for an element.
    ///
    /// # Errors
    /// Fails if no core can have executed it.
    fn element(&mut self, element: &Element, bytes: &mut Vec<u8>) -> Result<(), Nonsense>;
    /// Appends the bytes for a block.
    ///
    /// # Errors
    /// As for [`element`](Self::element).
    #[inline]
    fn block(&mut self, block: &Block, bytes: &mut Vec<u8>) -> Result<(), Nonsense> {
        self.element(&Element::Block(*block), bytes)
    }
    /// Returns whether instructions ran that would be lost if tracing ended here.
    fn in_run(&self) -> bool {
        false
    }
    /// Returns the number of an exception of ETMv4 in this protocol.
    fn exception(&self, number: u16) -> u16 {
        number
    }
    /// Returns the report on the port, if there is one.
    fn port(&self) -> Option<port::Report> {
        None
    }
}

/// An element that no core can have executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonsense;
