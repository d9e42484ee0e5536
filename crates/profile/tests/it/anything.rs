//! Elements in any order and of impossible code: nothing panics, and sums add up.

use tracewright_core::{
    Block, Class, Context, Element, Ended, Exception, Flow, GapReason, Isa, MemorySpace, Role, Security,
    TraceOn,
};
use tracewright_profile::{
    Branch, CallSums, Clock, Code, Events, Graph, Meter, Paths, Place, Profile, Told, Tracker, Tree, Trips,
    Within, branches,
};
use tracewright_testkit::Rng;

fn address(rng: &mut Rng) -> u64 {
    match rng.below(20) {
        0 => rng.next_u64(),
        1 => 0_u64.wrapping_sub(2 * rng.below(8)),
        _ => 0x1000 + 2 * rng.below(200),
    }
}

fn block(rng: &mut Rng) -> Block {
    let start = address(rng);
    let count = rng.below(6) as u32;
    let flow =
        *rng.pick(&[Flow::Next, Flow::Direct, Flow::Indirect, Flow::Pair, Flow::Isb, Flow::TransactionStart]);
    let roles = [Role::Jump, Role::Call, Role::Return, Role::Swap, Role::ExceptionReturn, Role::LoopEnd];
    let role = *rng.pick(&roles);
    Block {
        start,
        end: start.wrapping_add(2 * u64::from(count)),
        count,
        isa: *rng.pick(&[Isa::A64, Isa::T32, Isa::Rv64]),
        last_len: *rng.pick(&[2, 4]),
        class: Class { flow, role, conditional: rng.below(2) == 0 },
        ended: *rng.pick(&[Ended::Taken, Ended::Taken, Ended::NotTaken, Ended::Through, Ended::Cut]),
    }
}

fn element(rng: &mut Rng) -> Element {
    match rng.below(60) {
        0 => Element::TraceOn(TraceOn::Overflow),
        1 => Element::Gap { reason: GapReason::BadPacket, from: 0, to: 1 },
        2..=4 => {
            let return_address = (rng.below(3) > 0).then(|| address(rng));
            let at_target = rng.below(2) == 0;
            Element::Exception(Exception {
                number: 1,
                interrupt: true,
                value: None,
                return_address,
                at_target,
            })
        }
        5 => Element::ExceptionReturn,
        6 | 7 => {
            let (context_id, vmid) = ((rng.below(2) == 0).then(|| rng.below(4) as u32), None);
            let security = Security::NonSecure;
            Element::Context(Context { level: 1, security, is_64bit: true, vmid, context_id }, Isa::A64)
        }
        8 => Element::Cycles((rng.below(4) > 0).then(|| rng.next_u64() as u32)),
        9 => Element::Event(rng.next_u64() as u8),
        10 => Element::End,
        _ => Element::Block(block(rng)),
    }
}

#[test]
fn anything_goes() {
    for seed in 0..400 {
        let rng = &mut Rng::new(seed);
        let elements: Vec<_> = (0..400).map(|_| element(rng)).collect();
        let place = |address: u64, _: MemorySpace| Place { binary: (address >> 63) as u32, address };
        let find = |address: u64, _: MemorySpace| Within {
            function: (address >> 6) as u32 & 15,
            is_start: address & 63 == 0,
            is_named: address & 64 == 0,
        };
        let mut profile = Profile::default();
        let mut last: Option<Block> = None;
        for element in &elements {
            let Element::Block(block) = element else { continue };
            let at = place(block.start, MemorySpace::ANY);
            profile.blocks.entry(Code::of(block, at)).or_default().add(block.ended, 1);
            if let Some(last) = last.filter(|last| last.ended == Ended::Taken) {
                *profile.branches.entry((place(last.last(), MemorySpace::ANY), at)).or_default() += 1;
            }
            last = Some(*block);
        }
        let graph = Graph::new(&profile, |place| find(place.address, MemorySpace::ANY).function);
        let mut watch = (Tree::default(), Trips::new(&graph));
        let (mut tracker, mut clock, mut events) = (Tracker::default(), Clock::counts(), Events::default());
        let (mut meter, mut paths) = (Meter::new(clock.kind()), Paths::new(3));
        let mut instructions = 0;
        for element in &elements {
            tracker.take(element, MemorySpace::ANY, find, &mut watch);
            paths.take(element, MemorySpace::ANY, place);
            let node = watch.0.current();
            if let Element::Block(block) = element {
                instructions += u64::from(block.count);
                watch.0.add(node, CallSums { instructions: block.count.into(), cycles: 0 });
                watch.1.block(block, MemorySpace::ANY, place);
            }
            let told = clock.take(element);
            events.take(element, MemorySpace::ANY, Some(&told));
            let add = |node, cycles| watch.0.add(node, CallSums { instructions: 0, cycles });
            match told {
                Told::Block(stamps) => meter.block(node, stamps, add),
                told => meter.told(told, add),
            }
        }
        let (tree, trips) = watch;
        let own: u64 = tree.functions().values().map(|of| of.own.instructions).sum();
        assert_eq!(own, instructions, "seed {seed}");
        assert!(tree.functions().values().all(|of| of.inclusive.instructions <= instructions));
        for of in trips.finish() {
            assert!(of.instructions <= instructions && of.range.is_none_or(|(least, most)| least <= most));
        }
        assert!(paths.conditioned().iter().all(|row| row.given_path <= row.entropy));
        assert!(paths.correlated().iter().all(|row| row.gain.is_finite()));
        assert!(branches(&profile).iter().map(Branch::runs).sum::<u64>() <= 400);
    }
}
