//! ETMv3 sources.

use std::sync::Arc;

use tracewright_coresight::etm3::{Params, Registers};
use tracewright_coresight::shared::exception;

use super::{Given, NO_BROADCAST};
use crate::registry::{SourceKind, SourceParams, WrongParam};
use crate::{CoreKind, CoreProfile};

/// ETMv3.
#[derive(Debug)]
pub(crate) struct Etm3;

/// What tells of a source. `id` is as good as the last register.
const NAMES: [&str; 5] = ["id", "etmcr", "etmidr", "etmccer", "etmtraceidr"];

impl SourceKind for Etm3 {
    fn name(&self) -> &'static str {
        "etm3"
    }

    fn takes(&self) -> &'static str {
        "id, core, and the registers ETMCR, ETMIDR and ETMCCER, which are needed; ETMTRACEIDR instead of id."
    }

    fn device(&self) -> Option<&'static str> {
        Some("ETM3")
    }

    fn wants_core(&self) -> bool {
        true
    }

    fn params(&self, given: &[(String, String)]) -> Result<Arc<dyn SourceParams>, WrongParam> {
        let (core, given): (Vec<_>, Vec<_>) = given.iter().cloned().partition(|(name, _)| name == "core");
        let given = Given::new(&given, &NAMES, "etm")?;
        // An ID register tells how packets are encoded: no value can be assumed.
        let registers = Registers {
            etmcr: given.need("etmcr")?,
            etmidr: given.need("etmidr")?,
            etmccer: given.need("etmccer")?,
            etmtraceidr: given.id("etmtraceidr")?,
            is_m: core
                .iter()
                .any(|(_, core)| CoreKind::of(core).is_some_and(|kind| kind.profile == CoreProfile::M)),
        };
        let params = Params::new(&registers)
            .map_err(|error| WrongParam { name: "etmidr".into(), why: error.to_string() })?;
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

    fn lacks_targets(&self) -> Option<&'static str> {
        (!self.branch_broadcast()).then_some(NO_BROADCAST)
    }

    fn tells_level(&self) -> bool {
        false
    }

    fn of_log(&self) -> fn(u16) -> u16 {
        exception::of_etmv4
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
            Err("etmcr: \"many\": expected a 32-bit number".into())
        );
    }
}
