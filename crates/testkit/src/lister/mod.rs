//! Elements from the output of OpenCSD's lister (`trc_pkt_lister -decode`, Debian's 1.3.3).
//!
//! [`Source`] runs it on a trace of one source. [`elements`] parses its text. Where the lister describes an execution differently though not wrongly, [`as_listed`]
//! converts what was executed to its form:
//!
//! * Waits end a range only if they are P0 instructions (TRCIDR2.WFXMODE).
//! * An unknown cycle count is 0; so is that of a timestamp without one, if cycle counting is on.
//! * Contexts are repeated at each synchronisation point; here only changes count.
//! * The end of the trace is reported once for all sources.

mod source;

use std::process::Command;

use tracewright_core::{
    Block, Class, Context, Element, Ended, Exception, Flow, GapReason, Isa, MemorySpace, Role, Security,
    TraceOn, Transaction,
};
use tracewright_etm::{Params, Registers, field};

use crate::skip;
use crate::traced::{traced, without_repeated_contexts};

pub use source::Source;

/// Whether OpenCSD's lister is here. If not, says that `test` is skipped.
pub fn available(test: &str) -> bool {
    // It writes a file where it runs.
    let found = Command::new("trc_pkt_lister").arg("-h").current_dir(std::env::temp_dir()).output().is_ok();
    if !found {
        skip(test, "trc_pkt_lister (Debian package libopencsd-bin) is not installed");
    }
    found
}

/// An element line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Index: approximate position in the raw trace.
    pub index: u64,
    /// Source.
    pub id: u8,
    /// The element, or its text if we have no such element.
    pub element: Result<Element, String>,
    /// Cycles that stand in the line of another element.
    pub cycles: Option<u32>,
}

/// Returns the element lines of a listing.
pub fn lines(text: &str) -> impl Iterator<Item = Listed> {
    text.lines().filter_map(|line| {
        let (head, element) = line.split_once("OCSD_GEN_TRC_ELEM_")?;
        let (index, id) = head[head.find("Idx:")? + 4..].split_once("; ID:")?;
        Some(Listed {
            index: index.parse().ok()?,
            id: u8::from_str_radix(id.split(';').next()?, 16).ok()?,
            element: element_of(element).ok_or_else(|| element.to_owned()),
            cycles: after(element, "[CC=")
                .filter(|_| !element.starts_with("CYCLE_COUNT"))
                .and_then(|text| decimal(text)?.try_into().ok()),
        })
    })
}

/// Returns the elements of one source, without repeated contexts, and without what comes before the first
/// synchronisation point and after the end; or the text of the first line that is none of our elements.
pub fn elements(text: &str, id: u8) -> Result<Vec<Element>, String> {
    let of_source: Result<Vec<_>, _> =
        lines(text).filter(|line| line.id == id).map(|line| line.element).collect();
    let elements = of_source?.into_iter();
    Ok(without_repeated_contexts(
        elements.filter(|element| !matches!(element, Element::Lost(GapReason::Start) | Element::End)),
    ))
}

/// Converts an execution to what the lister shows of it, when a trace unit with these registers has traced it.
pub fn as_listed(registers: &Registers, executed: impl IntoIterator<Item = Element>) -> Vec<Element> {
    let params = Params::new(registers).unwrap_or_else(|error| panic!("{error}"));
    let cycle_counts = field(registers.trcconfigr, 4, 4) == 1;
    let mut listed: Vec<Element> = Vec::new();
    // A block that ended in a wait, reported with the next.
    let mut open: Option<Block> = None;
    for element in traced(registers, executed) {
        let element = match (element, open.take()) {
            (Element::Block(block), None) => Element::Block(block),
            (Element::Block(block), Some(before)) if before.end == block.start => {
                let count = before.count + block.count;
                Element::Block(Block { start: before.start, count, ..block })
            }
            (other, before) => {
                // Reported because an exception says that it ran; its end is not known.
                let cut = |before| Block { class: Class::NEXT, ended: Ended::Cut, ..before };
                listed.extend(before.map(cut).map(Element::Block));
                other
            }
        };
        match element {
            Element::Block(block) if block.class.flow == Flow::Wait && !params.waits_are_p0() => {
                open = Some(block);
            }
            Element::Cycles(None) => listed.push(Element::Cycles(Some(0))),
            Element::Timestamp { value, cycles: None } if cycle_counts => {
                listed.push(Element::Timestamp { value, cycles: Some(0) });
            }
            Element::End => {}
            _ => listed.push(element),
        }
    }
    listed
}

