//! What a hart executes to a trace.

use std::ops::Range;

use tracewright_core::{Block, Isa};
use tracewright_etrace::encode::{self, Encoder};
use tracewright_etrace::ingress::Executed;
use tracewright_etrace::packet::Packet;
use tracewright_etrace::stream::{Config, Encapsulation, Writer};
use tracewright_etrace::{Options, Params};
use tracewright_hart::{HartSink, Privilege, Trap};

use super::Answer;

/// No options at all.
pub const BASE: Options = Options {
    implicit_return: false,
    implicit_exception: false,
    full_address: false,
    jump_target_cache: false,
    branch_prediction: false,
    sijump: false,
};

/// Something a hart tells.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    Block(Block),
    Trap(Trap),
    Privilege(Privilege),
}

/// Keeps all of it, from the first address that is in the program on.
#[derive(Debug, Default)]
pub struct Events {
    pub events: Vec<Event>,
    pub answer: Answer,
    /// Where the program is, until it runs: the machine's own code before it is left out.
    program: Vec<Range<u64>>,
}

impl Events {
    /// Of a program that is there.
    pub fn new(program: Vec<Range<u64>>) -> Self {
        Self { program, ..Self::default() }
    }

    /// Leaves out the last rounds of a loop that nothing ends, or little did: what waits for the machine to stop. No trace
    /// tells how often it went round.
    pub fn end_before_waiting(&mut self) {
        let is_waiting = |block: &Block, next: u64| block.class.is_branch() && block.last() == next;
        let mut next = None;
        while let Some(Event::Block(block)) = self.events.last()
            && is_waiting(block, next.unwrap_or(block.start))
        {
            next = Some(block.start);
            self.events.pop();
        }
        self.answer = Answer::default();
        for event in &self.events {
            if let Event::Block(block) = event {
                self.answer.add(block.start, block.end, block.count.into());
            }
        }
    }
}

impl HartSink for Events {
    fn block(&mut self, block: &Block) {
        let is_machines =
            |program: &Vec<Range<u64>>| !program.iter().any(|range| range.contains(&block.start));
        if !self.program.is_empty() && is_machines(&self.program) {
            return;
        }
        self.program.clear();
        self.events.push(Event::Block(*block));
    }

    fn trap(&mut self, trap: &Trap) {
        self.events.push(Event::Trap(*trap));
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.events.push(Event::Privilege(privilege));
    }
}

/// An encoder behind a hart.
pub struct Port<F> {
    executed: Executed,
    encoder: Encoder,
    out: F,
}

impl<F: FnMut(&Packet)> Port<F> {
    pub fn new(config: encode::Config, out: F) -> Self {
        Self { executed: Executed::default(), encoder: Encoder::new(config), out }
    }

    #[inline(always)]
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Block(block) => self.block(block),
            Event::Trap(trap) => self.trap(trap),
            Event::Privilege(privilege) => self.privilege(*privilege),
        }
    }

    pub fn finish(mut self) {
        self.encoder.finish(&mut self.out);
    }
}

impl<F: FnMut(&Packet)> HartSink for Port<F> {
    #[inline(always)]
    fn block(&mut self, block: &Block) {
        self.encoder.entry(&self.executed.block(block), &mut self.out);
    }

    fn trap(&mut self, trap: &Trap) {
        let entry = self.executed.trap(trap.pc, trap.cause, trap.interrupt, trap.value);
        self.encoder.entry(&entry, &mut self.out);
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.executed.privilege(privilege as u8);
    }
}

/// How the bytes of a trace lie that has one source.
pub fn stream(params: &Params) -> Config {
    Config {
        params: params.clone(),
        encapsulation: Encapsulation::Standard { source_bits: 0, timestamp_bytes: 0, type_bits: 0 },
        options: Options::default(),
        data: Default::default(),
    }
}

/// The trace of what happened, in its encapsulation.
pub fn encode(config: &encode::Config, events: &[Event], bytes: &mut Vec<u8>) {
    let mut writer = Writer::new(stream(&config.params));
    let out = |packet: &Packet| {
        let written = writer.instruction(0, None, packet, bytes);
        debug_assert!(written.is_ok(), "{packet:?}: {written:?}");
    };
    let mut port = Port::new(config.clone(), out);
    events.iter().for_each(|event| port.event(event));
    port.finish();
}

/// Attributes of an encoder for this instruction set.
pub fn params(isa: Isa) -> Params {
    Params { iaddress_width: if isa == Isa::Rv32 { 32 } else { 64 }, ..Params::default() }
}
