//! Trace units of the CPUs, from AUXTRACE_INFO: those of CoreSight.

use tracewright_core::TraceId;
use tracewright_etm as etm;

use super::faults::Faults;
use super::header::words;
use super::recording::Recording;
use super::riscv::{self, Riscv};
use crate::Source;
use crate::raw::{ETM_REGISTERS, RawSource};
use crate::source::Protocol;

/// Kinds of trace that perf records (`enum auxtrace_type`).
const KINDS: [(u32, &str); 7] = [
    (1, "Intel PT"),
    (2, "Intel BTS"),
    (3, "CoreSight"),
    (4, "Arm SPE"),
    (5, "IBM Z CPU-MF"),
    (6, "HiSilicon PTT"),
    (7, "PowerPC dispatch"),
];
const CORESIGHT: u32 = 3;

const ETM3: u64 = 0x3030_3030_3030_3030;
const ETM4: u64 = 0x4040_4040_4040_4040;
const ETE: u64 = 0x5050_5050_5050_5050;

const ETM3_REGISTERS: &[&str] = &["ETMCR", "ETMTRACEIDR", "ETMCCER", "ETMIDR"];
const ETM4_REGISTERS: &[&str] =
    &["TRCCONFIGR", "TRCTRACEIDR", "TRCIDR0", "TRCIDR1", "TRCIDR2", "TRCIDR8", "TRCAUTHSTATUS", "TS_SOURCE"];
const ETE_REGISTERS: &[&str] = &[
    "TRCCONFIGR",
    "TRCTRACEIDR",
    "TRCIDR0",
    "TRCIDR1",
    "TRCIDR2",
    "TRCIDR8",
    "TRCAUTHSTATUS",
    "TRCDEVARCH",
    "TS_SOURCE",
];

/// Trace unit of a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub cpu: u32,
    kind: u64,
    registers: Vec<(&'static str, u64)>,
}

impl Unit {
    fn register(&self, name: &str) -> Option<u64> {
        self.registers.iter().find(|(register, _)| *register == name).map(|&(_, value)| value)
    }

    /// Returns the trace ID in its registers. Kernels that assign IDs when tracing begins use another one in
    /// the trace.
    pub fn id(&self) -> Option<TraceId> {
        let value = self.register(if self.kind == ETM3 { "ETMTRACEIDR" } else { "TRCTRACEIDR" })?;
        // Bit 7 says that the ID is not in use.
        let id = TraceId::from_low_bits(value as u8);
        (value & 0x80 == 0 && (0x01..=0x6f).contains(&id.get())).then_some(id)
    }

    /// Returns whether its timestamps use the counter of the recorder's clock (the virtual one, by FEAT_TRF).
    pub fn has_virtual_time(&self) -> bool {
        self.register("TS_SOURCE") == Some(1)
    }

    /// Returns the source of this unit, with the ID in its trace.
    pub fn source(&self, id: Option<TraceId>) -> Result<Source, String> {
        let id = id.map_or(0, TraceId::get);
        let mut registers = self.registers.clone();
        for (name, value) in &mut registers {
            if matches!(*name, "TRCTRACEIDR" | "ETMTRACEIDR") {
                *value = id.into();
            }
        }
        let protocol = match self.protocol() {
            Some(protocol) => {
                let mut etm = etm::Registers { protocol, ..etm::Registers::default() };
                for register in ETM_REGISTERS {
                    if let Some((_, value)) = registers.iter().find(|(name, _)| *name == register.name) {
                        *(register.field)(&mut etm) = *value as u32;
                    }
                }
                Protocol::Etm(etm::Params::new(&etm).map_err(|error| error.to_string())?.into())
            }
            None => {
                let is_ptm = self.register("ETMIDR").is_some_and(|value| value >> 8 & 0xf == 3);
                let name = if is_ptm { "PTM" } else { "ETMv3" };
                Protocol::Unsupported(name.into(), Some(TraceId::from_low_bits(id)))
            }
        };
        let registers = registers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Ok(Source { registers, ..Source::new(format!("cpu{}", self.cpu), protocol) })
    }

