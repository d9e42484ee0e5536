//! Trace control before the trace unit: what is decoded is exactly what qualifies.

use tracewright_core::control::{Control, Plan};
use tracewright_core::{Block, Element, Isa};
use tracewright_hart::{Controlled, Events, HartSink, Moment};
use tracewright_input::Process;
use tracewright_isa::riscv::IType;
use tracewright_isa::{ItState, decode};
use tracewright_testkit::Rng;
use tracewright_testkit::control::{Asked, EventNames, Happening, Step, qualified, random};

use super::program::Program;
use super::walk::Event;
use super::{FIRST_TID, Folder, Run, Scratch, claimed, decoded, seeds};

/// The number of the exception that stands for a trace unit that was switched off.
const OFF: u16 = 1;

/// What is compared: an instruction that retired, or an exception.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Item {
    Retired(u64),
    Exception(u64),
}

/// The addresses of a block's instructions.
pub(super) fn addresses(program: &Program, block: &Block) -> Vec<u64> {
    let mut it = ItState::default();
    let (mut at, mut all) = (block.start, Vec::new());
    while at != block.end {
        all.push(at);
        at += u64::from(decode(block.isa, at, program.at(at), &mut it).unwrap().len);
    }
    all
}

/// What happened, instruction by instruction; and whether a trace can tell it.
fn steps(program: &Program, events: &[Event]) -> (Vec<Step>, Vec<bool>) {
    let (mut steps, mut can_tell, mut number) = (Vec::new(), Vec::new(), 0);
    let mut step = |pc, number, block, what, told| {
        steps.push(Step { pc, privilege: 0, context: FIRST_TID.into(), cycle: number, block, what });
        can_tell.push(told);
    };
    for event in events {
        match event {
            Event::Block(block) | Event::Undecided(block, _) => {
                let halves = (block.end - block.start) / 2;
                let whole = (IType::of(block) as u8, halves as u32, u8::from(block.last_len == 4));
                for pc in addresses(program, block) {
                    number += 1;
                    let told = matches!(event, Event::Block(_)) || pc != block.last();
                    step(pc, number, whole, Happening::Retired, told);
                }
            }
            Event::Trap(trap) => {
                let (cause, tval) = (trap.cause, trap.value);
                let what = Happening::Trap { cause, tval, interrupt: trap.interrupt, served: trap.served };
                step(trap.pc, number, (0, 0, 0), what, true);
            }
            Event::Lost => step(0, number, (0, 0, 0), Happening::Lost, false),
        }
    }
    (steps, can_tell)
}

/// The bits at an address, as logs tell them.
fn bits(program: &Program, isa: Isa, at: u64) -> u32 {
    let bytes = program.at(at);
    let half = |i: usize| u32::from(u16::from_le_bytes([bytes[i], bytes[i + 1]]));
    match (isa, decode(isa, at, bytes, &mut ItState::default()).unwrap().len) {
        (Isa::T32, 2) => half(0),
        (Isa::T32, _) => half(0) << 16 | half(2),
        _ => half(2) << 16 | half(0),
    }
}

fn tell(program: &Program, events: &[Event], sink: &mut impl HartSink) {
    sink.privilege(tracewright_hart::Privilege::User);
    sink.context(FIRST_TID.into());
    for event in events {
        if let Event::Block(block) | Event::Undecided(block, _) = event {
            let bits: Vec<_> =
                addresses(program, block).into_iter().map(|at| bits(program, block.isa, at)).collect();
            sink.instructions(&bits);
        }
        event.tell(sink);
    }
}

