//! Our own programs for QEMU (`programs/qemu`), and what they do.

use super::{Guest, Variant};

/// A program of ours, and how it is run.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// File in `programs/qemu`, without `.c`.
    pub name: &'static str,
    /// Arguments.
    pub arguments: &'static [&'static str],
    /// Expected output.
    pub output: &'static str,
    /// Expected end.
    pub end: End,
    /// Set if it executes the same instructions each time: one thread, no timer, no other process.
    pub same_each_time: bool,
    /// Ways of linking it; only the first where all would give the same.
    pub variants: &'static [Variant],
}

/// End of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Exit with this status.
    Exit(i32),
    /// Termination by this signal.
    Signal(i32),
}

impl End {
    /// Returns whether `status` matches. QEMU dies of the guest's signal too.
    pub fn is(self, status: std::process::ExitStatus) -> bool {
        use std::os::unix::process::ExitStatusExt;
        match self {
            Self::Exit(code) => status.code() == Some(code),
            Self::Signal(signal) => status.signal() == Some(signal) || status.code() == Some(128 + signal),
        }
    }
}

const ILL: i32 = 4;
const TRAP: i32 = 5;
const ABRT: i32 = 6;
const SEGV: i32 = 11;

const fn own(name: &'static str, arguments: &'static [&'static str], output: &'static str) -> Own {
    let variants = &[Variant::Static];
    Own { name, arguments, output, end: End::Exit(0), same_each_time: true, variants }
}

const CPU: &str = "cpu: sort 0f012e96\ncpu: sieve 65e6702d\ncpu: text 5a0615a5\ncpu: matrix 25bc0bec\n\
                   cpu: calls 0000452f\n";
const CRASH: &str = "crash: on the way\n";

/// All programs, except what is killed from outside (`crash forever`).
pub const OWN: [Own; 14] = [
    Own { variants: &Variant::ALL, ..own("unwind", &[], "unwind: 6798 a trace\n") },
    own("interwork", &[], "interwork: 7f2b7689\n"),
    own("jit", &[], "jit: ad36278d\n"),
    own("cpu", &[], CPU),
    Own { variants: &[Variant::Pie], ..own("load", &[], "load: -25.186679\n") },
    Own {
        same_each_time: false,
        variants: &Variant::ALL,
        ..own("threads", &[], "threads: 6109 12000 2650 400 bbe0d5cf\n")
    },
    Own {
        same_each_time: false,
        variants: &[Variant::Static, Variant::Pie],
        ..own("signals", &[], "signals: 1 alarms, 8 mended, 8 on the other stack, 5 left, 24 nested\n")
    },
    Own { same_each_time: false, ..own("fork", &[], "fork: 143 127 -9\n") },
    Own { same_each_time: false, ..own("fork", &["exec"], "fork: 143 127 -9\n") },
    Own { same_each_time: false, end: End::Exit(4), ..own("leave", &[], "leave: from a thread\n") },
    Own {
        end: End::Signal(SEGV),
        variants: &[Variant::Static, Variant::Pie],
        ..own("crash", &["null"], CRASH)
    },
    Own { end: End::Signal(ABRT), same_each_time: false, ..own("crash", &["abort"], CRASH) },
    Own { end: End::Signal(ILL), ..own("crash", &["illegal"], CRASH) },
    Own { end: End::Signal(TRAP), ..own("crash", &["trap"], CRASH) },
];

/// Iterates over each program on each processor, linked in each of its ways.
pub fn all_own() -> impl Iterator<Item = (&'static Own, Guest, Variant)> {
    OWN.iter().flat_map(|own| {
        let variants = own.variants.iter();
        let pairs = variants.flat_map(|&variant| Guest::ALL.into_iter().map(move |guest| (guest, variant)));
        pairs
            .filter(|&(guest, variant)| variant.is_for(guest))
            .map(move |(guest, variant)| (own, guest, variant))
    })
}
