//! The fast path must give the same packets as the general one.

use tracewright_testkit::Rng;
use tracewright_testkit::riscv::walk::{Event, Happenings, Program, Trap, Walk};

use super::super::{Config, Encoder, Resync, ResyncMode};
use crate::ingress::Executed;
use crate::packet::Packet;
use crate::{Options, Params};

fn config(rng: &mut Rng) -> Config {
    let options = Options {
        implicit_return: rng.one_in(2),
        implicit_exception: false,
        full_address: rng.one_in(4),
        jump_target_cache: rng.one_in(2),
        branch_prediction: rng.one_in(2),
        sijump: rng.one_in(2),
    };
    let iret_ext = rng.one_in(2);
    let params = Params {
        bpred_size: 1 + rng.below(8) as u8,
        cache_size: 1 + rng.below(6) as u8,
        return_stack_size: 1 + rng.below(5) as u8,
        call_counter_size: 0,
        f0s_width: 1,
        iret_ext,
        sijump: true,
        context_width: 32,
        nocontext: false,
        ..Params::default()
    };
    let mode = *rng.pick(&[ResyncMode::Off, ResyncMode::Packets, ResyncMode::HalfWords, ResyncMode::Cycles]);
    let resync = Resync { mode, max: rng.below(5) as u8, anywhere: rng.one_in(4) };
    Config { params, options, resync, ..Config::default() }
}

#[test]
fn both_ways_tell_the_same() {
    let mut steps = 0;
    for seed in 0..600 {
        let mut rng = Rng::new(seed);
        let program = Program::generate(&mut rng);
        let config = config(&mut rng);
        let often = |rng: &mut Rng| *rng.pick(&[0, 20, 300, 2000]);
        let happenings = Happenings {
            interrupts: often(&mut rng),
            faults: often(&mut rng),
            wrong_returns: often(&mut rng),
            contexts: often(&mut rng),
            switches: 0,
            has_vectors: false,
        };
        let mut executed = Executed::default();
        let (mut short, mut long) = (Encoder::new(config.clone()), Encoder::new(config.clone()));
        let (mut told, mut expected) = (Vec::new(), Vec::new());
        let (mut out, mut long_out) = (|p: &Packet| told.push(*p), |p: &Packet| expected.push(*p));
        let mut cycle = 0;
        let mut walk = Walk::new(&program, Rng::new(rng.next_u64())).with(happenings);
        walk.run(2000, &mut |event| {
            let entry = match *event {
                Event::Block(block) => {
                    cycle += u64::from(block.count);
                    executed.cycle(cycle);
                    executed.block(&block)
                }
                Event::Trap(Trap { pc, cause, interrupt, value, .. }) => {
                    executed.trap(pc, cause, interrupt, value)
                }
                Event::Privilege(now) => return executed.privilege(now),
                Event::Context { id, .. } => return executed.context(u64::from(id)),
            };
            steps += u32::from(short.may_step);
            short.entry(&entry, &mut out);
            long.any_entry(&entry, &mut long_out);
        });
        short.finish(&mut out);
        long.finish(&mut long_out);
        assert_eq!(told, expected, "{seed}: {config:?}");
    }
    assert!(steps > 50_000, "{steps}");
}
