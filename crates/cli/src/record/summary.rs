//! What a run came to.

use std::path::Path;

use tracewright_capture::control::Qualified;
use tracewright_capture::etrace::DeltaTraced;
pub use tracewright_capture::grouped;
use tracewright_capture::protocol::Traced;
use tracewright_capture::record::Recording;
use tracewright_core::MemorySpace;
use tracewright_hart::Stop;

use super::Opts;
use crate::json::line;
use crate::output::{report, say};
use crate::port;
use tracewright::names;

/// Says it on standard error.
pub fn report_all(ran: &Recording, opts: &Opts) {
    let counts = &ran.counts;
    let mips = counts.instructions as f64 / ran.seconds.max(1e-9) / 1e6;
    let percent = |part: u64| format!("{:5.1} %", 100.0 * part as f64 / counts.instructions.max(1) as f64);
    let line = |name: &str, count: u64, more: &str| {
        say(&format!("  {name:<16} {:>16}  {more}", grouped(count)));
    };
    let ended = match ran.stop {
        Stop::Exit { status } => format!("exit status {status}"),
        _ => "stopped".into(),
    };
    let name = opts.name();
    let how = if opts.from_log.is_some() { "read".into() } else { ended };
    report(&format!("{name}: {how}; {:.2} s, {mips:.0} million instructions/s", ran.seconds));
    line("instructions", counts.instructions, &format!("{} compressed", percent(counts.compressed)));
    line("blocks", counts.blocks, &format!("{} bytes of code", grouped(counts.code)));
    let of_branches = 100.0 * counts.taken as f64 / counts.branches.max(1) as f64;
    line(
        "branches",
        counts.branches,
        &format!("{}, {of_branches:.1} % of them taken", percent(counts.branches)),
    );
    line("calls", counts.calls, &format!("{}, {} returns", percent(counts.calls), grouped(counts.returns)));
    line("jumps", counts.jumps, &percent(counts.jumps));
    line(
        "indirect",
        counts.indirect,
        &format!("{}, of all jumps, calls and returns", percent(counts.indirect)),
    );
    line("loads", counts.loads, &format!("{}, {} bytes", percent(counts.loads), grouped(counts.loaded)));
    line("stores", counts.stores, &format!("{}, {} bytes", percent(counts.stores), grouped(counts.stored)));
    if counts.unknown > 0 {
        line("without code", counts.unknown, "only where they branch is counted: name the program");
    }
    for (name, count) in [
        ("atomics", counts.atomics),
        ("multiply, divide", counts.multiplies),
        ("floating point", counts.floats),
    ] {
        if count > 0 {
            line(name, count, &percent(count));
        }
    }
    for (name, count) in [
        ("system calls", counts.system_calls),
        ("exceptions", counts.exceptions),
        ("interrupts", counts.interrupts),
    ] {
        if count > 0 {
            line(name, count, "");
        }
    }
    if counts.contexts > 1 {
        line("contexts", counts.contexts as u64, "threads, or address spaces");
    }
    if let Some(timing) = &ran.timing {
        for text in timing.to_string().lines() {
            say(&format!("  {text}"));
        }
    }
    if let Some(traced) = &ran.traced {
        if let Some(Qualified { qualified, seen, .. }) = ran.qualified {
            let part = 100.0 * qualified as f64 / seen.max(1) as f64;
            line("traced", qualified, &format!("{part:5.1} % of all instructions"));
        }
        let instructions = ran.qualified.map_or(counts.instructions, |qualified| qualified.qualified);
        traced_lines(traced, instructions, opts.output.as_deref());
    }
    if let (Some(bytes), Some(path)) = (ran.log_bytes, &opts.log) {
        let bits = 8.0 * bytes as f64 / counts.instructions.max(1) as f64;
        line("log", bytes, &format!("bytes in {}, {bits:.2} bits an instruction", path.display()));
    }
}

