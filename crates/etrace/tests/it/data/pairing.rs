//! Accesses and their instructions, separated and paired again.

use std::collections::HashSet;

use tracewright_core::{AtomicOp, CsrOp, DataAccess, DataKind};
use tracewright_etrace::Params;
use tracewright_etrace::data::{Encoder, Options, Pairing};
use tracewright_etrace::packet::{Packet, Start, Support};
use tracewright_isa::riscv::Op;
use tracewright_testkit::Rng;

use super::programs::{self, Run, Step};

/// Emitted accesses, in order, and how many were paired.
#[derive(Default)]
struct Outcome {
    told: Vec<u64>,
    found: usize,
    out: usize,
}

impl Outcome {
    fn take(&mut self, access: &DataAccess, address: Option<u64>) {
        let expected = self.told[self.out];
        self.out += 1;
        if let Some(address) = address {
            self.found += 1;
            assert_eq!(address, expected, "{access}, the {}th", self.out);
        }
    }

    fn instructions(&mut self, pairing: &mut Pairing, steps: &[Step]) {
        for Step { address, instruction, .. } in steps {
            pairing.instruction(*address, instruction, &mut |a, at| self.take(a, at));
        }
    }
}

/// Feeds a run as a trace does: accesses and synchronisation packets in order, instructions earlier or later,
/// but none before the synchronisation packet that reports it. About every `loss`th access is lost, and the
/// loss is reported.
fn pair(rng: &mut Rng, steps: &[Step], params: &Params, loss: Option<u64>) -> (Outcome, usize) {
    let options = Options::default();
    let mut pairing = Pairing::new(params, options);
    let mut outcome = Outcome::default();
    let mut told = 0;
    let mut traced = 0;
    let mut period = 0;
    for (i, step) in steps.iter().enumerate() {
        let is_sync = period == 0;
        period = if is_sync { rng.below(400) } else { period - 1 };
        if is_sync {
            // A decoder has emitted all but its current block.
            let begin = (0..=i).rev().find(|&at| steps[at].begins).unwrap();
            outcome.instructions(&mut pairing, &steps[told..begin.max(told)]);
            told = told.max(begin);
            let start = Packet::Start(Start { address: step.address, ..Start::default() });
            pairing.packet(&start, &mut |a, at| outcome.take(a, at));
        }
        // Reported instructions, up to the next synchronisation.
        let ahead = if rng.one_in(3) { i + rng.below(period + 1) as usize + 1 } else { i };
        let to = if rng.one_in(8) { ahead.min(steps.len()) } else { told };
        let is_traced = |access: &DataAccess| Encoder::tells(params, &options, access.kind, access.size);
        if let Some(access) = step.access.filter(is_traced) {
            traced += 1;
            if loss.is_some_and(|loss| rng.one_in(loss)) {
                let support = Support { dloss: true, denable: true, doptions: options, ..Support::default() };
                pairing.packet(&Packet::Support(support), &mut |a, at| outcome.take(a, at));
            } else {
                outcome.told.push(step.address);
                pairing.access(&access, &mut |a, at| outcome.take(a, at));
            }
        }
        outcome.instructions(&mut pairing, &steps[told..to.max(told)]);
        told = told.max(to);
    }
    outcome.instructions(&mut pairing, &steps[told..]);
    pairing.finish(&mut |a, at| outcome.take(a, at));
    assert_eq!(outcome.out, outcome.told.len());
    (outcome, traced)
}

fn with(dtype_width: u8) -> Params {
    Params { dtype_width, ..Params::default() }
}

#[test]
fn all_accesses_find_their_instruction() {
    for Run { name, steps, .. } in programs::runs() {
        for (seed, dtype_width) in (0..8).flat_map(|seed| [(seed, 3), (seed, 4)]) {
            let mut rng = Rng::new(seed);
            let (outcome, traced) = pair(&mut rng, &steps, &with(dtype_width), None);
            let has_conditionals = steps.iter().any(|step| matches!(step.instruction.op, Op::ScW | Op::ScD));
            assert!(traced > 1_000, "{name}: {traced}");
            assert_eq!(outcome.told.len(), traced, "{name}");
            if dtype_width == 4 || !has_conditionals {
                assert_eq!(outcome.found, traced, "{name}, seed {seed}");
            } else {
                // Without atomics, failed store-conditionals are not traced, so that the accesses after them
                // are uncertain.
                assert!(outcome.found > traced / 4, "{name}, seed {seed}: {} of {traced}", outcome.found);
            }
        }
    }
}

#[test]
fn nothing_is_claimed_after_a_loss() {
    for Run { name, steps, .. } in programs::runs() {
        for seed in 0..8 {
            let mut rng = Rng::new(seed);
            let (outcome, traced) = pair(&mut rng, &steps, &with(4), Some(500));
            assert!(outcome.told.len() < traced, "{name}");
            assert!(outcome.found < outcome.told.len(), "{name}");
            assert!(outcome.found > traced / 4, "{name}, seed {seed}: {} of {traced}", outcome.found);
        }
    }
}

/// Checks that the runs have enough variety to tell instructions apart.
#[test]
fn programs_do_many_things() {
    let runs = programs::runs();
    let kinds: HashSet<_> = runs.iter().flat_map(Run::accesses).map(|(_, access)| access.kind).collect();
    for kind in [
        DataKind::Load,
        DataKind::Store,
        DataKind::Atomic(AtomicOp::Add),
        DataKind::Csr(CsrOp::Write),
        DataKind::Csr(CsrOp::Set),
    ] {
        assert!(kinds.contains(&kind), "{kind:?}");
    }
}
