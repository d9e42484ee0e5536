//! Words for the contents of elements.

use tracewright_core::{Block, Contradiction, Ended, Flow, GapReason, Isa, MemorySpace, Mismatch, Role};
use tracewright_engine::Tally;
use tracewright_input::{Buffer, Capture, Protocol, Source};
pub use tracewright_isa::riscv::privilege_name as privilege;
use tracewright_profile::DEEPEST;

pub use crate::wrap::wrap;

/// Returns a noun as it follows a count: `branch` after 1, `branches` after any other.
pub fn plural(count: u64, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if count == 1 => noun.into(),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if noun.ends_with('s') || noun.ends_with('x') || noun.ends_with("ch") => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

/// Returns a count with what it counts: `1 branch`, `2 branches`.
pub fn count(count: u64, noun: &str) -> String {
    format!("{count} {}", plural(count, noun))
}

/// Returns what software writes to: a channel of an STM, whose messages have masters, or a stimulus port of an ITM.
pub const fn channel<T>(master: Option<&T>) -> &'static str {
    if master.is_some() { "channel" } else { "port" }
}

/// Returns why a block ended.
pub fn ended(block: &Block) -> &'static str {
    match (block.ended, block.class.flow, block.class.role) {
        (Ended::Cut, ..) => "cut",
        (Ended::NotTaken, ..) => "not taken",
        (Ended::Through, Flow::Wait, _) => "wait",
        (Ended::Through, Flow::TransactionStart, _) => "transaction",
        (Ended::Through, ..) => "barrier",
        (Ended::Taken, _, Role::Return) => "return",
        (Ended::Taken, _, Role::ExceptionReturn) if is_riscv(block.isa) => "trap return",
        (Ended::Taken, _, Role::ExceptionReturn) => "eret",
        (Ended::Taken, _, Role::LoopEnd) => "loop",
        (Ended::Taken, _, Role::Swap) => "swap",
        (Ended::Taken, Flow::Indirect | Flow::Pair, Role::Call) => "call reg",
        (Ended::Taken, Flow::Indirect | Flow::Pair, _) => "jump reg",
        (Ended::Taken, _, Role::Call) => "call",
        (Ended::Taken, ..) if block.class.conditional => "taken",
        (Ended::Taken, ..) => "jump",
    }
}

/// Returns whether an instruction set is RISC-V.
pub fn is_riscv(isa: Isa) -> bool {
    matches!(isa, Isa::Rv32 | Isa::Rv64)
}

/// Returns why trace is missing.
pub fn gap(reason: GapReason) -> &'static str {
    match reason {
        GapReason::Start => "not yet synchronised",
        GapReason::Overflow => "overflow: the trace unit could not keep up",
        GapReason::Discard => "discard: tracing stopped",
        GapReason::BadPacket => "bytes that are no packet",
        GapReason::Contradiction(Contradiction::CommitBeyondDepth) => {
            "commit beyond depth: check TRCIDR8 (MAXSPEC)"
        }
        GapReason::Contradiction(Contradiction::CancelBeyondDepth) => {
            "cancel beyond depth: check TRCIDR8 (MAXSPEC)"
        }
        GapReason::Contradiction(Contradiction::WrongDepth) => {
            "uncertain depth is not what Trace Info says: check TRCIDR8"
        }
        GapReason::Contradiction(Contradiction::ReturnStackEmpty) => {
            "return without a call: check TRCCONFIGR (RS)"
        }
        GapReason::Contradiction(Contradiction::NoHandler) => {
            "the trace leaves out where the trap handler is: say where (--handler)"
        }
        GapReason::Contradiction(_) => "packets that contradict each other",
        GapReason::Interrupted => "recording interrupted",
        GapReason::Ambiguous => "the trace can be read in several ways",
        GapReason::Mismatch => "the program could not be followed",
        _ => "unknown",
    }
}

/// Returns the address at which trace and program contradict each other, and a description.
pub fn mismatch(mismatch: &Mismatch) -> (u64, String) {
    match *mismatch {
        Mismatch::NotTaken(address) => (address, "unconditional branch not taken".into()),
        Mismatch::Endless(address) => (address, "no branch for 256 KiB".into()),
        Mismatch::NotCode(address) => (address, "no instruction (undefined)".into()),
        Mismatch::NoTarget(address) => (address, "where it went is not in the trace".into()),
        Mismatch::Missed { from, to } => (from, format!("does not lead to {to:#x}")),
        _ => (0, "unknown".into()),
    }
}

/// Something that a trace only has if its maker asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Cycles of instructions.
    Cycles,
    /// Timestamps.
    Timestamps,
    /// Context IDs, which tell threads apart.
    ContextIds,
}

