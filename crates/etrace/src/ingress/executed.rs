use tracewright_core::{Block, Flow};
use tracewright_isa::riscv::IType;

use super::{CType, Entry, ITypeWidth, Step};

/// Converter from executed blocks to entries: one for each block and one for each trap.
///
/// Privilege, context and time hold from the call that sets them on. Give a trap before the privilege that it
/// brings.
///
/// ```
/// # use tracewright_core::{Block, Class, Ended, Isa};
/// # use tracewright_etrace::encode::Encoder;
/// # use tracewright_etrace::ingress::Executed;
/// let mut executed = Executed::default();
/// let mut encoder = Encoder::new(Default::default());
/// let (start, end) = (0x8000_0000, 0x8000_0010);
/// let block = Block { start, end, count: 4, isa: Isa::Rv64, last_len: 4, class: Class::NEXT, ended: Ended::Cut };
/// let mut packets = 0;
/// encoder.entry(&executed.block(&block), &mut |_| packets += 1);
/// encoder.entry(&executed.trap(0x8000_0010, 2, false, 0), &mut |_| packets += 1);
/// encoder.finish(&mut |_| packets += 1);
/// assert_eq!(packets, 5);
/// ```
#[derive(Clone, Debug)]
pub struct Executed {
    itype_width: ITypeWidth,
    ctype: CType,
    privilege: u8,
    context: u64,
    time: u64,
    cycle: u64,
    notify: bool,
    /// Whether only the time has changed since the last block.
    is_steady: bool,
}

impl Default for Executed {
    /// Returns a converter with types of four bits and precise reports of context.
    fn default() -> Self {
        Self::new(ITypeWidth::Four, CType::Precise)
    }
}

impl Executed {
    /// Creates a converter with this width of types and this way to report changes of context. The privilege
    /// is 3 (machine mode) at first.
    pub const fn new(itype_width: ITypeWidth, ctype: CType) -> Self {
        Self {
            itype_width,
            ctype,
            privilege: 3,
            context: 0,
            time: 0,
            cycle: 0,
            notify: false,
            is_steady: false,
        }
    }

    /// Sets the way to report changes of context.
    pub fn ctype(&mut self, ctype: CType) {
        (self.ctype, self.is_steady) = (ctype, false);
    }

    /// Sets the privilege.
    pub fn privilege(&mut self, privilege: u8) {
        (self.privilege, self.is_steady) = (privilege, false);
    }

    /// Sets the context.
    pub fn context(&mut self, context: u64) {
        (self.context, self.is_steady) = (context, false);
    }

    /// Sets the cycle.
    #[inline]
    pub fn cycle(&mut self, cycle: u64) {
        self.cycle = cycle;
    }

    /// Sets the time.
    #[inline]
    pub fn time(&mut self, time: u64) {
        self.time = time;
    }

    /// Requests a notification for the last instruction of the next block.
    pub fn notify(&mut self) {
        (self.notify, self.is_steady) = (true, false);
    }

    /// Returns the entry of an executed block.
    #[inline]
    pub fn block(&mut self, block: &Block) -> Entry {
        let Step { itype, iaddr, iretire, ilastsize, sijump, .. } = self.step(block);
        self.is_steady = true;
        let notify = core::mem::take(&mut self.notify);
        Entry { itype, iaddr, iretire, ilastsize, sijump, notify, ..self.now() }
    }

    /// Returns an executed block as a step, if only the time has changed since the block before. Otherwise
    /// returns `None` and changes nothing.
    #[inline(always)]
    pub fn next_block(&self, block: &Block) -> Option<Step> {
        self.is_steady.then(|| self.step(block)).filter(|step| step.iretire > 0)
    }

    #[inline(always)]
    fn step(&self, block: &Block) -> Step {
        Step {
            // If a log ends at a branch, nothing follows it, so the choice of its outcome does not matter.
            itype: self.itype_width.narrow(IType::of(block)),
            iaddr: block.start,
            iretire: (block.end.wrapping_sub(block.start) / 2) as u32,
            // Instructions have 2, 4, 6 or 8 bytes.
            ilastsize: block.last_len >> 2 & 3,
            sijump: block.class.flow == Flow::Pair,
            time: self.time,
            cycle: self.cycle,
        }
    }

    /// Returns the entry of a trap; `pc` is the instruction that did not retire, or that would have been
    /// next.
    pub fn trap(&mut self, pc: u64, cause: u64, interrupt: bool, value: u64) -> Entry {
        self.is_steady = false;
        let itype = if interrupt { IType::Interrupt } else { IType::Exception };
        Entry { itype, cause, tval: value, iaddr: pc, ..self.now() }
    }

    #[inline]
    fn now(&self) -> Entry {
        Entry {
            privilege: self.privilege,
            context: self.context,
            ctype: self.ctype,
            time: self.time,
            cycle: self.cycle,
            ..Entry::NOTHING
        }
    }
}
