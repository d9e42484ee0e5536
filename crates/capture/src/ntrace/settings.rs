//! Settings of the encoder: every parameter and option by its name.

use tracewright_core::Isa;
use tracewright_input::{self as input, NtraceSource};
use tracewright_ntrace::encode::{Config, Resync, SyncMode, Timestamps};
use tracewright_ntrace::{Dialect, ImplicitReturn, Params};

use super::Tracer;
use crate::etrace::{HartSettings, TraceFile};
use crate::options::{self, flag, row};
use crate::{Error, Remark};

/// Settings of the encoder.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Configuration of the encoder.
    pub config: Config,
    /// Number in messages (SRC).
    pub id: u16,
    /// Size of the ring that keeps the newest bytes, if not all are kept.
    pub ring: Option<u64>,
}

/// Settings that are no parameters: name, default, meaning.
const OTHERS: &[(&str, &str, &str)] = &[
    ("version", "1.0", "of the standard; there is one"),
    (
        "params",
        "",
        "a file of such options, a line each; those given by name come after it; FILE.scf alone does as well",
    ),
    ("id", "0", "the source's number in messages (SRC)"),
    ("context", "on", "messages tell privilege and contexts (trTeContext)"),
    ("trap_kinds", "on", "exceptions and interrupts are told apart"),
    ("repeated_history", "on", "full histories that repeat are counted"),
    ("repeated_branch", "off", "branch messages that repeat are counted (mode=branch)"),
    ("history_branches", "31", "branches in a full history"),
    ("icnt_bits", "22", "bits of the instruction counter"),
    ("calls", "32", "calls that the encoder keeps"),
    ("timestamps", "off", "messages with a timestamp: off, syncs, all"),
    (
        "resync_mode",
        "packets",
        "what is counted up to the next synchronisation: packets, cycles, half_words, off",
    ),
    ("resync_max", "8", "synchronises after 2^(this + 4) of them"),
];

impl Settings {
    /// Returns the settings of a well-equipped encoder.
    pub fn new(isa: Isa) -> Self {
        let params = Params {
            implicit_return: ImplicitReturn::Stack,
            sequential_jump: true,
            extend_addr_msb: true,
            ..Params::default()
        };
        let config = Config {
            repeated_history: true,
            contexts: true,
            resync: Resync { mode: SyncMode::Messages, max: 8 },
            ..Config::new(params, isa)
        };
        Self { config, id: 0, ring: None }
    }

    /// Sets parameters and options, each given as `name=value`.
    pub fn with(mut self, pairs: &[String]) -> Result<Self, Error> {
        for (name, value) in options::pairs(&options::given(pairs)?)? {
            if Params::fields().iter().any(|field| field.name == name) {
                let set = self.config.params.set(name, value);
                set.map_err(|error| Error::option(format!("{name}={value}: {error}")))?;
            } else {
                self.other(name, value)?;
            }
        }
        self.config.check().map_err(|name| Error::option(format!("{name}: no encoder has this value")))?;
        let bits = self.config.params.src_bits;
        if self.id >> bits != 0 {
            return Err(Error::option(format!("id={}: src_bits={bits} has no room for it", self.id)));
        }
        Ok(self)
    }

    fn other(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let expected = |what: &str| Error::option(format!("{name}={value}: expected {what}"));
        let number = |least: u8, most: u8| {
            let number = value.parse().ok().filter(|number| (least..=most).contains(number));
            number.ok_or_else(|| expected(&format!("a number from {least} to {most}")))
        };
        let switch = || flag(value).ok_or_else(|| expected("on or off"));
        let config = &mut self.config;
        match name {
            "params" if value.is_empty() => {}
            "version" if value == "1.0" => config.params.dialect = Dialect::Standard,
            "version" => return Err(expected("1.0")),
            "id" => self.id = value.parse().map_err(|_| expected("a number"))?,
            "context" => config.contexts = switch()?,
            "trap_kinds" => config.trap_kinds = switch()?,
            "repeated_history" => config.repeated_history = switch()?,
            "repeated_branch" => config.repeated_branch = switch()?,
            "history_branches" => config.history_branches = number(4, 31)?,
            "icnt_bits" => config.icnt_bits = number(4, 30)?,
            "calls" => config.calls = number(0, 32)?,
            "timestamps" => {
                config.timestamps = match value {
                    "off" => Timestamps::Off,
                    "syncs" => Timestamps::Syncs,
                    "all" => Timestamps::All,
                    _ => return Err(expected("off, syncs or all")),
                }
            }
            "resync_mode" => {
                config.resync.mode = match value {
                    "off" => SyncMode::Off,
                    "packets" => SyncMode::Messages,
                    "cycles" => SyncMode::Cycles,
                    "half_words" => SyncMode::HalfWords,
                    _ => return Err(expected("packets, cycles, half_words or off")),
                }
            }
            "resync_max" => config.resync.max = number(0, 15)?,
            _ => return Err(Error::UnknownOption { name: name.into(), protocol: "N-Trace" }),
        }
        Ok(())
    }

    /// Returns all options with their defaults and meanings, in 80 columns.
    pub fn help() -> String {
        let settings = Self::new(Isa::Rv64);
        let mut text = String::from("Options of N-Trace (NAME=VALUE; default; meaning)\n\n");
        for field in Params::fields() {
            row(&mut text, field.name, &field.value(&settings.config.params).to_string(), field.meaning);
        }
        for (name, default, meaning) in OTHERS {
            row(&mut text, name, default, meaning);
        }
        text
    }
}

impl HartSettings for Settings {
    type Tracer = Tracer<TraceFile>;

    fn source(&self) -> input::Protocol {
        let Config { params, isa, .. } = &self.config;
        NtraceSource { params: params.clone(), isa: *isa, id: self.id, src: None, sram: None }.into()
    }

    fn ring(&self) -> Option<u64> {
        self.ring
    }

    fn tracer(&self, to: TraceFile, _: Option<TraceFile>) -> Tracer<TraceFile> {
        Tracer::new(self, to)
    }

    fn remark(&self) -> Option<Remark> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[&str]) -> Result<Settings, String> {
        let pairs: Vec<_> = pairs.iter().map(ToString::to_string).collect();
        Settings::new(Isa::Rv64).with(&pairs).map_err(|error| error.to_string())
    }

    /// Each default in the help is one: saying it changes nothing.
    #[test]
    fn the_help_tells_the_defaults() {
        let default = format!("{:?}", Settings::new(Isa::Rv64));
        for (name, value, _) in OTHERS {
            assert_eq!(format!("{:?}", with(&[&format!("{name}={value}")]).unwrap()), default, "{name}");
        }
        for line in Settings::help().lines() {
            assert!(line.len() < 80, "{line}");
        }
    }

    #[test]
    fn errors_say_what_was_expected() {
        let error = |pair: &str| with(&[pair]).unwrap_err();
        assert_eq!(error("x=1"), "there is no option \"x\" for N-Trace");
        assert_eq!(error("id=7"), "option id=7: src_bits=0 has no room for it");
        assert_eq!(error("mode=both"), "option mode=both: none of history, branch");
        assert_eq!(error("icnt_bits=31"), "option icnt_bits=31: expected a number from 4 to 30");
        assert_eq!(error("timestamps=1"), "option timestamps=1: expected off, syncs or all");
    }
}
