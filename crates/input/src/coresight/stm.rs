//! STM sources: `stm,id=0x20`.

use std::sync::Arc;

use tracewright_coresight::stm::{Params, Registers};

use super::Given;
use crate::registry::{SourceKind, SourceParams, WrongParam};

/// STM as a kind of sources.
#[derive(Debug)]
pub(crate) struct Stm;

impl SourceKind for Stm {
    fn name(&self) -> &'static str {
        "stm"
    }

    fn takes(&self) -> &'static str {
        "id, or the register STMTCSR."
    }

    fn device(&self) -> Option<&'static str> {
        Some("STM")
    }

    fn params(&self, given: &[(String, String)]) -> Result<Arc<dyn SourceParams>, WrongParam> {
        let given = Given::new(given, &["id", "stmtcsr"], "stm")?;
        let stmtcsr = given.get("stmtcsr");
        let id = match (given.get("id"), stmtcsr) {
            (None, Some(stmtcsr)) => stmtcsr >> 16 & 0x7f,
            _ => given.id("stmtcsr")?,
        };
        // Nothing depends on the register but the ID: timestamps are read where they are.
        let stmtcsr = stmtcsr.unwrap_or(Registers::default().stmtcsr) & !(0x7f << 16) | id << 16;
        Ok(Arc::new(Params::new(&Registers { stmtcsr })))
    }
}

impl SourceParams for Params {
    fn id(&self) -> u16 {
        self.id().get().into()
    }

    fn title(&self) -> String {
        "STM (STPv2)".into()
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let on = |is_on: bool| if is_on { "on" } else { "off" }.to_owned();
        vec![("timestamps", on(self.timestamps())), ("compression", on(self.compressed()))]
    }

    fn traces_instructions(&self) -> bool {
        false
    }

    fn has_timestamps(&self) -> bool {
        self.timestamps()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> Result<u16, String> {
        let pair = |part: &str| part.split_once('=').map(|(name, value)| (name.into(), value.into()));
        let given: Vec<_> = text.split(' ').filter_map(pair).collect();
        Stm.params(&given).map(|params| params.id()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_id_is_enough() {
        assert_eq!(id("id=0x10"), Ok(0x10));
        assert_eq!(id("stmtcsr=0x00A00007"), Ok(0x20));
        assert_eq!(id("stmtcsr=7 id=0x11 stmspfeat1r=5"), Ok(0x11));
        assert_eq!(id("stmspfeat1r=5"), Err("id or stmtcsr: it is missing".into()));
        assert_eq!(id("id=0x80"), Err("id: 0x80: expected 0x01 to 0x6f".into()));
    }
}
