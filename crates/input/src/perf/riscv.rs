//! Trace units of RISC-V harts, from AUXTRACE_INFO, and their sources.
//!
//! There are two layouts. That of the kernel's mailing list (`rvtrace`, later `gtrace`) names nothing but the recorder's unit, so that
//! encoders must be described by the user; trace is as the encoder sent it. SpacemiT's has registers of each encoder; trace is N-Trace
//! in CoreSight frames.

use std::any::Any;
use std::collections::{BTreeSet, HashMap};

use tracewright_core::Isa;
use tracewright_etrace::stream::Encapsulation;
use tracewright_ntrace::{Dialect, Params};

use super::buffers::Sources;
use super::faults::Faults;
use super::features::Features;
use super::header::words;
use crate::ntrace::NtraceSource;
use crate::raw::RawSource;
use crate::source::{Protocol, Source};

/// Number of the layouts in AUXTRACE_INFO; the older one is also PowerPC's.
pub(super) const OLD: u32 = 7;
pub(super) const NEW: u32 = 8;

/// Formats in the flags of AUX records, of kernels that tell them.
const ETRACE: u8 = 1;
const NTRACE: u8 = 2;

/// Names of an encoder's values in SpacemiT's layout, in order.
const REGISTERS: [&str; 5] = ["FORMAT", "CONTEXT", "INHB_SRC", "SRCBITS", "SRCID"];

/// What a recording says of the encoders of RISC-V harts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Riscv {
    /// Instruction set, if the machine is known.
    isa: Option<Isa>,
    /// Name of the recorder's unit, if known.
    unit: Option<String>,
    /// Encoders in SpacemiT's layout.
    encoders: Option<Vec<Encoder>>,
}

/// Encoder of a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Encoder {
    cpu: u32,
    registers: Vec<(&'static str, u64)>,
}

impl Encoder {
    fn register(&self, name: &str) -> u64 {
        self.registers.iter().find(|(register, _)| *register == name).map_or(0, |&(_, value)| value)
    }

    /// Returns the width of SRC in messages.
    fn src_bits(&self) -> u64 {
        if self.register("INHB_SRC") != 0 { 0 } else { self.register("SRCBITS") }
    }
}

/// Returns whether a description of this kind is of RISC-V trace; `None` if nothing tells.
pub(super) fn is_meant(kind: u32, body: &[u8], features: &Features<'_>) -> Option<bool> {
    if !matches!(kind, OLD | NEW) {
        return Some(false);
    }
    if let Some(arch) = &features.arch {
        return Some(arch.starts_with("riscv"));
    }
    match unit_name(body, features) {
        Some(name) => Some(["rvtrace", "gtrace"].iter().any(|known| name.starts_with(known))),
        None => (kind == NEW).then_some(true),
    }
}

/// Returns the name of the recorder's unit.
fn unit_name<'f>(body: &[u8], features: &'f Features<'_>) -> Option<&'f str> {
    let all = words(body);
    let number = match all[..] {
        [only] => only,
        [first, ..] => first >> 32,
        [] => return None,
    };
    let found = features.units.iter().find(|(known, _)| u64::from(*known) == number);
    found.map(|(_, name)| name.as_str())
}

/// Reads a description without its kind.
pub(super) fn read(body: &[u8], features: &Features<'_>, faults: &mut Faults) -> Riscv {
    let isa = match features.arch.as_deref() {
        Some("riscv32") => Some(Isa::Rv32),
        Some(arch) if arch.starts_with("riscv") => Some(Isa::Rv64),
        _ => None,
    };
    let unit = unit_name(body, features).map(str::to_owned);
    let all = words(body);
    let encoders = match &all[..] {
        [] => {
            faults.error("its description of trace units is cut off");
            None
        }
        [_] => None,
        [first, blocks @ ..] => Some(encoders(*first as u32, blocks, faults)),
    };
    Riscv { isa, unit, encoders }
}

