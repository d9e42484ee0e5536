//! The `tracewright` command: one file per verb.

mod annotate;
mod args;
mod capture;
mod clocks;
mod conform;
mod control;
mod coverage;
mod decode;
mod demo;
mod diff;
mod encode;
mod etrace;
mod filter;
mod funnel;
mod images;
mod info;
mod isr;
mod json;
mod merge;
mod options;
mod output;
mod packets;
mod port;
mod profile;
mod progress;
mod record;
mod retirement;
mod shell;
mod stalls;
mod stats;
mod stop;
mod table;
mod terminal;
mod timeline;

use std::io::ErrorKind;
use std::process::ExitCode;

use clap::{Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand};
use tracewright_core::text::Printable;

use crate::output::{Error, Outcome};
use crate::terminal::TerminalArgs;

/// Read, explain and make processor traces.
///
/// Traces of Arm cores (ETMv4, ETE, PTM, ETMv3) and of RISC-V harts (E-Trace), and messages of software and debug hardware (ITM, STM,
/// DWT). Programs are recorded under QEMU, or on a RISC-V machine of its own. CAPTURE is a folder that tracewright recorded, an Arm
/// trace-snapshot folder, a recording of perf, or a raw trace file described with --source (and --packing).
#[derive(Parser)]
#[command(name = env!("CARGO_BIN_NAME"), version, max_term_width = 80, after_help = EXIT_STATUS)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,

    #[command(flatten)]
    global: GlobalArgs,
}

#[derive(Args)]
struct GlobalArgs {
    #[command(flatten)]
    terminal: TerminalArgs,

    /// Print no closing lines, remarks and warnings on standard error, only errors.
    #[arg(short, long, global = true)]
    quiet: bool,
}

const EXIT_STATUS: &str = "Exit status, the same in all verbs: 0 complete; 1 the answer is there, but something in the trace or the program \
was wrong or missing (the closing lines say what); 2 bad usage, or nothing could be read. Also 3 for a minimum that is not reached (coverage); record \
ends with the status of the program that it ran.";

#[derive(Subcommand)]
enum Verb {
    Annotate(annotate::Opts),
    Completions(shell::CompletionsOpts),
    Conform(conform::Opts),
    Coverage(coverage::Opts),
    Decode(decode::Opts),
    Demo(demo::Opts),
    Diff(diff::Opts),
    Encode(encode::Opts),
    Info(info::Opts),
    Isr(isr::Opts),
    #[command(hide = true)]
    Man(shell::ManOpts),
    /// Print the table of options in the book.
    #[command(hide = true)]
    Options,
    Merge(merge::Opts),
    Packets(packets::Opts),
    Profile(profile::Opts),
    Record(Box<record::Opts>),
    Stalls(stalls::Opts),
    Stats(stats::Opts),
    Timeline(timeline::Opts),
}

/// Function that adds the options of a verb to a command.
type AugmentArgs = fn(Command) -> Command;

/// Verbs that are parsed without the others, and what describes the options of each. (Those that are not here print the
/// options of all.)
const ALONE: [(&str, AugmentArgs); 16] = [
    ("annotate", annotate::Opts::augment_args),
    ("conform", conform::Opts::augment_args),
    ("coverage", coverage::Opts::augment_args),
    ("decode", decode::Opts::augment_args),
    ("demo", demo::Opts::augment_args),
    ("diff", diff::Opts::augment_args),
    ("encode", encode::Opts::augment_args),
    ("info", info::Opts::augment_args),
    ("isr", isr::Opts::augment_args),
    ("merge", merge::Opts::augment_args),
    ("packets", packets::Opts::augment_args),
    ("profile", profile::Opts::augment_args),
    ("record", record::Opts::augment_args),
    ("stalls", stalls::Opts::augment_args),
    ("stats", stats::Opts::augment_args),
    ("timeline", timeline::Opts::augment_args),
];

