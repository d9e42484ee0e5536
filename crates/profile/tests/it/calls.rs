//! Calls and returns compared with a naive stack.

use std::collections::{HashMap, HashSet};

use crate::executed::{Executed, block, block_at};
use tracewright_core::{
    Block, Class, Context, Element, Ended, Exception, Flow, Isa, MemorySpace, Role, Security, TraceOn,
};
use tracewright_profile::{CallSums, Clock, How, Meter, Stalls, Told, Tracker, Tree, Watch, Within};

/// By function: calls, own and inclusive instructions.
type Table = HashMap<u32, (u64, u64, u64)>;

/// Computes the table naively. An activation is a list of functions: one that was called and those entered from it
/// without a call.
fn naive(run: &Executed) -> Table {
    let mut stack: Vec<(u64, Vec<u32>)> = Vec::new();
    let mut table = Table::new();
    let mut last: Option<Block> = None;
    for block in run.elements.iter().filter_map(block) {
        let to = run.find(block.start);
        let taken = last.filter(|last| last.ended == Ended::Taken);
        match taken.map(|last| (last.class.role, last.end)) {
            Some((Role::Call, back)) => {
                stack.push((back, vec![to.function]));
                table.entry(to.function).or_default().0 += 1;
            }
            Some((Role::Return, _)) => {
                match stack.iter().rposition(|(back, _)| *back == block.start) {
                    Some(at) => stack.truncate(at),
                    None => stack.clear(),
                }
                if stack.is_empty() {
                    stack.push((0, vec![to.function]));
                }
            }
            _ => {
                if stack.is_empty() {
                    stack.push((0, vec![to.function]));
                }
                let (_, functions) = stack.last_mut().unwrap();
                match functions.iter().position(|&function| function == to.function) {
                    Some(at) => functions.truncate(at + 1),
                    None => {
                        functions.push(to.function);
                        table.entry(to.function).or_default().0 += u64::from(to.is_start);
                    }
                }
            }
        }
        let count = u64::from(block.count);
        table.entry(to.function).or_default().1 += count;
        let active: HashSet<u32> = stack.iter().flat_map(|(_, functions)| functions).copied().collect();
        for function in active {
            table.entry(function).or_default().2 += count;
        }
        last = Some(block);
    }
    table
}

fn track(run: &Executed) -> (Tracker, Tree) {
    let (mut tracker, mut tree) = (Tracker::default(), Tree::default());
    for element in &run.elements {
        tracker.take(element, MemorySpace::ANY, |address, _| run.find(address), &mut tree);
        if let Element::Block(block) = element {
            tree.add(tree.current(), CallSums { instructions: block.count.into(), cycles: 0 });
        }
    }
    (tracker, tree)
}

#[test]
fn calls_are_those_of_a_naive_stack() {
    let mut calls = 0;
    for seed in 0..60 {
        let run = Executed::computing(seed);
        let (_, tree) = track(&run);
        let found: Table = tree
            .functions()
            .into_iter()
            .map(|(function, of)| (function, (of.calls, of.own.instructions, of.inclusive.instructions)))
            .collect();
        let expected = naive(&run);
        assert_eq!(found, expected, "seed {seed}");
        calls += expected.values().map(|of| of.0).sum::<u64>();
    }
    assert!(calls > 10_000, "{calls}");
}

