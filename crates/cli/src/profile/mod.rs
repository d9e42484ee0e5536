//! `tracewright profile`: what ran how often, for people and for compilers.

mod json;
pub mod open;
mod text;
mod tree;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Args, ValueEnum};
use tracewright::csv::{self, profile::Rows};
use tracewright::profile::{ContextCounter, Followed, Follower, ListedProfile, Only, Report};
use tracewright::words::{self, Wanted, how_to_get};
use tracewright::{Capture, ThreadNames};
use tracewright_profile::export::folded::Weight;
use tracewright_profile::export::{ExportError, ExportRemark};
use tracewright_profile::{CallTree, Functions, Graph, Named, PlaceFilter, Profile, Program, WIDEST, export};

use self::open::{Counted, Decoded};
use crate::args::{CaptureArgs, InlineArgs, named};
use crate::clocks::{self, report_ends};
use crate::decode::{Within, report_deep};
use crate::filter::{FilterArgs, PartArgs, reasons};
use crate::funnel::{self, LeftOut};
use crate::images;
use crate::output::{
    Chosen, Error, ForceArgs, Form, Outcome, Output, printable_path, refuse_terminal, remark, report,
};
use crate::stalls::title;

/// Count what ran, for people and for compilers.
///
/// Without --format: functions, loops and branches, those that matter first. CAPTURE may also be a profile that was kept (--format
/// tracewright), or a branch list of simpleperf: of them all formats can be made that do not need the order in which things ran, and the
/// table without --calls. Their binaries are looked for where they were, among --image and in --symfs, by build ID where
/// they have one. With --function, --range or --binary the table has the functions, loops and branches that lie there, and of functions the
/// instructions there; their calls, and with --calls what they called, count wherever that is. Stacks (folded and the like) weigh what ran
/// there, with all their callers.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tracewright profile run
  tracewright profile run --top 20 --calls
  tracewright profile run --format tree --min-share 5
  tracewright profile run --paths
  tracewright profile run --function main --from-cycle 1000 --to-cycle 2000
  tracewright profile run -o run.svg
  tracewright profile run --format csv --rows edges -o edges.csv
  tracewright profile perf.data --format autofdo -o app.afdo
  tracewright profile run --format llvm -o app.prof
  clang -O2 -fprofile-sample-use=app.prof app.c
  tracewright profile run --format tracewright -o app.kept
  tracewright profile app.kept --function main --format autofdo")]
pub struct Opts {
    #[command(flatten)]
    capture: CaptureArgs,

    #[command(flatten)]
    part: PartArgs,

    /// What is written.
    ///
    /// Without this: what the name of the output says (.svg, .csv, .json, .folded, .pb.gz, .prof and the like), or the table.
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// Which rows CSV has. Without --calls, columns that need it are empty.
    #[arg(long, value_parser = rows(), default_value = "functions")]
    rows: Rows,

    /// How many rows a table has.
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,

    /// Write JSON, for programs; the book lists its fields.
    #[arg(long)]
    json: bool,

    /// Follow calls and returns.
    ///
    /// Besides, in the table: who calls whom. Instructions with those of all that a function calls, exceptions as calls, the fewest and
    /// the most trips of loops, cycles, events. All is read once more for it, in order and on one core.
    #[arg(long)]
    calls: bool,

    /// Besides (as --calls): what branches do given the last W conditional branches before them (1 to 32), which of those tell most of it
    /// (information gain, in bits), and the paths that run most often.
    #[arg(long, value_name = "W", num_args = 0..=1, default_missing_value = "8", require_equals = true,
        value_parser = clap::value_parser!(u8).range(1..=WIDEST as i64))]
    paths: Option<u8>,

    #[command(flatten)]
    inline: InlineArgs,

    /// Leave out of the call tree what weighs less, with all that it calls: a percentage of the whole.
    #[arg(long, value_name = "PERCENT", default_value_t = LEAST_SHARE, value_parser = percentage)]
    min_share: f64,

    /// What stacks weigh in call trees, folded stacks and flame graphs.
    #[arg(long, value_enum, default_value_t = Weigh::Instructions)]
    weight: Weigh,

    /// Where the result is written: a file (- is standard output), or the folder of a capture, which is made.
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,

    #[command(flatten)]
    force: ForceArgs,
}

/// The percentage below which the call tree leaves something out, if nothing else is asked for.
const LEAST_SHARE: f64 = 1.0;

