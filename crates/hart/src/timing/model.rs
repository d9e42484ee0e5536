use tracewright_core::{Block, Ended, Isa};
use tracewright_isa::riscv::Xlen;

use super::config::Retire;
use super::decoded::{Kind, Table, UNITS};
use super::front::{Branch, Front};
use super::memory::Memory;
use super::reason::When;
use super::{Config, ConfigError, Reason, Stats};
use crate::{Access, Trap};

/// Timing of one processor; see the [module](super).
#[derive(Clone, Debug)]
pub struct Model {
    config: Config,
    stats: Stats,
    table: Table,
    front: Front,
    memory: Memory,
    /// Time at which each register is ready. It has an entry for each `u8`, so that no index is out of bounds.
    ready: Box<[When; 256]>,
    /// Time at which each unit can begin an instruction.
    free: [When; UNITS],
    /// Earliest time of the next instruction, after a CSR access or fence.
    floor: When,
    /// Cycle in which each of the last instructions began. Number `n` is at `n % 64`. The first cycle after each retired follows.
    issued: [u64; 64],
    left: [u64; 64],
    /// Cycle in which the last instruction began, and the number that began in it.
    issue: (u64, u32),
    /// Cycle in which the last instruction retired, and the number that retired in it.
    retire: (u64, u32),
    /// Cycles that a result may come after retirement; `u64::MAX` for any number.
    hidden: u64,
}

