//! The capture that a process's trace goes to, in either protocol.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use tracewright_core::{Block, Class, Ended, Isa};
use tracewright_hart::{Sink, Trap};
use tracewright_input::{Mapping, Process};
use tracewright_qemu::format::Target;
use tracewright_qemu::read::{Damage, Definitions, Map, Thread};

use super::counts::Tally;
use crate::output::Error;
use crate::record::{Pair, Protocol};
use crate::{etm, etrace};

/// A capture that is being written.
pub enum Capture {
    Etm(Box<etm::Folder>),
    Etrace(Box<etrace::Folder>),
}

/// What takes what a thread executes: counts it, and encodes it.
pub enum Tracer {
    /// There is no capture.
    None(Tally),
    Etm(Box<Pair<Tally, etm::Tracer>>),
    Etrace(Box<Pair<Tally, Plain>>),
}

/// What a trace came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traced {
    pub bytes: u64,
}

/// A tracer for E-Trace that does not ask for instructions: the log has the code.
pub struct Plain(etrace::Tracer<File>);

impl Sink for Plain {
    #[inline]
    fn block(&mut self, block: &Block) {
        self.0.block(block);
    }

    fn trap(&mut self, trap: &Trap) {
        self.0.trap(trap);
    }

    fn privilege(&mut self, privilege: tracewright_hart::Privilege) {
        self.0.privilege(privilege);
    }

    fn context(&mut self, context: u64) {
        self.0.context(context);
    }

    fn lost(&mut self) {
        self.0.lost();
    }
}

/// The protocol for a processor: the one that is asked for, if it can be.
pub fn protocol(asked: Option<Protocol>, target: Target) -> Result<Protocol, Error> {
    let its_own = match target {
        Target::Aarch64 | Target::Arm => Protocol::Etm4,
        Target::Riscv64 => Protocol::Etrace,
    };
    match asked {
        Some(asked) if asked != its_own => Err(Error::Message(match its_own {
            Protocol::Etm4 => "--protocol etrace is for RISC-V programs; this one is for Arm: etm4".into(),
            Protocol::Etrace => "--protocol etm4 is for Arm programs; this one is for RISC-V: etrace".into(),
        })),
        _ => Ok(its_own),
    }
}

impl Capture {
    /// Makes the folder. `options` are those of the encoder, by name.
    pub fn create(dir: &Path, target: Target, options: &[String], description: &str) -> Result<Self, Error> {
        Ok(match target {
            Target::Aarch64 | Target::Arm => {
                let isa = if target == Target::Aarch64 { Isa::A64 } else { Isa::A32 };
                let settings = etm::Settings::new(isa).with(options)?;
                Self::Etm(Box::new(etm::Folder::create(dir, &settings, description)?))
            }
            Target::Riscv64 => {
                let settings = etrace::Settings::new(Isa::Rv64).with(options)?;
                settings.refuse_data()?;
                Self::Etrace(Box::new(etrace::Folder::create(dir, &settings, description)?))
            }
        })
    }

    /// A thread begins.
    pub fn thread(&mut self, index: u32, tid: u32, tally: Tally) -> Result<Tracer, Error> {
        Ok(match self {
            Self::Etm(folder) => Tracer::Etm(Box::new(Pair(tally, folder.thread(index, tid)?))),
            Self::Etrace(folder) => {
                let mut tracer = folder.thread(&format!("thread{index}"))?;
                tracer.context(tid.into());
                Tracer::Etrace(Box::new(Pair(tally, Plain(tracer))))
            }
        })
    }

    /// Fails if the trace of a thread could not be written: what comes would be lost.
    pub fn check(&self, tracer: &Tracer) -> Result<(), Error> {
        match (self, tracer) {
            (Self::Etm(folder), _) => folder.check(),
            (Self::Etrace(_), Tracer::Etrace(both)) => {
                let written = both.1.0.check();
                written.map_err(|error| Error::Message(format!("the trace cannot be written: {error}")))
            }
            (Self::Etrace(_), _) => Ok(()),
        }
    }

