//! ETMv3 sources.

use std::sync::Arc;

use tracewright_coresight::etm3::{Params, Registers};

use super::{Given, wrong};
use crate::registry::{SourceKind, SourceParams, WrongParam};
use crate::{CoreKind, CoreProfile};

/// ETMv3.
#[derive(Debug)]
pub(crate) struct Etm3;

/// Registers that a capture must have.
const REGISTERS: [&str; 4] = ["etmcr", "etmidr", "etmccer", "etmtraceidr"];

impl SourceKind for Etm3 {
    fn name(&self) -> &'static str {
        "etm3"
    }

    fn device(&self) -> Option<&'static str> {
        Some("ETM3")
    }

    fn wants_core(&self) -> bool {
        true
    }

    fn params(&self, given: &[(String, String)]) -> Result<Arc<dyn SourceParams>, WrongParam> {
        let given = Given(given);
        let mut registers = Registers::default();
        let fields =
            [&mut registers.etmcr, &mut registers.etmidr, &mut registers.etmccer, &mut registers.etmtraceidr];
        for (name, field) in REGISTERS.into_iter().zip(fields) {
            let value = match name {
                "etmtraceidr" => given.number(name)?.or(given.number("id")?),
                _ => given.number(name)?,
            };
            // An ID register tells how packets are encoded: no value can be assumed.
            *field = value.ok_or_else(|| wrong(name, "it is missing"))?;
        }
        if let Some(core) = given.text("core") {
            let kind = CoreKind::of(core);
            registers.is_m = kind.is_some_and(|kind| kind.profile == CoreProfile::M);
        }
        let params = Params::new(&registers).map_err(|error| wrong("etmidr", error.to_string()))?;
        Ok(Arc::new(params))
    }
}

impl SourceParams for Params {
    fn id(&self) -> u16 {
        Params::id(self).get().into()
    }

    fn title(&self) -> String {
        format!("ETMv3.{}", self.minor())
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let on = |is_on: bool| if is_on { "on" } else { "off" }.to_owned();
        let data = match (self.data_addresses(), self.data_values()) {
            (true, true) => "addresses and values",
            (true, false) => "addresses",
            (false, true) => "values",
            (false, false) => "off",
        };
        vec![
            ("cycles", on(self.cycle_accurate())),
            ("timestamps", on(self.timestamps())),
            ("data", data.to_owned()),
            ("context ID bytes", self.context_id_bytes().to_string()),
            ("profile", if self.is_m() { "M" } else { "A or R" }.to_owned()),
        ]
    }

    fn has_cycles(&self) -> bool {
        self.cycle_accurate()
    }

    fn has_timestamps(&self) -> bool {
        self.timestamps()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(text: &str) -> Result<String, String> {
        let pair = |part: &str| part.split_once('=').map(|(name, value)| (name.into(), value.into()));
        let given: Vec<_> = text.split(' ').filter_map(pair).collect();
        Etm3.params(&given).map(|params| params.title()).map_err(|error| error.to_string())
    }

    #[test]
    fn all_registers_are_needed() {
        let all = "etmcr=0x1000 etmidr=0x410cf250 etmccer=0x344008f2 id=0x10";
        assert_eq!(params(all), Ok("ETMv3.5".into()));
        assert_eq!(params("etmcr=0 etmidr=1"), Err("etmccer: it is missing".into()));
        assert_eq!(
            params(&all.replace("0x410cf250", "0x411cf312")),
            Err("etmidr: ETMIDR.major architecture version is 0x3, expected 2 (ETMv3)".into())
        );
        assert_eq!(
            params(&all.replace("0x1000", "many")),
            Err("etmcr: \"many\" is no number that fits".into())
        );
    }
}
