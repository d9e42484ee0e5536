//! The end of a trace only, or what is around a trigger: a ring, as the buffers of trace units are.

use clap::Args;
use tracewright_core::{Block, DataAccess};
use tracewright_etrace::encode::{Resync, ResyncMode};
use tracewright_hart::{Access, Controlled, Privilege, Sink, Trap};

use super::grouped;
use crate::etrace::{TraceFile, WithData};
use crate::output::report;

/// Of a ring.
#[derive(Args)]
#[command(next_help_heading = "What is kept of the trace")]
pub struct RingArgs {
    /// Keep only the newest bytes of the trace: so many, with K or M for more. What is decoded begins at the first synchronisation in there.
    /// Delta trace (--delta) has such a ring of its own.
    #[arg(long, value_name = "BYTES", value_parser = size, conflicts_with_all = ["qemu", "from"])]
    pub ring: Option<u64>,

    /// Stop to trace some time after an instruction for which this is so first, as for --when.
    #[arg(long, value_name = "TEXT", requires = "ring")]
    pub trigger: Option<String>,

    /// Where in the ring the trigger is then: 0 at its beginning, 100 at its end.
    #[arg(long, value_name = "PERCENT", requires = "trigger", default_value_t = 50, hide_default_value = true,
        value_parser = clap::value_parser!(u8).range(0..=100))]
    pub position: u8,
}

/// Enough for a synchronisation packet, and something after it.
const LEAST: u64 = 256;

fn size(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.strip_suffix(['K', 'k']) {
        Some(digits) => (digits, 1 << 10),
        None => match text.strip_suffix(['M', 'm']) {
            Some(digits) => (digits, 1 << 20),
            None => (text, 1),
        },
    };
    let size = digits.parse::<u64>().ok().and_then(|size| size.checked_mul(unit));
    let size = size.ok_or("expected a number of bytes, such as 4096, 64K or 1M")?;
    if (LEAST..=1 << 32).contains(&size) { Ok(size) } else { Err(format!("expected {LEAST} bytes to 4096M")) }
}

impl RingArgs {
    /// When the encoder has to synchronise, so that the ring always holds some places to start from; with delta trace, so that both rings hold some
    /// of the same.
    pub fn resync(&self, has_delta: bool) -> Option<Resync> {
        let exponent = |count: u64| count.checked_ilog2().unwrap_or(0).saturating_sub(4) as u8;
        let usual = Resync::default();
        Some(match has_delta {
            // Packets have about eight bytes.
            false => Resync { max: exponent(self.ring? / 8 / 8).min(8), ..usual },
            // Delta trace takes more room: two bits a cycle, about.
            true => Resync { mode: ResyncMode::Cycles, max: exponent(self.ring?).min(15), ..usual },
        })
    }

    /// How many bytes come after the trigger.
    fn after(&self) -> u64 {
        let size = self.ring.unwrap_or(u64::MAX);
        (u128::from(size) * u128::from(100 - self.position.min(100)) / 100) as u64
    }
}

/// Traces up to some bytes after a trigger.
pub struct Ringed {
    pub inner: Controlled<WithData<TraceFile>>,
    trigger: Option<Controlled<Hit>>,
    after: u64,
    /// Up to how many bytes of trace.
    until: Option<u64>,
    is_over: bool,
}

/// Whether anything was told.
#[derive(Default)]
pub struct Hit(bool);

impl Sink for Hit {
    fn block(&mut self, _: &Block) {
        self.0 = true;
    }

    fn trap(&mut self, _: &Trap) {
        self.0 = true;
    }
}

impl Ringed {
    pub fn new(
        args: &RingArgs,
        trigger: Option<Controlled<Hit>>,
        inner: Controlled<WithData<TraceFile>>,
    ) -> Self {
        Self { inner, trigger, after: args.after(), until: None, is_over: false }
    }

    /// Says what came of the trigger.
    pub fn report(&self, args: &RingArgs) {
        let Some(text) = &args.trigger else { return };
        if self.until.is_none() {
            report(&format!("--trigger {text:?}: it never came: the ring holds the end of the trace"));
        } else if let Some(trigger) = &self.trigger {
            let instruction = grouped(trigger.control().seen());
            report(&format!("--trigger {text:?}: came within the first {instruction} instructions"));
        }
    }

