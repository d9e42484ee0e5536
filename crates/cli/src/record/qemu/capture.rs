//! The capture that a process's trace goes to, in either protocol.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tracewright_core::Isa;
use tracewright_core::control::Plan;
use tracewright_hart::Controlled;
use tracewright_qemu::format::{Header, Target};
use tracewright_qemu::read::{Damage, Definitions, Map, Thread};

use super::counts::Tally;
use crate::control::{Asked, Qualified};
use crate::output::Error;
use crate::record::{Pair, Protocol};
use crate::{etm, etrace, retirement};

/// A capture that is being written.
pub struct Capture {
    folder: Folder,
    dir: PathBuf,
    ballast: Ballast,
    /// What is traced, if not all; and what that means for the program, once it is known where that is.
    control: Option<Asked>,
    plan: Option<Plan>,
}

/// Where it is written.
enum Folder {
    Etm(Box<etm::Folder>),
    Etrace(Box<etrace::Folder>),
}

/// A file that only takes up room: when the disk is full, it makes way for what a capture needs besides the trace.
struct Ballast(PathBuf);

const BALLAST: usize = 8 << 20;

impl Ballast {
    fn new(dir: &Path) -> io::Result<Self> {
        let ballast = Self(dir.join("room.tmp"));
        fs::write(&ballast.0, vec![0; BALLAST])?;
        Ok(ballast)
    }
}

impl Drop for Ballast {
    fn drop(&mut self) {
        // It is in nobody's way.
        let _ = fs::remove_file(&self.0);
    }
}

/// What takes what a thread executes: counts it, and encodes it.
pub enum Tracer {
    /// There is no capture.
    None(Tally),
    Etm(Box<Pair<Tally, etm::Tracer>>),
    /// With the file it is written to.
    Etrace(Box<Pair<Tally, etrace::WithoutCode<etrace::TraceFile>>>, PathBuf),
    /// Those of which not all is traced.
    ControlledEtm(Box<Pair<Tally, Controlled<etm::Tracer>>>),
    ControlledEtrace(Box<Pair<Tally, Controlled<etrace::WithoutCode<etrace::TraceFile>>>>, PathBuf),
}

/// What a trace came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traced {
    pub bytes: u64,
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
    pub fn create(
        dir: &Path,
        target: Target,
        options: &[String],
        control: Option<Asked>,
        description: &str,
    ) -> Result<Self, Error> {
        let folder = match target {
            Target::Aarch64 | Target::Arm => {
                let isa = if target == Target::Aarch64 { Isa::A64 } else { Isa::A32 };
                let settings = etm::Settings::new(isa).with(options)?;
                Folder::Etm(Box::new(etm::Folder::create(dir, &settings, description)?))
            }
            Target::Riscv64 => {
                let settings = etrace::Settings::new(Isa::Rv64).with(options)?;
                settings.refuse_data()?;
                Folder::Etrace(Box::new(etrace::Folder::create(dir, &settings, description)?))
            }
        };
        let ballast = Ballast::new(dir).map_err(|error| {
            Error::Message(format!(
                "{}: cannot write {} MiB, which is the least: {error}",
                dir.display(),
                BALLAST >> 20
            ))
        })?;
        Ok(Self { folder, dir: dir.to_owned(), ballast, control, plan: None })
    }

    /// A thread begins, in a process that has these files mapped by now.
    pub fn thread(&mut self, index: u32, tid: u32, tally: Tally, maps: &[Map]) -> Result<Tracer, Error> {
        if let (Some(asked), None) = (&self.control, &self.plan) {
            self.plan = Some(asked.plan(&retirement::symbols(maps))?);
        }
        let control = self.control.as_ref().zip(self.plan.as_ref());
        Ok(match (&mut self.folder, control) {
            (Folder::Etm(folder), None) => Tracer::Etm(Box::new(Pair(tally, folder.thread(index, tid)?))),
            (Folder::Etm(folder), Some((asked, plan))) => {
                let tracer = asked.controlled(plan, folder.thread(index, tid)?).with_thread(index.into());
                Tracer::ControlledEtm(Box::new(Pair(tally, tracer)))
            }
            (Folder::Etrace(folder), control) => {
                let tracer = etrace::WithoutCode(folder.thread(&retirement::source_name(index))?);
                let path = self.dir.join(format!("{}.bin", retirement::source_name(index)));
                match control {
                    None => Tracer::Etrace(Box::new(Pair(tally, tracer)), path),
                    Some((asked, plan)) => {
                        let tracer = asked.controlled(plan, tracer).with_thread(index.into());
                        Tracer::ControlledEtrace(Box::new(Pair(tally, tracer)), path)
                    }
                }
            }
        })
    }

    /// Fails if the trace of a thread could not be written: what comes would be lost.
    pub fn check(&self, tracer: &Tracer) -> Result<(), Error> {
        match (&self.folder, tracer) {
            (Folder::Etm(folder), _) => folder.check(),
            (Folder::Etrace(_), Tracer::Etrace(both, path)) => written(&both.1.0, path),
            (Folder::Etrace(_), Tracer::ControlledEtrace(both, path)) => written(&both.1.inner.0, path),
            (Folder::Etrace(_), _) => Ok(()),
        }
    }

    /// Ends the traces, and adds what was in memory.
    pub fn finish(
        self,
        tracers: Vec<Tracer>,
        header: &Header,
        definitions: &Definitions,
    ) -> Result<Traced, Error> {
        let Self { folder, ballast, control, .. } = self;
        drop(ballast);
        if let Some(asked) = &control {
            let mut all = Qualified::default();
            tracers.iter().filter_map(Tracer::qualified).for_each(|qualified| all.add(&qualified));
            all.warn(asked);
        }
        match folder {
            Folder::Etm(folder) => {
                let tracers = tracers.into_iter().filter_map(|tracer| match tracer {
                    Tracer::Etm(both) => Some(both.1),
                    Tracer::ControlledEtm(both) => Some(both.1.inner),
                    _ => None,
                });
                let code: Vec<_> = definitions
                    .translations()
                    .iter()
                    .map(|translation| (translation.start, definitions.code(translation)))
                    .collect();
                let code = code.iter().map(|(start, code)| (*start, &code[..]));
                let traced =
                    folder.finish(tracers.collect(), retirement::process(header, definitions), code)?;
                Ok(Traced { bytes: traced.bytes })
            }
            Folder::Etrace(folder) => {
                let tracers = tracers.into_iter().filter_map(|tracer| match tracer {
                    Tracer::Etrace(both, _) => Some(both.1.0),
                    Tracer::ControlledEtrace(both, _) => Some(both.1.inner.0),
                    _ => None,
                });
                let programs = retirement::programs(definitions.maps());
                let blocks: Vec<_> = retirement::translated(definitions).collect();
                let code = retirement::halfwords(definitions);
                retirement::report_changes(definitions, &code);
                let halfword = |at| code.get(&at).copied();
                let all = folder.finish(tracers.collect(), &programs, blocks.iter(), halfword)?;
                Ok(Traced { bytes: all.iter().map(|traced| traced.bytes).sum() })
            }
        }
    }
}

