use std::fmt::Write as _;
use std::io::{IsTerminal, stdout};

use tracewright_core::{Block, Element, Ended, Exception, Stamp, Transaction};
use tracewright_flow::Instructions;

use tracewright::listing::{Detail, Lines, TextCache, When, messages};
use tracewright::{disassembly, names, words};
use tracewright_engine::At;

use super::cycles;
use crate::terminal::{width, wrap};
use tracewright_engine::Line;

/// For people.
pub struct Text {
    detail: Detail,
    /// Instructions have a cycle, then.
    has_cycles: bool,
    /// Lines have a timestamp, then.
    has_times: bool,
    /// Whether long lines are wrapped: on a terminal. Elsewhere each element is one line.
    wraps: bool,
    bodies: TextCache,
}

/// Columns before the part that differs, and before an instruction.
const HEAD: usize = 16;
const INDENT: usize = 4;
/// Columns of a timestamp, with the blank behind it.
const TIME: usize = 18;
/// Fewest columns of the name of an inlined function beside an instruction.
const NARROWEST_FUNCTION: usize = 6;
/// Fewest columns of a place's name.
const NARROWEST: usize = 9;

impl Text {
    pub fn new(detail: Detail, has_cycles: bool, has_times: bool) -> Self {
        Self { detail, has_cycles, has_times, wraps: stdout().is_terminal(), bodies: TextCache::new() }
    }

    /// A line that says what the columns are.
    pub fn columns(&self) -> String {
        let time = if self.has_times { format!("{:>1$} ", "time", TIME - 1) } else { String::new() };
        match (self.detail, self.has_cycles) {
            (Detail::Blocks | Detail::Elements, _) => {
                let ended = self.ended();
                format!("    offset id   {time}           address    n {:<ended$} where\n", "ended")
            }
            (Detail::Instructions { .. }, false) => {
                format!("    offset id   {time}where\n               address  bytes     instruction\n")
            }
            (Detail::Instructions { .. }, true) => {
                format!(
                    "    offset id   {time}where\n       cycle             address  bytes     instruction\n"
                )
            }
        }
    }

    /// Columns of a line, without those of the timestamp.
    fn width(&self) -> usize {
        width() - if self.has_times { TIME } else { 0 }
    }

    /// Columns of how a block ended.
    fn ended(&self) -> usize {
        if self.has_times { 9 } else { 12 }
    }

    fn head(&self, line: &mut Line, at: &At<'_>, time: Option<u64>) {
        head(line, at);
        if self.has_times {
            let time = match (time, at.source.of.time) {
                (None, _) => "-".into(),
                (Some(time), None) => format!("{time:#x}"),
                (Some(time), Some(of)) => seconds(of.nanoseconds(time)),
            };
            let _ = write!(line, "{time:>0$} ", TIME - 1);
        }
    }
}

impl Lines for Text {
    fn lines(&self, line: &mut Line, at: &At<'_>, element: &Element, when: When<'_>) {
        match (element, self.detail) {
            (element, detail) if !detail.shows(element) => {}
            (Element::Block(block), detail) => {
                self.head(line, at, when.time);
                let indent = if self.has_cycles { cycles::WIDTH } else { INDENT };
                let make = |line: &mut Line| match detail {
                    Detail::Instructions { inlined } => {
                        instructions(line, at, block, indent, self.width(), inlined);
                    }
                    _ => self::block(line, at, block, self.ended(), self.width()),
                };
                self.bodies.with(block, at.space, make, |text| match when.stamps {
                    None => line.append(text),
                    Some(stamps) => timed(line, text, stamps),
                });
            }
            _ => {
                self.head(line, at, when.time);
                let start = line.bytes().len();
                let _ = other(line, at, element, self.width());
                if self.wraps {
                    let text = String::from_utf8_lossy(&line.bytes()[start..]).into_owned();
                    let indent = HEAD + if self.has_times { TIME } else { 0 };
                    line.truncate(start);
                    line.text(
                        &wrap(&text, self.width() - HEAD, 0).replace('\n', &format!("\n{:indent$}", "")),
                    );
                }
                line.text("\n");
            }
        }
    }
}

/// The lines of a block's instructions, each with its cycle where it is indented.
fn timed(line: &mut Line, text: &[u8], stamps: &[Stamp]) {
    let mut lines = text.split_inclusive(|&byte| byte == b'\n');
    line.append(lines.next().unwrap_or_default());
    for (instruction, stamp) in lines.zip(stamps) {
        cycles::text(line, *stamp);
        line.append(instruction.get(cycles::WIDTH..).unwrap_or_default());
    }
}

