use tracewright_core::port::{Buffer, Port, Stats};
use tracewright_core::{Context, Element, Isa, TraceOn};

use super::encoder::{Bytes, Encoder};
use crate::packet::EmitError;

/// An encoder whose packets pass a port. All packets of one element fit, or all are lost.
///
/// After a loss nothing is emitted until there is room for all that a decoder needs: an Overflow packet, a
/// synchronisation point, Trace On, and the context and address of the block with which tracing resumes.
#[derive(Clone, Debug)]
pub struct AtPort {
    encoder: Encoder,
    buffer: Buffer,
    /// Whether packets are being lost.
    is_lost: bool,
    context: Option<(Context, Isa)>,
    told: Told,
    lost_instructions: u64,
}

/// The number of instructions that a decoder knows.
#[derive(Clone, Debug)]
struct Told {
    /// Number of instructions that ran, and of those that a decoder knows.
    ran: u64,
    told: u64,
    /// Instructions since the last P0 element.
    run: u64,
    /// Instructions of each P0 element whose atom is not written yet, in order.
    waiting: [u64; MOST],
    first: usize,
    count: usize,
}

/// Maximum number of atoms that wait to be written.
const MOST: usize = 64;

/// Bits of the packets that come first after a loss: Overflow, A-Sync, the shortest Trace Info, Trace On.
const LEAST: u64 = 8 * (1 + 12 + 2 + 1);

impl AtPort {
    /// Minimum size of the buffer in bits, so that tracing can resume after a loss: the first packets, with the
    /// longest Trace Info, context and address.
    pub const LEAST: u64 = LEAST + 8 * (12 + 18);

    /// Connects `encoder`, which must be new, to a port.
    pub fn new(mut encoder: Encoder, port: Port) -> Self {
        // The cycle in which a packet is made matters.
        encoder.write_atoms_early();
        let told = Told { ran: 0, told: 0, run: 0, waiting: [0; MOST], first: 0, count: 0 };
        let buffer = Buffer::new(port);
        Self { encoder, buffer, is_lost: false, context: None, told, lost_instructions: 0 }
    }

    /// Returns the statistics of the port. Each time that something did not fit is a loss.
    pub fn stats(&self) -> &Stats {
        self.buffer.stats()
    }

    /// Returns whether packets are being lost.
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Returns how many instructions were lost. Those of a loss that has not ended are not counted yet. The number is
    /// exact if TRCIDR8.MAXSPEC is 0 and all elements are blocks and exceptions.
    pub fn lost_instructions(&self) -> u64 {
        self.lost_instructions
    }

    /// Returns whether instructions ran since the last P0 element. If tracing ends here, they are not in the trace.
    pub fn in_run(&self) -> bool {
        !self.is_lost && self.encoder.in_run()
    }

    /// Appends the bytes that pass the port for `element`, which happens in this cycle of the hart.
    ///
    /// # Errors
    /// As for [`Encoder::element`].
    pub fn element(&mut self, cycle: u64, element: &Element, out: &mut impl Bytes) -> Result<(), EmitError> {
        if let Element::Context(context, isa) = *element {
            self.context = Some((context, isa));
        }
        if self.is_lost && !self.recovers(cycle, element, out)? {
            if let Element::Block(block) = element {
                self.told.ran += u64::from(block.count);
            }
            return Ok(());
        }
        self.pass(cycle, element, out)
    }

    /// Passes an element to the encoder, and its packets to the port.
    fn pass(&mut self, cycle: u64, element: &Element, out: &mut impl Bytes) -> Result<(), EmitError> {
        let mut bytes = Gathered::default();
        let before = self.encoder.packets();
        let made = self.encoder.element(element, &mut bytes);
        let packets = self.encoder.packets() - before;
        if let (Element::Block(block), Ok(())) = (element, made) {
            self.told.block(block.count.into(), self.encoder.in_run());
        }
        if bytes.len > 0 {
            let bits = if bytes.is_too_long { u64::MAX } else { 8 * bytes.len as u64 };
            if !self.buffer.take_all(packets, bits, cycle) {
                self.lose(element, out)?;
                return made;
            }
            out.extend(&bytes.bytes[..bytes.len]);
        }
        self.told.wait_for(self.encoder.waiting_atoms());
        if let (Element::Exception(_), Ok(())) = (element, made) {
            self.told.all();
        }
        made
    }

