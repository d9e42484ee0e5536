//! From what a log reports to elements.

use tracewright_core::{
    AtomicOp, Block, Context, DataAccess, DataKind, Element, Ended, Exception, Flow, Isa, MemorySpace,
    Mismatch, Security, TraceOn,
};
use tracewright_flow::{BlockCheck, ElementSink};
use tracewright_hart::{Access, HartSink, Privilege, Trap};
use tracewright_image::Image;
use tracewright_isa::riscv::AccessKind;

/// What a log has reported so far that later elements depend on.
#[derive(Debug)]
pub struct Seen {
    isa: Isa,
    /// Whether the log has values of accesses and traps.
    has_values: bool,
    context: Context,
    /// Context that was emitted last.
    told: Option<Context>,
    is_on: bool,
    /// The indirect branch that was taken last, until the next block shows where it went.
    taken: Option<u64>,
    /// Instructions and accesses of the current block.
    bits: Vec<u32>,
    accesses: Vec<Access>,
    /// Cycle of the last instruction, and of the last one before this block.
    cycle: u64,
    last_cycle: u64,
    check: BlockCheck,
}

/// Most accesses of a block that are kept. A log may have any number.
const MOST_ACCESSES: usize = 1 << 20;

impl Seen {
    pub fn new(isa: Isa, has_values: bool) -> Self {
        let is_64bit = matches!(isa, Isa::A64 | Isa::Rv64);
        let security = Security::NonSecure;
        Self {
            isa,
            has_values,
            context: Context { level: 0, security, is_64bit, vmid: None, context_id: None },
            told: None,
            is_on: false,
            taken: None,
            bits: Vec::new(),
            accesses: Vec::new(),
            cycle: 0,
            last_cycle: 0,
            check: BlockCheck::default(),
        }
    }
}

/// Sink of a log that emits elements. With `DETAILS`, accesses and cycles are emitted, too.
pub struct Elements<'e, S, const DETAILS: bool> {
    pub sink: &'e mut S,
    pub seen: &'e mut Seen,
    /// Program that the log is compared with.
    pub image: &'e Image,
    /// Offset in the file that reported offsets count from.
    pub base: u64,
    /// Offset in the file of what is reported now.
    pub offset: u64,
}

impl<S: ElementSink, const DETAILS: bool> Elements<'_, S, DETAILS> {
    /// Emits that tracing begins, if it does, and the context, if it changed.
    #[inline(always)]
    fn begin(&mut self) {
        if !self.seen.is_on || self.seen.told != Some(self.seen.context) {
            self.begin_now();
        }
    }

    #[cold]
    fn begin_now(&mut self) {
        if !std::mem::replace(&mut self.seen.is_on, true) {
            self.sink.element(self.offset, &Element::TraceOn(TraceOn::Normal));
        }
        if self.seen.told != Some(self.seen.context) {
            self.seen.told = Some(self.seen.context);
            self.sink.element(self.offset, &Element::Context(self.seen.context, self.seen.isa));
        }
    }

    /// Emits that the program contradicts the log, which is right: a block whose code is another is not passed on.
    #[cold]
    fn contradicted(&mut self, mismatch: Mismatch) {
        self.sink.element(self.offset, &Element::Mismatch(mismatch));
        self.seen.taken = None;
        self.seen.accesses.clear();
        self.seen.bits.clear();
    }

    /// Emits the accesses of a block.
    fn emit_accesses(&mut self) {
        for access in self.seen.accesses.drain(..) {
            let kind = match access.kind {
                AccessKind::Load => Some(DataKind::Load),
                AccessKind::Store => Some(DataKind::Store),
                AccessKind::Amo => self
                    .seen
                    .bits
                    .get(access.index as usize)
                    .and_then(|bits| atomic(*bits))
                    .map(DataKind::Atomic),
            };
            let element = match kind {
                Some(kind) => {
                    let value = self.seen.has_values.then_some(access.value);
                    let (size, address) = (access.size, Some(access.address));
                    let access = DataAccess { kind, size, address, value, operand: None, after: false };
                    Element::Data { access, by: None }
                }
                None => Element::DataLost,
            };
            self.sink.element(self.offset, &element);
        }
        self.seen.bits.clear();
    }
}

/// Returns what a RISC-V atomic operation does.
fn atomic(bits: u32) -> Option<AtomicOp> {
    Some(match bits >> 27 {
        0 => AtomicOp::Add,
        1 => AtomicOp::Swap,
        4 => AtomicOp::Xor,
        8 => AtomicOp::Or,
        12 => AtomicOp::And,
        16 | 24 => AtomicOp::Min,
        20 | 28 => AtomicOp::Max,
        _ => return None,
    })
}

impl<S: ElementSink, const DETAILS: bool> HartSink for Elements<'_, S, DETAILS> {
    const ACCESSES: bool = DETAILS;
    const INSTRUCTIONS: bool = DETAILS;
    const CYCLES: bool = DETAILS;

    #[inline(always)]
    fn offset(&mut self, offset: u64) {
        self.offset = self.base + offset;
    }

    #[inline]
    fn block(&mut self, block: &Block) {
        self.begin();
        if let Err(mismatch) = self.seen.check.block(self.image, MemorySpace::ANY, block) {
            return self.contradicted(mismatch);
        }
        if DETAILS {
            self.emit_accesses();
        }
        if let Some(from) = self.seen.taken.take() {
            self.sink.went(self.offset, from, block.start);
        }
        self.sink.block(self.offset, block);
        if block.ended == Ended::Taken && block.class.flow != Flow::Direct {
            self.seen.taken = Some(block.last());
        }
        if DETAILS && self.seen.cycle != self.seen.last_cycle {
            let cycles = self.seen.cycle.wrapping_sub(self.seen.last_cycle);
            self.seen.last_cycle = self.seen.cycle;
            self.sink.element(self.offset, &Element::Cycles(u32::try_from(cycles).ok()));
        }
    }

    fn instructions(&mut self, bits: &[u32]) {
        if self.seen.bits.len() < MOST_ACCESSES {
            self.seen.bits.extend_from_slice(bits);
        }
    }

    fn access(&mut self, access: &Access) {
        if self.seen.accesses.len() < MOST_ACCESSES {
            self.seen.accesses.push(*access);
        }
    }

    fn cycles(&mut self, cycles: &[u64]) {
        self.seen.cycle = cycles.last().copied().unwrap_or(self.seen.cycle);
    }

    fn trap(&mut self, trap: &Trap) {
        self.begin();
        // What an exception keeps from running is not where a branch went.
        self.seen.taken = None;
        self.seen.check.interrupt();
        let &Trap { pc, cause, interrupt, value, .. } = trap;
        let is_riscv = !self.seen.isa.is_arm();
        let exception = Exception {
            number: cause as u16,
            interrupt: interrupt && is_riscv,
            value: (is_riscv && self.seen.has_values && !interrupt).then_some(value),
            return_address: Some(pc),
            at_target: false,
        };
        self.sink.element(self.offset, &Element::Exception(exception));
    }

    fn lost(&mut self) {
        (self.seen.is_on, self.seen.taken) = (false, None);
        self.seen.check.interrupt();
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.seen.context.level = privilege as u8;
    }

    fn context(&mut self, context: u64) {
        self.seen.context.context_id = Some(context as u32);
    }
}
