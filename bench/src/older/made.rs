//! Long traces of a random A32 program, written by our encoders. Nothing repeats: captures are short and are read many times, so that
//! branches of readers can be learnt, which a long trace does not allow.

use tracewright_core::{Context, Element, Flow, Isa, MemorySpace, Role, Security, TraceOn};
use tracewright_flow::Graph;
use tracewright_image::Image;
use tracewright_testkit::Rng;

/// Where the program is.
pub const BASE: u64 = 0x8000;
/// Functions of the program.
const FUNCTIONS: usize = 400;

const ADD: u32 = 0xe281_1001;
const RETURN: u32 = 0xe12f_ff1e;

/// An instruction with an offset to the instruction `to`, from the instruction `from`.
fn branch(opcode: u32, from: usize, to: usize) -> u32 {
    opcode | (to as u32).wrapping_sub(from as u32 + 2) & 0xff_ffff
}

/// Returns the code: functions with branches, loops, and calls of functions further back in it, of which the first never returns.
pub fn program(rng: &mut Rng) -> Vec<u8> {
    let mut words: Vec<u32> = Vec::new();
    let (mut starts, mut calls) = (Vec::new(), Vec::new());
    for function in 0..FUNCTIONS {
        let start = words.len();
        starts.push(start);
        for _ in 0..4 + rng.below(12) {
            (0..1 + rng.below(9)).for_each(|_| words.push(ADD));
            let here = words.len();
            match rng.below(8) {
                // Few loops, so that they end: only to the last instructions.
                0 | 1 => words.push(branch(0x1a00_0000, here, here - 1)),
                2 if function + 1 < FUNCTIONS => {
                    let most = (FUNCTIONS - function - 1).min(40) as u64;
                    calls.push((here, function + 1 + rng.below(most) as usize));
                    words.push(0);
                }
                _ => {
                    words.push(branch(0x0a00_0000, here, here + 2 + rng.below(6) as usize));
                    (0..6).for_each(|_| words.push(ADD));
                }
            }
        }
        words.push(if function == 0 { branch(0xea00_0000, words.len(), start) } else { RETURN });
    }
    for (at, function) in calls {
        words[at] = branch(0xeb00_0000, at, starts[function]);
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Passes the elements of a run, whose branches go at random, to `take`, which returns whether it wants more.
pub fn run(rng: &mut Rng, image: &Image, cycles: bool, mut take: impl FnMut(&Element) -> bool) {
    let context =
        Context { level: 1, security: Security::NonSecure, is_64bit: false, vmid: None, context_id: None };
    take(&Element::TraceOn(TraceOn::Normal));
    take(&Element::Context(context, Isa::A32));
    let mut graph = Graph::new(image, false);
    let mut callers = Vec::new();
    let mut at = BASE;
    loop {
        let id = graph.at(at, Isa::A32, MemorySpace::ANY);
        let node = *graph.node(id);
        let class = node.class();
        let taken = !class.conditional || rng.one_in(2);
        let more = take(&Element::Block(node.block(node.ended(taken))));
        if cycles {
            take(&Element::Cycles(Some(1 + rng.below(2 * u64::from(node.count())) as u32)));
        }
        if !more {
            take(&Element::End);
            return;
        }
        at = match (class.flow, node.direct_target()) {
            (Flow::Direct, Some((target, _))) if taken => {
                if class.role == Role::Call {
                    callers.push(node.end());
                }
                target
            }
            (Flow::Indirect, _) => callers.pop().unwrap_or(BASE),
            _ => node.end(),
        };
    }
}