/// With exceptions, threads and gaps, each instruction is attributed once to the function it ran in, and edges agree with nodes.
#[test]
fn everything_is_somewhere() {
    let mut threads = 0;
    for seed in 0..60 {
        let run = Executed::anything(seed);
        let (tracker, tree) = track(&run);
        let mut own: HashMap<u32, u64> = HashMap::new();
        for block in run.elements.iter().filter_map(block) {
            *own.entry(run.find(block.start).function).or_default() += u64::from(block.count);
        }
        let functions = tree.functions();
        let all: u64 = own.values().sum();
        for (function, of) in &functions {
            assert_eq!(
                of.own.instructions,
                own.get(function).copied().unwrap_or(0),
                "seed {seed} {function}"
            );
            assert!(of.inclusive.instructions >= of.own.instructions && of.inclusive.instructions <= all);
        }
        assert_eq!(functions.values().map(|of| of.own.instructions).sum::<u64>(), all, "seed {seed}");
        let roots = tree.nodes().iter().zip(tree.inclusive()).filter(|(node, _)| node.parent.is_none());
        assert_eq!(roots.map(|(_, sums)| sums.instructions).sum::<u64>(), all, "seed {seed}");
        let calls: u64 = tree.edges().values().map(|edge| edge.calls).sum();
        assert!(calls <= functions.values().map(|of| of.calls).sum());
        threads += tracker.threads().len();

        // Merging a tree twice doubles its sums.
        let mut twice = Tree::default();
        let same: Vec<u32> = (0..1000).collect();
        twice.merge(&tree, &same, &same);
        twice.merge(&tree, &same, &same);
        let doubled = twice.functions();
        assert_eq!(doubled.len(), functions.len());
        for (function, of) in functions {
            let two = doubled[&function];
            assert_eq!(two.inclusive.instructions, 2 * of.inclusive.instructions);
            assert_eq!(two.calls, 2 * of.calls);
        }
    }
    assert!(threads > 100, "{threads}");
}

/// The cycles of all nodes add up to those of single instructions.
#[test]
fn cycles_are_those_of_instructions() {
    for seed in 0..40 {
        let run = Executed::anything(seed);
        for mut clock in [Clock::counts(), Clock::times()] {
            let mut stalls = Stalls::new(clock.kind());
            let mut meter = Meter::new(clock.kind());
            let (mut tracker, mut tree) = (Tracker::default(), Tree::default());
            for element in &run.elements {
                tracker.take(element, MemorySpace::ANY, |address, _| run.find(address), &mut tree);
                let node = tree.current();
                let mut add = |node, cycles| tree.add(node, CallSums { instructions: 0, cycles });
                match (clock.take(element), element) {
                    (Told::Block(stamps), Element::Block(block)) => {
                        meter.block(node, stamps, &mut add);
                        stalls.block(block, MemorySpace::ANY, stamps, || run.find(block.start).function);
                    }
                    (told, _) => {
                        meter.told(told, &mut add);
                        stalls.told(told);
                    }
                }
            }
            let mut expected: HashMap<u32, u64> = HashMap::new();
            for (block, _, _, costs) in stalls.costs.blocks() {
                let cycles: u64 = costs.iter().map(|cost| cost.cycles).sum();
                *expected.entry(run.find(block.start).function).or_default() += cycles;
            }
            let functions = tree.functions();
            assert!(stalls.account().cycles > 0, "seed {seed}");
            for (function, cycles) in expected {
                assert_eq!(functions[&function].own.cycles, cycles, "seed {seed}, {:?}", clock.kind());
            }
        }
    }
}

/// Entries and exits as text.
#[derive(Default)]
struct Said(String);

impl Watch for Said {
    fn thread(&mut self, number: u32) {
        self.0 += &format!(" #{number}");
    }

    fn enter(&mut self, function: u32, how: How) {
        let how = match how {
            How::Found => "?",
            How::Call => "+",
            How::Tail => "~",
            How::Exception => "!",
            How::Part => "/",
        };
        self.0 += &format!(" {how}{function:x}");
    }

    fn leave(&mut self) {
        self.0 += " -";
    }
}

const JUMP: Class = Class { flow: Flow::Direct, role: Role::Jump, conditional: false };
const GOTO: Class = Class { flow: Flow::Indirect, role: Role::Jump, conditional: false };
const CALL: Class = Class { flow: Flow::Direct, role: Role::Call, conditional: false };
const RETURN: Class = Class { flow: Flow::Indirect, role: Role::Return, conditional: false };
const ERET: Class = Class { flow: Flow::Indirect, role: Role::ExceptionReturn, conditional: false };
const SWAP: Class = Class { flow: Flow::Indirect, role: Role::Swap, conditional: false };

/// Returns an element for one instruction.
fn at(address: u64, class: Class) -> Element {
    let ended = if class == Class::NEXT { Ended::Cut } else { Ended::Taken };
    Element::Block(block_at(address, 1, class, ended))
}