/// What is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Table,
    Csv,
    Tree,
    Export(export::Format),
}

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<Format>> = LazyLock::new(|| {
            let exports = export::Format::ALL.map(Format::Export);
            [Format::Table, Format::Csv, Format::Tree].into_iter().chain(exports).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        use export::Format::*;
        let (name, words) = match self {
            Self::Table => ("table", "Functions, loops and branches, those that matter first"),
            Self::Csv => {
                ("csv", "Comma-separated values: all rows of one kind (--rows), for spreadsheets and scripts")
            }
            Self::Tree => (
                "tree",
                "Who called whom, as an indented tree: each function with what it calls below it, the heaviest first (--min-share, --json)",
            ),
            Self::Export(format) => (
                format.name(),
                match format {
                    Folded => "Call stacks, a line each: `main;sort 1234`, for flame graphs",
                    Flamegraph => "A flame graph, as SVG",
                    Pprof => "For `go tool pprof` and what else reads pprof",
                    Callgrind => "For callgrind_annotate and KCachegrind",
                    Llvm => "LLVM's sample profile as text: clang -fprofile-sample-use",
                    LlvmBinary => "The same in LLVM's extended binary form",
                    LlvmContexts => "LLVM's sample profile with calling contexts (CSSPGO), as text",
                    Profgen => "What llvm-profgen reads: --unsymbolized-profile",
                    Bolt => "What BOLT reads: perf2bolt -pa",
                    Fdata => "BOLT's own profile: llvm-bolt -data",
                    Propeller => {
                        "Propeller's list of basic blocks that belong together: clang -fbasic-block-sections=list=FILE"
                    }
                    SymbolOrder => {
                        "The functions that ran, in the order in which they belong together: ld.lld --symbol-ordering-file"
                    }
                    Gcov => "What GCC 12 to 15 read: gcc -fauto-profile",
                    Gcov16 => "The same as GCC 16 reads it",
                    Autofdo => "The text of simpleperf, that create_llvm_prof reads (--profiler text)",
                    BoltSimpleperf => {
                        "What simpleperf writes for BOLT: less, and with comments that BOLT does not read"
                    }
                    BranchList => "simpleperf's branch list: simpleperf inject",
                    Tracewright => {
                        "A compact file that keeps all counts, for merge, diff and profile (its format is in the book)"
                    }
                },
            ),
        };
        Some(PossibleValue::new(name).help(words))
    }
}

/// Kinds of rows by name.
fn rows() -> impl TypedValueParser<Value = Rows> {
    let words = |rows| match rows {
        Rows::Functions => "A function: calls, instructions and cycles, of its own and with what it calls",
        Rows::Loops => "A loop: how often it was entered, and how often it turned",
        Rows::Blocks => "A block: how often it ran, and how it ended",
        Rows::Branches => "A branch: how often it was taken, and to how many places",
        Rows::Edges => {
            "A way from a branch to where execution went on, taken or not. Where that is not known (before a gap), to_address is empty"
        }
        Rows::CallEdges => "Calls of one function by another: how often, and what ran in them",
        Rows::CallTree => "A function on one path of calls; parent is the number of its caller's row",
        Rows::Events => "Events of one number at one block",
        Rows::FunctionEvents => "Events of one number in one function",
    };
    named(Rows::ALL.map(|rows| (rows.name(), words(rows), rows)))
}

/// What stacks weigh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Weigh {
    Instructions,
    Cycles,
}

impl Weigh {
    /// Returns what stacks weigh, if these stacks tell it.
    pub fn of(self, calls: &CallTree, capture: Option<&Capture>) -> Result<Weight, Error> {
        match self {
            Self::Instructions => Ok(Weight::Instructions),
            Self::Cycles if !calls.has_cycles => {
                let how = capture.map(|capture| format!("{}, or ", how_to_get(Wanted::Cycles, capture)));
                let how = how.unwrap_or_default();
                Err(Error::Message(format!("nothing tells cycles here: {how}leave out --weight")))
            }
            Self::Cycles => Ok(Weight::Cycles),
        }
    }
}

