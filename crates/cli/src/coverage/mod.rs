//! `tracewright coverage`: how much of the programs ran.

mod json;
mod missing;
mod text;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tracewright::csv;
use tracewright::profile::Outside;
use tracewright_profile::coverage::{Coverage, Part, Totals, Wanted};
use tracewright_profile::{Named, Profile, Program, export};

use crate::args::CaptureArgs;
use crate::filter::{PartArgs, reasons};
use crate::funnel::{self, LeftOut};
use crate::images;
use crate::output::{Chosen, Error, ForceArgs, Form, Outcome, Output, remark, report};
use crate::profile::open::Counted;

/// Show how much of the programs ran: instructions, branches both ways, source lines, functions.
///
/// What could have run is all code of the functions that the symbols of the programs tell, also of functions that never ran. Nothing
/// has to be instrumented: it is the program as it is. Several captures add up; CAPTURE may also be a profile that was kept.
/// Functions are those of the source: --function takes the code of a function wherever it is inlined, and not what is inlined into it.
#[derive(Args)]
#[command(after_help = "\
Exit status: as in all verbs; 3 if less ran than a minimum asks for.
Examples:
  tracewright coverage run
  tracewright coverage run --missing --file sort.c
  tracewright coverage run --function main --from-cycle 1000
  tracewright coverage run --format csv > run.csv
  tracewright coverage run1 run2 run3 --format lcov -o all.info --min-lines 80
  genhtml --branch-coverage all.info -o html
  tracewright coverage run --format cobertura -o coverage.xml")]
pub struct Opts {
    #[command(flatten)]
    capture: CaptureArgs,

    /// More captures, whose coverage is added.
    #[arg(value_name = "CAPTURE")]
    more: Vec<PathBuf>,

    /// Only source files (or binaries) whose path has this in it (repeat for more).
    #[arg(long = "file", value_name = "TEXT")]
    files: Vec<String>,

    #[command(flatten)]
    part: PartArgs,

    /// List the lines, branches and functions that never ran.
    #[arg(long, conflicts_with = "format")]
    missing: bool,

    /// How many rows a table has.
    ///
    /// They are functions, of each file.
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,

    /// What is written.
    ///
    /// Without this: what the name of the output says (.info, .lcov, .xml, .csv, .json), or the table.
    #[arg(long, value_enum, conflicts_with = "json")]
    format: Option<CoverageFormat>,

    /// Write JSON, for programs; the book lists its fields.
    #[arg(long)]
    json: bool,

    /// Where the result is written: a file (- is standard output), or the folder of a capture, which is made.
    #[arg(short, long, value_name = "PATH", default_value = "-", hide_default_value = true)]
    output: PathBuf,

    #[command(flatten)]
    force: ForceArgs,

    /// Fail if less of the source lines ran.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    min_lines: Option<f64>,

    /// Fail if less of the outcomes of branches in source files came about.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    min_branches: Option<f64>,

    /// Fail if less of the functions ran, with or without source lines.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    min_functions: Option<f64>,
}

/// What is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CoverageFormat {
    /// A table for people.
    #[default]
    Table,
    /// Comma-separated values, all rows, for spreadsheets and scripts.
    Csv,
    /// The text of lcov: genhtml, and most other tools.
    Lcov,
    /// Cobertura's XML, for CI servers.
    Cobertura,
    /// LLVM's coverage export as JSON, as llvm-cov export writes it.
    LlvmJson,
}

impl Chosen<CoverageFormat> {
    /// Returns what the output is.
    fn form(self) -> Form {
        match self.format {
            _ if self.is_json => Form::Json,
            CoverageFormat::Table => Form::Table,
            CoverageFormat::Csv | CoverageFormat::Lcov => Form::Text,
            CoverageFormat::Cobertura => Form::Xml,
            CoverageFormat::LlvmJson => Form::Json,
        }
    }

    /// Whether the output has source files only.
    fn is_of_sources(self) -> bool {
        use CoverageFormat::{Cobertura, Lcov, LlvmJson};
        !self.is_json && matches!(self.format, Lcov | Cobertura | LlvmJson)
    }
}

impl Opts {
    /// Whether only a part of the programs is asked for.
    fn is_part(&self) -> bool {
        !self.files.is_empty() || self.part.filter.any_places()
    }
}

/// No more binaries without symbols are named one by one.
const MOST_NAMED: usize = 3;