/// For each branch of T32 that only an IT block makes conditional: which step the IT instruction is. Without it the branch
/// cannot be traced.
fn its(program: &Program, events: &[Event]) -> Vec<Option<usize>> {
    let mut its = Vec::new();
    for event in events {
        let (Event::Block(block) | Event::Undecided(block, _)) = event else {
            its.push(None);
            continue;
        };
        let all = addresses(program, block);
        for (index, &at) in all.iter().enumerate() {
            let class = decode(block.isa, at, program.at(at), &mut ItState::default()).unwrap().class;
            let is_in_it = at == block.last()
                && block.class.is_branch()
                && block.class.conditional
                && !class.conditional;
            let is_it =
                |at: u64| block.isa == Isa::T32 && program.at(at)[1] == 0xbf && program.at(at)[0] & 0xf != 0;
            let it = all[..index].iter().rposition(|at| is_it(*at)).filter(|_| is_in_it);
            its.push(it.map(|it| its.len() - index + it));
        }
    }
    its
}

fn check(seed: u64, run: &Run, asked: &Asked, steps: &[Step], can_tell: &[bool]) -> (usize, usize) {
    let scratch = Scratch::new("control");
    let plan = Plan::parse(&asked.text, &EventNames).unwrap();
    let mut events = Events::new();
    asked.events.iter().for_each(|(event, at)| events.add(*event, Moment::Instruction(*at)));
    asked.cycle_events.iter().for_each(|(event, at)| events.add(*event, Moment::Cycle(*at)));
    let mut folder = Folder::create(claimed(scratch.path()), &run.settings, "controlled").unwrap();
    let tracer = folder.thread(0, FIRST_TID).unwrap();
    let mut sink = Controlled::new(Control::new(plan), tracer).with_events(events);
    tell(&run.program, &run.threads[0], &mut sink);
    let code = [(run.program.address, &run.program.bytes[..])];
    folder.finish(vec![sink.inner], Process::default(), code, &mut Vec::new()).unwrap();
    let mut told = qualified(asked, steps);
    for (step, it) in its(&run.program, &run.threads[0]).into_iter().enumerate() {
        told[step] &= it.is_none_or(|it| told[it..step].iter().all(|told| *told));
    }
    let expected: Vec<_> = (steps.iter().zip(told).zip(can_tell))
        .filter(|((_, told), can_tell)| *told && **can_tell)
        .map(|((step, _), _)| match step.what {
            Happening::Trap { cause, .. } => Item::Exception(cause),
            _ => Item::Retired(step.pc),
        })
        .collect();
    let mut found = Vec::new();
    for element in decoded(scratch.path(), 0).0 {
        match element {
            Element::Block(block) => {
                found.extend(addresses(&run.program, &block).into_iter().map(Item::Retired));
            }
            Element::Exception(exception) if exception.number == OFF => {}
            Element::Exception(exception) => found.push(Item::Exception(exception.number.into())),
            _ => {}
        }
    }
    if let Some(at) = (0..found.len().max(expected.len())).find(|&at| found.get(at) != expected.get(at)) {
        let around =
            |items: &[Item]| items[at.saturating_sub(4).min(items.len())..items.len().min(at + 4)].to_vec();
        panic!(
            "seed {seed}: {}\n{:?}\n{at} of {}: qualified {:x?}\ndecoded {:x?}",
            asked.text,
            run.settings,
            expected.len(),
            around(&expected),
            around(&found)
        );
    }
    (expected.len(), steps.len())
}

#[test]
fn decoded_is_exactly_what_qualifies() {
    let (mut some, mut none) = (0, 0);
    for seed in seeds(60) {
        let mut rng = Rng::new(seed);
        let mut run = Run::random(&mut rng, seed % 2 == 0);
        run.threads.truncate(1);
        let (steps, can_tell) = steps(&run.program, &run.threads[0]);
        if steps.is_empty() {
            continue;
        }
        for _ in 0..10 {
            let asked = random(&mut rng, &steps);
            let (count, all) = check(seed, &run, &asked, &steps, &can_tell);
            some += u32::from(count > 0 && count < all);
            none += u32::from(count == 0);
        }
    }
    assert!(some > none && none > 0, "{some} {none}");
}