impl Opts {
    /// Refuses options that this format does not have.
    fn refuse_unused(&self, format: Format) -> Result<(), Error> {
        let unused = [
            (self.rows != Rows::Functions && format != Format::Csv, "--rows is for --format csv"),
            (self.min_share != LEAST_SHARE && format != Format::Tree, "--min-share is for --format tree"),
            (
                self.weight != Weigh::Instructions && !self.has_stacks(format),
                "--weight is for stacks: --format tree, folded or flamegraph",
            ),
        ];
        match unused.iter().find(|(is_unused, _)| *is_unused) {
            Some((_, message)) => Err(Error::Message((*message).into())),
            None => Ok(()),
        }
    }

    /// Whether it is the table, or rows of it.
    fn is_table(&self, format: Format) -> bool {
        format == Format::Table || format == Format::Csv && self.rows.are_of_report()
    }

    /// Whether it tells who called whom on which path.
    fn has_stacks(&self, format: Format) -> bool {
        match format {
            Format::Export(format) => format.has_stacks(),
            Format::Csv => self.rows == Rows::CallTree,
            format => format == Format::Tree,
        }
    }

    /// Whether the table needs to know in which order things ran.
    fn wants_order(&self, format: Format) -> bool {
        self.calls || self.paths.is_some() || format == Format::Csv && self.rows.need_order()
    }
}

impl Chosen<Format> {
    /// Returns what the output is.
    fn form(self) -> Form {
        match self.format {
            Format::Table | Format::Tree => Form::json_if(self.is_json),
            Format::Export(export::Format::Flamegraph) => Form::Xml,
            Format::Export(format) if format.is_binary() => Form::Binary,
            _ => Form::Text,
        }
    }
}

impl Format {
    /// Whether it tells what ran by function.
    fn is_by_function(self) -> bool {
        !matches!(self, Self::Export(format) if format.is_of_elf_files() || format == export::Format::Tracewright)
    }

    /// Returns whether a profile in this format tells of nothing that ran.
    fn says_nothing(self, bytes: &[u8]) -> bool {
        match self {
            // The names of the columns.
            Self::Csv => bytes.split_inclusive(|&byte| byte == b'\n').count() <= 1,
            Self::Export(format) => format.is_empty(bytes),
            _ => bytes.is_empty(),
        }
    }

    /// What it cannot tell, in words.
    fn cannot(self) -> &'static str {
        match self {
            Self::Export(format) if format.is_of_lines() => "without debug information",
            Self::Export(format) if format.is_of_one() => "of other binaries (--binary), or of no ELF file",
            Self::Export(format) if format.is_of_elf_files() => "of no ELF file, as memory dumps (--image)",
            _ => "nothing",
        }
    }
}