fn head(line: &mut Line, at: &At<'_>) {
    line.hex(at.place.offset, 10).text(" 0x");
    // Trace IDs have two digits, sources of messages may have more.
    match u8::try_from(at.source.id) {
        Ok(id) => drop(line.hex_byte(id)),
        Err(_) => drop(write!(line, "{:x}", at.source.id)),
    }
    line.text(" ");
}

fn block(line: &mut Line, at: &At<'_>, block: &Block, columns: usize, width: usize) {
    line.hex(block.start, 18);
    let ended = words::ended(block);
    let _ = write!(line, "{:5} {ended:<columns$} ", block.count);
    let room = (width - HEAD - 18 - 7 - columns.max(ended.len())).max(NARROWEST);
    line.text(&names::place(at.image, block.start, at.space, room)).text("\n");
}

fn instructions(
    line: &mut Line,
    at: &At<'_>,
    block: &Block,
    indent: usize,
    first_width: usize,
    shows_inlined: bool,
) {
    let name = names::place(at.image, block.start, at.space, first_width - HEAD - 25);
    line.text(if name.is_empty() { "?" } else { &name });
    let mut last_source = names::source(at.image, block.start, at.space);
    // Without debug information, nothing is looked up.
    let inlined = |address: u64, has_source: bool| match has_source && shows_inlined {
        true => names::inlined(at.image, address, at.space),
        false => String::new(),
    };
    let mut last_inlined = inlined(block.start, last_source.is_some());
    if !last_inlined.is_empty() {
        let used = HEAD + name.chars().count() + last_source.as_ref().map_or(0, String::len) + 13;
        let room = first_width.saturating_sub(used).max(NARROWEST_FUNCTION);
        let _ = write!(line, " [inlined {}]", names::cut(&last_inlined, room));
    }
    if let Some(source) = &last_source {
        line.text("  ").text(source);
    }
    line.text("\n");
    for instruction in Instructions::new(at.image, at.space, block) {
        line.blanks(indent).hex(instruction.address, 18).text("  ");
        let bytes = &instruction.bytes[..instruction.len.into()];
        // As a number, as the architecture writes instructions.
        bytes.iter().rev().for_each(|&byte| {
            line.hex_byte(byte);
        });
        line.blanks(10 - 2 * bytes.len());
        let start = line.bytes().len();
        let target = disassembly::write(line, block.isa, &instruction);
        let is_last = instruction.address == block.last();
        let source = names::source(at.image, instruction.address, at.space);
        let here = if source.is_some() { inlined(instruction.address, true) } else { last_inlined.clone() };
        let entered = here != last_inlined;
        let moved = source.is_some() && source != last_source || entered;
        let not_taken = is_last && block.ended == Ended::NotTaken;
        let used = indent + 18 + 2 + 10 + line.bytes().len() - start;
        if let (Some(target), false, 12..) = (target, moved || not_taken, width().saturating_sub(used))
            && at.image.symbols().symbol(target, at.space).is_some()
        {
            let name = names::place(at.image, target, at.space, width() - used - 3);
            line.text(" <").text(name.strip_suffix("+0x0").unwrap_or(&name)).text(">");
        }
        if moved || not_taken {
            let mut comment = String::from(" ;");
            if not_taken {
                comment += " not taken";
            }
            if entered {
                let used = used + comment.len() + source.as_ref().map_or(0, String::len) + 4;
                let room = width().saturating_sub(used);
                let function = names::source_function(at.image, instruction.address, at.space);
                if room >= NARROWEST_FUNCTION {
                    let _ = write!(comment, " [{}]", names::cut(&function, room));
                }
            }
            if let (Some(source), true) = (&source, moved) {
                comment += " ";
                comment += source;
            }
            // In a column of its own, if the line is not too long for that.
            let room = width().saturating_sub(indent + 18 + 2 + 10 + comment.len());
            line.blanks(room.min(28).saturating_sub(line.bytes().len() - start)).text(&comment);
        }
        last_source = source.or(last_source);
        last_inlined = here;
        line.text("\n");
    }
}

