//! Settings of the trace unit by name.

use std::num::NonZero;

use tracewright_core::{Isa, TraceId};
use tracewright_etm::Registers;
use tracewright_etm::encode;
use tracewright_input::CoreKind;

use crate::port::PortRequest;
use crate::{Error, options};

/// Settings of the trace unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The core's type, as snapshots name it.
    pub core: String,
    /// Minor version of ETMv4.
    pub version: u8,
    /// Whether threads are in the 64-bit state.
    pub is_64bit: bool,
    /// Whether returns that a return stack predicts are sent without an address (TRCCONFIGR.RS).
    pub return_stack: bool,
    /// Whether context IDs are traced, which are Linux thread IDs (TRCCONFIGR.CID).
    pub context_id: bool,
    /// Whether all taken branches are sent with an address (TRCCONFIGR.BB).
    pub branch_broadcast: bool,
    /// Whether timestamps are traced, if times are known (TRCCONFIGR.TS).
    pub timestamps: bool,
    /// Bytes from one synchronisation point to the next; 0 for one at the start only.
    pub sync: u32,
    /// The port that packets go through, if requested.
    pub port: Option<PortRequest>,
}

/// All settings: name, default, meaning.
const ALL: &[(&str, &str, &str)] = &[
    ("version", "4.2", "of ETMv4: 4.0 to 4.6"),
    ("params", "", "a file of such options, or FILE.scf alone"),
    ("core", "Cortex-A76", "the core's type; Cortex-A32 for 32-bit programs"),
    ("return_stack", "on", "returns to where calls were have no address"),
    ("context_id", "on", "contexts tell Linux's number of the thread"),
    ("branch_broadcast", "off", "each taken branch has its target's address"),
    ("timestamps", "off", "times, in nanoseconds since it began"),
    ("sync", "4096", "bytes between synchronisation points; 0: one"),
];

impl Settings {
    /// Returns the settings of a well-equipped core. Threads of 32-bit programs run A32 and T32.
    pub fn new(isa: Isa) -> Self {
        let is_64bit = isa == Isa::A64;
        Self {
            // Both have an ETMv4, and OpenCSD knows them. The first also has branches with pointer authentication.
            core: if is_64bit { "Cortex-A76" } else { "Cortex-A32" }.into(),
            version: 2,
            is_64bit,
            return_stack: true,
            context_id: true,
            branch_broadcast: false,
            timestamps: false,
            sync: 4096,
            port: None,
        }
    }

    /// Sets options, each given as `name=value`.
    pub fn with(mut self, pairs: &[String]) -> Result<Self, Error> {
        for (name, value) in options::pairs(&options::given(pairs)?)? {
            self.put(name, value)?;
        }
        Ok(self)
    }

    /// Sets the port, if requested.
    #[must_use]
    pub fn with_port(self, asked: Option<PortRequest>) -> Self {
        Self { port: asked, ..self }
    }

    fn put(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let expected = |what: &str| Error::option(format!("{name}={value}: expected {what}"));
        let flag = || options::flag(value).ok_or_else(|| expected("on or off"));
        match name {
            "core" => {
                CoreKind::of(value).ok_or_else(|| expected("a name like Cortex-A53 or ARMv8-A"))?;
                self.core = value.into();
            }
            "params" if value.is_empty() => {}
            "version" => {
                let minor =
                    value.strip_prefix("4.").and_then(|minor| minor.parse().ok()).filter(|minor| *minor <= 6);
                self.version = minor.ok_or_else(|| expected("4.0 to 4.6"))?;
            }
            "return_stack" => self.return_stack = flag()?,
            "context_id" => self.context_id = flag()?,
            "branch_broadcast" => self.branch_broadcast = flag()?,
            "timestamps" => self.timestamps = flag()?,
            "sync" => {
                // With shorter distances the trace would be little else.
                let bytes = value.parse().ok().filter(|bytes| *bytes == 0 || *bytes >= 64);
                self.sync = bytes.ok_or_else(|| expected("a number of bytes, 0 or from 64 on"))?;
            }
            _ => {
                return Err(Error::UnknownOption { name: name.into(), protocol: "ETMv4" });
            }
        }
        Ok(())
    }

    /// Returns the trace unit's registers: an ETMv4 with all these options, 64-bit timestamps, four events, no speculation.
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
            trcidr1: 0x4100_f400 | u32::from(self.version) << 4,
            // 32-bit context IDs; VMIDs of 32 bits (ETMv4.0: 8); addresses of 64 or 32 bits.
            trcidr2: if self.is_64bit { 0x88 } else { 0x84 } | if self.version == 0 { 0x400 } else { 0x1000 },
            trcidr8: 0,
            ..Registers::default()
        }
    }

    /// Returns the options of the encoder that registers do not determine.
    pub(super) fn options(&self) -> encode::Options {
        encode::Options { sync_every: NonZero::new(self.sync), ..encode::Options::default() }
    }

    /// Returns all options with their defaults and meanings, in 80 columns.
    pub fn help() -> String {
        let mut text = String::from("Options of ETMv4 (NAME=VALUE; default; meaning)\n\n");
        for (name, default, meaning) in ALL {
            text += &format!("  {name:<18}{default:<12}{meaning}\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use tracewright_etm::Params;

    use super::*;

    fn with(pairs: &[&str]) -> Result<Settings, String> {
        let pairs: Vec<_> = pairs.iter().map(ToString::to_string).collect();
        Settings::new(Isa::A64).with(&pairs).map_err(|error| error.to_string())
    }

    /// Each default in the help is one: saying it changes nothing.
    #[test]
    fn the_help_tells_the_defaults() {
        for (name, value, _) in ALL {
            assert_eq!(with(&[&format!("{name}={value}")]).unwrap(), Settings::new(Isa::A64), "{name}");
        }
        for line in Settings::help().lines() {
            assert!(line.len() < 80, "{line}");
        }
    }

    #[test]
    fn registers_say_what_is_switched_on() {
        let id = TraceId::new(0x12).unwrap();
        let registers = |pairs: &[&str]| with(pairs).unwrap().registers(id);
        let off = registers(&["return_stack=off", "context_id=no"]);
        assert_eq!((off.trcconfigr, off.trctraceidr), (1, 0x12));
        let on = registers(&["branch_broadcast=1", "timestamps=on"]);
        assert_eq!(on.trcconfigr, 1 | 1 << 3 | 1 << 6 | 1 << 11 | 1 << 12);
        for isa in [Isa::A64, Isa::A32] {
            let settings = Settings::new(isa);
            assert!(CoreKind::of(&settings.core).is_some());
            assert_eq!(Params::new(&settings.registers(id)).unwrap().version(), (4, 2));
        }
        assert_eq!(with(&["sync=0"]).unwrap().options().sync_every, None);
    }

    #[test]
    fn errors_say_what_was_expected() {
        let error = |pair: &str| with(&[pair]).unwrap_err();
        assert_eq!(error("x"), "option \"x\": expected NAME=VALUE, or help");
        assert_eq!(error("x=1"), "there is no option \"x\" for ETMv4");
        assert_eq!(error("sync=7"), "option sync=7: expected a number of bytes, 0 or from 64 on");
        assert_eq!(error("return_stack=x"), "option return_stack=x: expected on or off");
        assert_eq!(error("core=6502"), "option core=6502: expected a name like Cortex-A53 or ARMv8-A");
        assert_eq!(with(&["sync=0", "sync=0"]).unwrap_err(), "option sync is given twice");
    }
}
