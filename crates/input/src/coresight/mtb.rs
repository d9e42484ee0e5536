//! MTB sources: `mtb,MTB_POSITION=0x444,MTB_MASTER=0x80000006`.

use std::sync::Arc;

use tracewright_coresight::mtb::{Params, Ring, TooShort};

use super::Given;
use crate::registry::{SourceKind, SourceParams, WrongParam};

/// MTB as a kind of sources.
#[derive(Debug)]
pub(crate) struct Mtb;

impl SourceKind for Mtb {
    fn name(&self) -> &'static str {
        "mtb"
    }

    fn takes(&self) -> &'static str {
        "the registers MTB_POSITION and MTB_MASTER, which are needed, and VTOR. No --packing."
    }

    fn device(&self) -> Option<&'static str> {
        Some("MTB")
    }

    fn params(&self, given: &[(String, String)]) -> Result<Arc<dyn SourceParams>, WrongParam> {
        let given = Given::new(given, &["mtb_position", "mtb_master", "vtor"], "mtb")?;
        // The ring is a part of the file that nothing else tells.
        Ok(Arc::new(Params {
            position: given.need("mtb_position")?,
            master: given.need("mtb_master")?,
            vectors: given.get("vtor").unwrap_or(0),
        }))
    }
}

impl SourceParams for Params {
    /// There is no trace ID.
    fn id(&self) -> u16 {
        0
    }

    fn tells_all_branches(&self) -> bool {
        true
    }

    fn needs_synchronisation(&self) -> bool {
        false
    }

    fn ring(&self, len: u64) -> Option<Result<Ring, TooShort>> {
        Some(self.ring(len))
    }

    fn title(&self) -> String {
        "MTB".into()
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let full = if self.has_wrapped() { "yes: older packets were replaced" } else { "no" };
        vec![
            ("ring", format!("{} bytes", self.size())),
            ("full", full.to_owned()),
            ("vectors", format!("{:#x}", self.vectors)),
        ]
    }

    fn tells_level(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(text: &str) -> Result<String, String> {
        let pair = |part: &str| part.split_once('=').map(|(name, value)| (name.into(), value.into()));
        let given: Vec<_> = text.split(' ').filter_map(pair).collect();
        Mtb.params(&given).map(|params| params.facts()[0].1.clone()).map_err(|error| error.to_string())
    }

    #[test]
    fn both_registers_are_needed() {
        assert_eq!(size("mtb_position=4 mtb_master=0x80000006"), Ok("1024 bytes".into()));
        assert_eq!(size("mtb_position=4 mtb_master=5 mtb_flow=0 vtor=0x100"), Ok("512 bytes".into()));
        assert_eq!(size("mtb_position=4"), Err("mtb_master: it is missing".into()));
        assert_eq!(size("mtb_master=4"), Err("mtb_position: it is missing".into()));
        let expected = "expected one of mtb_position, mtb_master, vtor";
        assert_eq!(size("id=1"), Err(format!("id: {expected}")));
    }
}
