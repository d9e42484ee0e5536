//! One execution through any number of commit ports, as blocks, as single instructions and as text gives the
//! same packets.

use crate::support::assert_same;

use tracewright_core::{Block, Class, Ended, Isa};
use tracewright_etrace::Params;
use tracewright_etrace::encode::{Comparator, Config, Filter, Resync, ResyncMode};
use tracewright_etrace::ingress::csv::{self, Reader, Retirement};
use tracewright_etrace::ingress::{
    CType, Commit, Common, Connector, Entry, Executed, ITypeWidth, Operation, TrapSignals,
};
use tracewright_isa::riscv::{Xlen, decode, len};
use tracewright_testkit::Rng;
use tracewright_testkit::etrace::{any_options, any_params, encode, entry};
use tracewright_testkit::riscv::walk::{Event, Happenings, Program, Walk};

/// Execution.
struct Run {
    program: Program,
    events: Vec<Event>,
}

impl Run {
    fn random(rng: &mut Rng, instructions: u64) -> Self {
        let program = Program::generate(rng);
        let happenings = Happenings { contexts: 150, switches: 150, ..Happenings::default() };
        let mut events = Vec::new();
        let mut walk = Walk::new(&program, Rng::new(rng.next_u64())).with(happenings);
        walk.run(instructions, &mut |event| events.push(*event));
        Self { program, events }
    }

    /// Returns the instructions of a block: bits and length.
    fn instructions(&self, block: &Block) -> Vec<(u64, u32, u8)> {
        let mut at = block.start;
        let mut instructions = Vec::new();
        for _ in 0..block.count {
            let offset = (at - self.program.address) as usize;
            let low = u16::from_le_bytes([self.program.bytes[offset], self.program.bytes[offset + 1]]);
            let size = len(low);
            let mut bytes = [0; 4];
            bytes[..size.into()].copy_from_slice(&self.program.bytes[offset..][..size.into()]);
            instructions.push((at, u32::from_le_bytes(bytes), size));
            at += u64::from(size);
        }
        assert_eq!(at, block.end);
        instructions
    }

    fn xlen(&self) -> Xlen {
        if self.program.isa == Isa::Rv32 { Xlen::Rv32 } else { Xlen::Rv64 }
    }

    /// Returns the entries of whole blocks, or of blocks cut into single instructions.
    fn executed(&self, width: ITypeWidth, is_single: bool) -> Vec<Entry> {
        let mut executed = Executed::new(width, CType::Precise);
        let mut entries = Vec::new();
        for event in &self.events {
            match event {
                Event::Block(block) if is_single => {
                    let instructions = self.instructions(block);
                    for &(start, _, last_len) in &instructions[..instructions.len() - 1] {
                        let (end, class) = (start + u64::from(last_len), Class::NEXT);
                        let one =
                            Block { start, end, count: 1, last_len, class, ended: Ended::Cut, ..*block };
                        entries.push(executed.block(&one));
                    }
                    entries.push(executed.block(&Block { start: block.last(), count: 1, ..*block }));
                }
                Event::Context { elsewhere, .. } => {
                    executed.ctype(ctype(*elsewhere));
                    entries.extend(entry(&mut executed, event));
                }
                _ => entries.extend(entry(&mut executed, event)),
            }
        }
        entries
    }