fn encoders(count: u32, mut words: &[u64], faults: &mut Faults) -> Vec<Encoder> {
    let mut encoders: Vec<Encoder> = Vec::new();
    for _ in 0..count {
        let block = words.split_first_chunk().and_then(|(&[cpu, len], rest)| {
            let (values, rest) = rest.split_at_checked(usize::try_from(len).ok()?)?;
            // Unknown values are skipped.
            let registers = REGISTERS.into_iter().zip(values.iter().copied()).collect();
            Some((Encoder { cpu: u32::try_from(cpu).ok()?, registers }, rest))
        });
        let Some((encoder, rest)) = block else {
            faults.error(format!(
                "describes {} of {count} trace units: the rest cannot be read",
                encoders.len()
            ));
            break;
        };
        words = rest;
        if encoders.iter().any(|other| other.cpu == encoder.cpu) {
            faults.warning(format!("cpu{} is described twice: the first description counts", encoder.cpu));
        } else {
            encoders.push(encoder);
        }
    }
    encoders
}

impl Riscv {
    /// Returns whether trace is in frames.
    pub fn is_framed(&self) -> bool {
        self.encoders.is_some()
    }

    /// Returns whether messages of several CPUs are in one stream, which name their source.
    pub fn shares_stream(&self) -> bool {
        self.encoders.iter().flatten().any(|encoder| encoder.src_bits() > 0)
    }

    /// Makes the sources of all CPUs. `cpus` have trace, in `formats` as AUX records tell; `given` are what the user says of encoders.
    pub fn sources(
        &self,
        cpus: &BTreeSet<u32>,
        formats: &BTreeSet<u8>,
        given: &[RawSource],
        faults: &mut Faults,
    ) -> Sources {
        let mut found = match &self.encoders {
            None => self.described(cpus, formats, given, faults),
            Some(encoders) => self.registered(encoders, given, faults),
        };
        found.sort_by_key(|(cpu, _)| *cpu);
        let by_cpu: HashMap<u32, usize> = found.iter().map(|(cpu, _)| *cpu).zip(0..).collect();
        (found.into_iter().map(|(_, source)| (source, None)).collect(), by_cpu)
    }

    /// Makes sources of what the user says.
    fn described(
        &self,
        cpus: &BTreeSet<u32>,
        formats: &BTreeSet<u8>,
        given: &[RawSource],
        faults: &mut Faults,
    ) -> Vec<(u32, Source)> {
        let unknown = || {
            let name = format_name(formats);
            cpus.iter().map(|&cpu| (cpu, unsupported(cpu, name))).collect()
        };
        if given.is_empty() {
            if !cpus.is_empty() {
                faults.error(self.missing(cpus, formats));
            }
            return unknown();
        }
        if let Err(why) = check(given, formats) {
            faults.error(why);
            return unknown();
        }
        let mut found = Vec::new();
        for &cpu in cpus {
            let own = match given {
                [only] => Some(only),
                several => several.iter().find(|source| u64::from(number(source)) == u64::from(cpu)),
            };
            let source = match own {
                Some(source) => of_cpu(source, cpu, given.len() > 1),
                None => {
                    Err(format!("no --source has id={cpu}, as several are given: its trace cannot be read"))
                }
            };
            let named = |protocol| Source::new(format!("cpu{cpu}"), protocol);
            found.push((
                cpu,
                source.map(named).unwrap_or_else(|why| {
                    faults.error(format!("cpu{cpu}: {why}"));
                    unsupported(cpu, format_name(formats))
                }),
            ));
        }
        found
    }

    /// Returns what the user must say.
    fn missing(&self, cpus: &BTreeSet<u32>, formats: &BTreeSet<u8>) -> String {
        let isa = match self.isa {
            Some(Isa::Rv32) => "isa=rv32",
            Some(_) => "isa=rv64",
            None => "isa=rv64 (or rv32)",
        };
        let ntrace = format!(
            "--source ntrace,{isa} with src_bits and mode (register trTeControl), implicit_return, sequential_jump, all_jumps and \
             extend_addr_msb (trTeInstFeatures)"
        );
        let etrace = format!(
            "--source etrace,{isa},encapsulation=smi (or standard, pulp) with the encoder's parameters (iaddress_width, context_width, \
             nocontext, notime, ...)"
        );
        let (what, how) = match (formats.contains(&ETRACE), formats.contains(&NTRACE)) {
            (true, false) => ("E-Trace", format!("say it with {etrace}")),
            (false, true) => ("N-Trace", format!("say it with {ntrace}")),
            _ => ("RISC-V trace", format!("say which it is, and how: {ntrace}; or {etrace}")),
        };
        let of = match cpus.len() {
            1 => "one CPU".to_owned(),
            count => format!("{count} CPUs"),
        };
        let by = self.unit.as_ref().map_or(String::new(), |name| format!(", recorded by {name}"));
        format!(
            "holds {what} of {of}{by}, and does not say how the encoders were set up: {how}. One --source is for all CPUs; of several, \
             each is for the CPU that its id names"
        )
    }

