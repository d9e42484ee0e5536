//! Settings of the encoder: every parameter and option by its name.

use tracewright_core::Isa;
use tracewright_etrace::encode::{self, Quirks, Resync, ResyncMode};
use tracewright_etrace::ingress::{CType, ITypeWidth};
use tracewright_etrace::stream::Encapsulation;
use tracewright_etrace::{Options, Params, SupportLayout, data, stream};
use tracewright_input::etrace::{ENCAPSULATIONS, Field, Group, fields, params_for, read_scf};
use tracewright_input::{EtraceSource, Protocol};

use super::{DeltaSettings, HartSettings, TraceFile, Tracer};
use crate::options::{self, flag, row};
use crate::port::PortRequest;
use crate::{Error, Remark};

/// Settings of the encoder.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Description of the source, which a reader needs.
    pub source: EtraceSource,
    /// When the encoder resynchronises.
    pub resync: Resync,
    /// Size of the ring that keeps the newest bytes, if not all are kept.
    pub ring: Option<u64>,
    /// How changes of context are reported.
    pub ctype: CType,
    /// Width of instruction types (`itype`).
    pub itype_width: ITypeWidth,
    /// Whether every packet empties the branch map.
    pub shallow: bool,
    /// The port that packets go through, if requested.
    pub port: Option<PortRequest>,
    /// Delta trace, if requested.
    pub delta: Option<DeltaSettings>,
    /// Options of data trace, if data is traced.
    pub data: Option<data::Options>,
    /// Messages from one alignment sequence to the next; 0 for none.
    pub align: u32,
    /// Deviations of another encoder that are imitated.
    pub quirks: Quirks,
}

/// Settings that are not in the specification: name, default, meaning.
const OTHERS: &[(&str, &str, &str)] = &[
    (
        "model",
        "tracewright",
        "reference: writes what the reference model writes; all is off, encapsulation=smi, and it never synchronises again, unless another \
         option says so",
    ),
    (
        "version",
        "2.0.5",
        "of the standard: 2.0, or 2.0.5 with what is in its drafts, irets and a layout of support packets",
    ),
    (
        "params",
        "",
        "a static configuration file of the reference flow with parameters; those given by name come after it; FILE.scf alone does as well",
    ),
    ("id", "0", "the source's ID in the stream (srcID)"),
    ("encapsulation", "standard", "standard, smi or pulp"),
    ("source_bits", "0", "bits of a source's ID (standard encapsulation)"),
    ("timestamp_bytes", "0", "bytes of a timestamp (standard encapsulation)"),
    ("type_bits", "0", "bits of the type before each payload (standard encapsulation); 1 with data trace"),
    ("align", "4096", "packets from one alignment sequence to the next (standard encapsulation); 0 none"),
    (
        "resync_mode",
        "packets",
        "what is counted up to the next synchronisation: packets, cycles, half_words, off",
    ),
    ("resync_max", "8", "synchronises after 2^(this + 4) of them"),
    ("ctype", "precise", "how a change of context is told: unreported, imprecise, precise, discontinuity"),
    ("itype_width", "4", "bits of an instruction's type at the encoder's input: 3 or 4"),
    ("data", "off", "data trace: off, address, value, or address,value"),
    ("shallow", "false", "every packet empties the branch map"),
];

