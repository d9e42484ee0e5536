//! OpenCSD's listings of elements and of packets.

mod itm;
mod packets;

use std::fmt::Write as _;

use tracewright_core::{
    Block, Context, Element, Ended, Exception, Flow, GapReason, Isa, MemorySpace, Role, Security, TraceOn,
    Transaction,
};
use tracewright_coresight::stm::decode::opencsd as stm;
use tracewright_engine::{At, Consumer, Line, Place};
use tracewright_etm::Params;

pub use self::packets::OpenCsdPackets;

/// Consumer that writes the element lines of OpenCSD 1.8.0's `trc_pkt_lister -decode`, byte for byte. Decode with
/// [`Options::like_opencsd`](crate::Options).
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenCsdLines {
    /// Set if this is not the first buffer: OpenCSD's decoder is reset then.
    pub again: bool,
}

/// What is kept of a source's elements.
#[derive(Debug, Default)]
pub struct State {
    /// Place of the last line's packet: cycles of the same packet are a part of that line.
    last: Option<Place>,
    /// Timestamp that the next message of an STM carries.
    timestamp: Option<u64>,
    itm: itm::State,
}

/// Length of output up to which a line waits for its cycles.
const MOST_WAITING: usize = 2 << 20;

impl Consumer for OpenCsdLines {
    type State = State;
    type Output = Line;

    fn element(&self, state: &mut State, line: &mut Line, at: &At<'_>, element: &Element) {
        if let Some(params) = at.source.itm()
            && state.itm.element(line, params.prescale(), element, |line| head(line, at))
        {
            return;
        }
        if let Element::Cycles(Some(cycles)) = element
            && at.source.etm().is_none()
            && state.last == Some(at.place)
            && line.bytes().ends_with(b")\n")
        {
            line.truncate(line.bytes().len() - 2);
            line.text(" [CC=").decimal((*cycles).into()).text("]; )\n");
            return;
        }
        // A timestamp of an STM is a part of the line of its message.
        if let Element::Timestamp { value, .. } = element
            && at.source.opencsd_protocol() == Some("STM")
        {
            state.timestamp = Some(*value);
            return;
        }
        // What OpenCSD has no element for.
        if matches!(
            element,
            Element::Gap { .. }
                | Element::End
                | Element::Target { .. }
                | Element::Mismatch(_)
                | Element::UnknownPath { start: None, .. }
        ) {
            return;
        }
        head(line, at);
        let _ = match element {
            Element::Message(message) => stm::write(line, message, state.timestamp.take()),
            _ => self.body(line, at, element),
        };
        line.text("\n");
        state.last = Some(at.place);
    }

    fn end(&self, _state: &mut State, line: &mut Line, at: &At<'_>, overflowed: bool) {
        head(line, at);
        let reason = if overflowed { "overflow" } else { "end-of-trace" };
        line.text("EO_TRACE( [").text(reason).text("])\nID:");
        let _ = writeln!(line, "{:x}\tEND OF TRACE DATA", at.source.id);
    }

    /// Output is taken piece by piece, in order: nothing is left to merge.
    fn merge(&self, _: &mut Line, _: Line) {}

    fn len(&self, line: &Line) -> usize {
        line.bytes().len()
    }

    /// Output is not taken between a line and its cycles.
    fn size(&self, line: &Line) -> usize {
        let bytes = line.bytes();
        let may_wait = bytes.len() < MOST_WAITING && !bytes.ends_with(b"; )\n");
        if may_wait { 0 } else { bytes.len() }
    }

    fn clear(&self, line: &mut Line) {
        line.clear();
    }
}

fn head(line: &mut Line, at: &At<'_>) {
    line.text("Idx:").decimal(at.place.opencsd_index);
    let _ = write!(line, "; ID:{:x}; OCSD_GEN_TRC_ELEM_", at.source.id);
}

impl OpenCsdLines {
    fn body(&self, line: &mut Line, at: &At<'_>, element: &Element) -> std::fmt::Result {
        match element {
            Element::Block(block) => range(line, block, at),
            Element::UnknownPath { start, next, count, .. } => {
                let start = start.unwrap_or(0);
                write!(
                    line,
                    "I_RANGE_NOPATH(first {start:#x}:[next {next:#x}] num_i({}) )",
                    count.unwrap_or(0)
                )
            }
            Element::Context(context, isa) => self::context(line, context, *isa, at),
            Element::TraceOn(TraceOn::Normal) => line.write_str("TRACE_ON( [begin or filter])"),
            Element::TraceOn(TraceOn::Overflow) => line.write_str("TRACE_ON( [overflow])"),
            Element::TraceOn(TraceOn::Debug) => line.write_str("TRACE_ON( [debug restart])"),
            Element::Exception(exception) => self::exception(line, exception),
            Element::ExceptionReturn => line.write_str("EXCEPTION_RET()"),
            Element::Timestamp { value, cycles } => {
                write!(line, "TIMESTAMP( [ TS={value:#014x}]; ")?;
                if at.source.etm().map_or(cycles.is_some(), Params::cycle_counting) {
                    write!(line, " [CC={}]; ", cycles.unwrap_or(0))?;
                }
                line.write_str(")")
            }
            Element::TimestampMarker => line.write_str("SYNC_MARKER( [Timestamp marker(0x00000000)])"),
            Element::Cycles(cycles) => write!(line, "CYCLE_COUNT( [CC={}]; )", cycles.unwrap_or(0)),
            Element::Event(events) => write!(line, "EVENT( Numbered:{events}; )"),
            Element::Trigger => line.write_str("EVENT( Trigger; )"),
            Element::Instrumentation { level, value } => {
                write!(line, "INSTRUMENTATION(EL{level}; {value:#018x})")
            }
            Element::Transaction(transaction) => {
                let what = match transaction {
                    Transaction::Before => "Init",
                    Transaction::Start => "Start",
                    Transaction::Commit => "Commit",
                    Transaction::Fail => "Fail",
                };
                write!(line, "MEMTRANS({what})")
            }
            Element::NoCode { address, space } => {
                write!(
                    line,
                    "ADDR_NACC( {address:#x}; Memspace [{:#x}:{}] )",
                    space.bits(),
                    space_name(*space)
                )
            }
            Element::Lost(reason) => {
                let reason = match reason {
                    GapReason::Start if !self.again => "init-decoder",
                    GapReason::Start | GapReason::Interrupted => "reset-decoder",
                    GapReason::Overflow => "overflow",
                    GapReason::Discard => "discard",
                    _ => "bad-packet",
                };
                write!(line, "NO_SYNC( [{reason}])")
            }
            Element::Gap { .. } | Element::End | Element::Target { .. } | Element::Mismatch(_) => Ok(()),
            // No ETM of those that OpenCSD decodes tells of them.
            Element::Data { .. } | Element::DataLost => Ok(()),
            Element::LocalTime { .. } | Element::Message(_) => Ok(()),
        }
    }
}

