//! `tracewright diff`: what got hotter, what got colder.

mod json;
mod text;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tracewright::csv;
use tracewright::profile::KeptProfile;
use tracewright_profile::diff::{Diff, Side};
use tracewright_profile::{CallTree, Named, export};

use crate::args::{CaptureArgs, InlineArgs};
use crate::filter::{PartArgs, reasons};
use crate::funnel::{self, Closing, LeftOut};
use crate::images;
use crate::output::{Chosen, Error, ForceArgs, Form, Outcome, Output, is_quiet, report, say};
use crate::profile::open::Counted;
use crate::profile::{Weigh, call_tree};
use crate::stalls::title;

/// Show what got hotter and what got colder between two profiles or captures.
///
/// Functions are compared by name, so that the two may be of two builds of a program. Conditional branches are compared by address where both
/// are of one build (by build ID), otherwise by function and source line, or by how far behind the start of the function they are.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tracewright diff before.prof after.prof
  tracewright diff monday/ tuesday/ --function parse --json
  tracewright diff monday/ tuesday/ --format flamegraph -o days.svg")]
pub struct Opts {
    #[command(flatten)]
    capture: CaptureArgs,

    /// What it is compared with: a profile or a capture, as the first.
    other: PathBuf,

    #[command(flatten)]
    part: PartArgs,

    #[command(flatten)]
    inline: InlineArgs,

    /// How many rows a table has.
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,

    /// What is written.
    ///
    /// Without this: what the name of the output says (.svg, .csv, .json, .folded), or the table.
    #[arg(long, value_enum, conflicts_with = "json")]
    format: Option<DiffFormat>,

    /// Write JSON, for programs; the book lists its fields.
    #[arg(long)]
    json: bool,

    /// What stacks weigh in call trees, folded stacks and flame graphs.
    #[arg(long, value_enum, default_value_t = Weigh::Instructions)]
    weight: Weigh,

    /// Where the result is written: a file (- is standard output), or the folder of a capture, which is made.
    #[arg(short, long, value_name = "PATH", default_value = "-", hide_default_value = true)]
    output: PathBuf,

    #[command(flatten)]
    force: ForceArgs,
}

/// What is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DiffFormat {
    /// A table for people.
    #[default]
    Table,
    /// Comma-separated values, all rows, for spreadsheets and scripts.
    Csv,
    /// Call stacks with both counts, a line each: `main;sort 1234 987`. Of captures only: a profile that was kept has no stacks.
    Folded,
    /// A flame graph of the second, as SVG: red is more than in the first, blue is less.
    Flamegraph,
}

impl DiffFormat {
    /// Whether it tells who called whom.
    fn has_stacks(self) -> bool {
        matches!(self, Self::Folded | Self::Flamegraph)
    }
}