impl Settings {
    /// Returns the settings of a well-equipped encoder.
    pub fn new(isa: Isa) -> Self {
        let width = if isa == Isa::Rv32 { 32 } else { 64 };
        let params = Params {
            iaddress_width: width,
            daddress_width: width,
            csr_width: width,
            nocontext: false,
            ecause_width: 6,
            bpred_size: 7,
            cache_size: 7,
            return_stack_size: 5,
            call_counter_size: 4,
            sijump: true,
            iret_ext: true,
            support: SupportLayout::Standard,
            ..Params::default()
        };
        let options = Options {
            implicit_return: true,
            jump_target_cache: true,
            branch_prediction: true,
            sijump: true,
            ..Options::default()
        };
        let encapsulation = Encapsulation::Standard { source_bits: 0, timestamp_bytes: 0, type_bits: 0 };
        let config = stream::Config { params, encapsulation, options, data: data::Options::default() };
        Self {
            source: EtraceSource { config, source: 0, isa, handlers: Vec::new() },
            resync: Resync::default(),
            ring: None,
            ctype: CType::Precise,
            itype_width: ITypeWidth::Four,
            shallow: false,
            port: None,
            delta: None,
            data: None,
            align: 4096,
            quirks: Quirks::default(),
        }
    }

    /// Sets what the reference model has if nothing is said.
    fn reference(&mut self) {
        let isa = self.source.isa;
        let config = &mut self.source.config;
        // It sends ones where the specification repeats a bit.
        config.params = Params { irdepth_ones: true, ..params_for(isa) };
        config.options = Options::default();
        config.encapsulation = Encapsulation::Smi;
        self.quirks = Quirks::REFERENCE;
        self.resync = Resync { mode: ResyncMode::Off, max: 8, anywhere: true };
    }

    /// Leaves out what is only in drafts of 2.0.5: `irets`, and the layout of support packets, which 2.0 leaves open (that of the
    /// reference model is used).
    fn without_drafts(&mut self) {
        let params = &mut self.source.config.params;
        (params.iret_ext, params.mmacas_ext, params.support) = (false, false, SupportLayout::Reference);
    }

    /// Sets parameters and options, each given as `name=value`.
    pub fn with(mut self, pairs: &[String]) -> Result<Self, Error> {
        let pairs = options::named(pairs);
        let mut given = options::pairs(&pairs)?;
        // `data` comes last, since it depends on the other options of data trace.
        given.sort_by_key(|(name, _)| *name == "data");
        let value = |wanted: &str| given.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
        match value("model") {
            None | Some("tracewright") => {}
            Some("reference") => self.reference(),
            Some(other) => {
                return Err(Error::option(format!("model={other}: expected tracewright or reference")));
            }
        }
        match value("version") {
            None | Some("2.0.5") => {}
            Some("2.0") => self.without_drafts(),
            Some(other) => return Err(Error::option(format!("version={other}: expected 2.0 or 2.0.5"))),
        }
        if let Some(file) = value("params").filter(|file| !file.is_empty()) {
            read_scf(file.as_ref(), &mut self.source.config.params).map_err(Error::Option)?;
        }
        if value("resync_max").is_some() && self.resync.mode == ResyncMode::Off {
            self.resync.mode = ResyncMode::Packets;
        }
        for &(name, value) in &given {
            match Field::named(name) {
                Some(field) => field
                    .put(&mut self.source.config, value)
                    .map_err(|error| Error::Option(error.to_string()))?,
                None => self.other(name, value)?,
            }
        }
        match self.data {
            Some(data) => self.source.config.data = data,
            None if self.source.config.data != data::Options::default() => {
                return Err(Error::option("data trace is off: switch it on with data=address,value"));
            }
            None => {}
        }
        self.encapsulation(&given)?;
        self.tables(&given)?;
        let config = &self.source.config;
        config.check().map_err(|error| Error::option(error.to_string()))?;
        if let Encapsulation::Standard { source_bits, .. } = config.encapsulation
            && u32::from(self.source.source) >> source_bits != 0
        {
            let id = self.source.source;
            return Err(Error::option(format!("id={id}: source_bits={source_bits} has no room for it")));
        }
        Ok(self)
    }