fn exception(back: u64, at_target: bool) -> Element {
    let return_address = Some(back);
    Element::Exception(Exception { number: 1, interrupt: false, value: None, return_address, at_target })
}

fn thread(context_id: u32) -> Element {
    let context_id = Some(context_id);
    let security = Security::NonSecure;
    Element::Context(Context { level: 0, security, is_64bit: true, vmid: None, context_id }, Isa::A64)
}

/// Returns the entries and exits of elements. Functions are 0x100 bytes long.
fn said(elements: &[Element]) -> String {
    let mut tracker = Tracker::default();
    let mut said = Said::default();
    let find = |address: u64, _: MemorySpace| Within {
        function: (address >> 8) as u32,
        is_start: address.is_multiple_of(0x100),
        is_named: address < 0x1000,
    };
    for element in elements {
        tracker.take(element, MemorySpace::ANY, find, &mut said);
    }
    said.0.trim().to_owned()
}

#[test]
fn calls_and_tail_calls() {
    let run = [at(0x100, CALL), at(0x200, JUMP), at(0x300, JUMP), at(0x210, RETURN), at(0x104, JUMP)];
    assert_eq!(said(&run), "#0 ?1 +2 ~3 - -");
    // From a part of a function that lies elsewhere, and back; a call of the next instruction.
    let run = [at(0x100, JUMP), at(0x2f0, JUMP), at(0x110, CALL), at(0x114, JUMP), at(0x120, JUMP)];
    assert_eq!(said(&run), "#0 ?1 /2 -");
    // Recursion, and a caller that was not seen.
    let run = [at(0x100, CALL), at(0x100, RETURN), at(0x104, RETURN), at(0x310, JUMP), at(0x320, JUMP)];
    assert_eq!(said(&run), "#0 ?1 +1 - - ?3");
}

#[test]
fn leaps() {
    // longjmp: from the fourth to the middle of the first, which called setjmp.
    let calls = [at(0x100, CALL), at(0x200, CALL), at(0x300, CALL)];
    let mut run = calls.to_vec();
    run.extend([at(0x400, RETURN), at(0x140, CALL), at(0x500, RETURN), at(0x144, JUMP)]);
    assert_eq!(said(&run), "#0 ?1 +2 +3 +4 - - - +5 -");
    // The same with an indirect jump, as unwinders do.
    let mut run = calls.to_vec();
    run.extend([at(0x400, GOTO), at(0x240, RETURN), at(0x104, JUMP)]);
    assert_eq!(said(&run), "#0 ?1 +2 +3 +4 - - -");
    // A pair of coroutines goes no deeper.
    let run = [at(0x100, CALL), at(0x200, SWAP), at(0x104, SWAP), at(0x204, SWAP), at(0x108, RETURN)];
    assert_eq!(said(&run), "#0 ?1 +2 - +1 - +2 - +1");
}

#[test]
fn exceptions() {
    // An interrupt, with a call in its handler.
    let run = [at(0x100, Class::NEXT), exception(0x104, false), at(0x800, CALL), at(0x900, RETURN)];
    let mut run = run.to_vec();
    run.extend([at(0x804, ERET), Element::ExceptionReturn, at(0x104, JUMP)]);
    assert_eq!(said(&run), "#0 ?1 !8 +9 - -");
    // Just after a call, before anything ran there.
    let mut run = vec![at(0x100, CALL), exception(0x200, true), at(0x800, ERET), at(0x200, RETURN)];
    run.push(at(0x104, JUMP));
    assert_eq!(said(&run), "#0 ?1 +2 !8 - -");
    // A system call whose handler is not traced; a signal's handler, which returns by one.
    let on = Element::TraceOn(TraceOn::Normal);
    let mut run = vec![at(0x100, CALL), at(0x200, Class::NEXT), exception(0x204, false), on];
    run.extend([at(0x204, Class::NEXT), exception(0x208, false), on, at(0x700, Class::NEXT)]);
    run.extend([exception(0x704, false), on, at(0x208, RETURN), at(0x104, JUMP)]);
    assert_eq!(said(&run), "#0 ?1 +2 !7 - -");
}

