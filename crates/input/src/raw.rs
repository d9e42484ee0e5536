//! Sources given on the command line, for trace files that do not describe themselves.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use tracewright_core::text::Printable;
use tracewright_etm::{self as etm, Params, Registers};

use crate::CoreKind;
use crate::capture::for_etm;
use crate::etrace::{self, EtraceSource};
use crate::packing::Packing;
use crate::preset;
use crate::registry::{self, SourceParams};
use crate::source::Protocol;

/// Source as users write it: `etm4,id=0x10,core=Cortex-A53,TRCCONFIGR=0xc1`, or
/// `etrace,isa=rv64,encapsulation=smi,context_width=32`.
#[derive(Clone, Debug)]
pub enum RawSource {
    /// ETMv4 or ETE.
    Etm(Box<RawEtm>),
    /// RISC-V E-Trace.
    Etrace(Box<EtraceSource>),
    /// A protocol that was [registered](crate::register).
    Registered(Arc<dyn SourceParams>),
}

/// ETM as users write it.
#[derive(Clone, Debug)]
pub struct RawEtm {
    /// Parameters of the ETM.
    pub params: Params,
    /// Type of the traced core.
    pub core: Option<String>,
    /// Given registers.
    pub registers: Vec<(String, u64)>,
}

/// Register of ETMv4 and ETE sources.
pub(crate) struct EtmRegister {
    pub(crate) name: &'static str,
    /// Whether a capture must have it.
    pub(crate) mandatory: bool,
    pub(crate) field: fn(&mut Registers) -> &mut u32,
}

pub(crate) const ETM_REGISTERS: &[EtmRegister] = &[
    EtmRegister { name: "TRCCONFIGR", mandatory: true, field: |registers| &mut registers.trcconfigr },
    EtmRegister { name: "TRCTRACEIDR", mandatory: true, field: |registers| &mut registers.trctraceidr },
    EtmRegister { name: "TRCIDR0", mandatory: true, field: |registers| &mut registers.trcidr0 },
    EtmRegister { name: "TRCIDR1", mandatory: false, field: |registers| &mut registers.trcidr1 },
    EtmRegister { name: "TRCIDR2", mandatory: true, field: |registers| &mut registers.trcidr2 },
    EtmRegister { name: "TRCIDR8", mandatory: false, field: |registers| &mut registers.trcidr8 },
    EtmRegister { name: "TRCDEVARCH", mandatory: false, field: |registers| &mut registers.trcdevarch },
];

/// Why the description of a source cannot be understood.
#[derive(Clone, PartialEq, Eq)]
pub struct RawSourceError(String);

/// Help for `--source`, but for the protocols that are registered.
const HELP: &str = "A source in a raw trace file, or the encoders of a perf.data with RISC-V trace: protocol, then comma-separated name=value \
pairs. Repeat for more sources. Registers have the values that your driver or debugger reads.\n\
For etm4 and ete: id, core (the traced core's type, e.g. Cortex-A53), and the registers TRCCONFIGR, TRCTRACEIDR, TRCIDR0, TRCIDR1, \
TRCIDR2, TRCIDR8 and (ETE) TRCDEVARCH. Registers left out have the values of an ETMv4.0 (ETE 1.0) with nothing optional; \
preset=NAME (etm4) has those of a Cortex-M.\n\
For etrace: isa (rv32, rv64) and encapsulation (standard with source_bits, timestamp_bytes and type_bits; smi; pulp), which are \
needed; id (srcID); the encoder's parameters and options by their names in the specification (iaddress_width, context_width, \
nocontext, return_stack_size, ...); params=FILE for a file of parameters (.scf). `info` shows what those left out are: no context, \
no options; with pulp, what PULP's rv_tracer has. No --packing.\n";

const EXAMPLES: &str = "Examples: --source etm4,id=0x10,TRCCONFIGR=0xc1,TRCIDR0=0x28000ea1\n\
          \u{20}         --source etrace,isa=rv64,encapsulation=smi,params=hw.scf\n\
          \u{20}         --source ntrace,isa=rv64,mode=history,src_bits=2,id=1\n\
          \u{20}         --source itm,sync=0";

impl fmt::Debug for RawSourceError {
    /// Writes what [`Display`](fmt::Display) does: `main` shows errors that it returns like this.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for RawSourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RawSourceError {}

impl FromStr for RawSource {
    type Err = RawSourceError;