    /// Sets an option that is not in the specification.
    fn other(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let expected = |what: &str| Error::option(format!("{name}={value}: expected {what}"));
        let number = |most: u32| {
            let number = value.parse().ok().filter(|number| *number <= most);
            number.ok_or_else(|| expected(&format!("a number from 0 to {most}")))
        };
        match name {
            "id" => self.source.source = number(0xffff)? as u16,
            "model" | "version" | "params" | "encapsulation" | "source_bits" | "timestamp_bytes"
            | "type_bits" => {}
            "align" => self.align = number(u32::MAX)?,
            "resync_max" => self.resync.max = number(15)? as u8,
            "resync_mode" => {
                self.resync.mode = match value {
                    "off" => ResyncMode::Off,
                    "packets" => ResyncMode::Packets,
                    "cycles" => ResyncMode::Cycles,
                    "half_words" => ResyncMode::HalfWords,
                    _ => return Err(expected("packets, cycles, half_words or off")),
                }
            }
            "ctype" => {
                self.ctype = match value {
                    "unreported" => CType::Unreported,
                    "imprecise" => CType::Imprecise,
                    "precise" => CType::Precise,
                    "discontinuity" => CType::Discontinuity,
                    _ => return Err(expected("unreported, imprecise, precise or discontinuity")),
                }
            }
            "itype_width" => {
                self.itype_width = match value {
                    "3" => ITypeWidth::Three,
                    "4" => ITypeWidth::Four,
                    _ => return Err(expected("3 or 4")),
                }
            }
            "data" => {
                let options = self.source.config.data;
                self.data = match value {
                    "off" => None,
                    "address" => Some(data::Options { no_data: true, ..options }),
                    "value" => Some(data::Options { no_address: true, ..options }),
                    "address,value" | "value,address" => Some(options),
                    _ => return Err(expected("off, address, value, or address,value")),
                }
            }
            "shallow" => self.shallow = flag(value).ok_or_else(|| expected("true or false"))?,
            _ => {
                return Err(Error::UnknownOption { name: name.into(), protocol: "E-Trace" });
            }
        }
        Ok(())
    }

    /// Sets delta trace, if requested. Unless an option switches it off, packets that synchronise then have a time, by which a reader
    /// finds the same instruction in the delta trace.
    #[must_use]
    pub fn with_delta(mut self, delta: Option<DeltaSettings>) -> Self {
        self.delta = delta;
        self.source.config.params.notime &= delta.is_none();
        self
    }

    /// Sets the port, if requested.
    pub fn with_port(mut self, asked: Option<PortRequest>) -> Result<Self, Error> {
        self.port = asked;
        if self.data.is_some() && asked.is_some() {
            return Err(Error::PortWithData);
        }
        Ok(self)
    }

    /// Returns a remark about the requested port, if there is one to make.
    pub fn remark(&self) -> Option<Remark> {
        let needs = self.limited()?.least().max(self.delta.map_or(0, |_| super::delta::LEAST));
        self.port?.remark(needs)
    }

    fn limited(&self) -> Option<encode::Port> {
        let port = self.port.and_then(|asked| asked.limited)?;
        Some(encode::Port {
            port,
            stream: self.source.config.clone(),
            source: self.source.source,
            align: self.align,
        })
    }

    fn encapsulation(&mut self, given: &[(&str, &str)]) -> Result<(), Error> {
        let value = |name: &str| given.iter().find(|(other, _)| *other == name).map(|(_, value)| *value);
        let part =
            |name: &str, most: u8| match value(name) {
                None => Ok(0),
                Some(text) => text.parse().ok().filter(|number| *number <= most).ok_or_else(|| {
                    Error::option(format!("{name}={text}: expected a number from 0 to {most}"))
                }),
            };
        let source_bits = part("source_bits", 16)?;
        let timestamp_bytes = part("timestamp_bytes", 8)?;
        let type_bits = part("type_bits", 8)?;
        let type_bits = if value("type_bits").is_none() && self.data.is_some() { 1 } else { type_bits };
        self.source.config.encapsulation = match value("encapsulation") {
            None if self.source.config.encapsulation == Encapsulation::Smi => Encapsulation::Smi,
            given => match given.unwrap_or("standard") {
                "standard" => Encapsulation::Standard { source_bits, timestamp_bytes, type_bits },
                "smi" => Encapsulation::Smi,
                "pulp" if self.data.is_some() => {
                    return Err(Error::option(
                        "encapsulation=pulp has no place for data trace: add data=off",
                    ));
                }
                "pulp" => Encapsulation::Pulp,
                other => {
                    let names: Vec<_> = ENCAPSULATIONS.iter().map(|(name, _)| *name).collect();
                    return Err(Error::option(format!(
                        "encapsulation={other}: expected {}",
                        names.join(", ")
                    )));
                }
            },
        };
        Ok(())
    }

