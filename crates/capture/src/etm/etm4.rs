//! An ETMv4 for each thread.

use tracewright_core::{Block, Element, TraceId};
use tracewright_etm::encode::{AtPort, Encoder};

use super::Settings;
use super::port::Watched;
use super::unit::{Device, Nonsense, Unit, UnitSettings};
use crate::port::Report;
use crate::{Error, Remark};

/// An encoder, perhaps with a port behind it.
pub struct Etm4 {
    encoder: Encoder,
    /// Takes all elements instead of the encoder, if there is a port.
    port: Option<Box<Watched>>,
}

impl UnitSettings for Settings {
    type Unit = Etm4;

    const NAME: &'static str = "ETMv4";

    fn core(&self) -> &str {
        &self.core
    }

    fn is_64bit(&self) -> bool {
        self.is_64bit
    }

    fn device(&self, id: TraceId) -> Result<Device<Etm4>, Error> {
        let registers = self.registers(id);
        let encoder =
            Encoder::new(&registers, self.options()).map_err(|error| Error::Encoder(error.to_string()))?;
        let port = self.port.map(|asked| Box::new(Watched::new(&encoder, asked)));
        // OpenCSD warns if these are missing.
        let more = ["TRCIDR9", "TRCIDR10", "TRCIDR11", "TRCIDR12", "TRCIDR13"].map(|name| (name, 0));
        let registers = registers.named().map(|(name, value)| (name, value.into())).chain(more).collect();
        let kinds = ["ETM4.0", "ETM4.1", "ETM4.2", "ETM4.3", "ETM4.4", "ETM4.5", "ETM4.6"];
        let kind = kinds[usize::from(self.version) % kinds.len()];
        Ok(Device { kind, registers, unit: Etm4 { encoder, port } })
    }

    fn remark(&self) -> Option<Remark> {
        self.port?.remark(AtPort::LEAST)
    }
}

impl Unit for Etm4 {
    fn element(&mut self, element: &Element, bytes: &mut Vec<u8>) -> Result<(), Nonsense> {
        let told = match &mut self.port {
            Some(port) => port.element(element, bytes),
            None => self.encoder.element(element, bytes),
        };
        told.map_err(|_| Nonsense)
    }

    #[inline]
    fn block(&mut self, block: &Block, bytes: &mut Vec<u8>) -> Result<(), Nonsense> {
        match self.port {
            None => self.encoder.block(block, bytes).map_err(|_| Nonsense),
            Some(_) => self.element(&Element::Block(*block), bytes),
        }
    }

    fn in_run(&self) -> bool {
        self.port.as_ref().map_or(self.encoder.in_run(), |port| port.in_run())
    }

    fn port(&self) -> Option<Report> {
        self.port.as_ref().map(|port| port.report())
    }
}