impl Tracer {
    /// What comes next runs at this time, in nanoseconds since the beginning.
    pub fn time(&mut self, nanoseconds: u64) {
        match self {
            Self::Etm(both) => both.1.time(nanoseconds),
            Self::ControlledEtm(both) => both.1.inner.time(nanoseconds),
            _ => {}
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
            Self::Etrace(both, _) => reader.take(bytes, definitions, &mut **both),
            Self::ControlledEtm(both) => reader.take(bytes, definitions, &mut **both),
            Self::ControlledEtrace(both, _) => reader.take(bytes, definitions, &mut **both),
        }
    }

    /// Nothing more comes of the thread.
    pub fn finish(&mut self, reader: &mut Thread, definitions: &Definitions) {
        match self {
            Self::None(tally) => reader.finish(definitions, tally),
            Self::Etm(both) => reader.finish(definitions, &mut **both),
            Self::Etrace(both, _) => reader.finish(definitions, &mut **both),
            Self::ControlledEtm(both) => reader.finish(definitions, &mut **both),
            Self::ControlledEtrace(both, _) => reader.finish(definitions, &mut **both),
        }
    }

    /// What was counted.
    pub fn tally(&self) -> &Tally {
        match self {
            Self::None(tally) => tally,
            Self::Etm(both) => &both.0,
            Self::Etrace(both, _) => &both.0,
            Self::ControlledEtm(both) => &both.0,
            Self::ControlledEtrace(both, _) => &both.0,
        }
    }

    /// Bytes of trace so far.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::None(_) => 0,
            Self::Etm(both) => both.1.bytes(),
            Self::Etrace(both, _) => both.1.0.bytes(),
            Self::ControlledEtm(both) => both.1.inner.bytes(),
            Self::ControlledEtrace(both, _) => both.1.inner.0.bytes(),
        }
    }

    /// What of it is traced, if not all.
    pub fn qualified(&self) -> Option<Qualified> {
        match self {
            Self::ControlledEtm(both) => Some(Qualified::of(&both.1)),
            Self::ControlledEtrace(both, _) => Some(Qualified::of(&both.1)),
            Self::None(_) | Self::Etm(_) | Self::Etrace(..) => None,
        }
    }
}

fn written(tracer: &etrace::Tracer<etrace::TraceFile>, path: &Path) -> Result<(), Error> {
    tracer.check().map_err(|error| Error::Message(format!("{}: cannot write: {error}", path.display())))
}