    /// Ends the traces, and adds what was in memory.
    pub fn finish(self, tracers: Vec<Tracer>, definitions: &Definitions, pid: u32) -> Result<Traced, Error> {
        match self {
            Self::Etm(folder) => {
                let tracers = tracers.into_iter().filter_map(|tracer| match tracer {
                    Tracer::Etm(both) => Some(both.1),
                    _ => None,
                });
                let code: Vec<_> = definitions
                    .translations()
                    .iter()
                    .map(|translation| (translation.start, definitions.code(translation)))
                    .collect();
                let code = code.iter().map(|(start, code)| (*start, &code[..]));
                let traced = folder.finish(tracers.collect(), process(definitions, pid), code)?;
                Ok(Traced { bytes: traced.bytes })
            }
            Self::Etrace(folder) => {
                let tracers = tracers.into_iter().filter_map(|tracer| match tracer {
                    Tracer::Etrace(both) => Some(both.1.0),
                    _ => None,
                });
                let programs = etrace::mapped_programs(definitions.maps());
                let (blocks, code) = executed(definitions);
                let halfword = |at| code.get(&at).copied();
                let all = folder.finish(tracers.collect(), &programs, blocks.iter(), halfword)?;
                Ok(Traced { bytes: all.iter().map(|traced| traced.bytes).sum() })
            }
        }
    }
}

/// What was mapped.
fn process(definitions: &Definitions, pid: u32) -> Process {
    let command = definitions.command().first().cloned().unwrap_or_default();
    let mapping = |map: &Map| Mapping {
        start: map.start,
        end: map.end,
        offset: map.offset,
        path: (!map.path.is_empty()).then(|| PathBuf::from(&map.path)),
        build_id: (!map.build_id.is_empty())
            .then(|| map.build_id.iter().map(|byte| format!("{byte:02x}")).collect()),
    };
    Process { pid, command, mappings: definitions.maps().iter().map(mapping).collect() }
}

/// Code that was translated, as blocks, and its half-words; the first that was at an address counts.
fn executed(definitions: &Definitions) -> (Vec<Block>, HashMap<u64, [u8; 2]>) {
    let mut code = HashMap::new();
    let mut blocks = Vec::new();
    for translation in definitions.translations() {
        let bytes = definitions.code(translation);
        for (at, &half) in (translation.start..).step_by(2).zip(bytes.as_chunks().0) {
            code.entry(at).or_insert(half);
        }
        blocks.push(Block {
            start: translation.start,
            end: translation.end,
            count: translation.count,
            isa: translation.isa,
            last_len: 2,
            class: Class::NEXT,
            ended: Ended::NotTaken,
        });
    }
    (blocks, code)
}

impl Tracer {
    /// What comes next runs at this time, in nanoseconds since the beginning.
    pub fn time(&mut self, nanoseconds: u64) {
        if let Self::Etm(both) = self {
            both.1.time(nanoseconds);
        }
    }

    /// Takes a chunk.
    pub fn take(
        &mut self,
        reader: &mut Thread,
        bytes: &[u8],
        definitions: &Definitions,
    ) -> Result<(), Damage> {
        match self {
            Self::None(tally) => reader.take(bytes, definitions, tally),
            Self::Etm(both) => reader.take(bytes, definitions, &mut **both),
            Self::Etrace(both) => reader.take(bytes, definitions, &mut **both),
        }
    }

    /// Nothing more comes of the thread.
    pub fn finish(&mut self, reader: &mut Thread, definitions: &Definitions) {
        match self {
            Self::None(tally) => reader.finish(definitions, tally),
            Self::Etm(both) => reader.finish(definitions, &mut **both),
            Self::Etrace(both) => reader.finish(definitions, &mut **both),
        }
    }

    /// What was counted.
    pub fn tally(&self) -> &Tally {
        match self {
            Self::None(tally) => tally,
            Self::Etm(both) => &both.0,
            Self::Etrace(both) => &both.0,
        }
    }

    /// Bytes of trace so far.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::None(_) => 0,
            Self::Etm(both) => both.1.bytes(),
            Self::Etrace(both) => both.1.0.bytes(),
        }
    }
}