impl From<ExportError> for Error {
    fn from(error: ExportError) -> Self {
        let how = if matches!(error, ExportError::NoElfFile) { " (--image, --symfs)" } else { "" };
        Self::Message(format!("{error}{how}"))
    }
}

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    let output = opts.output.as_deref().unwrap_or(Path::new("-"));
    let chosen = Chosen::new(opts.format, opts.json, output)?;
    let Chosen { format, is_json } = chosen;
    if is_json && !matches!(format, Format::Table | Format::Tree) {
        return Err(Error::Message(
            "--json is a form of the table and of the tree: leave out --format".into(),
        ));
    }
    opts.refuse_unused(format)?;
    if opts.has_stacks(format) || opts.wants_order(format) {
        opts.capture.refuse_pipe()?;
    }
    let form = chosen.form();
    refuse_terminal(output, form)?;
    let output = Output::open_whole(output, form, opts.force)?;
    let counted = if ListedProfile::is_in(&opts.capture.capture) {
        Counted::of_branch_list(&opts.capture, &opts.part)?
    } else {
        let counted = Counted::open(&opts.capture, &opts.part)?;
        if opts.has_stacks(format) || opts.wants_order(format) { counted.with_handlers()? } else { counted }
    };
    let is_whole = counted.is_whole();
    let Counted { mut profile, program, mut outcome, decoded, outside } = counted;
    let program = opts.inline.of(program);
    let places = opts.part.filter.places(&profile, &[&program])?;
    // The table shows rows that are there as they are without a filter: what they call, and what is around them, counts.
    if let Some(places) = places.as_ref().filter(|_| !opts.is_table(format)) {
        places.keep(&mut profile, &program);
    }
    profile.funnel.in_output = match format {
        Format::Export(format) => format.instructions(&profile, &program),
        _ => profile.instructions(),
    };
    let names = format.is_by_function().then(|| Named::of(&profile, &[&program], places.as_ref()));
    let names = names.unwrap_or_default();
    outcome.add(funnel::is_empty(&profile.funnel).and(funnel::lacks_names(names)));
    let bytes = match (format, &decoded) {
        _ if opts.is_table(format) => {
            let mut functions = Functions::default();
            let graph = Graph::new(&profile, |place| functions.at(&program, place));
            let done = match &decoded {
                Some(decoded) if opts.wants_order(format) => {
                    let mut done = in_order(opts, decoded, &program, &graph, None, &mut outcome)?;
                    if places.is_some() && done.calls.has_cycles {
                        let only = (&opts.part.filter, places.as_ref());
                        let graph = Graph::default();
                        let there = follow(decoded, (&program, &graph), only, None, true, &mut outcome)?;
                        done.there = Some(there.calls);
                    }
                    Some(done)
                }
                None if opts.wants_order(format) => return Err(without_order(opts, format)),
                _ => None,
            };
            let report = Report::new(&profile, &program, &graph, done, places.as_ref());
            profile.funnel.in_output = report.shown;
            outcome.add(funnel::is_empty(&profile.funnel));
            match (format, is_json) {
                (Format::Csv, _) => csv::profile::of_report(opts.rows, &report, &profile),
                (_, true) => {
                    let lacks = outcome.clone().and(images::left_out(program.image()));
                    json::object(&report, &profile.funnel, &lacks)
                }
                (_, false) => text::all(&report, opts.top),
            }
            .into_bytes()
        }
        (_, Some(decoded)) if opts.has_stacks(format) => {
            stacks(opts, chosen, decoded, &profile, &program, places.as_ref(), &mut outcome)?
        }
        (Format::Export(export::Format::LlvmContexts), Some(decoded)) => {
            contexts(opts, decoded, &program, places.as_ref(), &mut outcome)?
        }
        (Format::Export(export::Format::LlvmContexts), None) => return Err(without_order(opts, format)),
        (_, None) if opts.has_stacks(format) => return Err(without_order(opts, format)),
        (Format::Export(format), _) => {
            let mut remarks = Vec::new();
            let written = format.write(&profile, &program, &mut remarks);
            for of in &remarks {
                let how =
                    if matches!(of, ExportRemark::OneBinary(..)) { " (--binary picks another)" } else { "" };
                remark(&format!("{of}{how}"));
            }
            written?
        }
        _ => csv::profile::counted(opts.rows, &profile, &program).into_bytes(),
    };
    let is_empty = profile.funnel.in_output == 0 || format.says_nothing(&bytes);
    output.write_whole(&bytes, is_empty)?;
    let otherwise = if is_whole { format.cannot() } else { funnel::FILTERED };
    let left = LeftOut { known: &reasons(outside), rest: opts.part.filter.left_out(otherwise) };
    funnel::report_all(&profile, &program, &left);
    outcome.add(images::report_left_out(program.image()));
    funnel::report_names(names);
    if matches!(format, Format::Export(export::Format::Tracewright)) {
        outcome.add(funnel::report_programs(&profile.funnel));
    }
    Ok(outcome.and(Outcome::lacks(words::NOTHING_RAN, is_empty)))
}

/// A percentage, from 0 to 100.
fn percentage(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').parse().ok().filter(|number| (0.0..=100.0).contains(number));
    number.ok_or_else(|| "expected a percentage from 0 to 100".into())
}

/// The capture only counts.
fn without_order(opts: &Opts, format: Format) -> Error {
    let path = opts.capture.capture.display();
    let instead = match format {
        Format::Csv if opts.rows.need_order() => "choose other --rows",
        Format::Csv | Format::Table => "leave out --calls and --paths",
        _ => "choose another --format",
    };
    Error::Message(format!("{path} does not tell in which order things ran: {instead}"))
}

/// What needs all elements once more, in order: who called whom, how loops turned.
fn in_order(
    opts: &Opts,
    decoded: &Decoded,
    program: &Program,
    graph: &Graph,
    places: Option<&PlaceFilter>,
    outcome: &mut Outcome,
) -> Result<Followed, Error> {
    follow(decoded, (program, graph), (&opts.part.filter, places), opts.paths, false, outcome)
}

