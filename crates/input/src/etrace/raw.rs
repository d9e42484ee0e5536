use std::path::Path;

use tracewright_core::Isa;
use tracewright_etrace::stream::{Config, Encapsulation};
use tracewright_etrace::{Options, Params, SupportLayout, data};

use super::encapsulation::{self, PARTS};
use super::field::{Field, Group};
use super::{EtraceSource, isa_named, number};
use crate::file::read_text;
use crate::raw::pair;

/// Parses a source as users write it: the part after `etrace,`.
pub(crate) fn source<'a>(pairs: impl Iterator<Item = &'a str>) -> Result<EtraceSource, String> {
    let pairs: Vec<_> = pairs.map(pair).collect::<Result<_, _>>()?;
    for (i, (name, _)) in pairs.iter().enumerate() {
        // One parameter file may complete another.
        if *name != "params" && pairs[..i].iter().any(|(other, _)| other == name) {
            return Err(format!("{name} is given twice"));
        }
    }
    let given = |wanted: &str| pairs.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
    let isa = match given("isa") {
        Some(name) => isa_named(name).ok_or_else(|| format!("isa={name}: expected rv32 or rv64"))?,
        None => return Err("isa is missing: isa=rv32 or isa=rv64".into()),
    };
    let Some(kind) = given("encapsulation") else {
        return Err("encapsulation is missing: standard, smi or pulp".into());
    };
    let mut parts = [None; 3];
    for ((part, ..), value) in PARTS.iter().zip(&mut parts) {
        let Some(text) = given(part) else { continue };
        *value = Some(number(text).ok_or_else(|| format!("{part}={text}: expected a number"))?);
    }
    let encapsulation = encapsulation::named(kind, parts)?;
    let mut config = Config {
        params: match encapsulation {
            // Only one encoder writes these records.
            Encapsulation::Pulp => Params {
                iaddress_lsb: 0,
                address_bytes: true,
                support: SupportLayout::Pulp,
                ..params_for(isa)
            },
            _ => params_for(isa),
        },
        encapsulation,
        options: Options::default(),
        data: data::Options::default(),
    };
    let source = match given("id") {
        Some(text) => {
            let id = number(text).and_then(|id| u16::try_from(id).ok());
            id.ok_or_else(|| format!("id={text}: expected 0 to 0xffff"))?
        }
        None => 0,
    };
    for (_, file) in pairs.iter().filter(|(name, _)| *name == "params") {
        read_scf(file.as_ref(), &mut config.params)?;
    }
    for (name, value) in &pairs {
        if ["isa", "id", "encapsulation", "params"].contains(name) || PARTS.iter().any(|part| part.0 == *name)
        {
            continue;
        }
        let field = Field::named(name).ok_or_else(|| {
            let others = "a parameter or option of the encoder (tracewright record --option help lists them)";
            format!("{name}: expected id, isa, encapsulation, params=FILE, or {others}")
        })?;
        field.put(&mut config, value).map_err(|error| error.to_string())?;
        if field.group == Group::Options && field.name == "sijump" {
            config.params.sijump |= config.options.sijump;
        }
    }
    config.check().map_err(|error| error.to_string())?;
    Ok(EtraceSource { config, source, isa, handlers: Vec::new() })
}

/// Reads a static configuration file (`.scf`) of the reference flow into `params`: `name_p=value` lines. `#`
/// begins a comment, `[headings]` are ignored.
///
/// # Errors
/// Fails if the file cannot be read, has no attribute, or has one that is not valid.
pub fn read_scf(path: &Path, params: &mut Params) -> Result<(), String> {
    let text = read_text(path).map_err(|error| format!("params={}: cannot read: {error}", path.display()))?;
    let mut any = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let Some((name, value)) = line.split_once('=') else { continue };
        params
            .set(name.trim(), value)
            .map_err(|error| format!("{}:{}: {error}", path.display(), number + 1))?;
        any = true;
    }
    if any { Ok(()) } else { Err(format!("params={}: no attribute (name_p=value) in it", path.display())) }
}

/// Returns the parameters of an encoder of which nothing is said.
pub fn params_for(isa: Isa) -> Params {
    match isa {
        Isa::Rv32 => Params { iaddress_width: 32, daddress_width: 32, data_width: 32, ..Params::default() },
        _ => Params::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<EtraceSource, String> {
        source(text.split(',').filter(|part| !part.is_empty()))
    }

    #[test]
    fn a_source_is_names_and_values() {
        let source = parse(
            "id=0x102,isa=rv32,encapsulation=standard,source_bits=10,type_bits=1,ecause_width_p=4,sijump=1",
        )
        .unwrap();
        assert_eq!((source.source, source.isa), (0x102, Isa::Rv32));
        let params = &source.config.params;
        assert_eq!((params.iaddress_width, params.ecause_width, params.sijump), (32, 4, true));
        assert!(source.config.options.sijump);
        let encapsulation = Encapsulation::Standard { source_bits: 10, timestamp_bytes: 0, type_bits: 1 };
        assert_eq!(source.config.encapsulation, encapsulation);
    }

    #[test]
    fn records_of_pulp_are_of_its_encoder() {
        let params = |more: &str| {
            let Params { iaddress_lsb, address_bytes, support, .. } =
                parse(&format!("isa=rv64,encapsulation={more}")).unwrap().config.params;
            (iaddress_lsb, address_bytes, support)
        };
        assert_eq!(params("pulp"), (0, true, SupportLayout::Pulp));
        assert_eq!(params("pulp,iaddress_lsb=1"), (1, true, SupportLayout::Pulp));
        assert_eq!(params("smi"), (1, false, SupportLayout::Reference));
    }

    #[test]
    fn errors_say_what_was_expected() {
        let error = |text: &str| parse(text).unwrap_err();
        assert_eq!(error(""), "isa is missing: isa=rv32 or isa=rv64");
        assert_eq!(error("isa=rv64"), "encapsulation is missing: standard, smi or pulp");
        assert_eq!(error("isa=z80"), "isa=z80: expected rv32 or rv64");
        assert_eq!(error("isa=rv64,encapsulation=x"), "encapsulation \"x\": expected standard, smi, pulp");
        assert_eq!(error("isa=rv64,isa=rv32"), "isa is given twice");
        assert_eq!(error("isa"), "\"isa\": expected NAME=VALUE");
        let smi = |more: &str| error(&format!("isa=rv64,encapsulation=smi,{more}"));
        assert_eq!(smi("source_bits=4"), "source_bits: only the standard encapsulation has it");
        assert_eq!(smi("id=65536"), "id=65536: expected 0 to 0xffff");
        assert!(smi("banana=1").starts_with("banana: expected id, isa, encapsulation, params=FILE, or a "));
        assert_eq!(smi("iaddress_width=65"), "iaddress_width: 65 is not from 8 to 64");
        assert!(smi("params=no/such.scf").starts_with("params=no/such.scf: cannot read: "));
        let standard = |more: &str| error(&format!("isa=rv64,encapsulation=standard,{more}"));
        assert_eq!(standard("source_bits=17"), "source_bits=17: at most 16");
    }
}