/// Parses the text that follows `OCSD_GEN_TRC_ELEM_`.
fn element_of(text: &str) -> Option<Element> {
    let (name, rest) = text.split_once('(')?;
    let rest = rest.strip_suffix(')')?;
    Some(match name {
        "INSTR_RANGE" => Element::Block(range(rest)?),
        "PE_CONTEXT" => {
            let (context, isa) = context(rest)?;
            Element::Context(context, isa)
        }
        "TRACE_ON" => match rest.split("[CC=").next()?.trim() {
            "[begin or filter]" => Element::TraceOn(TraceOn::Normal),
            "[overflow]" => Element::TraceOn(TraceOn::Overflow),
            "[debug restart]" => Element::TraceOn(TraceOn::Debug),
            _ => return None,
        },
        "EXCEPTION" => Element::Exception(Exception {
            number: hex(after(rest, "excep num (")?)? as u16,
            interrupt: false,
            value: None,
            return_address: after(rest, "pref ret addr:").and_then(hex),
            at_target: rest.contains("[addr also prev br tgt]"),
        }),
        "EXCEPTION_RET" => Element::ExceptionReturn,
        "TIMESTAMP" => Element::Timestamp {
            value: hex(after(rest, "TS=")?)?,
            cycles: after(rest, "[CC=").and_then(decimal).map(|cycles| cycles as u32),
        },
        "CYCLE_COUNT" => Element::Cycles(after(rest, "[CC=").and_then(decimal).map(|cycles| cycles as u32)),
        "EVENT" if rest.contains("Trigger") => Element::Trigger,
        "EVENT" => Element::Event(decimal(after(rest, "Numbered:")?)? as u8),
        "SYNC_MARKER" if rest.contains("Timestamp marker") => Element::TimestampMarker,
        "MEMTRANS" => Element::Transaction(match rest.trim() {
            "Init" => Transaction::Before,
            "Start" => Transaction::Start,
            "Commit" => Transaction::Commit,
            "Fail" => Transaction::Fail,
            _ => return None,
        }),
        "ADDR_NACC" => Element::NoCode { address: hex(rest.trim())?, space: MemorySpace::ANY },
        "NO_SYNC" => match rest.trim() {
            "[init-decoder]" => Element::Lost(GapReason::Start),
            "[overflow]" => Element::Lost(GapReason::Overflow),
            "[discard]" => Element::Lost(GapReason::Discard),
            "[bad-packet]" => Element::Lost(GapReason::BadPacket),
            _ => return None,
        },
        "EO_TRACE" => Element::End,
        _ => return None,
    })
}

/// Parses `exec range=0x400000:[0x40000c] num_i(3) last_sz(4) (ISA=A64) N BR   <cond>`.
fn range(text: &str) -> Option<Block> {
    let (_, last) = text.rsplit_once("(ISA=")?;
    let (_, last) = last.split_once(')')?;
    let mut words = last.split_whitespace();
    let executed = words.next()? == "E";
    let flow = match words.next()? {
        "---" => Flow::Next,
        "BR" => Flow::Direct,
        "iBR" => Flow::Indirect,
        "ISB" => Flow::Isb,
        "WFI.WFE" => Flow::Wait,
        "TSTART" => Flow::TransactionStart,
        _ => return None,
    };
    let role = match words.next() {
        Some("b+link") => Role::Call,
        Some("A64:ret" | "V7:impl") => Role::Return,
        Some("A64:eret") => Role::ExceptionReturn,
        _ => Role::Jump,
    };
    Some(Block {
        start: hex(after(text, "range=")?)?,
        end: hex(after(text, ":[")?)?,
        count: decimal(after(text, "num_i(")?)? as u32,
        isa: isa(text)?,
        last_len: decimal(after(text, "last_sz(")?)? as u8,
        class: Class { flow, role, conditional: text.contains("<cond>") },
        ended: match flow {
            Flow::Next => Ended::Cut,
            Flow::Direct | Flow::Indirect if executed => Ended::Taken,
            _ if executed => Ended::Through,
            _ => Ended::NotTaken,
        },
    })
}

/// Parses `(ISA=A64) EL0N; 64-bit; VMID=0x3; CTXTID=0x1000; `. Older protocols do not tell the level, which is 1 then.
fn context(text: &str) -> Option<(Context, Isa)> {
    let (_, rest) = text.split_once(") ")?;
    let (level, security) = match rest.strip_prefix("EL") {
        Some(level) => (level.get(..1)?.parse().ok()?, level.get(1..2)?),
        None => (1, rest.get(..1)?),
    };
    let context = Context {
        level,
        security: match security {
            "S" => Security::Secure,
            "N" => Security::NonSecure,
            _ => return None,
        },
        is_64bit: rest.contains("64-bit"),
        vmid: after(rest, "VMID=").and_then(hex).map(|id| id as u32),
        context_id: after(rest, "CTXTID=").and_then(hex).map(|id| id as u32),
    };
    Some((context, isa(text)?))
}

fn isa(text: &str) -> Option<Isa> {
    Some(match after(text, "(ISA=")?.split(')').next()? {
        "A64" => Isa::A64,
        "A32" => Isa::A32,
        "T32" => Isa::T32,
        _ => return None,
    })
}

fn after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    text.split_once(word).map(|(_, rest)| rest)
}

fn hex(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x")?;
    let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
    u64::from_str_radix(&digits[..end], 16).ok()
}

fn decimal(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}
