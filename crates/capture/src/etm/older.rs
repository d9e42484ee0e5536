//! A PTM or ETMv3 for each thread: the trace units of 32-bit cores.

use std::marker::PhantomData;
use std::num::NonZero;

use tracewright_core::{Element, TraceId};
use tracewright_coresight::shared::exception;
use tracewright_coresight::{etm3, ptm};
use tracewright_input::CoreKind;

use super::unit::{Device, Nonsense, Unit, UnitSettings};
use crate::{Error, options};

/// Options of the older trace units that are switched on in ETMCR: name, default, bit, meaning.
type Switch = (&'static str, bool, u32, &'static str);

const RETURN_STACK: Switch = ("return_stack", true, 29, "returns to where calls were have no address");
const BRANCH_BROADCAST: Switch = ("branch_broadcast", false, 8, "each taken branch has its target's address");
const TIMESTAMPS: Switch = ("timestamps", false, 28, "times, in nanoseconds since it began");

/// Context IDs of 32 bits, in ETMCR.
const CONTEXT_IDS: u32 = 3 << 14;

/// A protocol of older trace units.
pub trait Older: Clone + Send + 'static {
    /// Its encoder.
    type Unit: Unit;
    /// Its name in messages.
    const NAME: &'static str;
    /// The core that has such a trace unit, unless another is named.
    const CORE: &'static str;
    /// Options in ETMCR.
    const SWITCHES: &'static [Switch];
    /// Creates a trace unit with this ETMCR.
    fn device(etmcr: u32, id: TraceId, sync_every: Option<NonZero<u32>>)
    -> Result<Device<Self::Unit>, Error>;
}

/// PTM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ptm;

/// ETMv3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Etm3;

/// Settings of an older trace unit, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings<P> {
    /// The core's type, as snapshots name it.
    core: String,
    etmcr: u32,
    /// Bytes from one synchronisation point to the next; 0 for one at the start only.
    sync: u32,
    protocol: PhantomData<P>,
}

impl<P: Older> Settings<P> {
    /// Returns the default settings.
    pub fn new() -> Self {
        let of = |&(_, is_on, bit, _): &Switch| u32::from(is_on) << bit;
        let etmcr = P::SWITCHES.iter().map(of).fold(CONTEXT_IDS, |all, bit| all | bit);
        Self { core: P::CORE.into(), etmcr, sync: 1024, protocol: PhantomData }
    }

    /// Sets options, each given as `name=value`.
    pub fn with(mut self, pairs: &[String]) -> Result<Self, Error> {
        for (name, value) in options::pairs(pairs)? {
            self.put(name, value)?;
        }
        Ok(self)
    }

    fn put(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let expected = |what: &str| Error::option(format!("{name}={value}: expected {what}"));
        let switch = |bits: u32| match options::flag(value) {
            Some(true) => Ok(self.etmcr | bits),
            Some(false) => Ok(self.etmcr & !bits),
            None => Err(expected("on or off")),
        };
        match name {
            "core" => {
                CoreKind::of(value).ok_or_else(|| expected("a name like Cortex-A9 or ARMv7-A"))?;
                self.core = value.into();
            }
            "context_id" => self.etmcr = switch(CONTEXT_IDS)?,
            "sync" => {
                let bytes = value.parse().ok().filter(|bytes| *bytes == 0 || *bytes >= 64);
                self.sync = bytes.ok_or_else(|| expected("a number of bytes, 0 or from 64 on"))?;
            }
            _ => match P::SWITCHES.iter().find(|switch| switch.0 == name) {
                Some((_, _, bit, _)) => self.etmcr = switch(1 << bit)?,
                None => return Err(Error::UnknownOption { name: name.into(), protocol: P::NAME }),
            },
        }
        Ok(())
    }

