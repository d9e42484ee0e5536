//! What a run came to.

use std::collections::HashSet;
use std::path::Path;

use tracewright_core::{Ended, Flow, Role};
use tracewright_hart::Stop;
use tracewright_isa::riscv::{AccessKind, Instruction, Op, Xlen, decode};

use super::{Opts, Ran};
use crate::etrace::Traced;
use crate::output::{report, say};

/// How many instructions of each kind were executed.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    instructions: u64,
    blocks: u64,
    branches: u64,
    taken: u64,
    jumps: u64,
    calls: u64,
    returns: u64,
    indirect: u64,
    loads: u64,
    loaded: u64,
    stores: u64,
    stored: u64,
    atomics: u64,
    floats: u64,
    multiplies: u64,
    compressed: u64,
    /// Bytes of code that were executed at least once.
    code: u64,
}

impl Summary {
    /// Adds up the blocks that were executed. `code` tells the bits at an address.
    pub fn new(ran: &Ran, xlen: Xlen, mut code: impl FnMut(u64) -> Option<u32>) -> Self {
        let mut all = Self { instructions: ran.instructions, blocks: ran.watch.count, ..Self::default() };
        let mut seen = HashSet::new();
        for &(block, count) in &ran.watch.blocks {
            let mut pc = block.start;
            for _ in 0..block.count {
                let Some(bits) = code(pc) else { break };
                let instruction = decode(xlen, bits);
                all.add(&instruction, count);
                if seen.insert(pc) {
                    all.code += u64::from(instruction.len);
                }
                pc = pc.wrapping_add(instruction.len.into());
            }
            if block.class.conditional && block.ended == Ended::Taken {
                all.taken += count;
            }
        }
        all
    }

    fn add(&mut self, instruction: &Instruction, count: u64) {
        let class = instruction.class();
        match (class.flow, class.role) {
            (Flow::Direct, _) if class.conditional => self.branches += count,
            (Flow::Direct | Flow::Indirect, Role::Call | Role::Swap) => self.calls += count,
            (Flow::Indirect, Role::Return) => self.returns += count,
            (Flow::Direct | Flow::Indirect, _) => self.jumps += count,
            _ => {}
        }
        if class.flow == Flow::Indirect {
            self.indirect += count;
        }
        match instruction.access() {
            Some((AccessKind::Load, size)) => {
                self.loads += count;
                self.loaded += count * u64::from(size);
            }
            Some((AccessKind::Store, size)) => {
                self.stores += count;
                self.stored += count * u64::from(size);
            }
            Some((AccessKind::Amo, _)) => self.atomics += count,
            None => {}
        }
        let op = instruction.op as u8;
        if (Op::Flw as u8..=Op::FmvDX as u8).contains(&op) && instruction.access().is_none() {
            self.floats += count;
        }
        if (Op::Mul as u8..=Op::Remuw as u8).contains(&op) {
            self.multiplies += count;
        }
        if instruction.len == 2 {
            self.compressed += count;
        }
    }

