//! Options that every verb has: which capture, and what of it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tracewright_core::TraceId;
use tracewright_input::{Buffer, BufferFormat, Capture, RawSource};

use crate::output::Error;

/// Which capture.
#[derive(Args)]
pub struct CaptureArgs {
    /// A trace-snapshot folder, or a raw trace file (- for standard input).
    pub capture: PathBuf,

    /// How a raw trace file is packed.
    #[arg(long, value_enum, help_heading = "Raw trace files")]
    pub format: Option<RawFormat>,

    /// A source in a raw trace file: protocol, then name=value pairs: id, core (type of the traced core), and
    /// registers by name. Repeat for more sources.
    #[arg(
        long = "source",
        value_name = "etm4|ete,NAME=VALUE,...",
        help_heading = "Raw trace files",
        long_help = "A source in a raw trace file: protocol, then comma-separated name=value pairs. Names: id, core (the traced core's \
type, e.g. Cortex-A53), and the registers TRCCONFIGR, TRCTRACEIDR, TRCIDR0, TRCIDR1, TRCIDR2, TRCIDR8 and \
(ETE) TRCDEVARCH. Registers left out have the values of an ETMv4.0 \
(ETE 1.0) with nothing optional; take them from your driver or debugger. Repeat for more sources.\n\
Example: --source etm4,id=0x10,TRCCONFIGR=0xc1,TRCIDR0=0x28000ea1"
    )]
    pub sources: Vec<RawSource>,
}

/// How a raw file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RawFormat {
    /// 16-byte CoreSight frames, as trace buffers in memory hold them (ETB, ETF, ETR).
    Coresight,
    /// CoreSight frames with full frame syncs, as a trace port (TPIU) sends them.
    Fsync,
    /// CoreSight frames with full and half syncs.
    Hsync,
    /// CoreSight frames with frame syncs in a DSTREAM's 512-byte blocks.
    Dstream,
    /// The bytes of a single source, unframed.
    Source,
}

impl From<RawFormat> for BufferFormat {
    fn from(format: RawFormat) -> Self {
        match format {
            RawFormat::Coresight => Self::CoreSight,
            RawFormat::Fsync => Self::CoreSightFsync,
            RawFormat::Hsync => Self::CoreSightHsync,
            RawFormat::Dstream => Self::DstreamCoreSight,
            RawFormat::Source => Self::SourceData,
        }
    }
}

impl CaptureArgs {
    /// Opens the capture.
    pub fn open(&self) -> Result<Capture, Error> {
        if self.capture.is_dir() {
            if self.format.is_some() || !self.sources.is_empty() {
                let message =
                    "--format and --source describe raw trace files; a snapshot folder describes itself";
                return Err(Error::Message(message.into()));
            }
            return Ok(Capture::open(&self.capture)?);
        }
        let Some(format) = self.format else {
            let path = self.capture.display();
            let message = if self.capture.file_name().is_some_and(|name| name == "snapshot.ini") {
                format!("{path} belongs to a snapshot: give its folder")
            } else if self.capture.exists() || self.capture.as_os_str() == "-" {
                format!(
                    "{path} is a raw trace file: say how it is packed with --format, and its sources with --source"
                )
            } else {
                format!("{path}: no such file or folder")
            };
            return Err(Error::Message(message));
        };
        Ok(Capture::raw(&self.capture, format.into(), &self.sources)?)
    }
}

/// Which part of a capture's trace.
#[derive(Args)]
pub struct SelectArgs {
    /// Only the source with this trace ID (repeat for more).
    #[arg(long = "id", value_name = "N", value_parser = trace_id)]
    pub ids: Vec<TraceId>,

    /// Only this trace buffer, or `all`.
    #[arg(long, value_name = "NAME")]
    pub buffer: Option<String>,
}

impl SelectArgs {
    /// Whether a source is wanted.
    pub fn wants(&self, id: TraceId) -> bool {
        self.ids.is_empty() || self.ids.contains(&id)
    }

    /// Fails if a trace ID is asked for that no source has.
    fn check_ids(&self, capture: &Capture) -> Result<(), Error> {
        let known: Vec<_> = capture.sources.iter().filter_map(tracewright_input::Source::id).collect();
        match self.ids.iter().find(|id| !known.contains(id)) {
            None => Ok(()),
            Some(id) => {
                let known: Vec<_> = known.iter().map(ToString::to_string).collect();
                let message = format!("no source has trace ID {id}; there are {}", known.join(", "));
                Err(Error::Message(message))
            }
        }
    }

    /// The buffers wanted: those that hold a wanted source. `first_only`: without --buffer, only the first, as OpenCSD's tools do.
    pub fn buffers<'a>(&self, capture: &'a Capture, first_only: bool) -> Result<Vec<&'a Buffer>, Error> {
        self.check_ids(capture)?;
        let holds = |buffer: &&Buffer| {
            let mut ids = buffer.sources.iter().filter_map(|&source| capture.sources[source].id());
            self.ids.is_empty() || ids.any(|id| self.wants(id))
        };
        let wanted = match self.buffer.as_deref() {
            None if first_only => capture.buffers.iter().take(1).collect(),
            None | Some("all") => capture.buffers.iter().filter(holds).collect(),
            Some(name) => capture.buffers.iter().filter(|buffer| buffer.name == name).collect::<Vec<_>>(),
        };
        if wanted.is_empty() {
            let names: Vec<_> = capture.buffers.iter().map(|buffer| buffer.name.as_str()).collect();
            return Err(Error::Message(match self.buffer.as_deref() {
                Some(name) if !names.is_empty() => {
                    format!("no trace buffer {name}; there are {}", names.join(", "))
                }
                _ => "the capture has no trace buffer that can be read".into(),
            }));
        }
        Ok(wanted)
    }
}

/// `0x10` or `16`.
fn trace_id(text: &str) -> Result<TraceId, String> {
    let value = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => u8::from_str_radix(digits, 16),
        None => text.parse(),
    };
    let id = value.ok().and_then(TraceId::new);
    id.ok_or_else(|| "expected a trace ID: 0 to 0x7f, decimal or with 0x".into())
}