fn other(line: &mut Line, at: &At<'_>, element: &Element, width: usize) -> std::fmt::Result {
    match element {
        Element::Block(_) | Element::Lost(_) => Ok(()),
        Element::UnknownPath { start, next, count, .. } => {
            match count {
                Some(1) => line.text("an instruction"),
                Some(count) => line.decimal((*count).into()).text(" instructions"),
                None => line.text("some instructions"),
            };
            match start {
                Some(start) => write!(line, " from {start:#x}")?,
                None => line.write_str(" from an unknown address")?,
            }
            write!(line, ", path unknown, to {next:#x}")
        }
        Element::Target { address, isa, .. } => {
            line.text("at ").hex(*address, 0).text(" (");
            write!(line, "{isa})")
        }
        Element::Context(context, isa) if words::is_riscv(*isa) => {
            write!(line, "context {} mode ({isa})", words::privilege(context.level))?;
            context.context_id.map_or(Ok(()), |id| write!(line, ", context ID {id:#x}"))
        }
        Element::Context(context, isa) => {
            let bits = if context.is_64bit { "AArch64" } else { "AArch32" };
            let level = at.source.of.level_of(context).map(|level| format!("EL{level} ")).unwrap_or_default();
            write!(line, "context {level}{bits} {} ({isa})", context.security)?;
            if let Some(id) = context.context_id {
                write!(line, ", context ID {id:#x}")?;
            }
            context.vmid.map_or(Ok(()), |vmid| write!(line, ", VMID {vmid:#x}"))
        }
        Element::TraceOn(tracewright_core::TraceOn::Normal) => line.write_str("trace on"),
        Element::TraceOn(tracewright_core::TraceOn::Overflow) => line.write_str("trace on after overflow"),
        Element::TraceOn(tracewright_core::TraceOn::Debug) => line.write_str("trace on after debug"),
        Element::Exception(exception) if at.source.is_riscv() => trap(line, at, exception, width),
        Element::Exception(exception) => self::exception(line, at, exception, width),
        Element::ExceptionReturn => line.write_str("exception return"),
        Element::Timestamp { value, cycles } => {
            write!(line, "timestamp {value:#x}")?;
            if let Some(nanoseconds) = at.source.of.time.map(|time| time.nanoseconds(*value)) {
                write!(line, ", {} s", seconds(nanoseconds))?;
            }
            cycles.map_or(Ok(()), |cycles| write!(line, ", {cycles} cycles"))
        }
        Element::TimestampMarker => line.write_str("timestamp marker"),
        Element::Cycles(Some(cycles)) => write!(line, "{cycles} cycles"),
        Element::Cycles(None) => line.write_str("cycles unknown"),
        Element::Event(events) => {
            line.text("event");
            (0..8).filter(|bit| events >> bit & 1 == 1).try_for_each(|bit| write!(line, " {bit}"))
        }
        Element::LocalTime { cycles, delay } => messages::local_time(line, *cycles, *delay),
        Element::Trigger => line.write_str("trigger"),
        Element::Message(message) => messages::message(line, at, message),
        Element::Instrumentation { level, value } => write!(line, "instrumentation EL{level} {value:#x}"),
        Element::Data { access, by: Some(by) } => write!(line, "{access}, by {by:#x}"),
        Element::Data { access, by: None } => write!(line, "{access}"),
        Element::DataLost => line.write_str("accesses are missing"),
        Element::Transaction(transaction) => line.write_str(match transaction {
            Transaction::Before => "transaction began before the trace",
            Transaction::Start => "transaction start",
            Transaction::Commit => "transaction commit",
            Transaction::Fail => "transaction failed",
        }),
        Element::NoCode { address, space } => {
            line.text("no code at ").hex(*address, 0).text(" (");
            write!(line, "{space})")
        }
        Element::Mismatch(mismatch) => {
            let (address, what) = words::mismatch(mismatch);
            write!(line, "mismatch {address:#x}: {what}")
        }
        Element::Gap { reason, from, to } => {
            write!(line, "gap {from:#x}..{to:#x}: {}", words::gap(*reason))
        }
        Element::End => line.write_str("end of trace"),
    }
}

/// `12.000000345`.
fn seconds(nanoseconds: u64) -> String {
    format!("{}.{:09}", nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000)
}

fn exception(line: &mut Line, at: &At<'_>, exception: &Exception, width: usize) -> std::fmt::Result {
    let mut text = format!("exception {}", at.source.exception_name(exception));
    if let Some(address) = exception.return_address {
        write!(text, ", returns to {address:#x} ")?;
        let width = width.saturating_sub(HEAD + text.len());
        text += &names::place(at.image, address, at.space, width);
    }
    line.write_str(text.trim_end())
}

fn trap(line: &mut Line, at: &At<'_>, exception: &Exception, width: usize) -> std::fmt::Result {
    let kind = if exception.interrupt { "interrupt" } else { "exception" };
    let mut text = format!("{kind} {}: {}", exception.number, at.source.exception_name(exception));
    if let Some(value) = exception.value.filter(|&value| value != 0) {
        write!(text, ", value {value:#x}")?;
    }
    if let Some(address) = exception.return_address {
        write!(text, ", at {address:#x} ")?;
        let width = width.saturating_sub(HEAD + text.len());
        if width >= 12 {
            text += &names::place(at.image, address, at.space, width);
        }
    }
    line.write_str(text.trim_end())
}
