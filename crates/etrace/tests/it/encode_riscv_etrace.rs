//! The encoder compared with that of the `riscv-etrace` crate: the same steps give the same packets.
//! Differences are in `DIFFERENCES.md`.

use riscv_etrace::config::AddressMode;
use riscv_etrace::generator::hart2enc::{CType, IType};
use riscv_etrace::generator::step::{Kind, Step};
use riscv_etrace::generator::{self, Generator};
use riscv_etrace::instruction::Size;
use riscv_etrace::packet::payload::{AddressInfo, InstructionTrace};
use riscv_etrace::packet::sync::{self, Synchronization};
use riscv_etrace::packet::unit::{ReferenceDOptions, ReferenceIOptions};
use riscv_etrace::types;
use tracewright_etrace::encode::{Config, Quirks, Resync, ResyncMode};
use tracewright_etrace::ingress::{self, Entry, Executed, ITypeWidth};
use tracewright_etrace::packet::{Address, BranchMap, Context, Packet, QualStatus, Start, Trap};
use tracewright_etrace::{Options, Params};
use tracewright_isa::riscv;
use tracewright_testkit::Rng;
use tracewright_testkit::etrace::{encode, entry};
use tracewright_testkit::riscv::walk::{Event, Happenings, Program, Walk};

/// Entry as a step of `riscv-etrace`.
#[derive(Clone)]
struct Theirs(Entry);

impl Step for Theirs {
    fn address(&self) -> u64 {
        self.0.iaddr
    }

    fn last_offset(&self) -> u64 {
        if self.0.iretire == 0 { 0 } else { self.0.last() - self.0.iaddr }
    }

    fn kind(&self) -> Kind {
        let itype = IType::try_from(self.0.itype as u8).unwrap();
        let size = if self.0.ilastsize == 0 { Size::Compressed } else { Size::Normal };
        Kind::from_hart(itype, self.0.cause as u16, self.0.tval, size, self.0.iretire > 0, self.0.sijump)
    }

    fn ctype(&self) -> CType {
        CType::Unreported
    }

    fn context(&self) -> types::Context {
        types::Context { privilege: self.0.privilege.try_into().unwrap(), context: self.0.context }
    }
}

fn context(context: &sync::Context) -> Context {
    Context { privilege: context.privilege.into(), time: context.time.unwrap_or(0), context: context.context }
}

fn address(info: &AddressInfo) -> Address {
    assert_eq!(info.irdepth, None);
    Address { value: info.address as u64, notify: info.notify, updiscon: info.updiscon, returns: None }
}

/// Converts their packet to ours; `None` for support packets.
fn ours(packet: &InstructionTrace) -> Option<Packet> {
    Some(match packet {
        InstructionTrace::Address(info) => Packet::Address(address(info)),
        InstructionTrace::Branch(branch) => {
            let map = BranchMap::new(branch.branch_map.raw_map(), branch.branch_map.count());
            Packet::Branches(map, branch.address.as_ref().map(address))
        }
        InstructionTrace::Synchronization(Synchronization::Start(start)) => Packet::Start(Start {
            taken: !start.branch,
            context: context(&start.ctx),
            address: start.address,
        }),
        InstructionTrace::Synchronization(Synchronization::Trap(trap)) => Packet::Trap(Trap {
            taken: !trap.branch,
            context: context(&trap.ctx),
            ecause: trap.info.ecause.into(),
            interrupt: trap.info.is_interrupt(),
            thaddr: trap.thaddr,
            address: Some(trap.address),
            tval: trap.info.tval,
        }),
        InstructionTrace::Synchronization(Synchronization::Support(_)) => return None,
        InstructionTrace::Synchronization(Synchronization::Context(_)) | InstructionTrace::Extension(_) => {
            panic!("{packet:?}")
        }
    })
}

