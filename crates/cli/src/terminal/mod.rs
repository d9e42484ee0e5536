//! What a terminal can show: how wide it is, whether it has colours, and a pager for long listings. In a pipe nothing of it is used.

mod pager;
mod style;

use std::env;
use std::io::{IsTerminal, stderr, stdout};
use std::sync::OnceLock;

use clap::{Args, ValueEnum};
use terminal_size::{Width, terminal_size_of};

pub use self::pager::{Pager, finish as finish_pager, hold};
pub use self::style::{END, HEADING, Style, heading, hot, leave_out, switch};
pub use tracewright::words::wrap;

/// How much is shown on a terminal.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct TerminalArgs {
    /// Use colours; auto: on a terminal, unless NO_COLOR is set [default: auto].
    #[arg(
        long,
        value_enum,
        value_name = "auto|always|never",
        default_value_t,
        global = true,
        help_heading = "Terminal",
        hide_possible_values = true,
        hide_default_value = true
    )]
    color: When,

    /// Show long listings on a terminal without a pager.
    #[arg(long, global = true, help_heading = "Terminal")]
    no_pager: bool,
}

/// When colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal; not if NO_COLOR is set, always if CLICOLOR_FORCE is.
    #[default]
    Auto,
    Always,
    Never,
}

/// Columns where nobody knows better.
const USUAL: usize = 80;
/// Tables need some room: on a narrower terminal their lines are broken by the terminal.
const LEAST: usize = 72;
const MOST: usize = 400;

static ASKED: OnceLock<TerminalArgs> = OnceLock::new();

/// Says what is asked for; before anything is written.
pub fn set(args: TerminalArgs) {
    let _ = ASKED.set(args);
}

fn asked() -> TerminalArgs {
    ASKED.get().copied().unwrap_or_default()
}

/// Returns the columns that text on standard output may have: those of the terminal, or 80 in a pipe or file.
pub fn width() -> usize {
    static WIDTH: OnceLock<usize> = OnceLock::new();
    *WIDTH.get_or_init(|| match stdout().is_terminal() {
        true => columns(terminal_size_of(stdout()).map(|(Width(width), _)| width)).clamp(LEAST, MOST),
        false => USUAL,
    })
}

/// Returns the columns of the terminal that standard error is, if it is one.
pub fn error_width() -> Option<usize> {
    static WIDTH: OnceLock<Option<usize>> = OnceLock::new();
    *WIDTH.get_or_init(|| {
        stderr().is_terminal().then(|| columns(terminal_size_of(stderr()).map(|(Width(width), _)| width)))
    })
}

/// What a terminal says of its width, or else `COLUMNS`.
fn columns(told: Option<u16>) -> usize {
    let named = || env::var("COLUMNS").ok()?.parse().ok();
    told.map(usize::from).or_else(named).filter(|&width| width > 0).unwrap_or(USUAL)
}

/// Returns whether standard output gets colours.
pub fn has_colors() -> bool {
    colors(stdout().is_terminal())
}

/// Returns whether standard error gets colours.
pub fn has_error_colors() -> bool {
    colors(stderr().is_terminal())
}

fn colors(is_terminal: bool) -> bool {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
    match asked().color {
        When::Always => true,
        When::Never => false,
        When::Auto if env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) => false,
        When::Auto => {
            is_set("CLICOLOR_FORCE") || is_terminal && env::var_os("TERM").is_none_or(|term| term != "dumb")
        }
    }
}