    /// Returns all options with their defaults and meanings, in 80 columns.
    pub fn help() -> String {
        let mut text = format!("Options of {} (NAME=VALUE; default; meaning)\n\n", P::NAME);
        let mut line = |name, default, meaning| text += &format!("  {name:<18}{default:<12}{meaning}\n");
        line("core", P::CORE, "the core's type");
        line("context_id", "on", "contexts tell Linux's number of the thread");
        for &(name, is_on, _, meaning) in P::SWITCHES {
            line(name, if is_on { "on" } else { "off" }, meaning);
        }
        line("sync", "1024", "bytes between synchronisation points; 0: one");
        text
    }
}

impl<P: Older> UnitSettings for Settings<P> {
    type Unit = P::Unit;

    const NAME: &'static str = P::NAME;

    fn core(&self) -> &str {
        &self.core
    }

    fn is_64bit(&self) -> bool {
        false
    }

    fn device(&self, id: TraceId) -> Result<Device<P::Unit>, Error> {
        P::device(self.etmcr, id, NonZero::new(self.sync))
    }
}

fn registers(etmcr: u32, etmidr: u32, etmccer: u32, id: u32) -> Vec<(&'static str, u64)> {
    let named = [("ETMCR", etmcr), ("ETMIDR", etmidr), ("ETMCCER", etmccer), ("ETMTRACEIDR", id)];
    named.map(|(name, value)| (name, value.into())).to_vec()
}

impl Older for Ptm {
    type Unit = ptm::encode::Encoder;

    const NAME: &'static str = "PTM";
    const CORE: &'static str = "Cortex-A15";
    const SWITCHES: &'static [Switch] = &[RETURN_STACK, BRANCH_BROADCAST, TIMESTAMPS];

    fn device(
        etmcr: u32,
        id: TraceId,
        sync_every: Option<NonZero<u32>>,
    ) -> Result<Device<Self::Unit>, Error> {
        let etmtraceidr = id.get().into();
        let of = ptm::Registers { etmcr, etmtraceidr, ..ptm::Registers::default() };
        let params = ptm::Params::new(&of).map_err(|error| Error::Encoder(error.to_string()))?;
        let options = ptm::encode::Options { sync_every, ..ptm::encode::Options::default() };
        let registers = registers(etmcr, of.etmidr, of.etmccer, etmtraceidr);
        Ok(Device { kind: "PTM1.1", registers, unit: ptm::encode::Encoder::new(params, options) })
    }
}

impl Unit for ptm::encode::Encoder {
    const TELLS_LAST: bool = true;

    fn element(&mut self, element: &Element, bytes: &mut Vec<u8>) -> Result<(), Nonsense> {
        self.element(element, bytes).map_err(|_| Nonsense)
    }

    fn exception(&self, number: u16) -> u16 {
        exception::of_etmv4(number)
    }
}

impl Older for Etm3 {
    type Unit = etm3::encode::Encoder;

    const NAME: &'static str = "ETMv3";
    const CORE: &'static str = "Cortex-A7";
    const SWITCHES: &'static [Switch] = &[BRANCH_BROADCAST, TIMESTAMPS];

    fn device(
        etmcr: u32,
        id: TraceId,
        sync_every: Option<NonZero<u32>>,
    ) -> Result<Device<Self::Unit>, Error> {
        let etmtraceidr = id.get().into();
        let of = etm3::Registers { etmcr, etmtraceidr, ..etm3::Registers::default() };
        let unit =
            etm3::encode::Encoder::new(&of, etm3::encode::Options { sync_every, ..Default::default() })
                .map_err(|error| Error::Encoder(error.to_string()))?;
        let registers = registers(etmcr, of.etmidr, of.etmccer, etmtraceidr);
        Ok(Device { kind: "ETM3.5", registers, unit })
    }
}

impl Unit for etm3::encode::Encoder {
    fn element(&mut self, element: &Element, bytes: &mut Vec<u8>) -> Result<(), Nonsense> {
        self.element(element, bytes).map_err(|_| Nonsense)
    }

    fn exception(&self, number: u16) -> u16 {
        exception::of_etmv4(number)
    }
}
