//! PTM sources: `ptm,id=0x10,ETMCR=0x10001000`.

use std::sync::Arc;

use tracewright_coresight::ptm::{Params, Registers};
use tracewright_coresight::shared::exception;

use super::{Given, NO_BROADCAST};
use crate::registry::{SourceKind, SourceParams, WrongParam};

/// PTM as a kind of sources.
#[derive(Debug)]
pub(crate) struct Ptm;

impl SourceKind for Ptm {
    fn name(&self) -> &'static str {
        "ptm"
    }

    fn takes(&self) -> &'static str {
        "id and the registers ETMCR (needed), ETMIDR, ETMCCER and ETMTRACEIDR."
    }

    /// Also `PFT1`: both are snapshot names of this protocol.
    fn device(&self) -> Option<&'static str> {
        Some("PTM1")
    }

    fn params(&self, given: &[(String, String)]) -> Result<Arc<dyn SourceParams>, WrongParam> {
        let names = ["id", "etmcr", "etmidr", "etmccer", "etmtraceidr"];
        let given = Given::new(given, &names, "etm")?;
        let usual = Registers::default();
        let registers = Registers {
            etmcr: given.need("etmcr")?,
            etmidr: given.get("etmidr").unwrap_or(usual.etmidr),
            etmccer: given.get("etmccer").unwrap_or(usual.etmccer),
            etmtraceidr: given.id("etmtraceidr")?,
        };
        let params = Params::new(&registers).map_err(|error| WrongParam {
            name: error.register.to_ascii_lowercase(),
            why: error.to_string(),
        })?;
        Ok(Arc::new(params))
    }
}

impl SourceParams for Params {
    fn id(&self) -> u16 {
        self.id().get().into()
    }

    fn title(&self) -> String {
        let (major, minor) = self.version();
        format!("PTM (PFT {major}.{minor})")
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let on = |is_on: bool| if is_on { "on" } else { "off" }.to_owned();
        vec![
            ("cycle counts", on(self.cycle_accurate())),
            ("timestamps", on(self.timestamps())),
            ("return stack", on(self.return_stack())),
            ("branch broadcast", on(self.branch_broadcast())),
            (
                "context IDs",
                match self.context_id_bytes() {
                    0 => "off".into(),
                    bytes => format!("{} bits", 8 * u32::from(bytes)),
                },
            ),
            ("virtual machine IDs", on(self.vmids())),
        ]
    }

    fn lacks_targets(&self) -> Option<&'static str> {
        (!self.branch_broadcast()).then_some(NO_BROADCAST)
    }

    fn has_cycles(&self) -> bool {
        self.cycle_accurate()
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