/// Returns a run as entries. The last instruction of a block is separate, because `riscv-etrace` looks at
/// what follows a block already for its first instruction. Nothing is left after the last instruction.
fn entries(rng: &mut Rng) -> Vec<Entry> {
    let program = Program::generate(rng);
    let mut executed = Executed::new(ITypeWidth::Four, ingress::CType::Unreported);
    let mut entries: Vec<Entry> = Vec::new();
    let happenings = Happenings { contexts: 0, switches: 0, ..Happenings::default() };
    Walk::new(&program, Rng::new(rng.next_u64())).with(happenings).run(300, &mut |event| match event {
        Event::Block(block) => {
            let entry = executed.block(block);
            let last = 1 << entry.ilastsize;
            if entry.iretire > last {
                // The length of the instruction before the last does not matter: it is never reported.
                let (itype, iretire) = (riscv::IType::None, entry.iretire - last);
                entries.push(Entry { itype, iretire, ilastsize: 0, sijump: false, ..entry });
            }
            entries.push(Entry { iaddr: entry.last(), iretire: last, ..entry });
        }
        _ => entries.extend(entry(&mut executed, event)),
    });
    while entries.last().is_some_and(Entry::is_trap) {
        entries.pop();
    }
    entries
}

/// Returns whether the run has a case that `riscv-etrace` reports differently: a trap by the first
/// instruction, or by the first one in another privilege; two traps at a jump's target.
fn is_told_otherwise(entries: &[Entry]) -> bool {
    let is_jump = |entry: &Entry| {
        use riscv::IType::*;
        matches!(entry.itype, TrapReturn | UninferableCall | UninferableJump | CoRoutineSwap | Return)
    };
    entries[0].is_trap()
        || entries
            .windows(2)
            .any(|two| !two[0].is_trap() && two[1].is_trap() && two[0].privilege != two[1].privilege)
        || entries.windows(3).any(|three| is_jump(&three[0]) && three[1].is_trap() && three[2].is_trap())
}

fn their_packets(entries: &[Entry], full_address: bool) -> (Vec<Packet>, sync::QualStatus) {
    let mode = if full_address { AddressMode::Full } else { AddressMode::Delta };
    let mut generator: Generator<Theirs> = generator::builder().with_address_mode(mode).build().unwrap();
    let options = ReferenceIOptions { full_address, ..ReferenceIOptions::default() };
    generator.begin_qualification(options, ReferenceDOptions::default()).unwrap();
    let mut packets = Vec::new();
    let mut status = None;
    for entry in entries {
        packets.extend(
            generator
                .process_step(Theirs(*entry), None)
                .map(Result::unwrap)
                .filter_map(|packet| ours(&packet)),
        );
    }
    for packet in generator.end_qualification(false).map(Result::unwrap) {
        packets.extend(ours(&packet));
        if let InstructionTrace::Synchronization(Synchronization::Support(support)) = packet {
            status = Some(support.qual_status);
        }
    }
    (packets, status.unwrap())
}

#[test]
fn packets_are_those_of_riscv_etrace() {
    let mut compared = 0;
    for seed in 0..600 {
        let mut rng = Rng::new(seed);
        let entries = entries(&mut rng);
        let full_address = rng.one_in(2);
        if is_told_otherwise(&entries) {
            continue;
        }
        compared += 1;
        let config = Config {
            params: Params { nocontext: false, ..Params::default() },
            options: Options { full_address, ..Options::default() },
            resync: Resync { mode: ResyncMode::Off, ..Resync::default() },
            quirks: Quirks { bare_starts: true, ..Quirks::default() },
            ..Config::default()
        };
        let mut told = encode(config, &entries);
        let Some(Packet::Support(end)) = told.pop() else { panic!() };
        told.remove(0);
        let (mut theirs, status) = their_packets(&entries, full_address);
        // At the very end `riscv-etrace` reports a jump's target with updiscon and ended_ntr, where one of
        // the two is enough, and a start packet with ended_ntr.
        match (end.qual_status, theirs.last_mut()) {
            (QualStatus::EndedNtr, Some(Packet::Address(last) | Packet::Branches(_, Some(last)))) => {
                assert!(last.updiscon && status == sync::QualStatus::EndedNtr, "seed {seed}");
                last.updiscon = false;
            }
            (QualStatus::EndedRep, Some(Packet::Start(_) | Packet::Trap(_))) => {
                assert_eq!(status, sync::QualStatus::EndedNtr, "seed {seed}");
            }
            (ours, _) => {
                assert_eq!((ours, status), (QualStatus::EndedRep, sync::QualStatus::EndedRep), "seed {seed}");
            }
        }
        let first = told.iter().zip(&theirs).take_while(|(one, other)| one == other).count();
        assert_eq!(told.get(first), theirs.get(first), "seed {seed}: packet {first} of {}", theirs.len());
    }
    assert!(compared > 400, "{compared}");
}
