//! A difference as text and as JSON.

use std::collections::VecDeque;
use std::fmt::Write as _;

use serde_json::json;
use tracewright_core::{Block, Class, Ended, Isa, MemorySpace};
use tracewright_etm::CoreProfile;
use tracewright_etm::packet::{Exception, ReturnAddress};
use tracewright_flow::Instructions;
use tracewright_hart::cause;
use tracewright_image::Image;
use tracewright_isa::riscv::AccessKind;

use super::item::{Data, Item, Mode, Run, Trap, Unknown};
use super::{Checked, LogCode, Parted};
use crate::{disassembly, names, words};

/// Instructions shown before a difference, and of each side after it.
const SHOWN: usize = 4;

/// What to do where neither an image nor the log has the code.
pub const NO_BITS: &str = "and the log has no bits of its instructions:\n\
                       give the code with --image FILE@ADDRESS, or a log with bits (record --details all)";

/// The same of a retirement log. It has all code, and of changed code no version is right for all that ran.
pub const CHANGED: &str = "and the log's changed while the program ran, so that no version of it is right for all:\n\
                           where the code was the same all the time, give it with --image FILE@ADDRESS";

/// The program that both sides ran.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    pub image: &'a Image,
    pub isa: Isa,
}

impl Side<'_> {
    /// Returns the last instructions that both sides have, and the next ones of each, as text.
    pub fn show(&self, last: &VecDeque<Run>, trace: &[Item], log: &[Item]) -> String {
        let mut text = String::new();
        let both: Vec<_> = last.iter().flat_map(|run| self.run(run)).collect();
        for line in &both[both.len().saturating_sub(SHOWN)..] {
            let _ = writeln!(text, "  both  {line}");
        }
        for (name, items) in [("trace", trace), ("log  ", log)] {
            let lines = items.iter().flat_map(|item| self.item(item)).take(SHOWN);
            let mut any = false;
            for line in lines {
                let _ = writeln!(text, "  {name} {line}");
                any = true;
            }
            if !any {
                let _ = writeln!(text, "  {name} ends");
            }
        }
        text
    }

    fn item(&self, item: &Item) -> Vec<String> {
        match item {
            Item::Run(run) => self.run(run),
            Item::Trap(found) => vec![format!("{:>18}  {}", "", trap(found, self.isa.is_arm()))],
            Item::Mode(Mode { privilege, context }) => {
                let privilege = privilege.map(|found| level(found, self.isa.is_arm()));
                let context = context.map(|context| format!("context {context:#x}"));
                let both: Vec<_> = privilege.into_iter().chain(context).collect();
                vec![format!("{:>18}  {}", "", both.join(", "))]
            }
            Item::Data(data) => vec![format!("{:>18}  {}", "", access(data))],
            Item::DataLost => vec![format!("{:>18}  accesses are missing", "")],
            Item::Unknown(why) => vec![format!("{:>18}  {}", "", unknown(*why))],
        }
    }

    /// Returns a line for each instruction: address, text, place.
    fn run(&self, run: &Run) -> Vec<String> {
        let Run { start, end, count, last_len, ended, isa, .. } = *run;
        let block = Block { start, end, count, isa, last_len, class: Class::NEXT, ended };
        let mut lines: Vec<String> = Vec::new();
        for instruction in Instructions::new(self.image, MemorySpace::ANY, &block).take(count as usize) {
            let mut text = String::new();
            disassembly::write(&mut text, isa, &instruction);
            let place = names::place(self.image, instruction.address, MemorySpace::ANY, 24);
            let line = format!("{:#18x}  {text:<27} {place}", instruction.address);
            lines.push(line.trim_end().to_owned());
        }
        if lines.is_empty() {
            let plural = if count == 1 { "" } else { "s" };
            lines.push(format!("{start:#18x}  {count} instruction{plural}, of which no image has the code"));
        }
        if let (Ended::Taken | Ended::NotTaken, Some(last)) = (ended, lines.last_mut()) {
            // Only conditional branches are marked.
            let taken = if ended == Ended::Taken { "" } else { " (not taken)" };
            last.push_str(taken);
        }
        lines
    }
}

/// Returns text such as `U mode` or `EL0`.
fn level(level: u8, is_arm: bool) -> String {
    if is_arm { format!("EL{level}") } else { format!("{} mode", words::privilege(level)) }
}