    /// Says it on standard error.
    pub fn report(&self, ran: &Ran, opts: &Opts) {
        let mips = self.instructions as f64 / ran.seconds.max(1e-9) / 1e6;
        let percent = |part: u64| format!("{:5.1} %", 100.0 * part as f64 / self.instructions.max(1) as f64);
        let line = |name: &str, count: u64, more: &str| {
            say(&format!("  {name:<16} {:>16}  {more}", grouped(count)));
        };
        let ended = match ran.stop {
            Stop::Exit { status } => format!("exit status {status}"),
            _ => "stopped".into(),
        };
        let name = opts.name();
        let how = if opts.from.is_some() { "read".into() } else { ended };
        report(&format!("{name}: {how}; {:.2} s, {mips:.0} million instructions/s", ran.seconds));
        line("instructions", self.instructions, &format!("{} compressed", percent(self.compressed)));
        line("blocks", self.blocks, &format!("{} bytes of code", grouped(self.code)));
        let of_branches = 100.0 * self.taken as f64 / self.branches.max(1) as f64;
        line(
            "branches",
            self.branches,
            &format!("{}, {of_branches:.1} % of them taken", percent(self.branches)),
        );
        line("calls", self.calls, &format!("{}, {} returns", percent(self.calls), grouped(self.returns)));
        line("jumps", self.jumps, &percent(self.jumps));
        line(
            "indirect",
            self.indirect,
            &format!("{}, of all jumps, calls and returns", percent(self.indirect)),
        );
        line("loads", self.loads, &format!("{}, {} bytes", percent(self.loads), grouped(self.loaded)));
        line("stores", self.stores, &format!("{}, {} bytes", percent(self.stores), grouped(self.stored)));
        for (name, count) in [
            ("atomics", self.atomics),
            ("multiply, divide", self.multiplies),
            ("floating point", self.floats),
        ] {
            if count > 0 {
                line(name, count, &percent(count));
            }
        }
        for (name, count) in [
            ("system calls", ran.watch.calls),
            ("exceptions", ran.watch.exceptions),
            ("interrupts", ran.watch.interrupts),
        ] {
            if count > 0 {
                line(name, count, "");
            }
        }
        if ran.watch.contexts.len() > 1 {
            line("contexts", ran.watch.contexts.len() as u64, "threads, or address spaces");
        }
        if let Some(timing) = &ran.timing {
            for text in timing.to_string().lines() {
                say(&format!("  {text}"));
            }
        }
        if let Some(traced) = &ran.traced {
            if let Some((count, part)) = ran.qualified.map(|qualified| qualified.line()) {
                line("traced", count, &part);
            }
            let instructions = ran.qualified.map_or(self.instructions, |qualified| qualified.qualified);
            traced_lines(traced, instructions, opts.output.as_deref());
        }
        if let (Some(bytes), Some(path)) = (ran.kept.log_bytes, &opts.log) {
            let bits = 8.0 * bytes as f64 / self.instructions.max(1) as f64;
            line("log", bytes, &format!("bytes in {}, {bits:.2} bits an instruction", path.display()));
        }
    }

    /// It as a JSON object.
    pub fn json(&self, ran: &Ran) -> String {
        let status = match ran.stop {
            Stop::Exit { status } => Some(status),
            _ => None,
        };
        let object = serde_json::json!({
            "exit_status": status, "seconds": ran.seconds,
            "instructions": self.instructions, "blocks": self.blocks, "compressed": self.compressed,
            "code_bytes": self.code, "branches": self.branches, "branches_taken": self.taken, "calls": self.calls,
            "returns": self.returns, "jumps": self.jumps, "indirect": self.indirect,
            "loads": self.loads, "loaded_bytes": self.loaded, "stores": self.stores, "stored_bytes": self.stored,
            "atomics": self.atomics, "multiply_divide": self.multiplies, "floating_point": self.floats,
            "system_calls": ran.watch.calls, "exceptions": ran.watch.exceptions, "interrupts": ran.watch.interrupts,
            "contexts": ran.watch.contexts.len(),
            "cycles": ran.timing.as_ref().map(|timing| timing.cycles), "log_bytes": ran.kept.log_bytes,
            "traced_instructions": ran.qualified.map(|qualified| qualified.qualified),
            "trace_bytes": ran.traced.map(|traced| traced.bytes), "packets": ran.traced.map(|traced| traced.packets + traced.data_packets),
            "port": ran.traced.and_then(|traced| traced.port).map(|port| port.json()),
            "delta": ran.traced.and_then(|traced| traced.delta).map(|delta| delta.json()),
        });
        format!("{object}\n")
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
    let packets = traced.packets + traced.data_packets;
    let bytes = traced.bytes as f64 / packets.max(1) as f64;
    let data = match traced.data_packets {
        0 => String::new(),
        data => format!(", {} of them data", grouped(data)),
    };
    line("packets", packets, &format!("{bytes:.2} bytes each{data}"));
    if let Some(port) = &traced.port {
        port.lines("port").iter().for_each(|line| say(line));
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
        port.lines("delta port").iter().for_each(|line| say(line));
    }
}

/// Accesses that data trace of a log leaves out, if there are any.
pub fn unknown_line(unknown: u64) {
    if unknown > 0 {
        let more = "accesses are missing, and marked: the log tells too little of them";
        say(&format!("  {:<16} {:>16}  {more}", "data trace", grouped(unknown)));
    }
}

/// `1 234 567`.
pub fn grouped(number: impl Into<u128>) -> String {
    let digits = number.into().to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}