/// The handler of a signal returns to a trampoline, whose system call resumes what was interrupted.
#[test]
fn handlers_of_signals() {
    let on = Element::TraceOn(TraceOn::Normal);
    let call = |back| [exception(back, false), on];
    // Without a name, as in the code that the machine provides; inside a function; at the start of one. The handler
    // calls a function, and another ends it.
    for trampoline in [0x1010, 0x710, 0x700] {
        let mut run = vec![at(0x100, CALL), at(0x200, Class::NEXT)];
        run.extend(call(0x204));
        run.extend([at(0x800, CALL), at(0x900, RETURN), at(0x804, JUMP), at(0xa00, RETURN)]);
        run.push(at(trampoline, Class::NEXT));
        run.extend(call(trampoline + 4));
        run.extend([at(0x204, RETURN), at(0x104, CALL), at(0x300, RETURN), at(0x108, JUMP)]);
        let function = trampoline >> 8;
        let how = if trampoline == 0x700 { '~' } else { '/' };
        let expected = format!("#0 ?1 +2 !8 +9 - ~a - - {how}{function:x} - - +3 -");
        assert_eq!(said(&run), expected);
    }
    // Two signals at once: the first trampoline resumes at the start of the second handler.
    let mut run = vec![at(0x100, CALL), at(0x200, Class::NEXT)];
    run.extend(call(0x204));
    run.extend([at(0x800, RETURN), at(0x1010, Class::NEXT)]);
    run.extend(call(0x1014));
    run.extend([at(0x900, RETURN), at(0x1010, Class::NEXT)]);
    run.extend(call(0x1014));
    run.extend([at(0x204, RETURN), at(0x104, JUMP)]);
    assert_eq!(said(&run), "#0 ?1 +2 !8 - /10 - !9 - /10 - -");
    // A signal within code without a name, and one within the handler of another.
    let mut run = vec![at(0x100, CALL), at(0x1080, Class::NEXT)];
    run.extend(call(0x1084));
    run.push(at(0x800, Class::NEXT));
    run.extend(call(0x804));
    run.extend([at(0x900, RETURN), at(0x1010, Class::NEXT)]);
    run.extend(call(0x1014));
    run.extend([at(0x804, RETURN), at(0x1010, Class::NEXT)]);
    run.extend(call(0x1014));
    run.extend([at(0x1084, RETURN), at(0x104, JUMP)]);
    assert_eq!(said(&run), "#0 ?1 +10 !8 !9 - /10 - - /10 - -");
    // A handler that ends in a longjmp: into the middle of a function on the stack.
    let mut run = vec![at(0x100, CALL), at(0x200, Class::NEXT)];
    run.extend(call(0x204));
    run.extend([at(0x800, JUMP), at(0xa00, RETURN), at(0x140, JUMP)]);
    assert_eq!(said(&run), "#0 ?1 +2 !8 ~a - - -");
    // At a branch, another way was taken than the exception says.
    let mut run = vec![at(0x100, CALL), at(0x210, Class::NEXT)];
    run.extend(call(0x214));
    run.extend([at(0x800, RETURN), at(0x1010, Class::NEXT)]);
    run.extend(call(0x1014));
    run.extend([at(0x240, RETURN), at(0x104, JUMP)]);
    assert_eq!(said(&run), "#0 ?1 +2 !8 - /10 - -");
    // Or nothing is known of it: the stack is known again when the handler has returned. Another gap is in the handler.
    let lost = Element::TraceOn(TraceOn::Overflow);
    let mut run = vec![at(0x100, CALL), at(0x200, CALL), at(0x300, RETURN), lost, at(0x800, JUMP), lost];
    run.extend([at(0x900, JUMP), at(0x810, RETURN), at(0x1010, Class::NEXT)]);
    run.extend(call(0x1014));
    run.extend([at(0x204, RETURN), at(0x104, JUMP)]);
    assert_eq!(said(&run), "#0 ?1 +2 +3 - - - ?8 - ?9 /8 - - ?10 - ?1 ?2 -");
}