    /// Returns ETMv4 or ETE; `None` for an older protocol.
    fn protocol(&self) -> Option<etm::Protocol> {
        // simpleperf marks every unit as an ETE whose TRCDEVARCH it can read, so its ARCHID decides.
        let is_etm4 = || self.register("TRCDEVARCH").is_some_and(|value| value & 0xffff == 0x4a13);
        match self.kind {
            ETM3 => None,
            ETE if !is_etm4() => Some(etm::Protocol::Ete),
            _ => Some(etm::Protocol::Etm4),
        }
    }
}

/// Trace units of a recording.
#[derive(Clone, Debug)]
pub(super) enum Units {
    /// CoreSight's, of each CPU; none if nothing describes them, or if they are of an unknown kind.
    CoreSight(Vec<Unit>),
    /// Encoders of RISC-V harts.
    Riscv(Riscv),
}

impl Units {
    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::CoreSight(units) if units.is_empty())
    }

    /// Returns whether trace is in frames, by the format in the flags of its AUX record.
    pub fn is_framed(&self, format: u8) -> bool {
        match self {
            Self::CoreSight(_) => format == 0,
            Self::Riscv(riscv) => riscv.is_framed(),
        }
    }

    /// Returns whether the format in the flags of an AUX record is known.
    pub fn is_known(&self, format: u8) -> bool {
        format <= if matches!(self, Self::Riscv(_)) { 2 } else { 1 }
    }

    /// Reads what the recording says of them. `given` is what the user says of sources.
    pub fn of(recording: &Recording<'_>, given: &[RawSource], faults: &mut Faults) -> Self {
        let Some(body) = recording.info else { return Self::CoreSight(Vec::new()) };
        let Some((head, rest)) = body.split_first_chunk::<8>() else {
            faults.error("its description of trace units is cut off");
            return Self::CoreSight(Vec::new());
        };
        let kind = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        if kind == CORESIGHT {
            return Self::CoreSight(read(rest, faults));
        }
        match riscv::is_meant(kind, rest, &recording.features) {
            Some(true) => return Self::Riscv(riscv::read(rest, &recording.features, faults)),
            // Who describes RISC-V encoders knows.
            None if !given.is_empty() => return Self::Riscv(riscv::read(rest, &recording.features, faults)),
            None => faults.error(
                "holds PowerPC's dispatch trace log or RISC-V trace, and neither names the machine nor the unit that recorded it: if \
                 it is RISC-V's, describe the encoders with --source ntrace,... or --source etrace,...",
            ),
            Some(false) => {
                let name = KINDS.iter().find(|(number, _)| *number == kind);
                let name =
                    name.map_or(format!("trace of unknown kind {kind}"), |(_, name)| format!("{name} trace"));
                faults.error(format!("holds {name}: only CoreSight and RISC-V trace can be read"));
            }
        }
        Self::CoreSight(Vec::new())
    }
}

fn read(body: &[u8], faults: &mut Faults) -> Vec<Unit> {
    let words = words(body);
    let [version, count, _snapshot, blocks @ ..] = &words[..] else {
        faults.error("its description of trace units is cut off");
        return Vec::new();
    };
    if *version > 2 {
        faults.warning(format!("trace units are described in version {version}; 0 to 2 are known"));
    }
    let mut blocks = blocks;
    let mut units = Vec::new();
    for _ in 0..*count as u32 {
        let Some((unit, rest)) = block(blocks, *version) else {
            let told = *count as u32;
            faults.error(format!("describes {} of {told} trace units: the rest cannot be read", units.len()));
            break;
        };
        blocks = rest;
        units.push(unit);
    }
    units
}

/// Returns the unit described by the first words, and the remaining words.
fn block(words: &[u64], version: u64) -> Option<(Unit, &[u64])> {
    let (&[kind, cpu], rest) = words.split_first_chunk()?;
    let names = match kind {
        ETM3 => ETM3_REGISTERS,
        ETM4 => ETM4_REGISTERS,
        ETE => ETE_REGISTERS,
        _ => return None,
    };
    let (count, rest) = match version {
        0 if kind == ETM3 => (4, rest),
        0 => (7, rest),
        _ => rest.split_first().map(|(count, rest)| (*count, rest))?,
    };
    // Unknown words are skipped.
    let (values, rest) = rest.split_at_checked(usize::try_from(count).ok()?)?;
    let registers = names.iter().copied().zip(values.iter().copied()).collect();
    Some((Unit { cpu: cpu as u32, kind, registers }, rest))
}