    /// Makes sources of the registers in SpacemiT's layout.
    fn registered(
        &self,
        encoders: &[Encoder],
        given: &[RawSource],
        faults: &mut Faults,
    ) -> Vec<(u32, Source)> {
        if given.len() > 1 {
            faults.error(
                "several --source: it says itself which CPUs there are, so that one is for all of them",
            );
        }
        let base = match given.first().map(|source| (source, ntrace(source))) {
            None => None,
            Some((_, Some(source))) => Some(source.clone()),
            Some((_, None)) => {
                faults.error("--source is not of N-Trace, which it holds: not used");
                None
            }
        };
        let base = base.unwrap_or_else(|| NtraceSource {
            params: Params::default(),
            isa: self.isa.unwrap_or(Isa::Rv64),
            id: 0,
            src: None,
            sram: None,
        });
        let bits = encoders.iter().map(Encoder::src_bits).max().unwrap_or(0);
        let mut found: Vec<(u32, Source)> = Vec::new();
        let mut numbers = BTreeSet::new();
        for encoder in encoders {
            let cpu = encoder.cpu;
            let wrong = match encoder.register("FORMAT") {
                1 if encoder.src_bits() != bits => {
                    Some("its messages have another width of SRC than others".to_owned())
                }
                1 if bits > 12 => Some(format!("SRC has {bits} bits, and 12 at most are possible")),
                1 if bits > 0 && encoder.register("SRCID") >> bits != 0 => {
                    Some(format!("SRC {} does not fit into {bits} bits", encoder.register("SRCID")))
                }
                1 if bits > 0 && !numbers.insert(encoder.register("SRCID")) => {
                    Some(format!("another CPU has the same SRC, {}", encoder.register("SRCID")))
                }
                1 => None,
                0 => Some("E-Trace in CoreSight frames is not supported".to_owned()),
                format => Some(format!("its trace has the unknown format {format}")),
            };
            let registers = encoder.registers.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
            let source = match wrong {
                Some(why) => {
                    faults.error(format!("cpu{cpu}: {why}: its trace cannot be read"));
                    unsupported(cpu, if encoder.register("FORMAT") == 0 { "E-Trace" } else { "N-Trace" })
                }
                None => {
                    let mut own = base.clone();
                    own.params.src_bits = bits as u8;
                    if own.params.dialect == Dialect::Standard {
                        own.params.dialect = Dialect::Spacemit;
                    }
                    // Without SRC there is no other number.
                    own.id = if bits > 0 { encoder.register("SRCID") as u16 } else { (cpu & 0x7f) as u16 };
                    own.src = None;
                    Source::new(format!("cpu{cpu}"), own.into())
                }
            };
            found.push((cpu, Source { registers, ..source }));
        }
        found
    }
}

/// Returns a source that cannot be read.
fn unsupported(cpu: u32, name: &str) -> Source {
    Source::new(format!("cpu{cpu}"), Protocol::Unsupported(name.into(), None))
}

fn format_name(formats: &BTreeSet<u8>) -> &'static str {
    match (formats.contains(&ETRACE), formats.contains(&NTRACE)) {
        (true, false) => "E-Trace",
        (false, true) => "N-Trace",
        _ => "RISC-V trace",
    }
}

/// Returns the description as one of N-Trace.
fn ntrace(source: &RawSource) -> Option<&NtraceSource> {
    match source {
        RawSource::Registered(params) => (&**params as &dyn Any).downcast_ref(),
        _ => None,
    }
}

/// Returns the number that a description has.
fn number(source: &RawSource) -> u16 {
    match source {
        RawSource::Etrace(source) => source.source,
        RawSource::Registered(params) => params.id(),
        RawSource::Etm(source) => source.params.id().get().into(),
    }
}

