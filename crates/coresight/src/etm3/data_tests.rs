//! Accesses to memory: what is encoded is decoded to the same, and OpenCSD's lister prints the packets that were meant.

use std::num::NonZero;

use tracewright_core::{Block, Class, DataAccess, DataKind, Element, Ended, GapReason, Isa};
use tracewright_testkit::{Rng, lister};

use super::encode::{self, Encoder};
use super::packet::{Packet, Parser, write_opencsd};
use super::tests::{canonical, decode, execution, program_bytes, program_of, registers};
use super::{Params, Registers};

const STREAMS: u64 = 300;

/// Loads and stores: the bytes, the kind of access, its size, and how many there are.
const A32: [(u32, DataKind, u8, u32); 5] = [
    (0xe591_0000, DataKind::Load, 4, 1),  // ldr r0, [r1]
    (0xe5c1_0000, DataKind::Store, 1, 1), // strb r0, [r1]
    (0xe1d1_00b0, DataKind::Load, 2, 1),  // ldrh r0, [r1]
    (0xe1c1_00f0, DataKind::Store, 4, 2), // strd r0, r1, [r1]
    (0xe892_000b, DataKind::Load, 4, 3),  // ldm r2, {r0, r1, r3}
];
const T32: [(u32, DataKind, u8, u32); 5] = [
    (0x6808, DataKind::Load, 4, 1),  // ldr r0, [r1]
    (0x7008, DataKind::Store, 1, 1), // strb r0, [r1]
    (0x8808, DataKind::Load, 2, 1),  // ldrh r0, [r1]
    (0xb503, DataKind::Store, 4, 3), // push {r0, r1, lr}
    (0xca03, DataKind::Load, 4, 2),  // ldm r2!, {r0, r1}
];

/// A random execution of a program with loads and stores, and its trace.
struct Run {
    registers: Registers,
    params: Params,
    code: Vec<u8>,
    /// What a decoder emits, without accesses.
    executed: Vec<Element>,
    /// The accesses that it emits.
    accesses: Vec<Element>,
    late_values: u8,
    bytes: Vec<u8>,
}

impl Run {
    fn new(seed: u64, data: u32) -> Self {
        let mut rng = Rng::new(seed);
        let registers = Registers { is_m: false, etmccer: 0x3440_08f2, ..registers(&mut rng) };
        let registers = Registers { etmcr: registers.etmcr & !0xc | data, ..registers };
        let params = Params::new(&registers).unwrap();
        let isa = *rng.pick(&[Isa::A32, Isa::T32]);
        let (size, table) = if isa == Isa::A32 { (4, A32) } else { (2, T32) };
        let mut code = program_bytes(&mut rng, isa);
        for place in code.chunks_mut(size) {
            if matches!(place, [0, 0, 0xa0, 0xe1] | [0, 0xbf]) && rng.one_in(2) {
                place.copy_from_slice(&rng.pick(&table).0.to_le_bytes()[..size]);
            }
        }
        let executed = execution(&mut rng, &program_of(code.clone()), isa, &params);
        let late_values = *rng.pick(&[0, 0, 1, 2, 3]);
        let options = encode::Options { sync_every: NonZero::new(1 + rng.below(200) as u32), late_values };
        let mut encoder = Encoder::new(&registers, options).unwrap();
        let (mut bytes, mut accesses) = (Vec::new(), Vec::new());
        for element in &executed {
            let Element::Block(block) = *element else {
                encoder.element(element, &mut bytes).unwrap();
                continue;
            };
            let mut start = block.start;
            for at in (block.start..block.end).step_by(size) {
                let word = code[(at - 0x8000) as usize..][..size].iter().rev();
                let word = word.fold(0, |word, &byte| word << 8 | u32::from(byte));
                let row = table.iter().find(|row| row.0 == word).filter(|_| rng.one_in(2));
                let Some(&(_, kind, width, transfers)) = row else { continue };
                // The block is cut behind the access.
                let end = at + size as u64;
                let count = ((end - start) / size as u64) as u32;
                let (class, ended) =
                    if end == block.end { (block.class, block.ended) } else { (Class::NEXT, Ended::Cut) };
                let part = Block { start, end, count, class, ended, ..block };
                encoder.element(&Element::Block(part), &mut bytes).unwrap();
                start = end;
                for element in accesses_of(&mut rng, kind, width, transfers, at) {
                    encoder.element(&element, &mut bytes).unwrap();
                    accesses.extend(told(element, &params));
                }
            }
            if start < block.end {
                let count = ((block.end - start) / size as u64) as u32;
                encoder.element(&Element::Block(Block { start, count, ..block }), &mut bytes).unwrap();
            }
        }
        Self { registers, params, code, executed, accesses, late_values, bytes }
    }
}

/// Random accesses of an instruction at `at`.
fn accesses_of(rng: &mut Rng, kind: DataKind, size: u8, transfers: u32, at: u64) -> Vec<Element> {
    let address = 0x2000_0000 + rng.sized(20);
    let mut all = Vec::new();
    for transfer in 0..transfers {
        let value = (!rng.one_in(5)).then(|| rng.sized(8 * u32::from(size)));
        // Only the first has an address.
        let address = (transfer == 0).then_some(address);
        let access = DataAccess { kind, size, address, value, operand: None, after: false };
        let failed = DataAccess { kind: DataKind::StoreFailed, address: None, value: None, ..access };
        let fails = kind == DataKind::Store && transfers == 1 && rng.one_in(4);
        all.push(Element::Data { access: if fails { failed } else { access }, by: Some(at) });
    }
    all.extend(rng.one_in(8).then_some(Element::DataLost));
    all
}