    /// Returns the entries that commit ports give in each cycle. Cycles are filled at random.
    fn committed(&self, width: ITypeWidth, ports: usize, rng: &mut Rng) -> Vec<Vec<Entry>> {
        let mut connector = Connector::new(width, *rng.pick(&[0, 0, 2, 5, 16]));
        let mut rows = Vec::new();
        let mut common = Common { privilege: 3, ..Common::default() };
        let mut waiting: Vec<Commit> = Vec::new();
        let mut cycle = |waiting: &mut Vec<Commit>, common: &mut Common| {
            let row = connector.cycle(waiting, common);
            if !row.is_empty() {
                rows.push(row.to_vec());
            }
            waiting.clear();
            common.trap = None;
            common.cycle += 1;
        };
        for event in &self.events {
            match event {
                Event::Block(block) => {
                    for (pc, bits, size) in self.instructions(block) {
                        // Empty ports may be anywhere, not only at the end.
                        while waiting.len() < ports && rng.one_in(4) {
                            waiting.push(Commit::default());
                        }
                        if waiting.len() == ports {
                            cycle(&mut waiting, &mut common);
                        }
                        let taken = pc == block.last() && block.ended == Ended::Taken;
                        let operation = Operation::of(&decode(self.xlen(), bits), taken);
                        let compressed = size == 2;
                        waiting.push(Commit { valid: true, pc, compressed, operation, notify: false });
                    }
                }
                Event::Trap(trap) => {
                    if rng.one_in(2) {
                        cycle(&mut waiting, &mut common);
                    }
                    let &tracewright_testkit::riscv::walk::Trap { pc, cause, interrupt, value, .. } = trap;
                    common.trap = Some(TrapSignals { interrupt, cause, tval: value, pc });
                    cycle(&mut waiting, &mut common);
                }
                // At most one change a cycle.
                Event::Privilege(privilege) => {
                    cycle(&mut waiting, &mut common);
                    common.privilege = *privilege;
                }
                Event::Context { id, elsewhere } => {
                    cycle(&mut waiting, &mut common);
                    (common.context, common.ctype) = ((*id).into(), ctype(*elsewhere));
                }
            }
        }
        cycle(&mut waiting, &mut common);
        let rest = connector.finish().to_vec();
        rows.push(rest);
        rows
    }
}

const fn ctype(elsewhere: bool) -> CType {
    if elsewhere { CType::Discontinuity } else { CType::Precise }
}

fn any_encoder(rng: &mut Rng, isa: Isa) -> Config {
    let width = if isa == Isa::Rv32 { 32 } else { 64 };
    let params = Params { iaddress_width: width, iaddress_lsb: 1, ..any_params(rng) };
    let options = any_options(rng, &params);
    let mode = *rng.pick(&[ResyncMode::Off, ResyncMode::Packets, ResyncMode::HalfWords]);
    let resync = Resync { mode, max: rng.below(4) as u8, anywhere: false };
    Config { params, options, resync, ..Config::default() }
}

#[test]
fn packets_do_not_depend_on_how_instructions_retire() {
    for seed in 0..400 {
        let mut rng = Rng::new(seed);
        let run = Run::random(&mut rng, 400);
        let width = if rng.one_in(4) { ITypeWidth::Three } else { ITypeWidth::Four };
        let config = any_encoder(&mut rng, run.program.isa);
        let packets = encode(config.clone(), &run.executed(width, false));
        assert!(packets.len() > 4);
        // With a filter that matches everything, no entry takes the fast path.
        let filter = Filter { iaddr: Comparator::Range(0, u64::MAX), ..Filter::default() };
        let slow = Config { filter, ..config.clone() };
        assert_same(&format!("seed {seed}, slow"), &encode(slow, &run.executed(width, false)), &packets);
        let single = run.executed(width, true);
        assert_same(&format!("seed {seed}, single"), &encode(config.clone(), &single), &packets);
        for ports in [1, 2, 3, 8] {
            let what = format!("seed {seed}, {ports} ports");
            let rows = run.committed(width, ports, &mut rng);
            assert_same(&what, &encode(config.clone(), rows.iter().flatten()), &packets);
            let text = written(&rows);
            let read: Vec<_> = Reader::new(&text, Retirement::Block).unwrap().map(Result::unwrap).collect();
            assert_same(&format!("{what}, text"), &encode(config.clone(), &read), &packets);
        }
    }
}

/// Writes rows of entries as text. Entries that share too little get lines of their own.
fn written(rows: &[Vec<Entry>]) -> Vec<u8> {
    let mut text = Vec::new();
    csv::write_header(3, &mut text);
    for row in rows {
        for entries in row.chunk_by(|one, other| {
            !one.is_trap()
                && !other.is_trap()
                && (one.privilege, one.context) == (other.privilege, other.context)
        }) {
            for entries in entries.chunks(3) {
                csv::write_row(entries, 3, Retirement::Block, &mut text);
            }
        }
    }
    text
}
