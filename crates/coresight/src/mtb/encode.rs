//! Elements to packets: the trace unit.

use core::fmt;

use tracewright_core::{Block, Element, Ended, Isa};

use super::packet::Branch;

/// Value that the processor goes to in order to return to a thread that uses the main stack.
const EXC_RETURN: u32 = 0xffff_fff8;

/// An element that an MTB cannot trace: code of another instruction set than T32, or an address above 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CannotEncode {
    /// The address.
    pub address: u64,
}

impl fmt::Display for CannotEncode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}: an MTB traces 32-bit addresses of T32", self.address)
    }
}

impl core::error::Error for CannotEncode {}

/// An encoder of executions. A packet is written when it is known where execution went on: with the next block.
#[derive(Clone, Debug)]
pub struct Encoder {
    /// Source of a packet that waits for its target, and whether it is an exception.
    held: Option<(u32, bool)>,
    start: bool,
}

impl Default for Encoder {
    fn default() -> Self {
        Self { held: None, start: true }
    }
}

impl Encoder {
    /// Creates an encoder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the bytes that the trace unit writes for `element`.
    ///
    /// # Errors
    /// Fails if an MTB cannot trace the element.
    pub fn element(&mut self, element: &Element, bytes: &mut Vec<u8>) -> Result<(), CannotEncode> {
        match element {
            Element::Block(block) => self.block(block, bytes)?,
            Element::Exception(exception) => {
                let source = match exception.return_address {
                    Some(address) => {
                        let address = place(address)?;
                        // The branch before it went there.
                        self.release(address, bytes);
                        address
                    }
                    // It follows another exception directly.
                    None => EXC_RETURN,
                };
                self.held = Some((source, true));
            }
            Element::ExceptionReturn => {
                self.release(EXC_RETURN, bytes);
                self.held = Some((EXC_RETURN, true));
            }
            Element::TraceOn(_) | Element::Lost(_) => (self.held, self.start) = (None, true),
            _ => {}
        }
        Ok(())
    }

    fn block(&mut self, block: &Block, bytes: &mut Vec<u8>) -> Result<(), CannotEncode> {
        if block.isa != Isa::T32 {
            return Err(CannotEncode { address: block.start });
        }
        let (start, last) = (place(block.start)?, place(block.last())?);
        self.release(start, bytes);
        if block.ended == Ended::Taken {
            self.held = Some((last, false));
        }
        Ok(())
    }

    /// Writes the packet that waits for `target`.
    fn release(&mut self, target: u32, bytes: &mut Vec<u8>) {
        if let Some((source, exception)) = self.held.take() {
            let start = core::mem::take(&mut self.start);
            bytes.extend(Branch { source, target, exception, start }.bytes());
        }
    }
}

fn place(address: u64) -> Result<u32, CannotEncode> {
    u32::try_from(address).map_err(|_| CannotEncode { address })
}
