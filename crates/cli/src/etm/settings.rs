//! How a trace is made: the options of the trace unit by name.

use std::num::NonZero;

use tracewright_core::{Isa, TraceId};
use tracewright_etm::Registers;
use tracewright_etm::encode;
use tracewright_input::CoreKind;

use crate::output::Error;

/// How a trace is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The core's type, as snapshots name it.
    pub core: String,
    /// Whether threads are in the 64-bit state.
    pub is_64bit: bool,
    /// Returns that a stack of calls foretells have no address (TRCCONFIGR.RS).
    pub return_stack: bool,
    /// The context ID, which is Linux's number of the thread, is told (TRCCONFIGR.CID).
    pub context_id: bool,
    /// All taken branches have an address (TRCCONFIGR.BB).
    pub branch_broadcast: bool,
    /// Times are told, if somebody tells them (TRCCONFIGR.TS).
    pub timestamps: bool,
    /// Bytes from one synchronisation point to the next; 0: only at the start.
    pub sync: u32,
}

/// What can be set: name, default, meaning.
const ALL: &[(&str, &str, &str)] = &[
    ("core", "Cortex-A76", "the core's type; Cortex-A32 for 32-bit programs"),
    ("return_stack", "on", "returns that a stack of calls foretells have no address"),
    ("context_id", "on", "contexts tell which thread it is, by Linux's number"),
    ("branch_broadcast", "off", "each taken branch has its target's address"),
    ("timestamps", "off", "times are told: nanoseconds since the recording began"),
    ("sync", "4096", "bytes from one synchronisation point to the next; 0: one"),
];

impl Settings {
    /// What the trace unit of a good core has. Threads of 32-bit programs run A32 and T32.
    pub fn new(isa: Isa) -> Self {
        let is_64bit = isa == Isa::A64;
        Self {
            // Both have an ETMv4, and OpenCSD knows them. The first also has branches that authenticate pointers.
            core: if is_64bit { "Cortex-A76" } else { "Cortex-A32" }.into(),
            is_64bit,
            return_stack: true,
            context_id: true,
            branch_broadcast: false,
            timestamps: false,
            sync: 4096,
        }
    }

    /// These with what a person says: `name=value`, each.
    pub fn with(mut self, pairs: &[String]) -> Result<Self, Error> {
        let mut given: Vec<&str> = Vec::new();
        for pair in pairs {
            let (name, value) = pair
                .split_once('=')
                .ok_or_else(|| wrong(format!("{pair:?}: expected NAME=VALUE, or help")))?;
            if given.contains(&name) {
                return Err(wrong(format!("{name} is given twice")));
            }
            given.push(name);
            self.put(name, value)?;
        }
        Ok(self)
    }

    fn put(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let expected = |what: &str| wrong(format!("{name}={value}: expected {what}"));
        let flag = || match value {
            "true" | "on" | "yes" | "1" => Ok(true),
            "false" | "off" | "no" | "0" => Ok(false),
            _ => Err(expected("on or off")),
        };
        match name {
            "core" => {
                CoreKind::of(value).ok_or_else(|| expected("a name like Cortex-A53 or ARMv8-A"))?;
                self.core = value.into();
            }
            "return_stack" => self.return_stack = flag()?,
            "context_id" => self.context_id = flag()?,
            "branch_broadcast" => self.branch_broadcast = flag()?,
            "timestamps" => self.timestamps = flag()?,
            "sync" => {
                // Shorter than this there would be little else.
                let bytes = value.parse().ok().filter(|bytes| *bytes == 0 || *bytes >= 64);
                self.sync = bytes.ok_or_else(|| expected("a number of bytes, 0 or from 64 on"))?;
            }
            _ => {
                let message = format!("there is no option {name:?} for ETMv4: `--option help` lists all");
                return Err(Error::Message(message));
            }
        }
        Ok(())
    }

    /// The trace unit's registers: an ETMv4.2 with all that can be switched on, 64-bit timestamps, four events, no speculation.
    pub fn registers(&self, id: TraceId) -> Registers {
        let bit = |number: u32, on: bool| u32::from(on) << number;
        Registers {
            trcconfigr: 1
                | bit(3, self.branch_broadcast)
                | bit(6, self.context_id)
                | bit(11, self.timestamps)
                | bit(12, self.return_stack),
            trctraceidr: id.get().into(),
            trcidr0: 0x2800_0ea1,
            trcidr1: 0x4100_f420,
            // 32-bit context IDs and VMIDs; addresses of 64 or 32 bits.
            trcidr2: if self.is_64bit { 0x0000_1088 } else { 0x0000_1084 },
            trcidr8: 0,
            ..Registers::default()
        }
    }

    /// What the trace unit decides itself.
    pub(super) fn options(&self) -> encode::Options {
        encode::Options { sync_every: NonZero::new(self.sync), ..encode::Options::default() }
    }

    /// All there are, with their defaults and meanings, in 80 columns.
    pub fn help() -> String {
        let mut text = String::from("Options of ETMv4 (NAME=VALUE; default; meaning)\n\n");
        for (name, default, meaning) in ALL {
            text += &format!("  {name:<18}{default:<12}{meaning}\n");
        }
        text
    }
}

fn wrong(message: impl Into<String>) -> Error {
    Error::Message(format!("--option {}", message.into()))
}
