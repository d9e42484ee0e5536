use std::ops::Range;

use tracewright_core::control::{Field, Names};

use super::twin::{Asked, Happening, Period, Step, Tree};
use crate::Rng;

/// Names of events, by number.
const EVENTS: [&str; 3] = ["button", "timer", "probe"];

/// Resolver that knows these events and no symbols.
#[derive(Clone, Copy, Debug)]
pub struct EventNames;

impl Names for EventNames {
    fn symbol(&self, _: &str) -> Option<Range<u64>> {
        None
    }

    fn event(&self, name: &str) -> Option<u8> {
        EVENTS.iter().position(|known| *known == name).map(|number| number as u8)
    }
}

/// Makes a random request for `steps`, which must not be empty. Most requests select a part of them.
pub fn random(rng: &mut Rng, steps: &[Step]) -> Asked {
    let mut asked = Asked::default();
    let last = steps.last().map_or(0, |step| step.cycle);
    for _ in 0..rng.below(4) {
        asked.events.push((rng.below(3) as u8, rng.below(steps.len() as u64)));
        asked.cycle_events.push((rng.below(3) as u8, rng.below(last + 1)));
    }
    let has_start = rng.one_in(3);
    let has_stop = rng.one_in(3);
    let has_period = rng.one_in(4);
    if !(has_start || has_stop || has_period) || rng.one_in(2) {
        let (tree, text) = tree(rng, steps, 3);
        (asked.when, asked.text) = (Some(tree), text);
    }
    let mut clause = |text: String| {
        if !asked.text.is_empty() {
            asked.text += "; ";
        }
        asked.text += &text;
    };
    if has_start {
        let (tree, text) = point(rng, steps);
        asked.start = Some(tree);
        clause(format!("start {text}"));
    }
    if has_stop {
        let (tree, text) = point(rng, steps);
        asked.stop = Some(tree);
        clause(format!("stop {text}"));
    }
    if has_period {
        let shift = rng.below(12);
        let count = 1 + rng.below(1 << shift);
        let is_cycles = rng.one_in(2);
        asked.period = Some(if is_cycles { Period::Cycles(count) } else { Period::Instructions(count) });
        clause(format!("for {count} {}", if is_cycles { "cycles" } else { "instructions" }));
    }
    asked
}

/// Returns a condition where tracing starts or stops.
fn point(rng: &mut Rng, steps: &[Step]) -> (Tree, String) {
    match rng.below(3) {
        0 => {
            let pc = rng.pick(steps).pc;
            (Tree::Test(Field::Pc, vec![(pc, pc)]), format!("at {pc:#x}"))
        }
        1 => {
            let event = rng.below(3);
            (Tree::Event(event as u8), format!("on {}", EVENTS[event as usize]))
        }
        _ => {
            let (tree, text) = tree(rng, steps, 2);
            (tree, format!("when {text}"))
        }
    }
}

fn tree(rng: &mut Rng, steps: &[Step], depth: u32) -> (Tree, String) {
    match rng.below(if depth == 0 { 2 } else { 6 }) {
        0..=2 => test(rng, steps),
        3 => {
            let (a, text) = tree(rng, steps, depth - 1);
            (Tree::Not(a.into()), format!("!({text})"))
        }
        which => {
            let (a, x) = tree(rng, steps, depth - 1);
            let (b, y) = tree(rng, steps, depth - 1);
            match which {
                4 => (Tree::And(a.into(), b.into()), format!("({x}) & ({y})")),
                _ => (Tree::Or(a.into(), b.into()), format!("({x}) | ({y})")),
            }
        }
    }
}

fn test(rng: &mut Rng, steps: &[Step]) -> (Tree, String) {
    let step = *rng.pick(steps);
    let near = |rng: &mut Rng, value: u64| value.saturating_add(rng.below(64));
    match rng.below(16) {
        0..=4 => {
            let (a, b) = (step.pc, if rng.one_in(2) { rng.pick(steps).pc } else { near(rng, step.pc) });
            compared(rng, Field::Pc, a, b)
        }
        5 => {
            let names = ["u", "s", "2", "m"];
            let privilege = u64::from(step.privilege);
            let text = format!("priv = {}", names[step.privilege as usize & 3]);
            (Tree::Test(Field::Privilege, vec![(privilege, privilege)]), text)
        }
        6 => {
            let field = *rng.pick(&[Field::Context, Field::Thread]);
            let other = rng.pick(steps).context;
            compared(rng, field, step.context, other)
        }
        7 | 8 => {
            let field = *rng.pick(&[Field::Exception, Field::Interrupt, Field::Isr]);
            (Tree::Test(field, vec![(1, 1)]), field.name().into())
        }
        9 => {
            let traps: Vec<_> =
                steps.iter().filter(|step| matches!(step.what, Happening::Trap { .. })).collect();
            let Some(&&Step { what: Happening::Trap { cause, tval, .. }, .. }) =
                (!traps.is_empty()).then(|| rng.pick(&traps))
            else {
                return compared(rng, Field::Cause, 0, 3);
            };
            if rng.one_in(3) {
                compared(rng, Field::Tval, tval, 0)
            } else {
                compared(rng, Field::Cause, cause, 7)
            }
        }
        10 | 11 => {
            let (a, b) = (rng.below(steps.len() as u64), rng.below(steps.len() as u64));
            compared(rng, Field::Number, a, b)
        }
        12 => {
            let b = rng.pick(steps).cycle;
            compared(rng, Field::Cycle, step.cycle, b)
        }
        13 => {
            let (itype, iretire, ilastsize) = rng.pick(steps).block;
            match rng.below(3) {
                0 => compared(rng, Field::Itype, itype.into(), step.block.0.into()),
                1 => compared(rng, Field::Iretire, iretire.into(), step.block.1.into()),
                _ => compared(rng, Field::Ilastsize, ilastsize.into(), ilastsize.into()),
            }
        }
        14 => {
            let event = rng.below(3);
            (Tree::Event(event as u8), format!("event {}", EVENTS[event as usize]))
        }
        _ => {
            let other = rng.pick(steps).pc;
            let ranges = vec![(step.pc, step.pc + 15), (other, other)];
            (Tree::Test(Field::Pc, ranges), format!("pc in {:#x}..{:#x} | {other}", step.pc, step.pc + 16))
        }
    }
}

/// Returns a comparison with one or both of the values.
fn compared(rng: &mut Rng, field: Field, a: u64, b: u64) -> (Tree, String) {
    let (least, most) = (a.min(b), a.max(b));
    let name = field.name();
    let test = |ranges| Tree::Test(field, ranges);
    match rng.below(7) {
        0 => (test(vec![(a, a)]), format!("{name} = {a}")),
        1 if least < most => (test(vec![(least, most - 1)]), format!("{name} in {least:#x}..{most}")),
        2 => (test(vec![(least, most)]), format!("{name} in {least}..={most:#x}")),
        3 => (test(vec![(a, u64::MAX)]), format!("{name} >= {a}")),
        4 if a > 0 => (test(vec![(0, a - 1)]), format!("{name} < {a}")),
        5 => (Tree::Not(test(vec![(a, a)]).into()), format!("{name} != {a}")),
        6 => (test(vec![(a, a), (b, b)]), format!("{name} = {a}, {b}")),
        _ => (test(vec![(0, most)]), format!("{name} <= {most}")),
    }
}