/// Reads all elements once more, in order: who called whom, how loops turned. What is wrong with clocks is not said `again`.
fn follow(
    decoded: &Decoded,
    (program, graph): (&Program, &Graph),
    (filter, places): (&FilterArgs, Option<&PlaceFilter>),
    paths: Option<u8>,
    again: bool,
    outcome: &mut Outcome,
) -> Result<Followed, Error> {
    let clocks = decoded.clocks();
    if !again {
        outcome.add(clocks::outcome(clocks));
    }
    let window = filter.window()?;
    let only = Only { window: &window, places };
    let threads = ThreadNames::of(decoded.trace.capture());
    let ordered = Follower::new(clocks, (program, graph), &threads, paths.map(usize::from), only);
    // What is wrong was counted when it was decoded first.
    let within = Within { trace: &decoded.trace, again: true, has_funnel: true };
    // With a time that is asked for, the clock was read before.
    let report = |followed: &Followed| {
        let ends = followed.ends.iter().copied();
        if window.is_all() && !again { report_ends(ends) } else { Outcome::Good }
    };
    let (followed, shown) = within.decode(&ordered, report)?;
    outcome.add(shown.outcome);
    if !again {
        let (deep, folded) = (followed.losses.too_deep, followed.calls.tree.folded());
        outcome.add(report_stacks(decoded, deep, folded));
    }
    Ok(followed)
}

/// Says how many calls are not in their place: too deep, or through too many stacks to tell them apart.
fn report_stacks(decoded: &Decoded, too_deep: u64, folded: u64) -> Outcome {
    let path = printable_path(&decoded.trace.capture().path);
    if folded > 0 {
        report(&format!("{path}: {}", words::too_many_stacks(folded)));
    }
    report_deep(&path, too_deep).and(Outcome::lacks(words::TOO_MANY_STACKS, folded > 0))
}

/// Stacks of a capture.
pub fn call_tree(
    decoded: &Decoded,
    program: &Program,
    (filter, places): (&FilterArgs, Option<&PlaceFilter>),
    outcome: &mut Outcome,
) -> Result<CallTree, Error> {
    Ok(follow(decoded, (program, &Graph::default()), (filter, places), None, false, outcome)?.calls)
}

/// Stacks: all that are in them run in the places that are asked for, but who called them need not be there.
fn stacks(
    opts: &Opts,
    chosen: Chosen<Format>,
    decoded: &Decoded,
    profile: &Profile,
    program: &Program,
    places: Option<&PlaceFilter>,
    outcome: &mut Outcome,
) -> Result<Vec<u8>, Error> {
    let done = in_order(opts, decoded, program, &Graph::default(), places, outcome)?;
    let weight = opts.weight.of(&done.calls, Some(decoded.trace.capture()))?;
    let Format::Export(format) = chosen.format else {
        return Ok(match chosen.format {
            Format::Csv => csv::call_tree::rows(&done.calls),
            _ if chosen.is_json => {
                tree::json(&done.calls, &outcome.clone().and(images::left_out(program.image())))
            }
            _ => tree::text(&done.calls, weight, opts.min_share),
        }
        .into_bytes());
    };
    Ok(match format {
        export::Format::Folded => export::folded::write(&done.calls, weight).into_bytes(),
        export::Format::Flamegraph => {
            export::flamegraph::write(&done.calls, weight, &title(&opts.capture.capture))
                .map_err(|error| Error::Message(error.to_string()))?
        }
        export::Format::Pprof => export::pprof::write(&done.calls, profile, program),
        _ => export::callgrind::write(&done.calls, profile, program).into_bytes(),
    })
}

/// Counts by calling context.
fn contexts(
    opts: &Opts,
    decoded: &Decoded,
    program: &Program,
    places: Option<&PlaceFilter>,
    outcome: &mut Outcome,
) -> Result<Vec<u8>, Error> {
    let clocks = decoded.clocks();
    outcome.add(clocks::outcome(clocks));
    let window = opts.part.filter.window()?;
    let counter = ContextCounter::new(clocks, program, Only { window: &window, places });
    // What is wrong was counted when it was decoded first.
    let within = Within { trace: &decoded.trace, again: true, has_funnel: true };
    let (contexts, ..) = within.decode(&counter, |_| Outcome::Good)?;
    outcome.add(report_stacks(decoded, contexts.too_deep, contexts.folded()));
    let text = export::llvm_contexts::write(&contexts, program);
    if text.is_empty() { Err(ExportError::NoLines.into()) } else { Ok(text.into_bytes()) }
}