    fn bytes(&self) -> u64 {
        self.inner.inner.0.bytes()
    }

    /// Gives it to the trigger, as long as that is waited for, and to the trace, as long as there is one.
    #[inline]
    fn each(&mut self, tell: impl Fn(&mut dyn AnySink)) {
        if self.until.is_none()
            && let Some(trigger) = &mut self.trigger
        {
            tell(trigger);
        }
        if !self.is_over {
            tell(&mut self.inner);
        }
    }

    /// Looks whether the trigger came, and whether it is over.
    fn look(&mut self) {
        if self.until.is_none() && self.trigger.as_ref().is_some_and(|trigger| trigger.inner.0) {
            self.until = Some(self.bytes().saturating_add(self.after));
        }
        if !self.is_over && self.until.is_some_and(|until| self.bytes() >= until) {
            self.is_over = true;
            Sink::lost(&mut self.inner);
        }
    }
}

/// What both are told.
trait AnySink {
    fn block(&mut self, block: &Block);
    fn instructions(&mut self, bits: &[u32]);
    fn cycles(&mut self, cycles: &[u64]);
    fn trap(&mut self, trap: &Trap);
    fn lost(&mut self);
    fn privilege(&mut self, privilege: Privilege);
    fn context(&mut self, context: u64);
}

impl<S: Sink> AnySink for S {
    fn block(&mut self, block: &Block) {
        Sink::block(self, block);
    }

    fn instructions(&mut self, bits: &[u32]) {
        Sink::instructions(self, bits);
    }

    fn cycles(&mut self, cycles: &[u64]) {
        Sink::cycles(self, cycles);
    }

    fn trap(&mut self, trap: &Trap) {
        Sink::trap(self, trap);
    }

    fn lost(&mut self) {
        Sink::lost(self);
    }

    fn privilege(&mut self, privilege: Privilege) {
        Sink::privilege(self, privilege);
    }

    fn context(&mut self, context: u64) {
        Sink::context(self, context);
    }
}

impl Sink for Ringed {
    const ACCESSES: bool = false;
    const DATA: bool = true;
    const INSTRUCTIONS: bool = true;
    const CYCLES: bool = true;

    fn block(&mut self, block: &Block) {
        self.each(|sink| sink.block(block));
        self.look();
    }

    fn access(&mut self, _: &Access) {}

    fn data(&mut self, pc: u64, access: &DataAccess) {
        if !self.is_over {
            self.inner.data(pc, access);
        }
    }

    fn instructions(&mut self, bits: &[u32]) {
        self.each(|sink| sink.instructions(bits));
    }

    fn cycles(&mut self, cycles: &[u64]) {
        self.each(|sink| sink.cycles(cycles));
    }

    fn trap(&mut self, trap: &Trap) {
        self.each(|sink| sink.trap(trap));
        self.look();
    }

    fn checkpoint(&mut self) {
        self.inner.checkpoint();
    }

    fn lost(&mut self) {
        self.each(|sink| sink.lost());
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.each(|sink| sink.privilege(privilege));
    }

    fn context(&mut self, context: u64) {
        self.each(|sink| sink.context(context));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(ring: u64, position: u8) -> RingArgs {
        RingArgs { ring: Some(ring), trigger: None, position }
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("64K"), Ok(65536));
        assert_eq!(size("1m"), Ok(1 << 20));
        let expected = Err("expected a number of bytes, such as 4096, 64K or 1M".into());
        assert_eq!(size("K"), expected);
        assert_eq!(size("99999999999999999999M"), expected);
        assert_eq!(size("10"), Err("expected 256 bytes to 4096M".into()));
    }

    #[test]
    fn positions_are_parts_of_the_ring() {
        assert_eq!([0, 25, 75, 100].map(|position| args(65536, position).after()), [65536, 49152, 16384, 0]);
        assert_eq!(
            [256, 4096, 65536, 1 << 30].map(|ring| args(ring, 50).resync(false).unwrap().max),
            [0, 2, 6, 8]
        );
        assert_eq!(
            [256, 4096, 65536, 1 << 30].map(|ring| args(ring, 50).resync(true).unwrap().max),
            [4, 8, 12, 15]
        );
    }
}