/// Describes how to make a capture like this one, but with something that it lacks.
pub fn how_to_get(wanted: Wanted, capture: &Capture) -> String {
    let is_perf = capture.buffers.iter().any(|buffer| buffer.pieces.is_some() && buffer.ring.is_none());
    let is_etrace = capture.sources.iter().any(|source| matches!(source.protocol, Protocol::Etrace(_)));
    // What QEMU executes, which has no clock, has a source for each thread, named after it.
    let is_thread = |name: &str| {
        let number = name.strip_prefix("thread").unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_qemu = !is_perf
        && capture.sources.iter().any(|source| {
            source.thread.is_some()
                || is_thread(&source.name)
                || source.core.as_ref().is_some_and(|(name, _)| is_thread(name))
        });
    match (wanted, is_perf, is_etrace) {
        (Wanted::Cycles, false, _) if is_qemu => {
            "QEMU executes without a clock; RISC-V programs have cycles when recorded without --qemu, with --timing and --delta"
        }
        (Wanted::Cycles, true, _) => "record them with perf record -e cs_etm/cycacc/",
        (Wanted::Cycles, _, true) => {
            "record with --timing and --delta, or with times in E-Trace (--option notime=0)"
        }
        (Wanted::Cycles, ..) => "switch on cycle counts (TRCCONFIGR.CCI)",
        (Wanted::Timestamps, true, _) => "record them with perf record -e cs_etm/timestamp/",
        (Wanted::Timestamps, _, true) => "record with --option notime=0",
        (Wanted::Timestamps, ..) => "switch them on (TRCCONFIGR.TS)",
        (Wanted::ContextIds, true, _) => "record them with perf record -e cs_etm/contextid/",
        (Wanted::ContextIds, _, true) => "record with --option nocontext=0",
        (Wanted::ContextIds, ..) => "switch them on (TRCCONFIGR.CID)",
    }
    .into()
}

/// Returns a memory space as people know it. Code of EL0 is in the space that trace snapshots call EL1.
pub fn space(space: MemorySpace) -> String {
    match space.of_process(0) {
        MemorySpace::EL1N => "non-secure EL0 or EL1".into(),
        MemorySpace::EL1S => "secure EL0 or EL1".into(),
        MemorySpace::EL1R => "realm EL0 or EL1".into(),
        space => space.to_string(),
    }
}

/// Says that instructions are missing from a listing.
pub fn unlisted(instructions: u64) -> String {
    format!("{} ran and cannot be listed: no image has the code", count(instructions, "instruction"))
}

/// Stable name of the reason that nothing that was asked for ran.
pub const NOTHING_RAN: &str = "nothing-ran";

/// Stable name of the reason that symbols are missing for most of what ran.
pub const NO_SYMBOLS: &str = "no-symbols";

/// Stable name of the reason that calls are too deep to be followed, as in [`Outcome::reason_ids`](crate::Outcome::reason_ids).
pub const TOO_DEEP: &str = "calls-too-deep";

/// Says that calls are left out because they are too deep to be followed.
pub fn too_deep(calls: u64) -> String {
    let calls = count(calls, "call");
    format!("{calls} deeper than {DEEPEST} left out: what ran there counts for the function at that depth")
}

/// Stable name of the reason that there are too many call stacks to tell them apart.
pub const TOO_MANY_STACKS: &str = "too-many-stacks";

/// Says that calls are put down to their callers because there are too many call stacks.
pub fn too_many_stacks(calls: u64) -> String {
    format!(
        "{} put down to the caller: there are too many call stacks to tell all apart",
        count(calls, "call")
    )
}

/// Describes what is wrong with the packets of a buffer, a line each.
pub fn packet_faults(tally: &Tally) -> Vec<String> {
    let reports = if tally.gaps == 1 { "reports" } else { "report" };
    let lost = format!("{} {reports} lost trace", count(tally.gaps, "packet"));
    let malformed = match tally.malformed {
        1 => "once bytes are no packet".to_owned(),
        count => format!("{count} times bytes are no packet"),
    };
    let lines = [(tally.gaps, lost), (tally.malformed, malformed)];
    lines.into_iter().filter(|(count, _)| *count > 0).map(|(_, line)| line).collect()
}

/// Describes bytes of a buffer that were not read, given by source number: of sources that no protocol reads, and of sources that the
/// capture does not describe.
pub fn unread(
    capture: &Capture,
    buffer: &Buffer,
    unread: impl IntoIterator<Item = (u16, u64)>,
) -> Vec<String> {
    let sources = || buffer.sources.iter().map(|&source| &capture.sources[source]);
    let is_shared = sources().any(Source::names_sources);
    let (mut lines, mut strangers, mut stranger_bytes) = (Vec::new(), Vec::new(), 0);
    for (id, len) in unread {
        match sources().find(|source| !is_shared && source.number().unwrap_or(0) == id) {
            Some(source) => lines.push(format!(
                "{} of {} (ID {id:#04x}) not read: tracewright cannot read {} yet",
                count(len, "byte"),
                source.name,
                source.protocol_name()
            )),
            None => {
                strangers.push(format!("{id:#04x}"));
                stranger_bytes += len;
            }
        }
    }
    if !strangers.is_empty() {
        let ids = strangers[..strangers.len().min(4)].join(", ");
        let more =
            if strangers.len() > 4 { format!(" and {} more", strangers.len() - 4) } else { String::new() };
        let known: Vec<_> =
            sources().filter_map(|source| Some(format!("{:#04x}", source.number()?))).collect();
        let what = match is_shared {
            false => format!("trace ID {ids}{more}"),
            true => format!("ID {ids}{more} (there are {})", known.join(", ")),
        };
        lines
            .push(format!("{} not read: no source of this buffer has {what}", count(stranger_bytes, "byte")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_follow_their_counts() {
        let all = [
            ("gap", "gaps"),
            ("branch", "branches"),
            ("binary", "binaries"),
            ("pass", "passes"),
            ("day", "days"),
        ];
        for (one, several) in all {
            assert_eq!((count(1, one), count(0, one)), (format!("1 {one}"), format!("0 {several}")));
            assert_eq!(plural(2, one), several);
        }
    }
}