impl Model {
    /// Creates a processor in its initial state with empty caches and tables.
    ///
    /// # Errors
    /// Returns an error if a field of the configuration is out of bounds.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config: *config,
            stats: Stats::default(),
            table: Table::new(config),
            front: Front::new(config),
            memory: Memory::new(config),
            ready: Box::new([When::START; 256]),
            free: [When::START; UNITS],
            floor: When::START,
            issued: [0; 64],
            left: [0; 64],
            issue: (0, u32::MAX),
            retire: (0, u32::MAX),
            hidden: match config.retire {
                Retire::Early => u64::MAX,
                Retire::Complete => u64::from(config.hidden_latency) + 1,
            },
        })
    }

    /// Returns the configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the counts so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Returns the cycle in which the last instruction retired. The first cycle is 1.
    pub fn cycle(&self) -> u64 {
        self.retire.0
    }

    /// Retires a block: appends to `cycles` the cycle of each instruction, in ascending order.
    ///
    /// `bits` are its instructions, compressed ones in the low half; `accesses` are their accesses, in order.
    pub fn block(&mut self, block: &Block, bits: &[u32], accesses: &[Access], cycles: &mut Vec<u64>) {
        self.front.resolve(block.start, &self.config, &mut self.stats);
        self.table.set_xlen(if block.isa == Isa::Rv32 { Xlen::Rv32 } else { Xlen::Rv64 }, &self.config);
        let branches = matches!(block.ended, Ended::Taken | Ended::NotTaken);
        let mut pc = block.start;
        let mut accesses = accesses;
        for (i, &bits) in bits.iter().enumerate() {
            let is_last = i + 1 == block.count as usize;
            let end;
            (end, accesses) = self.step(pc, bits, i as u32, accesses, branches && is_last, block.ended);
            cycles.push(self.retire.0);
            pc = end;
        }
    }

    /// Retires one instruction. Returns the address after it, and the remaining accesses.
    #[inline(always)]
    fn step<'a>(
        &mut self,
        pc: u64,
        bits: u32,
        index: u32,
        accesses: &'a [Access],
        is_branch: bool,
        ended: Ended,
    ) -> (u64, &'a [Access]) {
        let Self { config, stats, front, memory, .. } = self;
        let decoded = self.table.get(bits, config);
        let number = stats.instructions as usize;

        // Cycle in which it can begin.
        let room = self.issued[number.wrapping_sub(config.fetch_queue as usize) % 64];
        let fetched = front.fetch(pc, decoded.len, room, config, stats);
        let [a, b, c] = decoded.sources.map(|source| self.ready[usize::from(source)]);
        let operands = a.max(b).max(c);
        let unit = self.free[decoded.unit as usize % UNITS];
        let window = self.left[number.wrapping_sub(config.window as usize) % 64];
        let floor = self.floor;
        let (before, in_cycle) = self.issue;
        let special = match decoded.kind {
            Kind::Plain | Kind::Load | Kind::Branch(_) => When::START,
            Kind::Store => When::new(memory.room(config), Reason::StoreBuffer),
            Kind::Atomic => When::new(memory.drained, Reason::StoreBuffer),
            Kind::System => When::new(before + 1, Reason::Serialize),
            Kind::Fence | Kind::FenceI => {
                When::new(memory.drained.max(memory.arrived).max(before + 1), Reason::Serialize)
            }
        };
        let slot = before + u64::from(in_cycle >= config.issue_width);
        let issue = fetched
            .max(operands.cycle())
            .max(unit.cycle())
            .max(floor.cycle())
            .max(special.cycle())
            .max(window)
            .max(slot);
        self.issue = (issue, if issue == before { in_cycle + 1 } else { 1 });
        self.issued[number % 64] = issue;

        // Cycle of its result, and what it occupies.
        let latency = u64::from(decoded.latency);
        let mut ready = When::new(issue + latency, decoded.reason);
        let busy = if decoded.busy > 1 { decoded.reason } else { Reason::Structural };
        let mut free = When::new(issue + u64::from(decoded.busy), busy);
        let mut rest = accesses;
        if matches!(decoded.kind, Kind::Load | Kind::Store | Kind::Atomic) {
            let own = accesses.iter().take_while(|access| access.index <= index).count();
            let (own, others) = accesses.split_at(own);
            rest = others;
            let stats = &mut stats.dcache;
            let taken = match decoded.kind {
                Kind::Load => Some(memory.load(issue, latency, own, config, stats)),
                Kind::Store => {
                    memory.store(issue, own, config, stats);
                    None
                }
                _ => Some(memory.atomic(issue, latency, own, config, stats)),
            };
            if let Some(taken) = taken {
                ready = taken.ready;
                free = free.max(When::new(taken.port, Reason::DataMiss));
            }
        } else if matches!(decoded.kind, Kind::System | Kind::Fence | Kind::FenceI) {
            self.floor = When::new(issue + latency, Reason::Serialize);
        }
        self.free[decoded.unit as usize % UNITS] = free;
        self.ready[usize::from(decoded.destination)] = ready;

        // Cycle in which it retires.
        let (last, retired) = self.retire;
        let complete = ready.cycle().saturating_sub(self.hidden);
        let earliest = issue.max(complete);
        let retire = earliest.max(last + u64::from(retired >= config.retire_width));
        self.retire = (retire, if retire == last { retired + 1 } else { 1 });
        self.left[number % 64] = retire + u64::from(config.hidden_latency) + 1;
        stats.instructions += 1;
        stats.cycles = retire;
        stats.busy += u64::from(retire != last);
        if retire > last + 1 {
            let waits = [
                front.redirect,
                When::new(front.missed, Reason::InstructionMiss),
                When::new(fetched, Reason::Fetch),
                floor,
                operands,
                unit,
                special,
                When::new(window.max(slot), Reason::Structural),
                When::new(complete, ready.reason()),
            ];
            put_down(retire - last - 1, before, &waits, &mut self.stats.stalls);
        }

        let end = pc.wrapping_add(u64::from(decoded.len));
        match decoded.kind {
            Kind::Branch(itype) if is_branch => {
                let (offset, taken) = (decoded.offset, ended == Ended::Taken);
                let branch = Branch { itype, pc, end, offset, taken, issue };
                self.front.branch(&branch, &self.config, &mut self.stats);
            }
            Kind::FenceI => {
                self.front.clear();
                self.front.restart(issue, self.config.mispredict_penalty, Reason::Serialize, &self.config);
            }
            _ => {}
        }
        (end, rest)
    }

    /// Handles a trap or system call after what has retired. What comes next is delayed by the configured cost.
    pub fn trap(&mut self, trap: &Trap) {
        self.front.resolve(trap.pc, &self.config, &mut self.stats);
        self.stats.traps += 1;
        self.front.restart(self.retire.0, self.config.trap_entry, Reason::Trap, &self.config);
    }
}

/// Attributes `stalls` cycles, in which nothing retired, to what the next instruction to retire waited for. It could
/// have begun at `before`; then each of `waits` in turn held it back until its cycle. Its last waits are those that
/// fall into the cycles after the previous instruction retired.
#[inline(never)]
fn put_down(stalls: u64, before: u64, waits: &[When; 9], counts: &mut [u64; Reason::COUNT]) {
    let mut held = [0; 9];
    let mut at = before;
    for (held, wait) in held.iter_mut().zip(waits) {
        *held = wait.cycle().saturating_sub(at);
        at += *held;
    }
    let mut left = stalls;
    for (held, wait) in held.into_iter().zip(waits).rev() {
        let part = left.min(held);
        counts[wait.reason() as usize] += part;
        left -= part;
    }
    debug_assert_eq!(left, 0, "an instruction waits for nothing else");
}
