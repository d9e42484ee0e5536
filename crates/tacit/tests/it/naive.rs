//! The decoder's naive twin: it steps instruction by instruction, and keeps the predictor's counters in a map. It only reads streams of
//! an encoder, and shares no code with the decoder but packets and classes of instructions.

use std::collections::HashMap;

use tracewright_core::{Class, Flow, Isa};
use tracewright_isa::{Instruction, decode};
use tracewright_tacit::packet::{Packet, SyncKind, TrapKind};
use tracewright_tacit::{Mode, Params};

/// What the twin tells: addresses of instructions, and cycles at which all of them have retired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Instruction(u64),
    Cycle(u64),
}

pub struct Twin<'p> {
    pub params: &'p Params,
    pub isa: Isa,
    pub address: u64,
    pub code: &'p [u8],
    pub pc: u64,
    pub time: u64,
    pub counters: HashMap<u64, u8>,
    pub told: Vec<Told>,
}

impl Twin<'_> {
    fn at(&self, pc: u64) -> Instruction {
        let mut bytes = [0; 4];
        let from = &self.code[pc.wrapping_sub(self.address) as usize..];
        let len = from.len().min(4);
        bytes[..len].copy_from_slice(&from[..len]);
        decode(self.isa, pc, &bytes, &mut Default::default()).unwrap()
    }

    fn mask(&self, address: u64) -> u64 {
        if self.isa == Isa::Rv32 { address & 0xffff_ffff } else { address }
    }

    /// Runs one instruction, which is no branch, or a branch to `to`.
    fn step(&mut self, to: Option<u64>) {
        self.told.push(Told::Instruction(self.pc));
        let next = self.pc.wrapping_add(u64::from(self.at(self.pc).len));
        self.pc = self.mask(to.unwrap_or(next));
    }

    /// Runs up to the next branch of any kind, or over direct jumps if they are left out. Returns its class and target.
    fn run_to_branch(&mut self) -> (Class, u64) {
        loop {
            let found = self.at(self.pc);
            let is_silent = self.params.mode == Mode::Predict
                && found.class.flow == Flow::Direct
                && !found.class.conditional;
            if is_silent {
                self.step(Some(found.target));
            } else if found.class.is_branch() {
                return (found.class, found.target);
            } else {
                self.step(None);
            }
        }
    }

    fn predicted(&mut self, is_hit: bool) {
        let (_, target) = self.run_to_branch();
        let slot = (self.pc >> 1) % u64::from(self.params.entries);
        let counter = self.counters.entry(slot).or_insert(1);
        let taken = (*counter >= 2) == is_hit;
        *counter = match (taken, *counter) {
            (true, 3) => 3,
            (true, counter) => counter + 1,
            (false, 0) => 0,
            (false, counter) => counter - 1,
        };
        self.step(taken.then_some(target));
    }

    fn run_to(&mut self, to: u64) {
        while self.pc != to {
            let found = self.at(self.pc);
            self.step(found.class.is_branch().then_some(found.target));
        }
    }

    fn passed(&mut self, cycles: u64) {
        self.time += cycles;
        self.told.push(Told::Cycle(self.time));
    }

    pub fn packet(&mut self, packet: &Packet) {
        match *packet {
            Packet::TakenBranch { time } | Packet::InferableJump { time } => {
                let (_, target) = self.run_to_branch();
                self.step(Some(target));
                self.passed(time);
            }
            Packet::NotTakenBranch { time } => {
                self.run_to_branch();
                self.step(None);
                self.passed(time);
            }
            Packet::UninferableJump { difference, time } => {
                self.run_to_branch();
                let to = self.params.whole(self.pc ^ difference, self.isa);
                self.step(Some(to));
                self.passed(time);
            }
            Packet::Hits { count } => (0..count).for_each(|_| self.predicted(true)),
            Packet::Miss { time } => {
                self.predicted(false);
                self.passed(time);
            }
            Packet::Trap { kind, from, difference, time, .. } => {
                self.run_to(self.params.whole(from, self.isa));
                let to = self.params.whole(from ^ difference, self.isa);
                if kind == TrapKind::Return {
                    self.step(Some(to));
                }
                self.pc = to;
                self.passed(time);
            }
            Packet::Sync { kind, target, time, .. } => {
                let target = self.params.whole(target, self.isa);
                if kind == SyncKind::Start {
                    self.pc = target;
                    self.counters.clear();
                } else {
                    self.run_to(target);
                }
                self.time = time;
                self.told.push(Told::Cycle(time));
            }
        }
    }
}
