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
use crate::etrace::{LogData, TraceFile};
use crate::output::Error;
use crate::record::{Pair, Protocol};
use crate::{etm, etrace, port, retirement};

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
    /// With how traces are made.
    Etrace(Box<(etrace::Folder, etrace::Settings)>),
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
    Etrace(Box<Pair<Tally, etrace::WithoutCode<TraceFile>>>, PathBuf),
    /// The same, with data.
    EtraceData(Box<Pair<Tally, etrace::Logged<TraceFile>>>, PathBuf),
    /// Those of which not all is traced.
    ControlledEtm(Box<Pair<Tally, Controlled<etm::Tracer>>>),
    ControlledEtrace(Box<Pair<Tally, Controlled<etrace::WithoutCode<TraceFile>>>>, PathBuf),
    ControlledEtraceData(Box<Pair<Tally, Controlled<etrace::Logged<TraceFile>>>>, PathBuf),
}

/// What is asked for of the encoder.
#[derive(Clone, Copy, Debug)]
pub struct Encoder<'a> {
    /// Its options, by name.
    pub options: &'a [String],
    pub port: Option<port::Asked>,
    /// What is traced, if not all.
    pub control: Option<&'a Asked>,
}

/// What a trace came to.
#[derive(Clone, Copy, Debug)]
pub struct Traced {
    pub bytes: u64,
    /// Accesses that are not in it, since not all is known of them.
    pub unknown: u64,
    pub port: Option<port::Report>,
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
    /// Makes the folder. `data` is what is recorded of accesses to memory.
    pub fn create(
        dir: &Path,
        target: Target,
        encoder: &Encoder<'_>,
        data: LogData,
        description: &str,
    ) -> Result<Self, Error> {
        let Encoder { options, port, control } = *encoder;
        let folder = match target {
            Target::Aarch64 | Target::Arm => {
                let isa = if target == Target::Aarch64 { Isa::A64 } else { Isa::A32 };
                let settings = etm::Settings::new(isa).with(options)?.with_port(port);
                Folder::Etm(Box::new(etm::Folder::create(dir, &settings, description)?))
            }
            Target::Riscv64 => {
                let settings = data.settings(options)?.with_port(port)?;
                let folder = etrace::Folder::create(dir, &settings, description)?;
                Folder::Etrace(Box::new((folder, settings)))
            }
        };
        let ballast = Ballast::new(dir).map_err(|error| {
            Error::Message(format!(
                "{}: cannot write {} MiB, which is the least: {error}",
                dir.display(),
                BALLAST >> 20
            ))
        })?;
        Ok(Self { folder, dir: dir.to_owned(), ballast, control: control.cloned(), plan: None })
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
            (Folder::Etrace(both), control) => {
                let (folder, settings) = &mut **both;
                folder.add_programs(&retirement::programs(maps))?;
                let tracer = folder.thread(&retirement::source_name(index))?;
                let path = self.dir.join(format!("{}.bin", retirement::source_name(index)));
                match (tracer.has_data(), control) {
                    (false, None) => Tracer::Etrace(Box::new(Pair(tally, etrace::WithoutCode(tracer))), path),
                    (false, Some((asked, plan))) => {
                        let tracer = asked.controlled(plan, etrace::WithoutCode(tracer));
                        let tracer = tracer.with_thread(index.into());
                        Tracer::ControlledEtrace(Box::new(Pair(tally, tracer)), path)
                    }
                    (true, None) => {
                        let tracer = etrace::Logged::new(settings, tracer);
                        Tracer::EtraceData(Box::new(Pair(tally, tracer)), path)
                    }
                    (true, Some((asked, plan))) => {
                        let tracer = asked.controlled(plan, etrace::Logged::new(settings, tracer));
                        let tracer = tracer.with_thread(index.into());
                        Tracer::ControlledEtraceData(Box::new(Pair(tally, tracer)), path)
                    }
                }
            }
        })
    }

    /// Fails if the trace of a thread could not be written: what comes would be lost.
    pub fn check(&self, tracer: &Tracer) -> Result<(), Error> {
        let (written, path) = match (&self.folder, tracer) {
            (Folder::Etm(folder), _) => return folder.check(),
            (Folder::Etrace(_), Tracer::Etrace(both, path)) => (both.1.0.check(), path),
            (Folder::Etrace(_), Tracer::EtraceData(both, path)) => (both.1.tracer.check(), path),
            (Folder::Etrace(_), Tracer::ControlledEtrace(both, path)) => (both.1.inner.0.check(), path),
            (Folder::Etrace(_), Tracer::ControlledEtraceData(both, path)) => {
                (both.1.inner.tracer.check(), path)
            }
            (Folder::Etrace(_), _) => return Ok(()),
        };
        written.map_err(|error| Error::Message(format!("{}: cannot write: {error}", path.display())))
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
                Ok(Traced { bytes: traced.bytes, unknown: 0, port: traced.port })
            }
            Folder::Etrace(both) => {
                let mut unknown = 0;
                let tracers = tracers.into_iter().filter_map(|tracer| match tracer {
                    Tracer::Etrace(both, _) => Some(both.1.0),
                    Tracer::EtraceData(both, _) => {
                        unknown += both.1.unknown();
                        Some(both.1.tracer)
                    }
                    Tracer::ControlledEtrace(both, _) => Some(both.1.inner.0),
                    Tracer::ControlledEtraceData(both, _) => {
                        unknown += both.1.inner.unknown();
                        Some(both.1.inner.tracer)
                    }
                    _ => None,
                });
                let tracers = tracers.collect();
                let programs = retirement::programs(definitions.maps());
                let blocks: Vec<_> = retirement::translated(definitions).collect();
                let code = retirement::halfwords(definitions);
                retirement::report_changes(definitions, &code);
                let halfword = |at| code.get(&at).copied();
                let all = both.0.finish(tracers, &programs, blocks.iter(), halfword)?;
                let port = port::Report::all(all.iter().filter_map(|traced| traced.port));
                Ok(Traced { bytes: all.iter().map(|traced| traced.bytes).sum(), unknown, port })
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
            Self::EtraceData(both, _) => reader.take(bytes, definitions, &mut **both),
            Self::ControlledEtm(both) => reader.take(bytes, definitions, &mut **both),
            Self::ControlledEtrace(both, _) => reader.take(bytes, definitions, &mut **both),
            Self::ControlledEtraceData(both, _) => reader.take(bytes, definitions, &mut **both),
        }
    }

    /// Nothing more comes of the thread.
    pub fn finish(&mut self, reader: &mut Thread, definitions: &Definitions) {
        match self {
            Self::None(tally) => reader.finish(definitions, tally),
            Self::Etm(both) => reader.finish(definitions, &mut **both),
            Self::Etrace(both, _) => reader.finish(definitions, &mut **both),
            Self::EtraceData(both, _) => reader.finish(definitions, &mut **both),
            Self::ControlledEtm(both) => reader.finish(definitions, &mut **both),
            Self::ControlledEtrace(both, _) => reader.finish(definitions, &mut **both),
            Self::ControlledEtraceData(both, _) => reader.finish(definitions, &mut **both),
        }
    }

    /// What was counted.
    pub fn tally(&self) -> &Tally {
        match self {
            Self::None(tally) => tally,
            Self::Etm(both) => &both.0,
            Self::Etrace(both, _) => &both.0,
            Self::EtraceData(both, _) => &both.0,
            Self::ControlledEtm(both) => &both.0,
            Self::ControlledEtrace(both, _) => &both.0,
            Self::ControlledEtraceData(both, _) => &both.0,
        }
    }

    /// Bytes of trace so far.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::None(_) => 0,
            Self::Etm(both) => both.1.bytes(),
            Self::Etrace(both, _) => both.1.0.bytes(),
            Self::EtraceData(both, _) => both.1.tracer.bytes(),
            Self::ControlledEtm(both) => both.1.inner.bytes(),
            Self::ControlledEtrace(both, _) => both.1.inner.0.bytes(),
            Self::ControlledEtraceData(both, _) => both.1.inner.tracer.bytes(),
        }
    }

    /// What of it is traced, if not all.
    pub fn qualified(&self) -> Option<Qualified> {
        match self {
            Self::ControlledEtm(both) => Some(Qualified::of(&both.1)),
            Self::ControlledEtrace(both, _) => Some(Qualified::of(&both.1)),
            Self::ControlledEtraceData(both, _) => Some(Qualified::of(&both.1)),
            Self::None(_) | Self::Etm(_) | Self::Etrace(..) | Self::EtraceData(..) => None,
        }
    }
}
