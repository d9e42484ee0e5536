//! `tracewright decode`: every instruction that ran.

mod engine;
mod lane;
mod opencsd;
mod part;
mod segment;

use std::io::Write;

use clap::{Args, ValueEnum};
use tracewright_core::TraceId;
use tracewright_etm::decode;
use tracewright_etm::packet::Resync;
use tracewright_frames::{Deframer, DstreamBlocks, Format};
use tracewright_image::Image;
use tracewright_input::{Buffer, BufferFormat, Capture, ImageFile};

use self::engine::{Engine, Plan};
use self::lane::Lanes;
use self::part::{Print, Range, Tally};
use crate::args::{CaptureArgs, SelectArgs};
use crate::output::{Error, Needs, Outcome, report, report_problems, stdout};
use crate::packets::report_unread;
use crate::reader::Input;

/// Show every instruction that ran.
#[derive(Args)]
pub struct Opts {
    #[command(flatten)]
    capture: CaptureArgs,

    #[command(flatten)]
    select: SelectArgs,

    /// A program file that ran, ELF or raw, and where it was (repeat for more).
    #[arg(long = "image", value_name = "FILE[@ADDR]")]
    images: Vec<ImageFile>,

    /// How many threads; 0: one for each core.
    #[arg(long, default_value_t = 0, value_name = "N")]
    jobs: usize,

    /// How elements are worded.
    #[arg(long, value_enum, default_value_t = Style::Tracewright)]
    style: Style,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Style {
    /// For people.
    Tracewright,
    /// The element lines of OpenCSD 1.8.0's trc_pkt_lister (first buffer only unless --buffer says more).
    Opencsd,
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    let capture = opts.capture.open()?;
    let (image, problems) = capture.image(&opts.images);
    let mut outcome = report_problems(&capture.problems, Needs::All);
    outcome = outcome.and(report_problems(&problems, Needs::All));
    let opencsd = opts.style == Style::Opencsd;
    let jobs = match opts.jobs {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        jobs => jobs,
    };
    let plan = Plan {
        decode: decode::Options {
            trust_images: opencsd,
            join_source_walks: opencsd,
            repeat_no_code: opencsd,
        },
        resync: if opencsd { Resync::NextByte } else { Resync::NextAsync },
        range: Range { from: 0, to: u64::MAX },
        jobs,
    };
    let threads = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
    let threads = threads.map_err(|error| Error::Message(format!("cannot start {jobs} threads: {error}")))?;
    let mut errors = 0;
    let wants = |id: TraceId| opts.select.wants(id);
    for (index, buffer) in opts.select.buffers(&capture, opencsd)?.into_iter().enumerate() {
        let print = opencsd::OpenCsd { again: index > 0 };
        let tally = threads.install(|| decode(&capture, buffer, &image, &wants, &print, plan))?;
        errors += tally.bad_gaps;
    }
    Ok(outcome.and(Outcome::from_errors(errors)))
}

fn decode<P: Print>(
    capture: &Capture,
    buffer: &Buffer,
    image: &Image,
    wants: &(dyn Fn(TraceId) -> bool + Sync),
    print: &P,
    plan: Plan,
) -> Result<Tally, Error> {
    let mut input = Input::open(&buffer.path)?;
    let mut lanes = Lanes::new(capture, buffer, wants);
    let (mut engine, _) = Engine::new(&lanes, image, print, plan);
    let format = match buffer.format {
        BufferFormat::SourceData => None,
        BufferFormat::CoreSight => Some(Format::Aligned),
        BufferFormat::CoreSightFsync | BufferFormat::DstreamCoreSight => Some(Format::Fsync),
        BufferFormat::CoreSightHsync => Some(Format::FsyncHsync),
    };
    let mut deframer = format.map(Deframer::new);
    let mut blocks = (buffer.format == BufferFormat::DstreamCoreSight).then(DstreamBlocks::new);
    let mut out = stdout();
    let mut chunk = vec![0; engine.window()];
    loop {
        let len = input.fill(&mut chunk)?;
        let bytes = &chunk[..len];
        match (&mut deframer, &mut blocks) {
            (None, _) => lanes.unframed(bytes, buffer, capture),
            (Some(deframer), None) => deframer.feed(bytes, &mut lanes),
            (Some(deframer), Some(blocks)) => blocks.feed(bytes, deframer, &mut lanes),
        }
        if len == 0
            && let Some(deframer) = &mut deframer
        {
            deframer.finish(&mut lanes);
        }
        engine.window_done(&mut lanes, &mut out)?;
        lanes.advance();
        if len == 0 {
            break;
        }
    }
    engine.finish(&lanes, &mut out)?;
    out.flush()?;
    report_unread(capture, buffer, &lanes.unread);
    for damage in &lanes.damage {
        report(&format!(
            "{}: {} bytes lost at {:#x}: {}",
            buffer.name, damage.len, damage.offset, damage.reason
        ));
    }
    Ok(engine.tally)
}
