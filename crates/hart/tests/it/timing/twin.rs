//! The pipeline simulated cycle by cycle as in hardware, without cache and branches.

use std::collections::HashMap;

use tracewright_hart::timing::{Config, Retire};
use tracewright_testkit::Rng;

use super::program::*;

/// An instruction: its bits, registers, and timing.
#[derive(Clone, Copy)]
struct Item {
    bits: u32,
    unit: &'static str,
    destination: u32,
    sources: [u32; 2],
    latency: u64,
    busy: u64,
}

fn item(rng: &mut Rng, config: &Config) -> Item {
    let [rd, rs1, rs2] = [(); 3].map(|()| rng.below(8) as u32);
    let (multiply, divide) = (u64::from(config.multiply), u64::from(config.divide));
    let (bits, unit, sources, latency, busy) = match rng.below(10) {
        0 => (
            mul(rd, rs1, rs2),
            "multiply",
            [rs1, rs2],
            multiply,
            if config.multiply_pipelined { 1 } else { multiply },
        ),
        1 => (div(rd, rs1, rs2), "divide", [rs1, rs2], divide, divide),
        2 | 3 => (ld(rd, rs1), "memory", [rs1, 0], 1 + u64::from(config.load_use), 1),
        4 => (op(0, 0, rd, rs1, rs2), "", [rs1, rs2], 1, 0),
        _ => (addi(rd, rs1), "", [rs1, 0], 1, 0),
    };
    Item { bits, unit, destination: rd, sources, latency, busy }
}

/// Simulates cycle by cycle: retires what can retire, then begins what can begin.
fn simulate(config: &Config, items: &[Item]) -> Vec<u64> {
    let hidden = u64::from(config.hidden_latency);
    let mut began: Vec<u64> = Vec::new();
    // Retirement in execution time; reported cycles are earlier by the stages in between.
    let mut retired: Vec<u64> = Vec::new();
    let mut ready: HashMap<u32, u64> = HashMap::new();
    let mut free: HashMap<&str, u64> = HashMap::new();
    let mut now = 0;
    while retired.len() < items.len() {
        now += 1;
        // Entries of those that retire in this cycle are free in the next.
        for _ in 0..config.issue_width {
            let Some(item) = items.get(began.len()) else { break };
            let waits = item
                .sources
                .iter()
                .any(|source| ready.get(source).is_some_and(|&at| *source != 0 && at > now));
            let taken = free.get(item.unit).is_some_and(|&at| !item.unit.is_empty() && at > now);
            if waits || taken || began.len() - retired.len() >= config.window as usize {
                break;
            }
            ready.insert(item.destination, now + item.latency);
            free.insert(item.unit, now + item.busy);
            began.push(now);
        }
        for _ in 0..config.retire_width {
            let i = retired.len();
            let Some(&at) = began.get(i) else { break };
            let complete = config.retire == Retire::Early || at + items[i].latency - 1 <= now;
            if now < at + hidden || !complete {
                break;
            }
            retired.push(now);
        }
    }
    retired.into_iter().map(|at| at - hidden).collect()
}

#[test]
fn random_code_as_the_naive_twin() {
    let mut rng = Rng::new(21);
    for round in 0..600 {
        let config = Config {
            issue_width: 1 + rng.below(4) as u32,
            retire_width: 1 + rng.below(4) as u32,
            retire: if rng.one_in(2) { Retire::Early } else { Retire::Complete },
            hidden_latency: rng.below(4) as u32,
            window: 1 + rng.below(64) as u32,
            fetch_queue: 64,
            load_use: rng.below(4) as u32,
            multiply: 1 + rng.below(6) as u32,
            multiply_pipelined: rng.one_in(2),
            divide: 1 + rng.below(30) as u32,
            ..wide(4)
        };
        let items: Vec<Item> = (0..300).map(|_| item(&mut rng, &config)).collect();
        let bits: Vec<u32> = items.iter().map(|item| item.bits).collect();
        assert_eq!(cycles(&config, &bits), simulate(&config, &items), "round {round}: {config:?}");
    }
}
