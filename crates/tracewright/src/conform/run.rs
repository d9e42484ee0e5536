//! The program of the kit, and what it executes: as retirements and as inputs of an encoder.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use tracewright_capture::ntrace::Settings;
use tracewright_capture::record::Loaded;
use tracewright_core::{Block, Isa};
use tracewright_etrace::ingress::{CType, Entry, Executed, ITypeWidth};
use tracewright_hart::bare::{self, Bare};
use tracewright_hart::{Hart, HartSink, Privilege, Retired, Retirements, Trap};
use tracewright_ntrace::encode::Encoder;
use tracewright_ntrace::packet::{MessageBytes, Packet, emit};

use super::Error;
use super::cases::{Extra, LOST};

/// The program (`programs/conform.S`), for RV64 and RV32.
const PROGRAMS: [&[u8]; 2] = [include_bytes!("conform.elf"), include_bytes!("conform32.elf")];

/// More instructions than either executes.
pub const LIMIT: u64 = 1 << 16;

/// An instruction set of the kit's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program(pub Isa);

impl Program {
    /// Returns the name of its folder.
    pub fn name(self) -> &'static str {
        if self.0 == Isa::Rv32 { "rv32" } else { "rv64" }
    }

    /// Returns the ELF file.
    pub fn elf(self) -> &'static [u8] {
        PROGRAMS[usize::from(self.0 == Isa::Rv32)]
    }

    /// Loads it into a machine.
    pub fn load(self, path: &Path) -> Result<Loaded, Error> {
        // Without the machine's boot ROM: all code is in the program.
        let options =
            bare::Options { entry: Some(0x8000_0000), host_is_quick: true, ..bare::Options::default() };
        let (core, machine) = Bare::new(self.elf(), &options, Box::new(io::sink()))
            .map_err(|error| Error::Kit(format!("{}: {error}", path.display())))?;
        Ok(Loaded::Bare(Box::new(Hart::new(core, machine))))
    }

    /// Runs it, and passes what it executes to a sink.
    pub fn run(self, sink: &mut impl HartSink) -> Result<(), Error> {
        match self.load(self.name().as_ref())? {
            Loaded::Bare(mut hart) => _ = hart.run(LIMIT, sink),
            #[cfg(target_os = "linux")]
            Loaded::Linux(_) => {}
        }
        Ok(())
    }

    /// Returns its retirements as CSV, a line for each instruction, as the reference models read them.
    pub fn retirements(self) -> Result<String, Error> {
        let mut text = String::from("VALID,ADDRESS,INSN,PRIVILEGE,EXCEPTION,ECAUSE,TVAL,INTERRUPT\n");
        self.run(&mut Retirements::new(|retired: &Retired| {
            let privilege = retired.privilege.map_or(3, |privilege| privilege as u8);
            let (pc, bits) = (retired.pc, retired.bits);
            let trap = retired.trap.map_or("0,0,0,0".into(), |trap| {
                let top = if trap.interrupt && self.0 == Isa::Rv64 {
                    1 << 63
                } else {
                    u64::from(trap.interrupt) << 31
                };
                format!(
                    "{},{:x},{:x},{}",
                    u8::from(!trap.interrupt),
                    trap.cause | top,
                    trap.value,
                    u8::from(trap.interrupt)
                )
            });
            let _ = writeln!(text, "1,{pc:x},{bits:x},{privilege},{trap}");
        }))?;
        Ok(text)
    }

    /// Returns the inputs of an encoder as CSV, a line for each block. `extra` adds notifications or contexts.
    pub fn inputs(self, ctype: CType, itype_width: ITypeWidth, extra: Extra) -> Result<String, Error> {
        let mut inputs = Inputs {
            executed: Executed::new(itype_width, ctype),
            text: "itype_0,cause,tval,priv,iaddr_0,context,ctype,iretire_0,ilastsize_0,sijump_0,time,trigger_0\n".into(),
            time: 0,
            extra,
            blocks: 0,
        };
        self.run(&mut inputs)?;
        Ok(inputs.text)
    }
}

