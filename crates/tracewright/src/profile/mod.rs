//! Profiles: how often each part of the code ran.
//!
//! [`BlockCounter`] counts blocks on all cores; [`WindowCounter`] counts those of a window of time, in order; [`Follower`] follows calls,
//! loops and paths, in order; [`ContextCounter`] counts blocks by calling context, in order. [`KeptProfile`] is a profile from a file,
//! and [`ListedProfile`] one of a branch list of simpleperf.

mod contextual;
mod counted;
pub mod funnel;
mod handlers;
mod kept;
mod listed;
mod ordered;
mod programs;
mod report;
mod windowed;

#[cfg(test)]
mod naive;
#[cfg(test)]
mod tests;

use tracewright_engine::Tally;
use tracewright_profile::{Funnel, Profile, Program};

pub use self::contextual::{ContextCounter, ContextState};
pub use self::counted::{BlockCounter, in_binaries};
pub use self::handlers::{HandlerFinder, HandlerState};
pub use self::kept::KeptProfile;
pub use self::listed::ListedProfile;
pub use self::ordered::{FollowState, Followed, Follower, Only};
pub use self::programs::{MissingProgram, ProgramError, ProgramSearch};
pub use self::report::Report;
pub(crate) use self::report::counted_functions;
pub(crate) use self::windowed::OrderedCounts;
pub use self::windowed::{Outside, WindowCounter, WindowState, Windowed};

/// Fills the first steps of a funnel: what was decoded.
pub fn fill(funnel: &mut Funnel, tally: &Tally) {
    funnel.bytes = tally.bytes;
    funnel.bytes_around = tally.bytes_around;
    funnel.bytes_unread = tally.bytes_unread;
    funnel.bytes_lost = tally.bytes_lost;
    funnel.gaps = tally.gaps;
    funnel.without_code = tally.no_code;
    funnel.mismatches = tally.mismatches;
    funnel.unknown_paths = tally.unknown_paths;
    funnel.endless_loops = tally.endless_loops;
    funnel.stopped = tally.stopped;
}

/// Fills the last steps of a profile's funnel: how many instructions are of known binaries and functions.
pub fn attribute(profile: &mut Profile, program: &Program) {
    let Funnel { in_binary, in_function, in_output, .. } = &mut profile.funnel;
    (*in_binary, *in_function, *in_output) = (0, 0, 0);
    for (code, runs) in &profile.blocks {
        let instructions = u64::from(code.count) * runs.all();
        *in_output += instructions;
        if profile.binaries.get(code.start.binary as usize).is_some() {
            *in_binary += instructions;
            *in_function += if program.symbol(code.start).is_some() { instructions } else { 0 };
        }
    }
}

/// Notes for each binary of a profile where it was found on this machine, if that is not where it ran.
pub fn locate(profile: &mut Profile, program: &Program) {
    for (number, binary) in (0..).zip(&mut profile.binaries) {
        let path = program.file(number).and_then(|file| std::path::absolute(file.name()).ok());
        let path = path.filter(|path| path.is_file()).and_then(|path| path.to_str().map(str::to_owned));
        binary.found = path.filter(|path| *path != binary.name);
    }
}
