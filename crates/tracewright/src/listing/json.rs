//! Elements as JSON objects, one per line. Addresses and other 64-bit values are hexadecimal strings: JSON numbers lose bits above 53.

use std::fmt::Write as _;

use tracewright_core::{Block, Element, Ended, Exception, Stamp, Transaction};
use tracewright_engine::{At, Line};
use tracewright_flow::Instructions;
use tracewright_profile::inlined_at;

use super::{Detail, Lines, TextCache, When, messages};
use crate::{disassembly, words};

/// Writer of elements as JSON objects.
#[derive(Debug)]
pub struct Json {
    buffer: String,
    detail: Detail,
    times: bool,
    bodies: TextCache,
}

impl Lines for Json {
    fn lines(&self, line: &mut Line, at: &At<'_>, element: &Element, when: When<'_>) {
        match (element, self.detail) {
            (element, detail) if !detail.shows(element) => {}
            (Element::Block(block), detail) => {
                let make = |line: &mut Line| match detail {
                    Detail::Instructions { inlined } => instructions(line, at, block, inlined),
                    _ => {
                        let _ = fields(line, at, element);
                        line.text("}\n");
                    }
                };
                self.bodies.with(block, at.space, make, |text| {
                    let mut stamps = when.stamps.unwrap_or_default().iter();
                    for body in text.split_inclusive(|&byte| byte == b'\n') {
                        self.head(line, at, when.time);
                        if let Some(stamp) = stamps.next() {
                            cycle(line, *stamp);
                        }
                        line.append(body);
                    }
                });
            }
            _ => {
                self.head(line, at, when.time);
                let _ = fields(line, at, element);
                line.text("}\n");
            }
        }
    }
}

impl Json {
    /// Creates a writer for the elements of the buffer with this name. With `times`, each object has the last timestamp before it.
    pub fn new(buffer: &str, detail: Detail, times: bool) -> Self {
        Self { buffer: quoted_name(buffer), detail, times, bodies: TextCache::new() }
    }