/// Returns text such as `exception 5: load from where no memory is, value 0x10, at 0x80000000`.
fn trap(trap: &Trap, is_arm: bool) -> String {
    let kind = if trap.interrupt { "interrupt" } else { "exception" };
    let what = if is_arm { arm(trap.cause) } else { cause::describe(trap.cause, trap.interrupt) };
    let mut text = format!("{kind} {}: {what}", trap.cause);
    if let Some(value) = trap.value {
        let _ = write!(text, ", value {value:#x}");
    }
    if let Some(pc) = trap.pc {
        let _ = write!(text, ", at {pc:#x}");
    }
    text
}

/// Returns text such as `load of 4 bytes at 0x100, value 0x7`.
fn access(data: &Data) -> String {
    let kind = match data.kind {
        AccessKind::Load => "load",
        AccessKind::Store => "store",
        AccessKind::Amo => "atomic operation",
    };
    let mut text = format!("{kind} of {} byte{}", data.size, if data.size == 1 { "" } else { "s" });
    if let Some(address) = data.address {
        let _ = write!(text, " at {address:#x}");
    }
    if let Some(value) = data.value {
        let _ = write!(text, ", value {value:#x}");
    }
    text
}

/// Returns ETMv4's name of an exception.
fn arm(number: u64) -> &'static str {
    let number = u16::try_from(number).unwrap_or(u16::MAX);
    Exception { number, return_address: ReturnAddress::None, fault_pending: false }.name(CoreProfile::A)
}

fn unknown(why: Unknown) -> &'static str {
    match why {
        Unknown::Gap => "a gap: trace is missing",
        Unknown::NoCode => "no image has the code",
        Unknown::Mismatch => "the program cannot have run as the trace says",
        Unknown::Path => "the trace leaves open what ran",
    }
}

impl Checked {
    /// Returns whether some accesses were compared, but not all.
    fn leaves_out_accesses(&self) -> bool {
        self.equal.accesses > 0 && self.equal.accesses_ended
    }

    /// Returns a line on waits that were passed over, and one for each place.
    fn waits_text(&self) -> String {
        let super::Waits { times, rounds, places } = &self.waits;
        if *times == 0 {
            return String::new();
        }
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        let (of_times, of_rounds) = (plural(*times), plural(*rounds));
        let mut text = format!(
            "  passed over {times} wait{of_times}: {rounds} round{of_rounds} that only one of the two has\n"
        );
        for (at, times, place) in &self.wait_places {
            let _ = writeln!(text, "  {times:>8} at {at:#x}  {place}");
        }
        let listed: u64 = places.values().sum();
        if listed < *times {
            let _ = writeln!(text, "  {:>8} elsewhere", times - listed);
        }
        text
    }

    /// Returns a line on code that is taken from the log, or that is missing at the log's beginning.
    fn code_text(&self) -> String {
        let mut text = self.code.as_ref().map_or_else(String::new, |code| format!("  {code}\n"));
        if self.skipped > 0 {
            let _ = writeln!(
                text,
                "  not compared: the log's first instructions ({}), whose code no image has;\n  \
                 a log in a file gives the code itself, a pipe is read only once",
                self.skipped
            );
        }
        text
    }