    #[cold]
    fn lose(&mut self, element: &Element, out: &mut impl Bytes) -> Result<(), EmitError> {
        self.is_lost = true;
        self.encoder.abandon();
        self.told.forget();
        if *element == Element::End { self.end(out) } else { Ok(()) }
    }

    /// Returns whether tracing resumes with `element` after a loss. If so, emits what a decoder needs.
    #[cold]
    fn recovers(&mut self, cycle: u64, element: &Element, out: &mut impl Bytes) -> Result<bool, EmitError> {
        if *element == Element::End {
            self.end(out)?;
            return Ok(true);
        }
        if !matches!(element, Element::Block(_)) || !self.buffer.has_room(LEAST, cycle) {
            return Ok(false);
        }
        let start = [
            Some(Element::TraceOn(TraceOn::Overflow)),
            self.context.map(|(context, isa)| Element::Context(context, isa)),
        ];
        let mut encoder = self.encoder.clone();
        let mut bytes = Gathered::default();
        for element in start.iter().flatten().chain([element]) {
            // Tracing cannot resume with a block that cannot be encoded.
            if encoder.element(element, &mut bytes).is_err() {
                return Ok(false);
            }
        }
        if bytes.is_too_long || !self.buffer.has_room(8 * bytes.len as u64, cycle) {
            return Ok(false);
        }
        self.is_lost = false;
        self.lost_instructions += self.told.resume();
        for element in start.iter().flatten() {
            self.pass(cycle, element, out)?;
        }
        Ok(true)
    }

    /// Ends the trace. The port has all the time it needs to report a loss.
    fn end(&mut self, out: &mut impl Bytes) -> Result<(), EmitError> {
        self.is_lost = false;
        self.lost_instructions += self.told.resume();
        self.buffer.flush();
        let overflow = Element::Lost(tracewright_core::GapReason::Overflow);
        self.pass(0, &overflow, out)
    }
}

impl Told {
    fn block(&mut self, count: u64, in_run: bool) {
        self.ran += count;
        self.run += count;
        if !in_run && self.count < MOST {
            self.waiting[(self.first + self.count) % MOST] = self.run;
            self.count += 1;
            self.run = 0;
        }
    }

    /// Reports that only `atoms` atoms are not written yet.
    fn wait_for(&mut self, atoms: usize) {
        while self.count > atoms {
            self.told += self.waiting[self.first];
            self.first = (self.first + 1) % MOST;
            self.count -= 1;
        }
    }

    /// Reports that all instructions are known.
    fn all(&mut self) {
        self.wait_for(0);
        self.told += self.run;
        self.run = 0;
    }

    /// Forgets the instructions of atoms that were lost.
    fn forget(&mut self) {
        (self.count, self.run) = (0, 0);
    }

    /// Resumes after a loss. Returns how many instructions were lost.
    fn resume(&mut self) -> u64 {
        let lost = self.ran - self.told;
        self.told = self.ran;
        lost
    }
}

/// The packets of one element.
struct Gathered {
    bytes: [u8; 512],
    len: usize,
    is_too_long: bool,
}

impl Default for Gathered {
    fn default() -> Self {
        Self { bytes: [0; 512], len: 0, is_too_long: false }
    }
}

impl<'a> Extend<&'a u8> for Gathered {
    fn extend<T: IntoIterator<Item = &'a u8>>(&mut self, bytes: T) {
        for &byte in bytes {
            match self.bytes.get_mut(self.len) {
                Some(place) => {
                    *place = byte;
                    self.len += 1;
                }
                None => self.is_too_long = true,
            }
        }
    }
}