    fn head(&self, line: &mut Line, at: &At<'_>, time: Option<u64>) {
        line.text(r#"{"buffer":"#).text(&self.buffer).text(r#","offset":"#).decimal(at.place.offset);
        line.text(r#","id":"#).decimal(at.source.id.into());
        if !self.times {
            return;
        }
        match time {
            Some(time) => line.text(r#","time":""#).hex(time, 0).text("\""),
            None => line.text(r#","time":null"#),
        };
        if let (Some(time), Some(of)) = (time, at.source.of.time) {
            line.text(r#","time_nanoseconds":"#).decimal(of.nanoseconds(time));
        }
    }
}

/// The fields of each instruction, a line each, without what is before them.
fn instructions(line: &mut Line, at: &At<'_>, block: &Block, shows_inlined: bool) {
    for instruction in Instructions::new(at.image, at.space, block) {
        let pc = instruction.address;
        let _ = write!(line, r#","kind":"instruction","address":"{pc:#x}","isa":"{}","hex":""#, block.isa);
        for &byte in &instruction.bytes[..instruction.len.into()] {
            line.hex_byte(byte);
        }
        line.text(r#"","text":""#);
        // A disassembler writes nothing that needs escaping.
        disassembly::write(line, block.isa, &instruction);
        line.text("\"");
        symbol(line, at, pc);
        line.text(r#","file":"#);
        match at.image.symbols().source(pc, at.space) {
            Some(source) => {
                quoted(line, source.file);
                line.text(r#","line":"#).decimal(source.line.into());
                let inlined = if shows_inlined { inlined_at(at.image, pc, at.space) } else { Vec::new() };
                if !inlined.is_empty() {
                    line.text(r#","inlined":"#).text(&serde_json::to_string(&inlined).unwrap_or_default());
                }
            }
            None => {
                line.text(r#"null,"line":null"#);
            }
        }
        if pc == block.last() && block.class.is_branch() && block.ended != Ended::Cut {
            let _ = write!(line, r#","taken":{}"#, block.ended == Ended::Taken);
        }
        line.text("}\n");
    }
}

/// Returns text in quotes.
pub(crate) fn quoted_name(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

fn quoted(line: &mut Line, text: &str) {
    line.text(&quoted_name(text));
}

fn symbol(line: &mut Line, at: &At<'_>, address: u64) {
    line.text(r#","function":"#);
    match at.image.symbols().symbol(address, at.space) {
        Some(symbol) => {
            quoted(line, symbol.name);
            let _ = write!(line, r#","function_offset":{}"#, address.wrapping_sub(symbol.start));
        }
        None => {
            line.text("null");
        }
    }
}

/// Writes the element's own fields, each with a comma before it.
pub(crate) fn fields(line: &mut Line, at: &At<'_>, element: &Element) -> std::fmt::Result {
    let number = |line: &mut Line, name: &str, value: Option<u32>| {
        value.map_or(Ok(()), |value| write!(line, r#","{name}":{value}"#))
    };
    match element {
        Element::Block(block) => {
            let Block { start, end, count, isa, .. } = block;
            write!(
                line,
                r#","kind":"block","address":"{start:#x}","end":"{end:#x}","instructions":{count},"isa":"{isa}""#
            )?;
            write!(line, r#","ended":"{}","conditional":{}"#, words::ended(block), block.class.conditional)?;
            symbol(line, at, *start);
            Ok(())
        }
        Element::UnknownPath { start, next, count, .. } => {
            line.text(r#","kind":"unknown path""#);
            if let Some(start) = start {
                write!(line, r#","address":"{start:#x}""#)?;
            }
            write!(line, r#","next":"{next:#x}""#)?;
            number(line, "instructions", *count)
        }
        Element::Target { address, isa, branch } => {
            write!(line, r#","kind":"target","address":"{address:#x}","isa":"{isa}","branch":{branch}"#)
        }
        Element::Context(context, isa) if words::is_riscv(*isa) => {
            let privilege = words::privilege(context.level);
            write!(line, r#","kind":"context","privilege":"{privilege}","isa":"{isa}""#)?;
            number(line, "context_id", context.context_id)
        }
        Element::Context(context, isa) => {
            line.write_str(r#","kind":"context""#)?;
            number(line, "el", at.source.of.level_of(context).map(u32::from))?;
            write!(line, r#","security":"{}","isa":"{isa}""#, context.security)?;
            number(line, "context_id", context.context_id)?;
            number(line, "vmid", context.vmid)
        }
        Element::TraceOn(reason) => {
            let overflow = *reason == tracewright_core::TraceOn::Overflow;
            write!(line, r#","kind":"trace on","overflow":{overflow}"#)
        }
        Element::Exception(exception) => {
            let Exception { number, interrupt, value, return_address, at_target } = exception;
            let name = at.source.exception_name(exception);
            write!(line, r#","kind":"exception","number":{number},"name":"{name}""#)?;
            if *interrupt {
                line.write_str(r#","interrupt":true"#)?;
            }
            if let Some(value) = value {
                write!(line, r#","value":"{value:#x}""#)?;
            }
            if let Some(address) = return_address {
                write!(line, r#","return_address":"{address:#x}","at_branch_target":{at_target}"#)?;
            }
            Ok(())
        }
        Element::ExceptionReturn => line.write_str(r#","kind":"exception return""#),
        Element::Timestamp { value, cycles } => {
            write!(line, r#","kind":"timestamp","timestamp":"{value:#x}""#)?;
            number(line, "cycles", *cycles)?;
            // On the clock of all that the recorder tells.
            match at.source.of.time {
                Some(time) => write!(line, r#","nanoseconds":{}"#, time.nanoseconds(*value)),
                None => Ok(()),
            }
        }
        Element::TimestampMarker => line.write_str(r#","kind":"timestamp marker""#),
        Element::Cycles(cycles) => {
            line.text(r#","kind":"cycles""#);
            number(line, "cycles", *cycles)
        }
        Element::Event(events) => {
            line.text(r#","kind":"event","events":"#).bit_numbers(*events);
            Ok(())
        }
        Element::LocalTime { cycles, delay } => {
            let (timestamp, packet) = (delay.timestamp, delay.packet);
            write!(line, r#","kind":"local time","cycles":{cycles}"#)?;
            write!(line, r#","timestamp_delayed":{timestamp},"message_delayed":{packet}"#)
        }
        Element::Trigger => line.write_str(r#","kind":"trigger""#),
        Element::Message(message) => messages::json(line, at, message),
        Element::Instrumentation { level, value } => {
            write!(line, r#","kind":"instrumentation","el":{level},"value":"{value:#x}""#)
        }
        Element::Transaction(transaction) => {
            let state = match transaction {
                Transaction::Before => "before",
                Transaction::Start => "start",
                Transaction::Commit => "commit",
                Transaction::Fail => "fail",
            };
            write!(line, r#","kind":"transaction","state":"{state}""#)
        }
        Element::Data { access, by } => {
            write!(line, r#","kind":"data","access":"{}","bytes":{}"#, access.kind.name(), access.size)?;
            let value = if access.after { "value_after" } else { "value" };
            for (name, value) in
                [("address", access.address), (value, access.value), ("operand", access.operand), ("by", *by)]
            {
                if let Some(value) = value {
                    write!(line, r#","{name}":"{value:#x}""#)?;
                }
            }
            Ok(())
        }
        Element::DataLost => line.write_str(r#","kind":"data lost""#),
        Element::NoCode { address, space } => {
            write!(line, r#","kind":"no code","address":"{address:#x}","space":"{space}""#)
        }
        Element::Mismatch(mismatch) => {
            let (address, what) = words::mismatch(mismatch);
            write!(line, r#","kind":"mismatch","address":"{address:#x}","reason":"{what}""#)
        }
        Element::Gap { reason, from, to } => {
            write!(line, r#","kind":"gap","from":{from},"to":{to},"reason":"{}""#, words::gap(*reason))
        }
        Element::Lost(_) => Ok(()),
        Element::End => line.write_str(r#","kind":"end""#),
    }
}

/// Writes the cycle of an instruction as fields, each with a comma before it.
fn cycle(line: &mut Line, stamp: Stamp) {
    match stamp {
        Stamp::Exact(cycle) => line.text(r#","cycle":"#).decimal(cycle),
        Stamp::Between(first, last) => {
            line.text(r#","cycle":null,"cycle_from":"#).decimal(first).text(r#","cycle_to":"#).decimal(last)
        }
        Stamp::From(first) => line.text(r#","cycle":null,"cycle_from":"#).decimal(first),
        Stamp::Unknown => line.text(r#","cycle":null"#),
    };
}