    /// Returns the result as a few lines of text.
    pub fn text(&self) -> String {
        let (instructions, traps) = (self.equal.instructions, self.equal.traps);
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        let Some((offset, how)) = &self.parted else {
            let after = match (self.skipped, &self.log_error) {
                (_, Some(_)) => " as far as the log could be read",
                (1.., None) => " after the log's beginning",
                (0, None) => "",
            };
            let mut text = format!(
                "equal{after}: {instructions} instruction{}, {traps} trap{}",
                plural(instructions),
                plural(traps)
            );
            match self.equal.accesses {
                0 => {}
                count => text += &format!(", {count} access{}", if count == 1 { "" } else { "es" }),
            }
            if self.leaves_out_accesses() {
                text += "\n  accesses after those were not compared: the trace has lost some, or leaves open how often some ran";
            }
            match (self.equal.open, self.equal.uncounted) {
                (0, _) => {}
                (_, 0) => {
                    text += "\n  the trace leaves open how often a loop ran, and the log does not say more";
                }
                (_, more) => {
                    text += &format!("\n  {more} more in loops whose rounds the trace does not tell");
                }
            }
            if self.equal.has_last_trap {
                text += "\n  not compared: the log's last trap, after which nothing ran: the trace does not tell it";
            }
            return text + "\n" + &self.code_text() + &self.waits_text();
        };
        let mut text = format!(
            "the trace and the log part after {instructions} instruction{}, at trace offset {offset:#x}:\n",
            plural(instructions)
        );
        let words = match how {
            Parted::Address { trace, log } => {
                format!("the trace goes on at {trace:#x}, the log at {log:#x}")
            }
            Parted::Branch { at, taken_in_trace } => {
                let which = if *taken_in_trace { "trace" } else { "log" };
                format!("the branch at {at:#x} was taken in the {which} only")
            }
            Parted::OnlyInTrace(found) => format!("only the trace has a trap: {}", trap(found, self.is_arm)),
            Parted::OnlyInLog(found) => format!("only the log has a trap: {}", trap(found, self.is_arm)),
            Parted::Trap { .. } => "the traps differ".into(),
            Parted::Privilege { at, trace, log } => format!(
                "{at:#x} ran in {} in the trace, in {} in the log",
                level(*trace, self.is_arm),
                level(*log, self.is_arm)
            ),
            Parted::Context { at, trace, log } => {
                format!("{at:#x} ran in context {trace:#x} in the trace, in context {log:#x} in the log")
            }
            Parted::Data { trace, log } => {
                let of = |data: &Option<Data>| data.as_ref().map_or_else(|| "none".into(), access);
                format!("accesses to memory differ: {} in the trace, {} in the log", of(trace), of(log))
            }
            Parted::Unknown(Unknown::NoCode) => format!("{}, {}", unknown(Unknown::NoCode), self.no_bits),
            Parted::Unknown(why) => unknown(*why).into(),
            Parted::TraceEnds => "the trace ends, the log goes on".into(),
            Parted::LogEnds => "the log ends, the trace goes on".into(),
        };
        text += &format!("{words}\n{}{}{}", self.shown, self.code_text(), self.waits_text());
        text
    }

    /// Returns the result as a JSON object.
    pub fn json(&self, source: Option<&str>) -> serde_json::Value {
        let hex = |value: u64| format!("{value:#x}");
        let (kind, trace, log) = match self.parted.map(|(_, how)| how) {
            None => (None, None, None),
            Some(Parted::Address { trace, log }) => (Some("address"), Some(hex(trace)), Some(hex(log))),
            Some(Parted::Branch { at, .. }) => (Some("branch"), Some(hex(at)), Some(hex(at))),
            Some(Parted::OnlyInTrace(found)) => (Some("trap"), Some(trap(&found, self.is_arm)), None),
            Some(Parted::OnlyInLog(found)) => (Some("trap"), None, Some(trap(&found, self.is_arm))),
            Some(Parted::Trap { trace, log }) => {
                (Some("trap"), Some(trap(&trace, self.is_arm)), Some(trap(&log, self.is_arm)))
            }
            Some(Parted::Privilege { trace, log, .. }) => {
                let name = |found| Some(level(found, self.is_arm).trim_end_matches(" mode").to_owned());
                (Some("privilege"), name(trace), name(log))
            }
            Some(Parted::Context { trace, log, .. }) => (Some("context"), Some(hex(trace)), Some(hex(log))),
            Some(Parted::Data { trace, log }) => {
                (Some("access"), trace.as_ref().map(access), log.as_ref().map(access))
            }
            Some(Parted::Unknown(why)) => (Some("unknown"), Some(unknown(why).to_owned()), None),
            Some(Parted::TraceEnds) => (Some("trace ends"), None, None),
            Some(Parted::LogEnds) => (Some("log ends"), None, None),
        };
        let mut object = json!({
            "equal": self.is_equal(), "instructions": self.equal.instructions, "traps": self.equal.traps,
            "accesses": self.equal.accesses, "later_accesses_not_compared": self.leaves_out_accesses(),
            "waits": self.waits.times, "wait_rounds": self.waits.rounds,
            "left_open": self.equal.open, "uncounted_instructions": self.equal.uncounted,
            "difference": kind, "offset": self.parted.map(|(offset, _)| offset), "trace_says": trace, "log_says": log,
            "code_from_log": self.code.as_ref().map(LogCode::json), "skipped_instructions": self.skipped,
            "log_error": self.log_error,
        });
        if let Some(source) = source {
            object["source"] = source.into();
        }
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_the_names_of_their_architecture() {
        let image = Image::builder().build();
        let mode = Item::Mode(Mode { privilege: Some(0), context: None });
        for (isa, name) in [(Isa::A64, "EL0"), (Isa::Rv64, "U mode")] {
            assert_eq!(Side { image: &image, isa }.item(&mode)[0].trim(), name);
        }
    }
}
