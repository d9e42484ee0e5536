//! Data trace from a log.

use std::io::Write;

use tracewright_core::{Block, Class, Ended, Isa};
use tracewright_etrace::{Params, data};
use tracewright_hart::{Access, HartSink, Privilege, Trap};
use tracewright_isa::riscv::{Instruction, Xlen, decode};
use tracewright_qemu::format::LogData;

use super::accesses::{Accesses, Known, Ran};
use super::{Settings, Tracer};
use crate::Error;
use crate::sink::TraceSink;

impl Settings {
    /// Returns the settings for a log of RV64 code: with all its memory accesses, unless options say otherwise.
    pub fn of_log(has: LogData, options: &[String]) -> Result<Self, Error> {
        let mut options = options.to_vec();
        if !options.iter().any(|option| option.starts_with("data=")) {
            match has {
                LogData::Nothing => {}
                LogData::Addresses => options.push("data=address".into()),
                LogData::Values => options.push("data=address,value".into()),
            }
        }
        let settings = Self::new(Isa::Rv64).with(&options)?;
        match (has, settings.data) {
            (LogData::Nothing, Some(_)) => Err(Error::option(
                "data: accesses to memory are not recorded: `record --qemu --data ...` does that",
            )),
            (LogData::Addresses, Some(data::Options { no_data: false, .. })) => Err(Error::option(
                "data: values are not recorded: `record --qemu --data values` does that, with QEMU 9.2 and later; data=address works",
            )),
            _ => Ok(settings),
        }
    }
}

/// A tracer of RV64 code that infers what instructions did from the accesses of a log. Unknown accesses are left out, and the trace marks
/// that they are missing: instruction trace ends after that instruction and resumes with the next, so that no other access is taken for
/// the missing one.
pub struct Logged<W> {
    /// The tracer that takes what is known.
    pub tracer: Tracer<W>,
    params: Params,
    options: data::Options,
    accesses: Accesses,
    /// Instructions of the block to come.
    code: Vec<Instruction>,
    found: Vec<Access>,
    /// Number of accesses that are not in the trace, since not everything is known of them.
    pub unknown: u64,
}

impl<W: Write> Logged<W> {
    /// Creates a tracer that infers accesses, if data is traced.
    pub fn new(settings: &Settings, tracer: Tracer<W>) -> Self {
        let options = settings.data.unwrap_or_default();
        Self {
            tracer,
            params: settings.source.config.params.clone(),
            options,
            accesses: Accesses::new(!options.no_data),
            code: Vec::new(),
            found: Vec::new(),
            unknown: 0,
        }
    }
}

impl<W: Write> HartSink for Logged<W> {
    const ACCESSES: bool = true;
    const INSTRUCTIONS: bool = true;

    fn instructions(&mut self, bits: &[u32]) {
        self.code.extend(bits.iter().map(|&bits| decode(Xlen::Rv64, bits)));
    }

    fn access(&mut self, access: &Access) {
        self.found.push(*access);
    }

    fn block(&mut self, block: &Block) {
        let Self { tracer, params, options, accesses, code, found, unknown } = self;
        let ran = Ran { code, ended: block.ended };
        let mut rest = *block;
        let mut pc = block.start;
        let mut found = found.as_slice();
        for (index, instruction) in code.iter().enumerate().take(block.count as usize) {
            let its = found.iter().take_while(|access| access.index as usize == index).count();
            let (its, later) = found.split_at(its);
            found = later;
            let known = accesses.of(ran, index, its);
            let at = pc;
            pc = pc.wrapping_add(instruction.len.into());
            match known {
                Known::Nothing => {}
                Known::Access(access) => tracer.data(at, &access),
                Known::Unknown(kind, size) if data::Encoder::tells(params, options, kind, size) => {
                    *unknown += 1;
                    let done = index as u32 + 1 - (block.count - rest.count);
                    if done < rest.count {
                        let part = Block { end: pc, count: done, last_len: instruction.len, ..rest };
                        tracer.runs(&Block { class: Class::NEXT, ended: Ended::Cut, ..part });
                        tracer.data_lost();
                        rest = Block { start: pc, count: rest.count - done, ..rest };
                    } else {
                        tracer.runs(&rest);
                        tracer.data_lost();
                        rest.count = 0;
                    }
                }
                Known::Unknown(..) => {}
            }
        }
        if rest.count > 0 {
            tracer.runs(&rest);
        }
        self.code.clear();
        self.found.clear();
    }

    fn trap(&mut self, trap: &Trap) {
        self.tracer.trap(trap);
    }

    fn lost(&mut self) {
        self.accesses.lose();
        self.tracer.lost();
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.tracer.privilege(privilege);
    }

    fn context(&mut self, context: u64) {
        self.tracer.context(context);
    }
}

impl<W: Write> TraceSink for Logged<W> {
    fn bytes(&self) -> u64 {
        self.tracer.bytes()
    }
}
