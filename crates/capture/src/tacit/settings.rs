//! Settings of the encoder: every parameter and option by its name.

use tracewright_core::Isa;
use tracewright_input::{self as input, TacitSource};
use tracewright_tacit::Params;
use tracewright_tacit::encode::Config;

use super::Tracer;
use crate::etrace::{HartSettings, TraceFile};
use crate::options::{self, row};
use crate::{Error, Remark};

/// Settings of the encoder.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Configuration of the encoder.
    pub config: Config,
}

/// Settings that are no parameters: name, default, meaning.
const OTHERS: &[(&str, &str, &str)] = &[
    ("periodic", "0", "packets between two periodic synchronisations; 0 for none"),
    ("most_hits", "1048576", "most branches that a packet says went as predicted (mode=predict)"),
];

impl Settings {
    /// Returns the settings of an encoder that reports each branch.
    pub fn new(isa: Isa) -> Self {
        Self { config: Config::new(Params::default(), isa) }
    }

    /// Sets parameters and options, each given as `name=value`.
    pub fn with(mut self, pairs: &[String]) -> Result<Self, Error> {
        for (name, value) in options::pairs(pairs)? {
            let number = |least: u32| {
                let number = value.parse().ok().filter(|number| *number >= least);
                let expected = || Error::option(format!("{name}={value}: expected a number from {least} on"));
                number.ok_or_else(expected)
            };
            match name {
                "periodic" => self.config.periodic = number(0)?,
                "most_hits" => self.config.most_hits = number(1)?,
                _ if Params::fields().iter().any(|field| field.name == name) => {
                    let set = self.config.params.set(name, value);
                    set.map_err(|error| Error::option(format!("{name}={value}: {error}")))?;
                }
                _ => return Err(Error::UnknownOption { name: name.into(), protocol: "TACIT" }),
            }
        }
        self.config.check().map_err(|name| Error::option(format!("{name}: no encoder has this value")))?;
        Ok(self)
    }

    /// Returns all options with their defaults and meanings, in 80 columns.
    pub fn help() -> String {
        let settings = Self::new(Isa::Rv64);
        let mut text = String::from("Options of TACIT (NAME=VALUE; default; meaning)\n\n");
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
        TacitSource { params: params.clone(), isa: *isa, id: 0 }.into()
    }

    fn ring(&self) -> Option<u64> {
        None
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
        assert_eq!(error("x=1"), "there is no option \"x\" for TACIT");
        assert_eq!(error("mode=history"), "option mode=history: none of target, predict");
        assert_eq!(error("most_hits=0"), "option most_hits=0: expected a number from 1 on");
        assert_eq!(error("entries=3"), "option entries=3: not a power of two from 64 to 1024");
    }
}