    /// Fails if a given option lacks the table it needs. Switches off options that are on only by default and lack theirs.
    fn tables(&mut self, given: &[(&str, &str)]) -> Result<(), Error> {
        let is_given = |name: &str| given.iter().any(|(other, _)| *other == name);
        let stream::Config { params, options, .. } = &mut self.source.config;
        let is_three = self.itype_width == ITypeWidth::Three;
        let returns = !is_three && (params.return_stack_size > 0 || params.call_counter_size > 0);
        for (name, needs, on, has) in [
            ("branch_prediction", "bpred_size", &mut options.branch_prediction, params.bpred_size > 0),
            ("jump_target_cache", "cache_size", &mut options.jump_target_cache, params.cache_size > 0),
            (
                "implicit_return",
                "itype_width=4, and return_stack_size or call_counter_size",
                &mut options.implicit_return,
                returns,
            ),
            ("sijump", "sijump_p", &mut options.sijump, params.sijump),
        ] {
            if *on && !has {
                if is_given(name) {
                    return Err(Error::option(format!("{name} needs {needs}")));
                }
                *on = false;
            }
        }
        Ok(())
    }

    /// Returns the configuration of the encoder.
    pub fn encoder(&self) -> encode::Config {
        encode::Config {
            params: self.source.config.params.clone(),
            options: self.source.config.options,
            resync: self.resync,
            port: self.limited(),
            shallow: self.shallow,
            data: self.data,
            quirks: self.quirks,
            ..encode::Config::default()
        }
    }

    /// Fails if data is to be traced, since logs of a hart lack what that needs.
    pub fn refuse_data(&self) -> Result<(), Error> {
        match self.data {
            None => Ok(()),
            Some(_) => Err(Error::option(
                "data: such logs do not tell all that data trace needs; record the program instead",
            )),
        }
    }

    /// Returns all options with their defaults and meanings, in 80 columns.
    pub fn help() -> String {
        let settings = Self::new(Isa::Rv64);
        let mut text = String::from("Options of E-Trace (NAME=VALUE; default for RV64; meaning)\n");
        for (heading, group) in [
            ("What is switched on", Group::Options),
            ("What the encoder is built with (also with _p)", Group::Params),
            ("What data trace leaves out or sends whole, if it is on (data=...)", Group::Data),
        ] {
            text += &format!("\n{heading}\n");
            for field in fields().filter(|field| field.group == group) {
                // One name, one meaning: the parameter is implied.
                if field.group == Group::Params && field.name == "sijump" {
                    row(&mut text, "sijump_p", &field.text(&settings.source.config), field.meaning);
                    continue;
                }
                row(&mut text, field.name, &field.text(&settings.source.config), field.meaning);
            }
        }
        text += "\nHow it is set up, and what packets lie in\n";
        for (name, default, meaning) in OTHERS {
            row(&mut text, name, default, meaning);
        }
        text
    }
}

impl HartSettings for Settings {
    type Tracer = Tracer<TraceFile>;

    fn source(&self) -> Protocol {
        self.source.clone().into()
    }

    fn ring(&self) -> Option<u64> {
        self.ring
    }

    fn has_delta(&self) -> bool {
        self.delta.is_some()
    }

