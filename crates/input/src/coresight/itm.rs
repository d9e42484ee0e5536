//! ITM sources: `itm,id=0x14`, `itm,ITMTCR=0x00140000`, `itm,sync=0`.

use std::sync::Arc;

use tracewright_coresight::itm::{Params, Registers};

use super::Given;
use crate::registry::{SourceKind, SourceParams, WrongParam};

/// ITM as a kind of sources.
#[derive(Debug)]
pub(crate) struct Itm;

impl SourceKind for Itm {
    fn name(&self) -> &'static str {
        "itm"
    }

    fn takes(&self) -> &'static str {
        "id if it is in frames, ITMTCR (how fast local timestamps count), and sync=0 if the trace has no synchronisation packets."
    }

    fn device(&self) -> Option<&'static str> {
        Some("ITM")
    }

    fn params(&self, given: &[(String, String)]) -> Result<Arc<dyn SourceParams>, WrongParam> {
        let given = Given::new(given, &["id", "itmtcr", "sync"], "itm")?;
        let starts_aligned = match given.get("sync") {
            None | Some(1) => false,
            Some(0) => true,
            Some(_) => {
                let why = "expected 1, or 0 if the trace has no synchronisation packets".into();
                return Err(WrongParam { name: "sync".into(), why });
            }
        };
        // Without a formatter nothing has an ID.
        let id = if given.get("itmtcr").is_none() && given.get("id").is_none() {
            0
        } else {
            given.id("itmtcr")?
        };
        let itmtcr = given.get("itmtcr").unwrap_or(0);
        let itmtcr = if given.get("id").is_some() { itmtcr & !(0x7f << 16) | id << 16 } else { itmtcr };
        Ok(Arc::new(Params::new(&Registers { itmtcr }).with_aligned_start(starts_aligned)))
    }
}

impl SourceParams for Params {
    fn id(&self) -> u16 {
        self.id().get().into()
    }

    fn traces_instructions(&self) -> bool {
        false
    }

    fn needs_synchronisation(&self) -> bool {
        !self.starts_aligned()
    }

    fn title(&self) -> String {
        "ITM".into()
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let step = match self.prescale() {
            1 => "1 cycle".into(),
            cycles => format!("{cycles} cycles"),
        };
        let synchronises = if self.starts_aligned() { "no" } else { "yes" };
        vec![("local timestamps in steps of", step), ("synchronisation packets", synchronises.into())]
    }

    /// Local timestamps count cycles.
    fn has_cycles(&self) -> bool {
        true
    }
}