/// The status if less ran than asked for.
const TOO_LITTLE: u8 = 3;

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    let chosen = Chosen::new(opts.format, opts.json, &opts.output)?;
    let output = Output::open_whole(&opts.output, chosen.form(), opts.force)?;
    let (mut profile, programs, mut outcome, outside, is_whole) = gather(opts)?;
    let places = opts.part.filter.places_of_any_function(&profile, &programs.iter().collect::<Vec<_>>())?;
    let wanted = Wanted { files: opts.files.clone(), places, functions: opts.part.filter.functions.clone() };
    let coverage = Coverage::new(&profile, &programs, &wanted);
    profile.funnel.in_output = coverage.executed;
    outcome = outcome.and(funnel::is_empty(&profile.funnel));
    if chosen.is_of_sources() && !coverage.files.iter().any(|file| file.is_source) {
        report("no source line of what ran is known: was it compiled with debug information (-g)?");
        outcome = outcome.and(Outcome::lacks(images::NO_LINES, true));
    }
    let all: Vec<_> = programs.iter().collect();
    // A function that is only inlined has no place, but a name.
    let places = opts.part.filter.places(&profile, &all);
    let names = places.map_or(Named::default(), |places| wanted.named(&profile, &all, places.as_ref()));
    let text = match chosen.format {
        _ if chosen.is_json => {
            let lines = programs.iter().map(|program| images::left_out(program.image()));
            let lacks = lines.fold(outcome.clone().and(funnel::lacks_names(names)), Outcome::and);
            json::object(&coverage, &profile, &lacks)
        }
        CoverageFormat::Csv => csv::coverage::functions(&coverage, &profile),
        CoverageFormat::Lcov => export::lcov::write(&coverage),
        CoverageFormat::Cobertura => export::cobertura::write(&coverage),
        CoverageFormat::LlvmJson => export::llvm_coverage::write(&coverage),
        CoverageFormat::Table if opts.missing => missing::all(&coverage, &programs),
        CoverageFormat::Table => text::all(opts, &coverage),
    };
    output.write_whole(text.as_bytes(), text.is_empty())?;
    report_outside(opts, &coverage);
    let rest = match opts.is_part() {
        true => "not asked for (--file, --function, --range, --binary)",
        false if !is_whole => funnel::FILTERED,
        false => "of no known function",
    };
    funnel::report_sums(&profile.funnel, &LeftOut { known: &reasons(outside), rest });
    let outcome = outcome.and(funnel::report_names(names));
    let outcome = programs
        .iter()
        .fold(outcome, |outcome, program| outcome.and(images::report_left_out(program.image())));
    let totals = Totals { functions: coverage.named_functions(), ..coverage.source_totals() };
    Ok(if is_enough(opts, &totals) { outcome } else { Outcome::Status(TOO_LITTLE) })
}

/// What ran in all captures, and the programs of each.
/// The last says whether kept profiles have all that ran when they were made.
fn gather(opts: &Opts) -> Result<(Profile, Vec<Program>, Outcome, Outside, bool), Error> {
    let mut is_whole = true;
    let mut profile = Profile::default();
    let mut programs = Vec::new();
    let (mut outcome, mut outside) = (Outcome::Good, Outside::default());
    for path in std::iter::once(&opts.capture.capture).chain(&opts.more) {
        let capture = opts.capture.of(path);
        let counted = Counted::open(&capture, &opts.part)?;
        outside += counted.outside;
        is_whole &= counted.is_whole();
        outcome.add(counted.outcome);
        let binaries = &counted.profile.binaries;
        let numbers: Vec<_> = binaries.iter().map(|binary| profile.binary(binary.clone())).collect();
        profile.merge(&counted.profile);
        programs.push(counted.program.renumbered(&numbers));
    }
    Ok((profile, programs, outcome, outside, is_whole))
}

/// Says what is not in the output, and why.
fn report_outside(opts: &Opts, coverage: &Coverage) {
    for name in coverage.without_functions.iter().take(MOST_NAMED) {
        remark(&format!("{name}: no symbols tell its functions (a copy with symbols: --image)"));
    }
    match coverage.without_functions.len().saturating_sub(MOST_NAMED) {
        0 => {}
        1 => remark("1 more binary has no symbols either"),
        more => remark(&format!("{more} more binaries have no symbols either")),
    }
    if coverage.functions.is_empty() {
        report(match opts.is_part() {
            true => "no function is in what is asked for (--file, --function, --range, --binary)",
            false => "nothing ran of which the functions are known",
        });
    }
}

/// Whether as much ran as was asked for; says what did not.
fn is_enough(opts: &Opts, totals: &Totals) -> bool {
    let asked = [
        (opts.min_lines, totals.lines, "lines", "in source files: is there debug information?"),
        (opts.min_branches, totals.branches, "branches", "in source files: is there debug information?"),
        (opts.min_functions, totals.functions, "functions", "with symbols"),
    ];
    let mut is_enough = true;
    for (least, part, what, of) in asked {
        let Some(least) = least else { continue };
        match part.percent() {
            Some(percent) if percent >= least => continue,
            Some(percent) => {
                let Part { hit, all } = part;
                // Not rounded up to what was asked for.
                let percent = (percent * 100.0).floor() / 100.0;
                report(&format!("{what}: {percent} % ({hit} of {all}) is less than {least} %"));
            }
            None => report(&format!("{what}: there are none {of}")),
        }
        is_enough = false;
    }
    is_enough
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse().ok();
    number
        .filter(|percent| (0.0..=100.0).contains(percent))
        .ok_or_else(|| "expected a percentage: a number from 0 to 100".into())
}