    fn from_str(text: &str) -> Result<Self, RawSourceError> {
        Self::parse(text).map_err(RawSourceError)
    }
}

impl RawSource {
    /// Returns what can be said of a source, for the help of `--source`.
    pub fn help() -> String {
        let registered = registry::built_in().iter();
        let takes: String =
            registered.map(|kind| format!("For {}: {}\n", kind.name(), kind.takes())).collect();
        format!("{HELP}{takes}{EXAMPLES}")
    }

    /// Returns the name of its protocol, if that is never in frames.
    pub fn unframed(&self) -> Option<String> {
        match self {
            Self::Etrace(_) => Some("E-Trace".into()),
            Self::Registered(params) if params.ring(0).is_some() => Some(params.title()),
            _ => None,
        }
    }

    /// Returns the packing of its bytes, if none is said.
    pub fn usual_packing(&self) -> Option<Packing> {
        let is_riscv = matches!(self, Self::Registered(params) if params.isa().is_some());
        (is_riscv || self.unframed().is_some()).then_some(Packing::Source)
    }

    /// Returns its protocol.
    pub(crate) fn protocol(&self) -> Protocol {
        match self {
            Self::Etm(raw) => Protocol::Etm(raw.params.clone().into()),
            Self::Etrace(source) => Protocol::Etrace(source.clone()),
            Self::Registered(params) => Protocol::Registered(params.clone()),
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let protocol = match parts.next().unwrap_or_default().to_ascii_lowercase().as_str() {
            "etm4" => etm::Protocol::Etm4,
            "ete" => etm::Protocol::Ete,
            "etrace" => {
                // The message may quote a parameter file.
                let source = etrace::raw_source(parts).map_err(|error| Printable(&error).to_string())?;
                return Ok(Self::Etrace(Box::new(source)));
            }
            other => {
                let kind = registry::named(other).ok_or_else(|| {
                    let others = registry::built_in().iter().map(|kind| kind.name());
                    let names: Vec<_> = ["etm4", "ete", "etrace"].into_iter().chain(others).collect();
                    format!("protocol {other:?}: expected one of {}", names.join(", "))
                })?;
                let owned = |(name, value): (&str, &str)| (name.to_ascii_lowercase(), value.to_owned());
                let given = parts.map(|part| pair(part).map(owned)).collect::<Result<Vec<_>, _>>()?;
                return kind.params(&given).map(Self::Registered).map_err(|error| error.to_string());
            }
        };
        let mut registers = Registers { protocol, ..Registers::default() };
        let (mut core, mut given) = (None, Vec::new());
        let mut seen = Vec::new();
        let parts = parts.map(pair).collect::<Result<Vec<_>, _>>()?;
        let is_preset = |(name, _): &&(&str, &str)| name.eq_ignore_ascii_case("preset");
        let preset = match parts.iter().find(is_preset) {
            Some(_) if protocol == etm::Protocol::Ete => return Err("presets are of etm4".into()),
            Some((_, name)) => Some(preset::named(name)?),
            None => None,
        };
        // What is given overrides the preset.
        let of_preset = preset.iter().flat_map(|preset| preset.registers);
        for &(name, value) in of_preset {
            if let Some(register) = ETM_REGISTERS.iter().find(|register| register.name == name) {
                *(register.field)(&mut registers) = value;
            }
        }
        if let Some((kind, preset)) = preset.and_then(|preset| CoreKind::of(preset.core).zip(Some(preset))) {
            (registers.profile, registers.architecture) = for_etm(kind);
            core = Some(preset.core.to_owned());
        }
        for (name, value) in parts {
            if seen.iter().any(|other: &String| other.eq_ignore_ascii_case(name)) {
                return Err(format!("{name} is given twice"));
            }
            seen.push(name.to_owned());
            if name.eq_ignore_ascii_case("preset") {
                continue;
            }
            if name.eq_ignore_ascii_case("core") {
                let kind = CoreKind::of(value).ok_or_else(|| {
                    format!(
                        "core type {value:?} is not known; a pattern like ARMv8-A or ARMv8-M does as well"
                    )
                })?;
                (registers.profile, registers.architecture) = for_etm(kind);
                core = Some(value.to_owned());
                continue;
            }
            if name.eq_ignore_ascii_case("id") {
                let id = parse_u32(value).filter(|id| *id < 0x80);
                registers.trctraceidr = id.ok_or_else(|| format!("id={value}: expected 0x01 to 0x6f"))?;
                given.push(("TRCTRACEIDR".to_owned(), registers.trctraceidr.into()));
                continue;
            }
            let upper = name.to_ascii_uppercase();
            let register = ETM_REGISTERS.iter().find(|register| register.name == upper).ok_or_else(|| {
                let names: Vec<_> = ETM_REGISTERS.iter().map(|register| register.name).collect();
                format!("{name}: expected id, core, preset or one of {}", names.join(", "))
            })?;
            let number =
                parse_u32(value).ok_or_else(|| format!("{name}={value}: expected a 32-bit number"))?;
            *(register.field)(&mut registers) = number;
            given.push((upper, number.into()));
        }
        let params = Params::new(&registers).map_err(|error| error.to_string())?;
        Ok(Self::Etm(Box::new(RawEtm { params, core, registers: given })))
    }
}

/// Splits `NAME=VALUE`.
pub(crate) fn pair(part: &str) -> Result<(&str, &str), String> {
    let (name, value) = part.split_once('=').ok_or_else(|| format!("{part:?}: expected NAME=VALUE"))?;
    Ok((name.trim(), value.trim()))
}

fn parse_u32(text: &str) -> Option<u32> {
    etrace::number(text).and_then(|number| number.try_into().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_protocol_and_registers() {
        let source: RawSource = "ete,id=0x21,TRCCONFIGR=0x1,trcidr8=4".parse().unwrap();
        let RawSource::Etm(source) = source else { panic!("{source:?}") };
        assert!(source.params.is_ete());
        assert_eq!(source.params.id().get(), 0x21);
        assert_eq!(source.registers.last(), Some(&("TRCIDR8".into(), 4)));
    }

    #[test]
    fn presets_have_the_registers_of_a_core() {
        let etm = |text: &str| match text.parse().unwrap() {
            RawSource::Etm(source) => *source,
            other => panic!("{other:?}"),
        };
        let m33 = etm("etm4,id=1,preset=Cortex-M33,TRCCONFIGR=0x1019");
        let spelt =
            "etm4,id=1,core=Cortex-M33,TRCIDR0=0x280006e1,TRCIDR1=0x4100f421,TRCIDR2=4,TRCCONFIGR=0x1019";
        assert_eq!(m33.params, etm(spelt).params);
        assert_eq!(m33.core.as_deref(), Some("Cortex-M33"));
        assert_eq!(m33.params.version(), (4, 2));
        // In any order, what is given wins.
        assert_eq!(etm("etm4,TRCIDR1=0x4100f401,preset=rp2350").params.version(), (4, 0));
        for preset in preset::PRESETS {
            assert!(CoreKind::of(preset.core).is_some(), "{}", preset.core);
            assert_eq!(etm(&format!("etm4,preset={}", preset.name)).core.as_deref(), Some(preset.core));
        }
        let error = "etm4,preset=z80".parse::<RawSource>().unwrap_err().to_string();
        assert!(error.starts_with("preset=z80: expected one of cortex-m7, cortex-m33"), "{error}");
    }

    #[test]
    fn errors_say_what_was_expected() {
        let error = |text: &str| text.parse::<RawSource>().unwrap_err().to_string();
        let expected = "protocol \"etm5\": expected one of etm4, ete, etrace, etm3, ptm";
        assert!(error("etm5").starts_with(expected), "{}", error("etm5"));
        assert_eq!(error("etm4,id"), "\"id\": expected NAME=VALUE");
        assert_eq!(error("etm4,id=zz"), "id=zz: expected 0x01 to 0x6f");
        assert_eq!(error("etm4,id=0x80"), "id=0x80: expected 0x01 to 0x6f");
        assert_eq!(error("etm4,id=1, ID=2"), "ID is given twice");
        assert_eq!(error("etm4,TRCIDR0=banana"), "TRCIDR0=banana: expected a 32-bit number");
        assert!(
            error("etm4,TRCIDR99=1").starts_with("TRCIDR99: expected id, core, preset or one of TRCCONFIGR")
        );
        assert!(error("etm4,core=Z80").starts_with("core type \"Z80\" is not known"));
        assert_eq!(error("etm4,TRCIDR2=0x60"), "TRCIDR2.CIDSIZE is 0x3, expected 0 or 4");
    }
}
