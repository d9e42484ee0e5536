//! The decoder and its naive twin, written from the specification's pseudo-code, find the same instructions.
//! `decode_reference.rs` compares both with Spike.

use crate::support;

use support::twin::Twin;
use support::{instructions, program_image};
use tracewright_core::{Element, Isa};
use tracewright_etrace::decode::{self, Decoder};
use tracewright_etrace::encode::{self, Resync, ResyncMode};
use tracewright_etrace::ingress::Executed;
use tracewright_etrace::{Options, Params, SupportLayout};
use tracewright_testkit::Rng;
use tracewright_testkit::etrace::{encode, entry};
use tracewright_testkit::riscv::walk::{Happenings, Program, Walk};

/// Random executions with any options but implicit returns, for which there are several pseudo-codes.
#[test]
fn random_executions() {
    let mut compared = 0;
    for seed in 0..1_000 {
        let rng = &mut Rng::new(seed);
        let program = Program::generate(rng);
        let params = Params {
            iaddress_width: if program.isa == Isa::Rv32 { 32 } else { 64 },
            bpred_size: 1 + rng.below(6) as u8,
            cache_size: 1 + rng.below(6) as u8,
            sijump: true,
            support: SupportLayout::Pulp,
            ..Params::default()
        };
        let options = Options {
            full_address: rng.one_in(2),
            jump_target_cache: rng.one_in(2),
            branch_prediction: rng.one_in(2),
            sijump: rng.one_in(2),
            ..Options::default()
        };
        let resync = Resync { mode: ResyncMode::Packets, max: rng.below(6) as u8, anywhere: false };
        let happenings =
            Happenings { interrupts: 300, faults: 300, wrong_returns: 40, ..Happenings::default() };
        let config = encode::Config { params: params.clone(), options, resync, ..encode::Config::default() };
        let (mut executed, mut entries) = (Executed::default(), Vec::new());
        let mut walk = Walk::new(&program, Rng::new(seed)).with(happenings);
        walk.run(2_000, &mut |event| entries.extend(entry(&mut executed, event)));
        let packets = encode(config, &entries);
        let image = program_image(&program);
        let mut elements = Vec::new();
        let mut tell = |offset: u64, element: &Element| elements.push((offset, *element));
        let mut decoder = Decoder::new(&params, decode::Options::default(), &image, program.isa);
        packets.iter().for_each(|packet| decoder.packet(0, packet, &mut tell));
        decoder.finish(0, &mut tell);
        // Where the number of rounds of a loop is unknown, the twin takes the first.
        if elements.iter().any(|(_, element)| matches!(element, Element::UnknownPath { .. })) {
            continue;
        }
        let ours = instructions(&image, &elements);
        let twins = Twin::follow(&packets, &params, false, &image, program.isa);
        assert!(twins.as_ref() == Ok(&ours), "seed {seed} {:?}", twins.err());
        compared += 1;
    }
    assert!(compared > 950, "{compared}");
}