/// Checks that descriptions are of protocols that such a recording can have, and does have as its records tell.
fn check(given: &[RawSource], formats: &BTreeSet<u8>) -> Result<(), String> {
    for source in given {
        let (name, format) = match source {
            RawSource::Etrace(_) => ("etrace", ETRACE),
            _ if ntrace(source).is_some() => ("ntrace", NTRACE),
            _ => return Err("holds RISC-V trace: --source must be ntrace or etrace".into()),
        };
        let told = formats.iter().any(|told| matches!(*told, ETRACE | NTRACE));
        if told && !formats.contains(&format) {
            return Err(format!(
                "holds {}, as AUX records tell: --source {name} does not fit",
                format_name(formats)
            ));
        }
    }
    Ok(())
}

/// Returns the source of a CPU that a description is for. Several descriptions have the CPU's number as their ID.
fn of_cpu(source: &RawSource, cpu: u32, is_own: bool) -> Result<Protocol, String> {
    let id = u16::try_from(cpu).ok().filter(|id| *id < 1 << 12);
    let id = id.ok_or("its number is above 4095: its trace cannot be read")?;
    match (source, ntrace(source)) {
        (RawSource::Etrace(source), _) => {
            let mut own = source.clone();
            own.source = match own.config.encapsulation {
                Encapsulation::Standard { source_bits: 0, .. } => 0,
                Encapsulation::Standard { .. } if !is_own => id,
                _ => own.source,
            };
            Ok(Protocol::Etrace(own))
        }
        (_, Some(source)) => {
            // Drivers that set SRC set it to the CPU's number.
            let bits = source.params.src_bits;
            let src = source.src.or((bits > 0).then(|| id & ((1 << bits) - 1)));
            Ok(NtraceSource { id, src, ..source.clone() }.into())
        }
        _ => Err("--source must be ntrace or etrace".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn features(arch: Option<&str>, unit: Option<(u32, &str)>) -> Features<'static> {
        Features {
            arch: arch.map(Into::into),
            units: unit.into_iter().map(|(number, name)| (number, name.into())).collect(),
            ..Features::default()
        }
    }

    /// Kind 7 is also that of PowerPC's dispatch trace log.
    #[test]
    fn kinds_are_told_apart_by_machine_or_unit() {
        let mainline = body(&[12]);
        let is = |kind, arch, unit| is_meant(kind, &mainline, &features(arch, unit));
        assert_eq!(is(OLD, Some("riscv64"), None), Some(true));
        assert_eq!(is(OLD, Some("ppc64le"), None), Some(false));
        assert_eq!(is(NEW, Some("aarch64"), None), Some(false));
        assert_eq!(is(OLD, None, Some((12, "rvtrace"))), Some(true));
        assert_eq!(is(OLD, None, Some((12, "vpa_dtl"))), Some(false));
        assert_eq!(is(OLD, None, Some((11, "rvtrace"))), None, "another unit's name");
        assert_eq!(is(OLD, None, None), None);
        assert_eq!(is(NEW, None, None), Some(true));
        assert_eq!(is(3, Some("riscv64"), None), Some(false));
        let spacemit = body(&[12 << 32 | 1, 0, 5, 1, 1, 0, 3, 0]);
        assert_eq!(is_meant(OLD, &spacemit, &features(None, Some((12, "rvtrace")))), Some(true));
    }

    #[test]
    fn spacemits_words_are_as_many_as_they_say() {
        let read = |words: &[u64]| {
            let mut faults = Faults::default();
            let riscv = read(&body(words), &features(Some("riscv64"), None), &mut faults);
            (
                riscv.encoders.map(|all| all.iter().map(|one| one.cpu).collect::<Vec<_>>()),
                faults.problems("x".as_ref()).count(),
            )
        };
        assert_eq!(read(&[12]), (None, 0));
        assert_eq!(read(&[]), (None, 1));
        let two = [0xc_0000_0002, 0, 5, 1, 1, 0, 3, 0, 1, 5, 1, 1, 0, 3, 1];
        assert_eq!(read(&two), (Some(vec![0, 1]), 0));
        // A newer recorder tells more of each.
        assert_eq!(read(&[2, 0, 6, 1, 1, 0, 3, 0, 99, 1, 6, 1, 1, 0, 3, 1, 99]), (Some(vec![0, 1]), 0));
        assert_eq!(read(&two[..14]), (Some(vec![0]), 1));
        assert_eq!(read(&[u64::MAX, 0, u64::MAX]), (Some(vec![]), 1));
        assert_eq!(read(&[2, 3, 5, 1, 1, 0, 3, 0, 3, 5, 1, 1, 0, 3, 1]), (Some(vec![3]), 1));
    }
}
