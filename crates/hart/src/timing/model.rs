use tracewright_core::{Block, Ended, Isa};
use tracewright_isa::riscv::Xlen;

use super::config::Retire;
use super::decoded::{Kind, Table, UNITS};
use super::front::{Branch, Front};
use super::memory::Memory;
use super::reason::When;
use super::{Config, ConfigError, Reason, Stats};
use crate::{Access, Trap};

/// The timing of one processor: see the [module](super).
#[derive(Clone, Debug)]
pub struct Model {
    config: Config,
    stats: Stats,
    table: Table,
    front: Front,
    memory: Memory,
    /// When each register is ready. As many as a `u8` can number, so that no index is too high.
    ready: Box<[When; 256]>,
    /// When each unit can begin something.
    free: [When; UNITS],
    /// Nothing begins earlier: a CSR access or fence goes before.
    floor: When,
    /// When the last instructions began, and the first cycle after they retired. Number `n` is at `n % 64`.
    issued: [u64; 64],
    left: [u64; 64],
    /// When the last instruction began, and how many did in that cycle.
    issue: (u64, u32),
    /// When the last instruction retired, and how many did in that cycle.
    retire: (u64, u32),
    /// How much later than its retirement an instruction can have its result: `u64::MAX` if any time.
    hidden: u64,
}

impl Model {
    /// A processor that has not begun; its caches and tables are empty.
    ///
    /// # Errors
    /// A field of the configuration is out of bounds.
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

    /// What it models.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What it has counted so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The cycle in which the last instruction retired. The first cycle is 1.
    pub fn cycle(&self) -> u64 {
        self.retire.0
    }

    /// A block retired: appends to `cycles` the cycle of each instruction, none lower than the one before.
    ///
    /// `bits` are its instructions, a compressed one in the low half; `accesses` what they accessed, in order.
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

    /// One instruction. Gives the address after it, and the accesses that are not its.
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

        // When can it begin?
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
            Kind::System | Kind::FenceI => When::new(before + 1, Reason::Serialize),
            Kind::Fence => When::new(memory.drained.max(memory.arrived).max(before + 1), Reason::Serialize),
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

        // When does it have its result, and what does it keep?
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

        // When does it retire?
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

    /// A trap was taken, or a system call made, after what has retired. Whatever comes next is later by the configured cost.
    pub fn trap(&mut self, trap: &Trap) {
        self.front.resolve(trap.pc, &self.config, &mut self.stats);
        self.stats.traps += 1;
        self.front.restart(self.retire.0, self.config.trap_entry, Reason::Trap, &self.config);
    }
}

/// Puts down `stalls` cycles, in which nothing retired, to what the next instruction to retire waited for: it could have
/// begun at `before`, then each of `waits` in turn held it back until its cycle. Its last waits are those that fall into the
/// cycles after the instruction before it retired.
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
