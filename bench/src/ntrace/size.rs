//! How small traces are: bytes of messages, beside those of NexRv and of E-Trace on the same instructions.

use tracewright_core::{Block, Isa};
use tracewright_etrace::encode as etrace;
use tracewright_etrace::packet::{self as etrace_packet, Packet as EtracePacket, PayloadBytes};
use tracewright_hart::{HartSink, Privilege, Trap};
use tracewright_ntrace::encode::Config;
use tracewright_ntrace::packet::{MessageBytes, Packet, emit};

use super::arm;
use super::published::{self, Published};
use super::record::{MIXES, Mix, PUBLISHED, Port};
use crate::etrace::program::{self, Traced};
use crate::etrace::record::{self, BASE, Port as EtracePort};
use crate::head;

/// Instructions for checks, where nothing is published.
const FEW: u64 = 20_000;
/// Instructions of the machine before a shared program begins.
const BOOT: u64 = 5;

pub fn tables(check: bool) -> Result<usize, String> {
    let published = published::all();
    let entries = beside_nexrv(&published, check)?;
    let mut rows = Vec::new();
    for traced in program::samples().iter().chain(&program::shared()) {
        rows.push(Row::new(traced, if check { FEW } else { u64::MAX }, &MIXES)?);
    }
    if check {
        println!("{}: {} programs encoded with all options", super::SIZE, rows.len());
        return Ok(entries + rows.len());
    }
    let names: Vec<_> = MIXES.iter().map(|mix| mix.name).collect();
    head(
        1,
        &format!("bits per instruction | {} | E-Trace base | E-Trace implicit return", names.join(" | ")),
    );
    rows.iter().for_each(|row| row.line(&row.name));
    for (name, is_shared) in [("our programs", false), ("shared programs", true)] {
        let of: Vec<_> = rows.iter().filter(|row| row.is_shared == is_shared).collect();
        if !of.is_empty() {
            Row::sum(&of).line(&format!("**{name} ({})**", of.len()));
        }
    }
    arm::table()?;
    Ok(entries + rows.len())
}

/// The same instructions with the same options, beside NexRv. Ours must never be larger.
fn beside_nexrv(published: &[Published], check: bool) -> Result<usize, String> {
    if !check {
        let names: Vec<_> = PUBLISHED.iter().map(|mix| format!("NexRv {0} | our {0}", mix.name)).collect();
        head(1, &format!("bytes | instructions | {}", names.join(" | ")));
    }
    let mut entries = 0;
    for traced in program::shared() {
        let Some(theirs) = published.iter().find(|theirs| theirs.program == traced.name) else { continue };
        // What is published leaves out the last instruction.
        let count = theirs.instructions + u64::from(traced.name != "xrle");
        let boot = if traced.name == "xrle" { 0 } else { BOOT };
        let row = Row::new(&traced, count + boot, &PUBLISHED)?;
        let mut line = format!("| {} | {}", traced.name, row.instructions);
        for ((mix, &theirs), &ours) in PUBLISHED.iter().zip(&theirs.bytes).zip(&row.bytes) {
            if row.instructions != count {
                return Err(format!("{}: {} instructions, not {count}", traced.name, row.instructions));
            }
            if ours > theirs {
                return Err(format!("{}, {}: {ours} bytes, and NexRv has {theirs}", traced.name, mix.name));
            }
            line += &format!(" | {theirs} | {ours}");
        }
        match check {
            true => println!("{}, {}: not larger than NexRv's", super::SIZE, traced.name),
            false => println!("{line} |"),
        }
        entries += 1;
    }
    Ok(entries)
}

/// Sizes of a program's traces.
pub struct Row {
    name: String,
    is_shared: bool,
    pub instructions: u64,
    pub bytes: Vec<u64>,
    etrace: [u64; 2],
}

impl Row {
    pub fn new(traced: &Traced, limit: u64, mixes: &[Mix]) -> Result<Self, String> {
        let (image, isa) = traced.image()?;
        let program = if traced.is_shared {
            image.regions().map(|region| region.range()).collect()
        } else {
            Vec::new()
        };
        let (mut bytes, mut etrace) = (vec![0; mixes.len()], [0; 2]);
        let instructions = {
            let ports =
                mixes.iter().zip(&mut bytes).map(|(mix, bytes)| port(mix.config(isa), bytes)).collect();
            let etraces = [false, true].into_iter().zip(&mut etrace);
            let etraces = etraces.map(|(returns, bytes)| etrace_port(isa, returns, bytes)).collect();
            let mut encoders = Encoders { program, instructions: 0, ports, etraces };
            traced.run(limit, &mut encoders)?;
            encoders.finish()
        };
        Ok(Self { name: traced.name.clone(), is_shared: traced.is_shared, instructions, bytes, etrace })
    }