/// What a trace unit tells of an access, if anything.
fn told(element: Element, params: &Params) -> Option<Element> {
    let (addresses, values) = (params.data_addresses(), params.data_values());
    let Element::Data { access, by } = element else { return (addresses || values).then_some(element) };
    let is_told = values || addresses && access.kind != DataKind::StoreFailed;
    let (address, value) = (access.address.filter(|_| addresses), access.value.filter(|_| values));
    is_told.then_some(Element::Data { access: DataAccess { address, value, ..access }, by })
}

const fn is_access(element: &Element) -> bool {
    matches!(element, Element::Data { .. } | Element::DataLost)
}

#[test]
fn accesses_come_back() {
    let mut kinds = std::collections::BTreeSet::new();
    for seed in 0..STREAMS {
        let run = Run::new(seed, *Rng::new(!seed).pick(&[4, 8, 0xc, 0]));
        let decoded = decode(&run.params, &program_of(run.code), &run.bytes);
        let (mut accesses, rest): (Vec<_>, Vec<_>) = decoded.into_iter().partition(is_access);
        let mut expected = run.accesses;
        if run.late_values > 0 {
            // Values that come later change the order.
            accesses.sort_by_key(|access| format!("{access:?}"));
            expected.sort_by_key(|access| format!("{access:?}"));
        }
        assert_eq!(accesses, expected, "seed {seed}: {:x?}", run.params);
        let is_start = |element: &Element| {
            matches!(element, Element::Lost(GapReason::Start) | Element::Gap { reason: GapReason::Start, .. })
        };
        let rest: Vec<_> = rest.into_iter().filter(|element| !is_start(element)).collect();
        assert_eq!(joined(&canonical(&rest)), joined(&canonical(&run.executed)), "seed {seed}");
        let mut take = |_: u64, _: &[u8], packet: &Packet| {
            kinds.insert(packet.kind());
        };
        let mut parser = Parser::new(run.params);
        parser.feed(&run.bytes, &mut take);
        parser.finish(&mut take);
    }
    use super::packet::Kind;
    let all = [
        Kind::Data,
        Kind::ValueNotTraced,
        Kind::Placeholder,
        Kind::OutOfOrder,
        Kind::StoreFailed,
        Kind::DataSuppressed,
    ];
    assert!(all.iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
}

/// Joins blocks that an I-Sync cuts.
fn joined(elements: &[Element]) -> Vec<Element> {
    let mut all: Vec<Element> = Vec::new();
    for element in elements {
        match (all.last_mut(), element) {
            (Some(Element::Block(last)), Element::Block(next))
                if last.ended == Ended::Cut && last.end == next.start =>
            {
                *last = Block { start: last.start, count: last.count + next.count, ..*next };
            }
            _ => all.push(*element),
        }
    }
    all
}

/// OpenCSD prints each packet as we do, of executions and of packets in any order. Only values are traced: OpenCSD misreads addresses of
/// data (see DIFFERENCES.md).
#[test]
fn opencsd_prints_accesses() {
    if !lister::available("opencsd_prints_accesses") {
        return;
    }
    for seed in 0..STREAMS {
        let (registers, bytes) = match seed % 3 {
            0 => packets(seed),
            _ => {
                let run = Run::new(seed, 4);
                (run.registers, run.bytes)
            }
        };
        if bytes.is_empty() {
            continue;
        }
        let params = Params::new(&registers).unwrap();
        let source = lister::Source {
            device: "ETM3.5",
            registers: &[
                ("ETMCR(0x000)", registers.etmcr),
                ("ETMIDR(0x079)", registers.etmidr),
                ("ETMCCER(0x07A)", registers.etmccer),
                ("ETMTRACEIDR(0x080)", 0x10),
            ],
            id: 0x10,
            core: Some("Cortex-A7"),
            memory: &[],
            bytes: &bytes,
        };
        let mut ours = Vec::new();
        let mut take = |_: u64, _: &[u8], packet: &Packet| {
            let mut text = String::new();
            write_opencsd(&mut text, packet, &params).unwrap();
            ours.push(text);
        };
        let mut parser = Parser::new(params.clone());
        parser.feed(&bytes, &mut take);
        parser.finish(&mut take);
        let listing = source.list(&["-pkt_mon"]);
        let theirs =
            listing.lines().filter_map(|line| Some(line.strip_prefix("Idx:")?.split_once("];\t")?.1));
        let theirs: Vec<_> = theirs.collect();
        for (index, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            assert_eq!(ours, theirs, "seed {seed}, packet {index}");
        }
        assert_eq!(ours.len(), theirs.len(), "seed {seed}");
    }
}

/// Random packets of data without addresses.
fn packets(seed: u64) -> (Registers, Vec<u8>) {
    let mut rng = Rng::new(seed);
    let registers = Registers { etmcr: 4, ..Registers::default() };
    let params = Params::new(&registers).unwrap();
    let mut bytes = Vec::new();
    Packet::Async.write(&params, &mut bytes);
    for _ in 0..200 {
        let first = rng.one_in(2);
        let address = None;
        let size = *rng.pick(&[0, 1, 2, 4]);
        let value = rng.sized(8 * u32::from(size)) as u32;
        let tag = 1 + rng.below(3) as u8;
        let packet = match rng.below(6) {
            0 => Packet::Data { first, address, size, value },
            1 => Packet::ValueNotTraced { first, address },
            2 => Packet::Placeholder { tag, first, address },
            3 => Packet::OutOfOrder { tag, size, value },
            4 => Packet::StoreFailed,
            _ => Packet::DataSuppressed,
        };
        packet.write(&params, &mut bytes);
    }
    (registers, bytes)
}