#[test]
fn gaps_and_threads() {
    let on = Element::TraceOn(TraceOn::Overflow);
    // In the same function: nothing is lost. In a caller: it has returned. In another: nothing is known.
    let mut run = vec![at(0x100, CALL), at(0x200, CALL), at(0x300, JUMP), on, at(0x340, JUMP)];
    run.extend([
        at(0x344, JUMP),
        on,
        at(0x140, CALL),
        at(0x400, RETURN),
        at(0x144, JUMP),
        on,
        at(0x500, JUMP),
    ]);
    assert_eq!(said(&run), "#0 ?1 +2 +3 - - +4 - - ?5");
    let mut run = vec![thread(7), at(0x100, CALL), at(0x200, Class::NEXT), thread(8), at(0x800, CALL)];
    run.extend([at(0x900, Class::NEXT), thread(7), at(0x204, RETURN), at(0x104, Class::NEXT), thread(8)]);
    run.extend([at(0x904, RETURN), at(0x804, JUMP)]);
    assert_eq!(said(&run), "#0 ?1 +2 #1 ?8 +9 #0 - #1 -");
}

/// Code without symbols is one function, whatever it calls in itself. The stack does not grow where returns are lost
/// because no image has the code.
#[test]
fn lost_returns_within_code_without_symbols() {
    let lost = Element::NoCode { address: 0x9000, space: MemorySpace::ANY };
    let run: Vec<_> = (0..50).flat_map(|_| [at(0x1010, CALL), at(0x1050, JUMP), lost]).collect();
    let said = said(&run);
    assert!(said.starts_with("#0 ?10 +10 - +10 -"), "{said}");
    assert_eq!(said.matches('+').count(), said.matches('-').count() + 1, "{said}");
}

/// Code without symbols looks all alike: a jump into it, as from a linkage table, leaves nothing.
#[test]
fn jumps_into_code_without_symbols() {
    let run = [at(0x1010, CALL), at(0x200, CALL), at(0x300, GOTO), at(0x1050, RETURN), at(0x204, RETURN)];
    assert_eq!(said(&run), "#0 ?10 +2 +3 /10 - -");
}

/// Deep recursion is kept up to the limit, and its returns are matched.
#[test]
fn deep_recursion() {
    let mut run = vec![at(0x80, CALL)];
    run.extend((0..10_000).map(|_| at(0x100, CALL)));
    run.push(at(0x100, RETURN));
    run.extend((0..9_999).map(|_| at(0x104, RETURN)));
    run.extend([at(0x104, RETURN), at(0x84, CALL), at(0x200, RETURN), at(0x88, JUMP)]);
    let said = said(&run);
    assert!(said.ends_with(" - - +2 -"), "{}", &said[said.len() - 20..]);
    assert_eq!(said.matches(" +1").count(), 4095);
    assert_eq!(said.matches(" -").count(), 4096);
}

/// Many threads with deep calls: entries and exits balance, and not all frames are kept.
#[test]
fn many_deep_threads() {
    #[derive(Default)]
    struct Depths(HashMap<u32, usize>, u32);
    impl Watch for Depths {
        fn thread(&mut self, number: u32) {
            self.1 = number;
        }
        fn enter(&mut self, _: u32, _: How) {
            *self.0.entry(self.1).or_default() += 1;
        }
        fn leave(&mut self) {
            *self.0.get_mut(&self.1).unwrap() -= 1;
        }
    }
    let (mut tracker, mut depths) = (Tracker::default(), Depths::default());
    let find = |address: u64, _: MemorySpace| Within {
        function: (address >> 8) as u32,
        is_start: true,
        is_named: true,
    };
    for number in 0..600 {
        tracker.take(&thread(number), MemorySpace::ANY, find, &mut depths);
        for _ in 0..4096 {
            tracker.take(&at(0x100, CALL), MemorySpace::ANY, find, &mut depths);
        }
        let all: usize = depths.0.values().sum();
        assert!((1..=(1 << 20) + 2 * 4096).contains(&all), "{all}");
    }
    assert_eq!(tracker.threads().len(), 600);
}