    fn sum(rows: &[&Self]) -> Self {
        let mut sum = Self {
            name: String::new(),
            is_shared: false,
            instructions: 0,
            bytes: vec![0; MIXES.len()],
            etrace: [0; 2],
        };
        for row in rows {
            sum.instructions += row.instructions;
            sum.bytes.iter_mut().zip(&row.bytes).for_each(|(sum, bytes)| *sum += bytes);
            sum.etrace.iter_mut().zip(&row.etrace).for_each(|(sum, bytes)| *sum += bytes);
        }
        sum
    }

    fn line(&self, name: &str) {
        let each = |bytes: &u64| format!("{:.4}", 8.0 * *bytes as f64 / self.instructions.max(1) as f64);
        let all: Vec<_> = self.bytes.iter().chain(&self.etrace).map(each).collect();
        println!("| {name} | {} |", all.join(" | "));
    }
}

type Out<'b, P> = Box<dyn FnMut(&P) + 'b>;

/// An encoder that counts its bytes.
fn port<'b>(config: Config, bytes: &'b mut u64) -> Port<Out<'b, Packet>> {
    let params = config.params.clone();
    Port::new(
        config,
        Box::new(move |packet: &Packet| {
            let mut message = MessageBytes::default();
            let written = emit(packet, 0, None, &params, &mut message);
            debug_assert!(written.is_ok(), "{packet:?}");
            *bytes += message.len() as u64;
        }),
    )
}

/// The same of E-Trace, with the byte of its encapsulation that says how long a packet is: messages of N-Trace tell their ends themselves.
fn etrace_port<'b>(isa: Isa, implicit_return: bool, bytes: &'b mut u64) -> EtracePort<Out<'b, EtracePacket>> {
    let params = tracewright_etrace::Params { return_stack_size: 5, ..record::params(isa) };
    let resync = etrace::Resync { mode: etrace::ResyncMode::Off, ..etrace::Resync::default() };
    let options = tracewright_etrace::Options { implicit_return, ..BASE };
    let config = etrace::Config { params: params.clone(), options, resync, ..etrace::Config::default() };
    EtracePort::new(
        config,
        Box::new(move |packet: &EtracePacket| {
            let mut payload = PayloadBytes::default();
            let written = etrace_packet::emit(packet, &params, &mut payload);
            debug_assert!(written.is_ok(), "{packet:?}");
            *bytes += payload.len() as u64 + 1;
        }),
    )
}

/// Encoders behind a hart.
struct Encoders<'b> {
    /// Where the program is, until it runs: the machine's own code before it is left out.
    program: Vec<std::ops::Range<u64>>,
    instructions: u64,
    ports: Vec<Port<Out<'b, Packet>>>,
    etraces: Vec<EtracePort<Out<'b, EtracePacket>>>,
}

impl Encoders<'_> {
    /// Ends tracing. Returns how many instructions ran.
    fn finish(self) -> u64 {
        self.ports.into_iter().for_each(Port::finish);
        self.etraces.into_iter().for_each(EtracePort::finish);
        self.instructions
    }
}

impl HartSink for Encoders<'_> {
    fn block(&mut self, block: &Block) {
        if !self.program.is_empty() && !self.program.iter().any(|range| range.contains(&block.start)) {
            return;
        }
        self.program.clear();
        self.instructions += u64::from(block.count);
        self.ports.iter_mut().for_each(|port| port.block(block));
        self.etraces.iter_mut().for_each(|port| port.block(block));
    }

    fn trap(&mut self, trap: &Trap) {
        if self.instructions > 0 {
            self.ports.iter_mut().for_each(|port| port.trap(trap));
            self.etraces.iter_mut().for_each(|port| port.trap(trap));
        }
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.ports.iter_mut().for_each(|port| port.privilege(privilege));
        self.etraces.iter_mut().for_each(|port| port.privilege(privilege));
    }
}
