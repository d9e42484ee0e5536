//! Messages of instrumentation sources, as text and as JSON.

use std::fmt::Write as _;

use tracewright_core::{
    Delay, Exception, ExceptionChange, Message, Report, Reported, Sample, Watched, Write,
};
use tracewright_engine::{At, Line};

use crate::words;

/// Writes a local timestamp as text.
///
/// # Errors
/// Never fails: writing to a line does not.
pub fn local_time(line: &mut Line, cycles: u64, delay: Delay) -> std::fmt::Result {
    write!(line, "local time +{}", words::count(cycles, "cycle"))?;
    line.write_str(match (delay.timestamp, delay.packet) {
        (false, false) => "",
        (true, false) => ", timestamp delayed",
        (false, true) => ", message delayed",
        (true, true) => ", timestamp and message delayed",
    })
}

/// Writes a message as text.
///
/// # Errors
/// Never fails: writing to a line does not.
pub fn message(line: &mut Line, at: &At<'_>, message: &Message) -> std::fmt::Result {
    match message {
        Message::Write(value) => write(line, value),
        Message::Report(value) => report(line, value),
        Message::Exception { number, change } => {
            let change = match change {
                ExceptionChange::Entered => "entered",
                ExceptionChange::Left => "left",
                ExceptionChange::Resumed => "resumed",
            };
            write!(line, "exception {} {change}", exception_name(at, *number))
        }
        Message::Sample(Sample::At(address)) => write!(line, "sample {address:#x}"),
        Message::Sample(Sample::Asleep) => line.write_str("sample: asleep"),
        Message::Sample(Sample::Prohibited) => line.write_str("sample: prohibited"),
        Message::Counters(bits) => {
            line.text("counters wrapped:");
            counters(*bits).try_for_each(|name| write!(line, " {name}"))
        }
        Message::Monitor(bits) => {
            line.text("performance counters overflowed:");
            set_bits(*bits).try_for_each(|bit| write!(line, " {bit}"))
        }
        Message::Watch { comparator, watched } => {
            write!(line, "comparator {comparator}: ")?;
            match watched {
                Watched::By(address) => write!(line, "by {address:#x}"),
                Watched::AddressLow(low) => write!(line, "address ...{low:04x}"),
                Watched::Read { size, value } => {
                    write!(line, "read {value:#0width$x}", width = 2 + 2 * usize::from(*size))
                }
                Watched::Wrote { size, value } => {
                    write!(line, "wrote {value:#0width$x}", width = 2 + 2 * usize::from(*size))
                }
                Watched::Match => line.write_str("match"),
            }
        }
        Message::Hardware { source, size, value } => {
            write!(line, "hardware source {source}: {value:#0width$x}", width = 2 + 2 * usize::from(*size))
        }
    }
}

fn write(line: &mut Line, write: &Write) -> std::fmt::Result {
    let Write { master, channel, bits, value, marked, trigger } = *write;
    line.text(if trigger {
        "trigger"
    } else if bits == 0 {
        "mark"
    } else {
        "write"
    });
    if let Some(master) = master {
        write!(line, " master {master}")?;
    }
    write!(line, " {} {channel}", words::channel(master.as_ref()))?;
    if bits > 0 {
        write!(line, ": {value:#0width$x}", width = 2 + usize::from(bits) / 4)?;
    }
    line.write_str(if marked && bits > 0 { ", marked" } else { "" })
}

fn report(line: &mut Line, report: &Report) -> std::fmt::Result {
    match (report.what, report.master) {
        (Reported::Frequency(hertz), _) => write!(line, "timestamp frequency {hertz} Hz"),
        (Reported::MasterError(code), Some(master)) => write!(line, "error {code:#x} of master {master}"),
        (Reported::MasterError(code), None) => write!(line, "error {code:#x} of a master"),
        (Reported::GlobalError(code), _) => write!(line, "global error {code:#x}"),
    }
}

/// Writes a message as members of a JSON object.
pub(super) fn json(line: &mut Line, at: &At<'_>, message: &Message) -> std::fmt::Result {
    match message {
        Message::Write(Write { master, channel, bits, value, marked, trigger }) => {
            line.text(r#","kind":"message""#);
            json_master(line, *master)?;
            write!(line, r#","channel":{channel},"bits":{bits},"value":"{value:#x}""#)?;
            write!(line, r#","marked":{marked},"trigger":{trigger}"#)
        }
        Message::Report(Report { master, what, .. }) => match what {
            Reported::Frequency(hertz) => write!(line, r#","kind":"timestamp frequency","hertz":{hertz}"#),
            Reported::MasterError(code) => {
                line.text(r#","kind":"master error""#);
                json_master(line, *master)?;
                write!(line, r#","code":{code}"#)
            }
            Reported::GlobalError(code) => write!(line, r#","kind":"global error","code":{code}"#),
        },
        Message::Exception { number, change } => {
            let change = match change {
                ExceptionChange::Entered => "entered",
                ExceptionChange::Left => "left",
                ExceptionChange::Resumed => "resumed",
            };
            let name = exception_name(at, *number);
            write!(
                line,
                r#","kind":"exception change","number":{number},"name":"{name}","change":"{change}""#
            )
        }
        Message::Sample(sample) => {
            line.text(r#","kind":"sample""#);
            match sample {
                Sample::At(address) => write!(line, r#","address":"{address:#x}""#),
                Sample::Asleep => Ok(()),
                Sample::Prohibited => line.write_str(r#","prohibited":true"#),
            }
        }
        Message::Counters(bits) => {
            let names: Vec<_> = counters(*bits).map(|name| format!("\"{name}\"")).collect();
            write!(line, r#","kind":"counters","counters":[{}]"#, names.join(","))
        }
        Message::Monitor(bits) => {
            let counters: Vec<_> = set_bits(*bits).map(|bit| bit.to_string()).collect();
            write!(line, r#","kind":"performance counters","counters":[{}]"#, counters.join(","))
        }
        Message::Watch { comparator, watched } => {
            write!(line, r#","kind":"watch","comparator":{comparator}"#)?;
            match watched {
                Watched::By(address) => write!(line, r#","by":"{address:#x}""#),
                Watched::AddressLow(low) => write!(line, r#","address_low":"{low:#x}""#),
                Watched::Read { size, value } => {
                    write!(line, r#","access":"load","bytes":{size},"value":"{value:#x}""#)
                }
                Watched::Wrote { size, value } => {
                    write!(line, r#","access":"store","bytes":{size},"value":"{value:#x}""#)
                }
                Watched::Match => Ok(()),
            }
        }
        Message::Hardware { source, size, value } => {
            write!(line, r#","kind":"hardware","source":{source},"bytes":{size},"value":"{value:#x}""#)
        }
    }
}

fn json_master(line: &mut Line, master: Option<u16>) -> std::fmt::Result {
    master.map_or(Ok(()), |master| write!(line, r#","master":{master}"#))
}

/// Returns the names of the event counters of a core, of those whose bit is set.
fn counters(bits: u8) -> impl Iterator<Item = &'static str> {
    let names = ["CPI", "EXC", "SLEEP", "LSU", "FOLD", "CYC"];
    set_bits(bits).filter_map(move |bit| names.get(bit).copied())
}

fn set_bits(bits: u8) -> impl Iterator<Item = usize> {
    (0..8).filter(move |bit| bits >> bit & 1 == 1)
}

/// Returns the name of an exception of the traced core.
pub(crate) fn exception_name(at: &At<'_>, number: u16) -> String {
    let exception =
        Exception { number, interrupt: false, value: None, return_address: None, at_target: false };
    at.source.exception_name(&exception)
}
