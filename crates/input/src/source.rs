//! Sources of trace: what protocol each speaks, and with which parameters.

use std::path::PathBuf;
use std::sync::Arc;

use tracewright_core::{Context, Isa, TraceId};
use tracewright_etm as etm;

use crate::etrace::{EtraceSource, differs};
use crate::perf;
use crate::registry::SourceParams;

/// Trace source.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name in the capture.
    pub name: String,
    /// Name and type of the traced core.
    pub core: Option<(String, String)>,
    /// Protocol.
    pub protocol: Protocol,
    /// Registers as the capture gives them.
    pub registers: Vec<(String, u64)>,
    /// File with its retirement-delta trace: the cycle of each instruction.
    pub delta: Option<PathBuf>,
    /// Thread that it traces, if it is known to trace only one.
    pub thread: Option<u32>,
    /// Conversion from its timestamps to nanoseconds of the recorder's clock, if known.
    pub time: Option<perf::TimeConversion>,
}

/// Protocol of a source.
#[derive(Clone, Debug)]
pub enum Protocol {
    /// ETMv4 or ETE instruction trace.
    Etm(Box<etm::Params>),
    /// RISC-V E-Trace.
    Etrace(Box<EtraceSource>),
    /// Protocol that was [registered](crate::register).
    Registered(Arc<dyn SourceParams>),
    /// Protocol that tracewright cannot read yet: its name in the capture, and its trace ID if the registers
    /// give it.
    Unsupported(String, Option<TraceId>),
}

impl From<EtraceSource> for Protocol {
    fn from(source: EtraceSource) -> Self {
        Self::Etrace(Box::new(source))
    }
}

impl Protocol {
    /// Returns the setting in which another source differs that cannot share a stream with this one for that reason.
    pub(crate) fn differs(&self, other: &Self) -> Option<&'static str> {
        match (self, other) {
            (Self::Etrace(one), Self::Etrace(other)) => differs(&one.config, &other.config),
            (Self::Registered(one), Self::Registered(other)) => one.differs(&**other),
            _ => None,
        }
    }
}

impl Source {
    /// Creates a source of which nothing else is known.
    pub fn new(name: String, protocol: Protocol) -> Self {
        Self { name, core: None, protocol, registers: Vec::new(), delta: None, thread: None, time: None }
    }

    /// Returns whether it traces a RISC-V hart.
    pub fn is_riscv(&self) -> bool {
        match &self.protocol {
            Protocol::Etrace(_) => true,
            Protocol::Registered(params) => params.is_riscv(),
            Protocol::Etm(_) | Protocol::Unsupported(..) => false,
        }
    }

    /// Returns the instruction set of its hart, if a RISC-V hart is traced and it is known.
    pub fn riscv_isa(&self) -> Option<Isa> {
        match &self.protocol {
            Protocol::Etrace(source) => Some(source.isa),
            Protocol::Registered(params) => params.isa(),
            Protocol::Etm(_) | Protocol::Unsupported(..) => None,
        }
    }

    /// Returns whether packets name their source, so that several sources share a stream.
    pub fn names_sources(&self) -> bool {
        match &self.protocol {
            Protocol::Etrace(_) => true,
            Protocol::Registered(params) => params.names_sources(),
            Protocol::Etm(_) | Protocol::Unsupported(..) => false,
        }
    }

    /// Returns whether it traces instructions, and not only messages.
    pub fn traces_instructions(&self) -> bool {
        match &self.protocol {
            Protocol::Registered(params) => params.traces_instructions(),
            _ => true,
        }
    }

    /// Returns the exception level of a context, if the trace tells it: some tell only Hyp mode, which is level 2.
    pub fn level_of(&self, context: &Context) -> Option<u8> {
        match &self.protocol {
            Protocol::Registered(params) if !params.tells_level() => {
                Some(context.level).filter(|&level| level == 2)
            }
            _ => Some(context.level),
        }
    }

    /// Returns whether reading begins at a synchronisation point.
    pub fn needs_synchronisation(&self) -> bool {
        match &self.protocol {
            Protocol::Registered(params) => params.needs_synchronisation(),
            _ => true,
        }
    }

    /// Returns the source's ID on a CoreSight trace bus.
    pub fn id(&self) -> Option<TraceId> {
        match &self.protocol {
            Protocol::Etm(params) => Some(params.id()),
            Protocol::Etrace(_) => None,
            Protocol::Registered(params) => u8::try_from(params.id()).ok().map(TraceId::from_low_bits),
            Protocol::Unsupported(_, id) => *id,
        }
    }

    /// Returns the source's ID as users write it: on the trace bus, or in an E-Trace stream (srcID).
    pub fn number(&self) -> Option<u16> {
        match &self.protocol {
            Protocol::Etrace(source) => Some(source.source),
            Protocol::Registered(params) => Some(params.id()),
            _ => self.id().map(|id| id.get().into()),
        }
    }

    /// Returns the number of the traced core, if the capture tells it: that at the end of the core's name, or of its own name
    /// (`cpu_2`, `cpu2`, `hart0`).
    pub fn cpu(&self) -> Option<u32> {
        let name = self.core.as_ref().map_or(&self.name, |(core, _)| core);
        let start = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
        let is_core = match self.core {
            // Recordings of QEMU name threads in place of cores.
            Some(_) => start != "thread",
            None => ["cpu", "core", "hart"].iter().any(|word| start.starts_with(word)),
        };
        name[start.len()..].parse().ok().filter(|_| is_core)
    }

    /// Returns the protocol as text: `ETMv4.2`, `ETE 1.0`, or the capture's own name.
    pub fn protocol_name(&self) -> String {
        match &self.protocol {
            Protocol::Etm(params) => {
                let (major, minor) = params.version();
                if params.is_ete() { format!("ETE {major}.{minor}") } else { format!("ETMv{major}.{minor}") }
            }
            Protocol::Etrace(_) => "E-Trace".into(),
            Protocol::Registered(params) => params.title(),
            Protocol::Unsupported(name, _) => name.clone(),
        }
    }

    /// Returns the value of a register, by its exact name.
    pub fn register(&self, name: &str) -> Option<u64> {
        self.registers.iter().find(|(register, _)| register == name).map(|&(_, value)| value)
    }
}