impl Cli {
    /// Parses the arguments of this process.
    ///
    /// Describing all verbs to clap takes as many instructions as decoding a small capture. Where a verb comes first, only its own
    /// options are described. What these do not parse is parsed with all verbs: it is a request for help, or an error.
    fn parse_quickly() -> Result<Self, clap::Error> {
        let verb = std::env::args_os().nth(1).and_then(|verb| Self::alone(verb.to_str()?));
        match verb.and_then(|command| command.try_get_matches().ok()) {
            Some(mut matches) => Self::from_arg_matches_mut(&mut matches),
            None => Self::try_parse(),
        }
    }

    /// Returns the command with one verb, if that can be parsed without the others.
    fn alone(verb: &str) -> Option<Command> {
        let (name, augment) = ALONE.into_iter().find(|(name, _)| *name == verb)?;
        let command = Command::new(env!("CARGO_BIN_NAME")).subcommand(augment(Command::new(name)));
        Some(GlobalArgs::augment_args(command))
    }
}

fn main() -> ExitCode {
    let Cli { verb, global: GlobalArgs { terminal, quiet } } = match Cli::parse_quickly() {
        Ok(cli) => cli,
        Err(error) => return unparsed(error),
    };
    terminal::set(terminal);
    output::set_quiet(quiet);
    let outcome = match verb {
        Verb::Annotate(opts) => annotate::run(&opts),
        Verb::Completions(opts) => shell::completions(&opts, Cli::command()),
        Verb::Conform(opts) => conform::run(&opts),
        Verb::Coverage(opts) => coverage::run(&opts),
        Verb::Decode(opts) => decode::run(&opts),
        Verb::Demo(opts) => demo::run(&opts),
        Verb::Diff(opts) => diff::run(&opts),
        Verb::Encode(opts) => encode::run(&opts),
        Verb::Info(opts) => info::run(&opts),
        Verb::Isr(opts) => isr::run(&opts),
        Verb::Man(opts) => shell::man(&opts, Cli::command()),
        Verb::Options => shell::options(Cli::command()),
        Verb::Merge(opts) => merge::run(&opts),
        Verb::Packets(opts) => packets::run(&opts),
        Verb::Profile(opts) => profile::run(&opts),
        Verb::Record(opts) => record::run(&opts),
        Verb::Stalls(opts) => stalls::run(&opts),
        Verb::Stats(opts) => stats::run(&opts),
        Verb::Timeline(opts) => timeline::run(&opts),
    };
    terminal::finish_pager();
    match outcome {
        Ok(Outcome::Good) => ExitCode::SUCCESS,
        Ok(Outcome::Incomplete(_)) => ExitCode::from(1),
        Ok(Outcome::Status(status)) => ExitCode::from(status),
        // A reader that has seen enough (`| head`) is no error.
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            error.report();
            ExitCode::from(2)
        }
    }
}

/// Prints help, or why the arguments cannot be understood.
fn unparsed(error: clap::Error) -> ExitCode {
    // The message quotes arguments: it is made again, of arguments that may be printed.
    let arguments = std::env::args_os();
    let printable = arguments.map(|argument| Printable(&argument.to_string_lossy()).to_string());
    let error = Cli::try_parse_from(printable).err().unwrap_or(error);
    match error.print() {
        // Whether that could be told or not.
        _ if error.use_stderr() => ExitCode::from(2),
        Ok(()) => ExitCode::from(error.exit_code() as u8),
        Err(failed) if failed.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failed) => {
            Error::from(failed).report();
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns each option of a verb as text, with all that clap knows about it but its place in the help, which is always made with all
    /// verbs.
    fn options(mut command: Command, verb: &str) -> Vec<String> {
        command.build();
        let verb = command.find_subcommand(verb).unwrap();
        let mut options: Vec<_> =
            verb.get_arguments().map(|of| format!("{:?}", of.clone().display_order(0))).collect();
        options.extend(verb.get_groups().map(|of| format!("{of:?}")));
        options.sort();
        options
    }

    #[test]
    fn a_verb_has_the_same_options_alone() {
        for verb in Cli::command().get_subcommands().map(Command::get_name) {
            match Cli::alone(verb) {
                Some(alone) => assert_eq!(options(alone, verb), options(Cli::command(), verb), "{verb}"),
                None => assert!(["completions", "man", "options"].contains(&verb), "{verb}"),
            }
        }
    }
}