impl Chosen<DiffFormat> {
    /// Returns what the output is.
    fn form(self) -> Form {
        match self.format {
            _ if self.is_json => Form::Json,
            DiffFormat::Table => Form::Table,
            DiffFormat::Flamegraph => Form::Xml,
            _ => Form::Text,
        }
    }
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    let chosen = Chosen::new(opts.format, opts.json, &opts.output)?;
    let format = chosen.format;
    let open = |path: &Path| -> Result<Counted, Error> {
        let mut capture = opts.capture.of(path);
        if !KeptProfile::is_in(path) && !tracewright_input::perf::is_recording(path) {
            // It is meant for the other.
            capture.symfs.clear();
        }
        let mut counted = Counted::open(&capture, &opts.part)?;
        if format.has_stacks() {
            counted = counted.with_handlers()?;
        }
        counted.program = opts.inline.of(counted.program);
        opts.part.filter.apply(&mut counted.profile, &counted.program)?;
        Ok(counted)
    };
    let paths = [opts.capture.capture.as_path(), &opts.other];
    if let Some(path) = paths.iter().find(|path| format.has_stacks() && KeptProfile::is_in(path)) {
        let path = path.display();
        return Err(Error::Message(format!(
            "{path} is a profile that was kept: it has no stacks; give the capture that it was made of"
        )));
    }
    let output = Output::open_whole(&opts.output, chosen.form(), opts.force)?;
    let mut both = [open(paths[0])?, open(paths[1])?];
    let trees = if format.has_stacks() { Some(stacks(opts, &mut both)?) } else { None };
    let named = both.each_ref().map(|of| Named::of(&of.profile, &[&of.program], None));
    for (of, &named) in both.iter_mut().zip(&named) {
        of.outcome.add(funnel::is_empty(&of.profile.funnel).and(funnel::lacks_names(named)));
    }
    let sides = both.each_ref().map(|of| Side { profile: &of.profile, program: &of.program });
    let diff = Diff::new(sides);
    let names = paths.map(|path| path.display().to_string());
    let out = match (format, &trees) {
        _ if chosen.is_json => {
            let lacks = |of: &Counted| of.outcome.clone().and(images::left_out(of.program.image()));
            let funnels = both.each_ref().map(|of| funnel::object(&of.profile.funnel, &lacks(of)));
            json::object(&diff, &names, &funnels).into_bytes()
        }
        (_, Some(trees)) => drawn(opts, format, trees)?,
        (DiffFormat::Csv, _) => csv::diff::rows(&diff).into_bytes(),
        _ => text::all(&diff, &names, opts.top).into_bytes(),
    };
    output.write_whole(&out, out.is_empty())?;
    close(opts, &names, &both);
    let left_out = both.each_ref().map(|of| images::report_left_out(of.program.image()));
    let same_names = named[0] == named[1];
    named.into_iter().skip(same_names.into()).for_each(|named| drop(funnel::report_names(named)));
    Ok(left_out.into_iter().chain(both.map(|of| of.outcome)).fold(Outcome::Good, Outcome::and))
}

/// Says what became of both captures: once, if that is the same.
fn close(opts: &Opts, names: &[String; 2], both: &[Counted; 2]) {
    let known = both.each_ref().map(|of| reasons(of.outside));
    let rest = opts.part.filter.left_out(funnel::FILTERED);
    let left = known.each_ref().map(|known| LeftOut { known, rest });
    let closing = |side: usize| Closing::new(&both[side].profile, &both[side].program, &left[side]);
    let (first, mut second) = (closing(0), closing(1));
    let is_same = first == second;
    second.remarks.retain(|remark| !first.remarks.contains(remark));
    let title = if is_same && names[0] != names[1] { names.join(", ") } else { names[0].clone() };
    for (name, closing) in [(&title, first), (&names[1], second)].iter().take(2 - usize::from(is_same)) {
        if !is_quiet() {
            say("");
            report(name);
            funnel::close(closing);
        }
    }
    both.iter().zip(&left).for_each(|(of, left)| funnel::report_nothing(&of.profile.funnel, left));
}

/// Stacks of both captures.
fn stacks(opts: &Opts, both: &mut [Counted; 2]) -> Result<[CallTree; 2], Error> {
    let tree = |of: &mut Counted| -> Result<CallTree, Error> {
        let places = opts.part.filter.places(&of.profile, &[&of.program])?;
        match &of.decoded {
            Some(decoded) => {
                call_tree(decoded, &of.program, (&opts.part.filter, places.as_ref()), &mut of.outcome)
            }
            None => Ok(CallTree::default()),
        }
    };
    let [first, second] = both;
    Ok([tree(first)?, tree(second)?])
}

/// Stacks of both captures as text or as a picture.
fn drawn(opts: &Opts, format: DiffFormat, [first, second]: &[CallTree; 2]) -> Result<Vec<u8>, Error> {
    opts.weight.of(first, None)?;
    let weight = opts.weight.of(second, None)?;
    if format == DiffFormat::Folded {
        return Ok(export::folded::difference([first, second], weight).into_bytes());
    }
    let title = format!("{}, compared with {}", title(&opts.other), title(&opts.capture.capture));
    export::flamegraph::difference([first, second], weight, &title)
        .map_err(|error| Error::Message(error.to_string()))
}
