//! `tracewright completions` and `tracewright man`: what shells and `man` know about the command, from its own options.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use crate::options;
use crate::output::{Error, Outcome, printable_path};

/// Print a script that completes verbs and options in a shell.
#[derive(Args)]
#[command(after_help = "\
Examples:
  source <(tracewright completions bash)
  tracewright completions zsh > \"${fpath[1]}/_tracewright\"
  tracewright completions fish | source")]
pub struct CompletionsOpts {
    /// The shell that will read the script.
    shell: Shell,
}

/// Write the manual pages, one for the command and one for each verb, into a folder.
#[derive(Args)]
pub struct ManOpts {
    /// The folder, which must exist.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Runs `completions` for the options of `command`.
pub fn completions(opts: &CompletionsOpts, mut command: Command) -> Result<Outcome, Error> {
    let mut script = Vec::new();
    generate(opts.shell, &mut command, env!("CARGO_BIN_NAME"), &mut script);
    io::stdout().write_all(&script)?;
    Ok(Outcome::Good)
}

/// Runs `options` for the options of `command`.
pub fn options(command: Command) -> Result<Outcome, Error> {
    io::stdout().write_all(options::page(command).as_bytes())?;
    Ok(Outcome::Good)
}

/// Runs `man` for the options of `command`.
pub fn man(opts: &ManOpts, command: Command) -> Result<Outcome, Error> {
    clap_mangen::generate_to(command.disable_help_subcommand(true), &opts.folder).map_err(|error| {
        Error::Message(format!("{}: cannot write manual pages: {error}", printable_path(&opts.folder)))
    })?;
    Ok(Outcome::Good)
}
