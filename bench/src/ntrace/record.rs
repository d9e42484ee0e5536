//! What a hart executes to a trace.

use tracewright_core::Isa;
use tracewright_hart::{HartSink, Privilege, Trap};
use tracewright_ntrace::encode::{Config, Encoder};
use tracewright_ntrace::packet::{MessageBytes, Packet, emit};
use tracewright_ntrace::{ImplicitReturn, Mode, Params};

use crate::etrace::record::Event;

/// Options that go together.
pub struct Mix {
    pub name: &'static str,
    config: fn(Config) -> Config,
}

impl Mix {
    pub fn config(&self, isa: Isa) -> Config {
        (self.config)(Config::new(Params::default(), isa))
    }
}

fn returns(mut config: Config) -> Config {
    config.params.implicit_return = ImplicitReturn::Stack;
    config
}

fn repeats(config: Config) -> Config {
    Config { repeated_history: true, ..config }
}

fn all(config: Config) -> Config {
    let config = repeats(returns(config));
    let params = Params { sequential_jump: true, extend_addr_msb: true, ..config.params };
    Config { params, ..config }
}

fn branches(mut config: Config) -> Config {
    config.params.mode = Mode::Branch;
    config
}

/// Sets what the reference code does whatever its options are.
fn nexrv(config: Config) -> Config {
    Config { calls: 8, icnt_bits: 30, first_sync: 1, omits_empty_history: true, ..config }
}

/// Options by which speed is measured.
pub const MIXES: [Mix; 4] = [
    Mix { name: "branch mode", config: branches },
    Mix { name: "history", config: |config| config },
    Mix { name: "+ implicit return", config: returns },
    Mix { name: "all", config: all },
];

/// The reference code's options, in the order of its published tables.
pub const PUBLISHED: [Mix; 5] = [
    Mix { name: "n", config: |config| nexrv(branches(config)) },
    Mix { name: "h", config: nexrv },
    Mix { name: "hr", config: |config| nexrv(repeats(config)) },
    Mix { name: "hc", config: |config| nexrv(returns(config)) },
    Mix { name: "hcr", config: |config| nexrv(repeats(returns(config))) },
];

/// An encoder behind a hart. It passes each message to a function.
pub struct Port<F> {
    encoder: Encoder,
    out: F,
}

impl<F: FnMut(&Packet)> Port<F> {
    pub fn new(config: Config, out: F) -> Self {
        Self { encoder: Encoder::new(config), out }
    }

    #[inline(always)]
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Block(block) => self.encoder.block(block, &mut |packet, _| (self.out)(packet)),
            Event::Trap(trap) => self.trap(trap),
            Event::Privilege(privilege) => self.privilege(*privilege),
        }
    }

    pub fn finish(mut self) {
        self.encoder.stop(0, &mut |packet, _| (self.out)(packet));
    }
}

impl<F: FnMut(&Packet)> HartSink for Port<F> {
    #[inline(always)]
    fn block(&mut self, block: &tracewright_core::Block) {
        self.encoder.block(block, &mut |packet, _| (self.out)(packet));
    }

    fn trap(&mut self, trap: &Trap) {
        self.encoder.trap(trap.pc, trap.interrupt, &mut |packet, _| (self.out)(packet));
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.encoder.privilege(privilege as u8, false);
    }
}

/// The trace of what happened.
pub fn encode(config: &Config, events: &[Event], bytes: &mut Vec<u8>) {
    let params = &config.params;
    let out = |packet: &Packet| {
        let mut message = MessageBytes::default();
        let written = emit(packet, 0, None, params, &mut message);
        debug_assert!(written.is_ok(), "{packet:?}: {written:?}");
        bytes.extend_from_slice(&message);
    };
    let mut port = Port::new(config.clone(), out);
    events.iter().for_each(|event| port.event(event));
    port.finish();
}