/// It as a JSON object.
pub fn json(ran: &Recording) -> String {
    let counts = &ran.counts;
    let status = match ran.stop {
        Stop::Exit { status } => Some(status),
        _ => None,
    };
    let object = serde_json::json!({
        "exit_status": status, "seconds": ran.seconds,
        "instructions": counts.instructions, "blocks": counts.blocks, "compressed": counts.compressed,
        "code_bytes": counts.code, "branches": counts.branches, "branches_taken": counts.taken, "calls": counts.calls,
        "returns": counts.returns, "jumps": counts.jumps, "indirect": counts.indirect,
        "loads": counts.loads, "loaded_bytes": counts.loaded, "stores": counts.stores, "stored_bytes": counts.stored,
        "atomics": counts.atomics, "multiply_divide": counts.multiplies, "floating_point": counts.floats,
        "system_calls": counts.system_calls, "exceptions": counts.exceptions, "interrupts": counts.interrupts,
        "contexts": counts.contexts,
        "cycles": ran.timing.as_ref().map(|timing| timing.cycles), "log_bytes": ran.log_bytes,
        "traced_instructions": ran.qualified.map(|qualified| qualified.qualified),
        "trace_bytes": ran.traced.map(|traced| traced.bytes), "packets": ran.traced.map(|traced| traced.packets.unwrap_or_default() + traced.data_packets),
        "port": ran.traced.and_then(|traced| traced.port).map(|port| port::json(&port)),
        "delta": ran.traced.and_then(|traced| traced.delta).map(|delta| delta_json(&delta)),
    });
    line("record", object)
}

/// Delta trace as a JSON object.
pub fn delta_json(delta: &DeltaTraced) -> serde_json::Value {
    serde_json::json!({
        "format": delta.config.to_string(), "bytes": delta.bytes, "kept_bytes": delta.kept,
        "instructions": delta.instructions, "bits_per_instruction": delta.bits(),
        "instructions_without_cycle": delta.untimed, "refused": delta.refused.map(|refused| refused.to_string()),
        "port": delta.port.as_ref().map(port::json),
    })
}

/// Says where execution was at the end, and what was executed last.
pub fn report_end(ran: &Recording) {
    let name = |address| names::place(&ran.image, address, MemorySpace::ANY, 36);
    say(&format!("  at {:#x} {}", ran.pc, name(ran.pc)));
    if !ran.last.is_empty() {
        say("  the last blocks, the newest at the end:");
    }
    for block in &ran.last {
        let plural = if block.count == 1 { " " } else { "s" };
        say(&format!("  {:#12x} {:4} instruction{plural} {}", block.start, block.count, name(block.start)));
    }
}

/// What a trace came to.
pub fn traced_lines(traced: &Traced, instructions: u64, dir: Option<&Path>) {
    let line = |name: &str, count: u64, more: &str| {
        say(&format!("  {name:<16} {:>16}  {more}", grouped(count)));
    };
    let place = dir.map_or(String::new(), |dir| format!(" in {}", dir.display()));
    let bits = match instructions {
        0 => String::new(),
        more => format!(", {:.4} bits an instruction", 8.0 * traced.bytes as f64 / more as f64),
    };
    line("trace", traced.bytes, &format!("bytes{place}{bits}"));
    if traced.kept < traced.bytes {
        line("kept", traced.kept, "bytes: the newest, in a ring");
    }
    if let Some(packets) = traced.packets {
        let packets = packets + traced.data_packets;
        let bytes = traced.bytes as f64 / packets.max(1) as f64;
        let data = match traced.data_packets {
            0 => String::new(),
            data => format!(", {} of them data", grouped(data)),
        };
        line("packets", packets, &format!("{bytes:.2} bytes each{data}"));
    }
    if let Some(port) = &traced.port {
        port::lines(port, "port").iter().for_each(|line| say(line));
    }
    let Some(delta) = &traced.delta else { return };
    line("delta", delta.bytes, &format!("bytes, {:.4} bits an instruction", delta.bits()));
    say(&format!("  {:<16} {:>16}  {}", "", "format", delta.config));
    if delta.kept < delta.bytes {
        line("kept", delta.kept, "bytes: the newest, in a ring");
    }
    if delta.untimed > 0 {
        line("", delta.untimed, "instructions are not in it: their cycle is not known");
    }
    if let Some(port) = &delta.port {
        port::lines(port, "delta port").iter().for_each(|line| say(line));
    }
}

/// Accesses that data trace of a log leaves out, if there are any.
pub fn unknown_line(unknown: u64) {
    if unknown > 0 {
        let more = "accesses are missing, and marked: the log tells too little of them";
        say(&format!("  {:<16} {:>16}  {more}", "data trace", grouped(unknown)));
    }
}