/// Writes inputs of an encoder.
struct Inputs {
    executed: Executed,
    text: String,
    time: u64,
    extra: Extra,
    blocks: u64,
}

impl Inputs {
    fn entry(&mut self, entry: &Entry) {
        let Entry {
            itype,
            cause,
            tval,
            privilege,
            iaddr,
            context,
            ctype,
            time,
            iretire,
            ilastsize,
            sijump,
            notify,
            ..
        } = *entry;
        let (itype, ctype, sijump, notify) = (itype as u8, ctype as u8, u8::from(sijump), u8::from(notify));
        let _ = writeln!(
            self.text,
            "{itype},{cause},{tval:x},{privilege},{iaddr:x},{context},{ctype},{iretire},{ilastsize},{sijump},{time},{notify}"
        );
    }
}

impl HartSink for Inputs {
    fn block(&mut self, block: &Block) {
        self.executed.time(self.time);
        self.executed.cycle(self.time);
        self.time += u64::from(block.count);
        self.blocks += 1;
        if self.extra == Extra::Notify && self.blocks.is_multiple_of(8) {
            self.executed.notify();
        }
        if self.extra == Extra::Contexts {
            self.executed.context(self.blocks / 16 % 7);
        }
        let entry = self.executed.block(block);
        self.entry(&entry);
    }

    fn trap(&mut self, trap: &Trap) {
        let entry = self.executed.trap(trap.pc, trap.cause, trap.interrupt, trap.value);
        self.entry(&entry);
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.executed.privilege(privilege as u8);
    }

    fn context(&mut self, context: u64) {
        if self.extra != Extra::Contexts {
            self.executed.context(context);
        }
    }
}

/// Encodes N-Trace, and loses some of it.
pub struct Losing {
    encoder: Encoder,
    id: u16,
    blocks: u64,
    instructions: u64,
    bytes: Vec<u8>,
}

impl Losing {
    /// Returns the trace of a program.
    pub fn encode(program: Program, settings: &Settings) -> Result<Vec<u8>, Error> {
        let encoder = Encoder::new(settings.config.clone());
        let mut losing = Self { encoder, id: settings.id, blocks: 0, instructions: 0, bytes: Vec::new() };
        program.run(&mut losing)?;
        losing.tell(|encoder, out| encoder.stop(4, &mut |packet, time| out(packet, time)));
        Ok(losing.bytes)
    }

    fn tell(&mut self, tell: impl FnOnce(&mut Encoder, &mut dyn FnMut(&Packet, Option<u64>))) {
        let Self { encoder, id, bytes, .. } = self;
        let params = encoder.config().params.clone();
        tell(encoder, &mut |packet, time| {
            let mut message = MessageBytes::default();
            if emit(packet, *id, time, &params, &mut message).is_ok() {
                bytes.extend_from_slice(&message);
            }
        });
    }

    fn is_lost(&self) -> bool {
        (LOST.0..LOST.1).contains(&self.blocks)
    }
}

impl HartSink for Losing {
    fn block(&mut self, block: &Block) {
        self.encoder.time(self.instructions);
        self.instructions += u64::from(block.count);
        if self.blocks == LOST.0 {
            self.tell(|encoder, out| encoder.lose(&mut |packet, time| out(packet, time)));
        }
        if !self.is_lost() {
            self.tell(|encoder, out| encoder.block(block, &mut |packet, time| out(packet, time)));
        }
        self.blocks += 1;
    }

    fn trap(&mut self, trap: &Trap) {
        if !self.is_lost() {
            self.tell(|encoder, out| {
                encoder.trap(trap.pc, trap.interrupt, &mut |packet, time| out(packet, time));
            });
        }
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.encoder.privilege(privilege as u8, false);
    }

    fn context(&mut self, context: u64) {
        self.encoder.context(Some(context), None);
    }
}