fn range(line: &mut Line, block: &Block, at: &At<'_>) -> std::fmt::Result {
    let Block { start, end, count, isa, last_len, class, ended } = block;
    line.text("INSTR_RANGE(exec range=").hex(*start, 0).text(":[").hex(*end, 0);
    line.text("] num_i(").decimal((*count).into()).text(") last_sz(").decimal((*last_len).into());
    line.text(") (ISA=");
    write!(line, "{isa}")?;
    line.text(if *ended == Ended::NotTaken { ") N " } else { ") E " });
    line.text(match class.flow {
        Flow::Next => "--- ",
        Flow::Direct => "BR  ",
        Flow::Indirect | Flow::Pair => "iBR ",
        Flow::Isb => "ISB ",
        Flow::Wait if at.source.etm().is_some_and(Params::waits_are_p0) => "WFI.WFE",
        Flow::Wait => "--- ",
        Flow::TransactionStart => "TSTART",
    });
    line.text(match (class.role, isa) {
        (Role::Call, _) => "b+link ",
        (Role::Return, Isa::A64) => "A64:ret ",
        (Role::ExceptionReturn, Isa::A64) => "A64:eret ",
        (Role::Return, _) => "V7:impl ret",
        _ => "",
    });
    line.text(if class.conditional && !unknown_condition(block, at) { " <cond>)" } else { ")" });
    Ok(())
}

/// Whether the branch at the end is one that OpenCSD does not know to have a condition: FEAT_CMPBR's, and the loops of
/// Armv8.1-M.
fn unknown_condition(block: &Block, at: &At<'_>) -> bool {
    let mut last = [0; 4];
    match block.isa {
        Isa::A64 => {
            at.image.read_into(block.last(), at.space, &mut last);
            matches!(last[3], 0x74 | 0x75 | 0xf4 | 0xf5)
        }
        // It does not look at IT blocks.
        Isa::T32 if at.source.opencsd_protocol() == Some("PTM") => {
            at.image.read_into(block.last(), at.space, &mut last);
            let [first, second] = [[last[0], last[1]], [last[2], last[3]]].map(u16::from_le_bytes);
            let is_branch = first >> 12 == 0xd || first & 0xf500 == 0xb100;
            let is_wide = first >> 11 == 0x1e && second & 0xd000 == 0x8000 && first & 0x380 != 0x380;
            !is_branch && !is_wide
        }
        Isa::T32 if block.last_len == 4 => {
            at.image.read_into(block.last(), at.space, &mut last);
            last[1] == 0xf0 && last[3] & 0xf0 == 0xc0
        }
        _ => false,
    }
}

fn context(line: &mut Line, context: &Context, isa: Isa, at: &At<'_>) -> std::fmt::Result {
    let security = match context.security {
        Security::Secure => "S",
        Security::NonSecure => "N",
        Security::Root => "Root",
        Security::Realm => "Realm",
    };
    let bits = if context.is_64bit { 64 } else { 32 };
    write!(line, "PE_CONTEXT((ISA={isa}) ")?;
    // The older protocols tell no level but that of Hyp mode.
    if at.source.etm().is_some() || context.level == 2 {
        write!(line, "EL{}", context.level)?;
    }
    write!(line, "{security}; {bits}-bit; ")?;
    if let Some(vmid) = context.vmid {
        write!(line, "VMID={vmid:#x}; ")?;
    }
    if let Some(id) = context.context_id {
        write!(line, "CTXTID={id:#x}; ")?;
    }
    line.write_str(")")
}

fn exception(line: &mut Line, exception: &Exception) -> std::fmt::Result {
    line.text("EXCEPTION(");
    if let Some(address) = exception.return_address {
        write!(line, "pref ret addr:{address:#x}")?;
        if exception.at_target {
            line.text(" [addr also prev br tgt]");
        }
        line.text("; ");
    }
    write!(line, "excep num ({:#04x}) )", exception.number)
}

fn space_name(space: MemorySpace) -> String {
    match space {
        MemorySpace::S => "Any S".into(),
        MemorySpace::N => "Any NS".into(),
        MemorySpace::EL2 => "EL2N".into(),
        _ => space.to_string(),
    }
}