    fn tracer(&self, to: TraceFile, delta: Option<TraceFile>) -> Tracer<TraceFile> {
        let tracer = Tracer::new(self, to);
        match delta {
            Some(delta) => tracer.with_delta(self, delta),
            None => tracer,
        }
    }

    fn remark(&self) -> Option<Remark> {
        Self::remark(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[&str]) -> Result<Settings, String> {
        let pairs: Vec<_> = pairs.iter().map(ToString::to_string).collect();
        Settings::new(Isa::Rv64).with(&pairs).map_err(|error| error.to_string())
    }

    #[test]
    fn defaults_can_be_made() {
        for isa in [Isa::Rv32, Isa::Rv64] {
            Settings::new(isa).source.config.params.check().unwrap();
        }
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
    fn what_has_no_table_goes_off() {
        let settings = with(&["bpred_size=0", "cache_size=0"]).unwrap();
        let options = settings.source.config.options;
        assert!(!options.branch_prediction && !options.jump_target_cache && options.implicit_return);
        assert_eq!(
            with(&["bpred_size=0", "branch_prediction=1"]).unwrap_err(),
            "option branch_prediction needs bpred_size"
        );
        assert!(!with(&["itype_width=3"]).unwrap().source.config.options.implicit_return);
    }

    #[test]
    fn data_trace_is_what_is_asked_for() {
        let data = |pairs: &[&str]| with(pairs).unwrap().source.config.data;
        assert!(data(&["data=address"]).no_data);
        assert!(data(&["data=value", "full_data=1"]).no_address);
        assert!(data(&["data=value", "full_data=1"]).full_data);
        assert_eq!(
            with(&["data=address,value"]).unwrap().source.config.encapsulation,
            Encapsulation::Standard { source_bits: 0, timestamp_bytes: 0, type_bits: 1 }
        );
        assert!(with(&["full_data=1"]).unwrap_err().contains("data trace is off"));
        let nowhere = with(&["data=address", "encapsulation=pulp"]).unwrap_err();
        assert!(nowhere.contains("no place for data trace"), "{nowhere}");
        assert!(with(&["data=off", "encapsulation=pulp"]).is_ok());
    }

    #[test]
    fn the_reference_model_has_nothing_on() {
        let settings = with(&["model=reference"]).unwrap();
        let stream::Config { params, options, encapsulation, .. } = &settings.source.config;
        assert_eq!((encapsulation, options), (&Encapsulation::Smi, &Options::default()));
        assert_eq!(
            (params.bpred_size, params.irdepth_ones, settings.resync.mode),
            (0, true, ResyncMode::Off)
        );
        assert_eq!(settings.encoder().quirks, Quirks::REFERENCE);
        let settings = with(&["resync_max=0", "full_address=on", "model=reference"]).unwrap();
        assert_eq!((settings.resync.mode, settings.resync.max), (ResyncMode::Packets, 0));
        assert!(settings.source.config.options.full_address);
        assert_eq!(with(&["model=x"]).unwrap_err(), "option model=x: expected tracewright or reference");
        let missing = with(&["params=no/such.scf"]).unwrap_err();
        assert!(missing.starts_with("option params=no/such.scf: cannot read: "), "{missing}");
    }

    #[test]
    fn errors_say_what_was_expected() {
        let error = |pair: &str| with(&[pair]).unwrap_err();
        assert_eq!(error("x"), "option \"x\": expected NAME=VALUE, or help");
        assert_eq!(error("x=1"), "there is no option \"x\" for E-Trace");
        assert_eq!(error("id=7"), "option id=7: source_bits=0 has no room for it");
        assert_eq!(error("resync_max=99"), "option resync_max=99: expected a number from 0 to 15");
        assert_eq!(error("iaddress_width=99"), "option iaddress_width: 99 is not from 8 to 64");
        assert_eq!(error("encapsulation=x"), "option encapsulation=x: expected standard, smi, pulp");
        assert_eq!(with(&["id=1", "id=2"]).unwrap_err(), "option id is given twice");
    }
}
