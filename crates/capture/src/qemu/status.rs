//! Exit statuses in words.

use std::process::ExitStatus;

/// Names of Linux's signals, from 1 on.
const SIGNALS: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
    "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
    "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];

/// Returns the signal that ended a program, if one did.
#[cfg(unix)]
pub fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

/// Returns `None`: this system has no signals.
#[cfg(not(unix))]
pub fn signal(_: ExitStatus) -> Option<i32> {
    None
}

/// Returns a signal's name: `SIGSEGV`.
pub fn signal_name(signal: i32) -> String {
    let name = usize::try_from(signal).ok().and_then(|signal| SIGNALS.get(signal.checked_sub(1)?));
    name.map_or(format!("signal {signal}"), |name| format!("SIG{name}"))
}

/// Returns how a program ended, in words: `exit status 0`, `killed by SIGSEGV`.
pub fn describe(status: ExitStatus) -> String {
    match (status.code(), signal(status)) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by {}", signal_name(signal)),
        (None, None) => "ended".into(),
    }
}

/// Returns the exit status, or, as shells have it, 128 plus the signal that killed the program.
pub fn as_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| signal(status).map(|signal| 128 + signal));
    code.map_or(1, |code| code as u8)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn signals_have_names() {
        for (signal, name) in
            [(1, "SIGHUP"), (9, "SIGKILL"), (11, "SIGSEGV"), (15, "SIGTERM"), (31, "SIGSYS")]
        {
            assert_eq!(signal_name(signal), name);
        }
        assert_eq!((signal_name(0), signal_name(34)), ("signal 0".into(), "signal 34".into()));
    }

    #[test]
    fn statuses_are_those_of_shells() {
        let exited = ExitStatus::from_raw(7 << 8);
        assert_eq!((describe(exited), as_code(exited)), ("exit status 7".into(), 7));
        let killed = ExitStatus::from_raw(11);
        assert_eq!((describe(killed), as_code(killed)), ("killed by SIGSEGV".into(), 139));
    }
}
