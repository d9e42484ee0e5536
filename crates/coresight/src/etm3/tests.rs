//! Specification lines, and the laws of parser, emitter, encoder and decoder.

use tracewright_core::{
    Block, Context, Element, Ended, Exception, Flow, GapReason, Isa, MemorySpace, Security, TraceOn,
};
use tracewright_flow::{ElementSink, Graph, Stop};
use tracewright_image::{Builder, Bytes, Image};
use tracewright_testkit::Rng;

use super::decode::{Decoder, Options};
use super::encode::{self, Encoder};
use super::packet::{Headers, Packet, PacketSink, Parser, Resync, write_opencsd};
use super::{Params, Registers};

fn params(etmcr: u32, etmidr: u32) -> Params {
    Params::new(&Registers { etmcr, etmidr, ..Registers::default() }).unwrap()
}

/// Instructions only, cycles, both data, and context IDs of 32 bits; the encodings of addresses.
const PLAIN: u32 = 0;
const CYCLES: u32 = 1 << 12;
const DATA: u32 = 0xc;
const IDS: u32 = 3 << 14;
const ORIGINAL: u32 = 0x410c_f250;
const ALTERNATIVE: u32 = 0x4114_f250;

fn parse(params: &Params, resync: Resync, chunks: &[&[u8]]) -> Vec<(u64, Vec<u8>, Packet)> {
    let mut packets = Vec::new();
    let mut parser = Parser::new(params.clone()).with_resync(resync);
    let mut sink =
        |offset: u64, bytes: &[u8], packet: &Packet| packets.push((offset, bytes.to_vec(), *packet));
    chunks.iter().for_each(|chunk| parser.feed(chunk, &mut sink));
    parser.finish(&mut sink);
    packets
}

const SYNC: [u8; 6] = [0, 0, 0, 0, 0, 0x80];

/// An A-Sync and the bytes are an A-Sync and one packet, with our text and OpenCSD's; the packet's bytes are the bytes.
#[track_caller]
fn check(params: &Params, bytes: &[u8], text: &str, opencsd: &str) {
    let all = [&SYNC[..], bytes].concat();
    let packets = parse(params, Resync::NextAsync, &[&all]);
    assert_eq!(packets.len(), 2, "{bytes:02x?}: {packets:?}");
    let packet = packets[1].2;
    let details = packet.details(params).to_string();
    assert_eq!(format!("{}: {details}", packet.kind().name()).trim_end_matches(": "), text, "{bytes:02x?}");
    let mut theirs = String::new();
    write_opencsd(&mut theirs, &packet, params).unwrap();
    assert_eq!(theirs, opencsd, "{bytes:02x?}");
    let mut again = Vec::new();
    packet.write(params, &mut again);
    if !packet.kind().is_error() {
        assert_eq!(again, bytes, "{packet:?}");
    }
}

#[test]
fn p_headers() {
    let (plain, cycles) = (params(PLAIN, ORIGINAL), params(CYCLES, ORIGINAL));
    check(&plain, &[0x84], "P-header: E", "P_HDR : Atom P-header.; E");
    check(&plain, &[0xfc], "P-header: EEEEEEEEEEEEEEEN", "P_HDR : Atom P-header.; EEEEEEEEEEEEEEEN");
    check(&plain, &[0x8a], "P-header: NE", "P_HDR : Atom P-header.; NE");
    check(&plain, &[0xa2], "Reserved: header 0xa2 is not defined", "I_RESERVED : Reserved Packet Header");
    check(&cycles, &[0x88], "P-header: WEWE", "P_HDR : Atom P-header.; WEWE; Cycles=2");
    check(&cycles, &[0xc4], "P-header: WEWN", "P_HDR : Atom P-header.; WEWN; Cycles=2");
    check(&cycles, &[0x86], "P-header: WEN", "P_HDR : Atom P-header.; WEN; Cycles=1");
    check(&cycles, &[0xe8], "P-header: WWWE", "P_HDR : Atom P-header.; WWWE; Cycles=3");
    check(&cycles, &[0xbc], "P-header: WWWWWWWW", "P_HDR : Atom P-header.; WWWWWWWW; Cycles=8");
    check(&cycles, &[0x96], "P-header: N", "P_HDR : Atom P-header.; N");
    check(&cycles, &[0x80], "Reserved: header 0x80 is not defined", "I_RESERVED : Reserved Packet Header");
}

#[test]
fn all_p_headers_are_their_own() {
    for etmcr in [PLAIN, CYCLES] {
        let params = params(etmcr, ORIGINAL);
        for header in (0x80..=0xff_u8).step_by(2) {
            let Some(atoms) = super::packet::Atoms::of_header(header, params.cycle_accurate()) else {
                continue;
            };
            assert_eq!(atoms.header(), header);
            let cycles: u8 = (0..atoms.count).map(|index| atoms.cycles_before(index)).sum();
            assert!(atoms.count == 0 || cycles == atoms.cycles, "{header:#x}");
        }
    }
}

#[test]
fn branch_addresses() {
    let (original, alternative) = (params(PLAIN, ORIGINAL), params(PLAIN, ALTERNATIVE));
    let name = "BRANCH_ADDRESS : Branch address.; Addr=";
    check(
        &original,
        &[0xd7, 0xba, 0x86, 0xdb, 0x0d],
        "Branch Address: 0xb6c33aac A32",
        &format!("{name}0xB6C33AAC ~[0xB6C33AAC]; ISA=ARM(32); "),
    );
    check(
        &original,
        &[0x81, 0x80, 0x80, 0x80, 0x50, 0x3c],
        "Branch Address: 0x0 T32, IRQ (0xe), secure, cancels the last instruction",
        &format!("{name}0x00000000 ~[0x0]; ISA=Thumb2; S; Exception=IRQ; ; Cancel prev instr"),
    );
    // The deprecated form: the fifth byte alone tells an IRQ.
    check(
        &original,
        &[0x81, 0x80, 0x80, 0x80, 0x88],
        "Branch Address: 0x0 A32, IRQ (0xe)",
        &format!("{name}0x00000000 ~[0x0]; ISA=ARM(32); Exception=IRQ; "),
    );
    check(
        &alternative,
        &[0x91, 0x41, 0x1d],
        "Branch Address: 0x120 A32, only 14 bits known, IRQ (0xe), non-secure",
        &format!("{name}0x????0120 (13:0) ~[0x120]; NS; Exception=IRQ; "),
    );
}

#[test]
fn exceptions_of_m_profile() {
    let registers = Registers { etmidr: ALTERNATIVE, is_m: true, ..Registers::default() };
    let params = Params::new(&registers).unwrap();
    let text = |rest: &str| format!("Branch Address: 0x120 A32, only 14 bits known, {rest}, secure");
    let theirs = |rest: &str| {
        format!("BRANCH_ADDRESS : Branch address.; Addr=0x????0120 (13:0) ~[0x120]; S; Exception={rest}")
    };
    check(&params, &[0x91, 0x41, 0x1e], &text("SysTick (0xf)"), &theirs("SysTick"));
    check(&params, &[0x91, 0x41, 0x86, 0x01], &text("HardFault (0x13)"), &theirs("HardFault"));
    check(&params, &[0x91, 0x41, 0x80, 0x02], &text("IRQ16 (0x20)"), &theirs("IRQ16"));
    let resumed = format!("{}, resumes at 5", text("IRQ16 (0x20)"));
    check(&params, &[0x91, 0x41, 0x80, 0x82, 0x45], &resumed, &theirs("IRQ16; Resume=5"));
}

#[test]
fn synchronisation() {
    let (plain, ids) = (params(PLAIN, ORIGINAL), params(IDS, ORIGINAL));
    check(
        &plain,
        &[0x08, 0x01, 0x5d, 0x11, 0x02, 0xc0],
        "I-Sync: periodic, 0xc002115c T32, secure",
        "I_SYNC : Instruction Packet synchronisation.; (Periodic); Addr=0xc002115c; S;  ISA=Thumb2; ",
    );
    check(
        &plain,
        &[0x70, 0x8f, 0x3c, 0x29, 0x98, 0xf6, 0x04, 0xc0],
        "I-Sync with Cycle Count: trace on, 0xc004f698 A32, non-secure, 7695 cycles",
        "I_SYNC_CYCLE : Instruction Packet synchronisation with cycle count.; (Trace Enable); Addr=0xc004f698; NS;  \
         ISA=ARM(32); Cycles=7695; ",
    );
    check(
        &ids,
        &[0x08, 0x78, 0x56, 0x34, 0x12, 0x43, 0, 0x80, 0, 0],
        "I-Sync: after overflow, 0x8000 A32, secure, Hyp, context ID 0x12345678",
        "I_SYNC : Instruction Packet synchronisation.; (Restart Overflow); Addr=0x00008000; S; Hyp; \
         CtxtID=12345678; ISA=ARM(32); ",
    );
    check(
        &plain,
        &[0x08, 0xa1, 0x00, 0x80, 0, 0, 0x09],
        "I-Sync: trace on, 0x8000 A32, load or store under way, now at 0x8010 A32, secure",
        "I_SYNC : Instruction Packet synchronisation.; (Trace Enable); Data Instr Addr=0x00008000; S;  ISA=ARM(32); \
         Curr Instr Addr=0x00008010 ~[0x10];",
    );
}

#[test]
fn data() {
    let params = params(DATA, ORIGINAL);
    let addr = "Addr=0x12345678 ~[0x12345678]";
    // OpenCSD reads no more than the first byte of an address; here the specification holds.
    check(
        &params,
        &[0x2e, 0xf8, 0xac, 0xd1, 0x91, 0x01, 0x0d, 0xf0, 0xfe, 0xca],
        "Data: address 0x12345678, value 0xcafef00d",
        &format!("NORM_DATA : Data trace packet.; {addr}; Val=0xcafef00d"),
    );
    check(&params, &[0x06, 0x2a], "Data: value 0x2a", "NORM_DATA : Data trace packet.; Val=0x2a");
    check(
        &params,
        &[0x48, 0x01, 0x02],
        "Out-of-order Data: tag 2, value 0x201",
        "OOO_DATA : Out of Order data value packet.; Val=0x201; OO_Tag=0x2",
    );
    check(
        &params,
        &[0x74, 0xf8, 0xac, 0xd1, 0x91, 0x11],
        "Out-of-order Placeholder: tag 1address 0x12345678, big-endian"
            .replace("1address", "1, address")
            .as_str(),
        &format!("OOO_ADDR_PLC : Out of Order data address placeholder.; {addr}; OO_Tag=0x1"),
    );
    check(&params, &[0x50], "Store Failed", "STORE_FAIL : Data Store Failed.");
    check(&params, &[0x62], "Data Suppressed", "DATA_SUPPRESSED : Data trace suppressed.");
    check(&params, &[0x6a], "Value Not Traced", "VAL_NOT_TRACED : Data trace value not traced.");
    check(
        &params,
        &[0x7a, 0x05],
        "Value Not Traced: address 0x5, only 7 bits known",
        "VAL_NOT_TRACED : Data trace value not traced.; Addr=0x??????05 (6:0) ~[0x5]",
    );
    check(
        &self::params(PLAIN, ORIGINAL),
        &[0x06],
        "Reserved (mode): Data is not in this trace unit's configuration",
        "BAD_TRACEMODE : Invalid packet type for this trace mode.[NORM_DATA]",
    );
}

#[test]
fn the_other_packets() {
    let params = params(IDS | 1 << 28 | 1 << 30, ORIGINAL);
    check(
        &params,
        &[0x04, 0xff, 0xff, 0xff, 0xff, 0x0f],
        "Cycle Count: 4294967295",
        "CYCLE_COUNT : Cycle Count.; Cycles=4294967295",
    );
    check(&params, &[0x0c], "Trigger", "TRIGGER : Trace Trigger Event.");
    check(&params, &[0x3c, 0x07], "VMID: 0x7", "VMID : VMID change.; VMID=0x7");
    check(
        &params,
        &[0x6e, 1, 0, 0, 0x80],
        "Context ID: 0x80000001",
        "CONTEXT_ID : Context ID change.; CtxtID=0x80000001",
    );
    check(&params, &[0x66], "Ignore", "IGNORE : Packet ignored.");
    check(&params, &[0x76], "Return From Exception", "EXCEPTION_EXIT : Exception return.");
    check(&params, &[0x7e], "Exception Entry", "EXCEPTION_ENTRY : Exception entry data marker.");
    check(
        &params,
        &[0x42, 0xbd, 0x9a, 0xc3, 0xce, 0xaf, 0x90, 0x80, 0x80, 0x00],
        "Timestamp: 0x82f9d0cd3d",
        "TIMESTAMP : Timestamp Value.; TS=0x82f9d0cd3d (562536959293) ",
    );
}

/// ldr r0, [r1]; strb r0, [r1]: what they access comes with the newest instruction.
#[test]
fn data_belongs_to_the_newest_instruction() {
    use tracewright_core::{DataAccess, DataKind};
    let params = params(DATA, ORIGINAL);
    let code = [0xe591_0000_u32, 0xe5c1_0000, 0xe12f_ff1e].map(u32::to_le_bytes).concat();
    let trace = [
        &SYNC[..],
        &[0x08, 0x21, 0x00, 0x80, 0, 0, 0x84],
        &[0x2e, 0xf8, 0xac, 0xd1, 0x91, 0x01, 0x0d, 0xf0, 0xfe, 0xca],
        // The store's value comes out of order, after the next instruction.
        &[0x84, 0x74, 0x05, 0x84, 0x24, 0x2a],
    ]
    .concat();
    let elements = decode(&params, &program_of(code), &trace);
    let data: Vec<_> =
        elements.iter().copied().filter(|element| matches!(element, Element::Data { .. })).collect();
    let access = |kind, size, address, value, by| {
        let (address, value) = (Some(address), Some(value));
        let access = DataAccess { kind, size, address, value, operand: None, after: false };
        Element::Data { access, by: Some(by) }
    };
    let load = access(DataKind::Load, 4, 0x1234_5678, 0xcafe_f00d, 0x8000);
    let store = access(DataKind::Store, 1, 0x1234_5605, 0x2a, 0x8004);
    assert_eq!(data, [load, store]);
    let block = elements.iter().find_map(|element| match element {
        Element::Block(block) => Some((block.start, block.count)),
        _ => None,
    });
    assert_eq!(block, Some((0x8000, 3)));
}

pub(super) fn registers(rng: &mut Rng) -> Registers {
    let etmcr = rng.next_u64() as u32 & (DATA | CYCLES | IDS | 1 << 8 | 1 << 28 | 1 << 30);
    let etmidr = *rng.pick(&[ORIGINAL, ALTERNATIVE]);
    let etmccer = rng.next_u64() as u32 & (1 << 26 | 1 << 29);
    Registers { etmcr, etmidr, etmccer, is_m: rng.one_in(2), ..Registers::default() }
}

/// Any bytes: every byte is reported once, chunks change nothing, and packets survive a round trip.
#[test]
fn any_bytes() {
    for seed in 0..3000 {
        let mut rng = Rng::new(seed);
        let params = Params::new(&registers(&mut rng)).unwrap();
        let mut bytes = SYNC.to_vec();
        for _ in 0..rng.below(20) {
            match rng.below(4) {
                0 => bytes.extend_from_slice(&SYNC[rng.below(6) as usize..]),
                1 => bytes.extend(std::iter::repeat_n(0, rng.below(40) as usize)),
                _ => bytes.extend(rng.bytes(12)),
            }
        }
        for resync in [Resync::NextAsync, Resync::NextByte] {
            let whole = parse(&params, resync, &[&bytes]);
            let chunk = 1 + rng.below(9) as usize;
            let chunks: Vec<_> = bytes.chunks(chunk).collect();
            assert_eq!(
                whole,
                parse(&params, resync, &chunks),
                "seed {seed}, chunks of {chunk}: {bytes:02x?}"
            );
            let mut end = 0;
            for (offset, of_packet, packet) in &whole {
                assert_eq!(*offset, end, "seed {seed}: {packet:?}");
                end += if let Packet::NotSync { len } = packet { *len } else { of_packet.len() as u64 };
            }
            assert_eq!(end, bytes.len() as u64, "seed {seed}");
        }
    }
}

/// What is written is read again, in the shortest form as well as in any.
#[test]
fn packets_that_are_read_are_written_and_read_again() {
    for seed in 0..2000 {
        let mut rng = Rng::new(seed);
        let params = Params::new(&registers(&mut rng)).unwrap();
        let bytes = [&SYNC[..], &rng.bytes(60)].concat();
        let read = parse(&params, Resync::NextByte, &[&bytes]);
        let good: Vec<_> =
            read.iter().map(|(_, _, packet)| *packet).filter(|packet| !packet.kind().is_error()).collect();
        let mut again = Vec::new();
        good.iter().for_each(|packet| packet.write(&params, &mut again));
        let packets: Vec<_> =
            parse(&params, Resync::NextByte, &[&again]).iter().map(|(_, _, packet)| *packet).collect();
        assert_eq!(packets, good, "seed {seed}: {again:02x?}");
    }
}

/// A random program of A32 or T32: branches, calls, returns, and what is between them.
pub(super) fn program_bytes(rng: &mut Rng, isa: Isa) -> Vec<u8> {
    let mut bytes = Vec::new();
    let len = 200;
    for index in 0..len {
        let to = rng.below(len) as i64 - index as i64;
        if isa == Isa::A32 {
            let offset = (to - 2) as u32 & 0xff_ffff;
            let word = match rng.below(10) {
                0 => 0x0a00_0000 | offset,
                1 => 0xea00_0000 | offset,
                2 => 0xeb00_0000 | offset,
                3 => 0xe12f_ff1e,
                4 => 0x112f_ff1e,
                _ => 0xe1a0_0000,
            };
            bytes.extend_from_slice(&u32::to_le_bytes(word));
        } else {
            let near = to.clamp(-100, 100);
            let half: u16 = match rng.below(8) {
                0 => 0xd000 | (near - 2) as u16 & 0xff,
                1 => 0xe000 | (near - 2) as u16 & 0x7ff,
                2 => 0x4770,
                _ => 0xbf00,
            };
            bytes.extend_from_slice(&half.to_le_bytes());
        }
    }
    bytes
}

/// The image of a program.
pub(super) fn program_of(bytes: Vec<u8>) -> Image {
    let mut builder = Builder::default();
    builder.raw("program", Bytes::from(bytes), 0x8000, MemorySpace::ANY).unwrap();
    builder.build()
}

/// What a random execution of the program does, as a decoder reports it for these registers.
pub(super) fn execution(rng: &mut Rng, image: &Image, isa: Isa, params: &Params) -> Vec<Element> {
    let mut graph = Graph::new(image, false);
    let size = if isa == Isa::A32 { 4 } else { 2 };
    let (end, mut at) = (0x8000 + 200 * size, 0x8000);
    let mut context = Context {
        level: 1,
        security: Security::NonSecure,
        is_64bit: false,
        vmid: None,
        context_id: (params.context_id_bytes() > 0).then_some(7),
    };
    let mut all = vec![Element::TraceOn(TraceOn::Normal), Element::Context(context, isa)];
    let mut time = 1 << 40;
    for _ in 0..rng.below(300) {
        let id = graph.at(at, isa, MemorySpace::EL1N);
        let node = *graph.node(id);
        let anywhere = |rng: &mut Rng| 0x8000 + size * rng.below(200);
        let cycles = |rng: &mut Rng, all: &mut Vec<Element>| {
            if params.cycle_accurate() {
                all.push(Element::Cycles(Some(1 + rng.below(40) as u32)));
            }
        };
        if node.stop() != Stop::Class || node.end() > end {
            // The program ends: tracing is switched on again elsewhere.
            at = anywhere(rng);
            all.extend([Element::TraceOn(TraceOn::Normal), Element::Context(context, isa)]);
            continue;
        }
        if node.count() > 1 && rng.one_in(8) {
            // An exception in the middle.
            let count = 1 + rng.below(u64::from(node.count()) - 1) as u32;
            let stop = at + size * u64::from(count);
            let class = tracewright_core::Class::NEXT;
            let last_len = size as u8;
            all.push(Element::Block(Block { end: stop, count, last_len, class, ..node.block(Ended::Cut) }));
            cycles(rng, &mut all);
            let exception = Exception {
                number: 1 + rng.below(15) as u16,
                interrupt: false,
                value: None,
                return_address: Some(stop),
                at_target: false,
            };
            all.push(Element::Exception(exception));
            at = anywhere(rng);
            if rng.one_in(2) {
                context.security = Security::Secure;
                all.push(Element::Context(context, isa));
            }
            continue;
        }
        let taken = !node.class().conditional || rng.one_in(2);
        all.push(Element::Block(node.block(node.ended(taken))));
        cycles(rng, &mut all);
        at = match (taken, node.class().flow, node.direct_target()) {
            (true, Flow::Direct, Some((target, _))) => target,
            (true, Flow::Indirect, _) => anywhere(rng),
            _ => node.end(),
        };
        if rng.one_in(20) && params.timestamps() {
            time += rng.below(1 << 20);
            all.push(Element::Timestamp { value: time, cycles: None });
        }
        if rng.one_in(20) && params.context_id_bytes() > 0 {
            let mask = (1_u64 << (8 * params.context_id_bytes())) - 1;
            let id = Some((rng.next_u64() & mask) as u32);
            if id != context.context_id {
                context.context_id = id;
                all.push(Element::Context(context, isa));
            }
        }
    }
    all.push(Element::End);
    all
}

/// A decoder that takes rows of P-headers together, or one by one.
struct Feed<'i, S, const ROWS: bool> {
    decoder: Decoder<'i>,
    sink: S,
}

impl<S: ElementSink, const ROWS: bool> PacketSink<Packet, Headers> for Feed<'_, S, ROWS> {
    const RUNS: bool = ROWS;

    fn packet(&mut self, offset: u64, _: &[u8], packet: &Packet) {
        self.decoder.packet(offset, packet, &mut self.sink);
    }

    fn run(&mut self, offset: u64, row: Headers) {
        assert!(ROWS);
        self.decoder.headers(offset, row, &mut self.sink);
    }
}

fn decode_rows<const ROWS: bool>(params: &Params, image: &Image, bytes: &[u8]) -> Vec<(u64, Element)> {
    let mut elements = Vec::new();
    let sink = |offset: u64, element: &Element| elements.push((offset, *element));
    let mut feed = Feed::<_, ROWS> { decoder: Decoder::new(params, image, Options::default()), sink };
    let mut parser = Parser::new(params.clone());
    parser.feed(bytes, &mut feed);
    parser.finish(&mut feed);
    feed.decoder.finish(bytes.len() as u64, &mut feed.sink);
    elements
}

pub(super) fn decode(params: &Params, image: &Image, bytes: &[u8]) -> Vec<Element> {
    let elements = decode_rows::<true>(params, image, bytes);
    assert_eq!(elements, decode_rows::<false>(params, image, bytes));
    elements.into_iter().map(|(_, element)| element).collect()
}

/// Registers, program, execution and trace.
fn run(seed: u64) -> (Params, Image, Vec<Element>, Vec<u8>) {
    let mut rng = Rng::new(seed);
    let registers = Registers { is_m: false, etmccer: 0x3440_08f2, ..registers(&mut rng) };
    let params = Params::new(&registers).unwrap();
    let isa = *rng.pick(&[Isa::A32, Isa::T32]);
    let image = program_of(program_bytes(&mut rng, isa));
    let executed = execution(&mut rng, &image, isa, &params);
    let sync_every = std::num::NonZero::new(1 + rng.below(200) as u32);
    let options = encode::Options { sync_every, ..Default::default() };
    let mut encoder = Encoder::new(&registers, options).unwrap();
    let mut bytes = Vec::new();
    executed.iter().for_each(|element| encoder.element(element, &mut bytes).unwrap());
    (params, image, executed, bytes)
}

#[test]
fn decoding_gives_back_what_was_encoded() {
    for seed in 0..400 {
        let (params, image, executed, bytes) = run(seed);
        let wanted = |element: &&Element| {
            !matches!(
                element,
                Element::Lost(GapReason::Start) | Element::Gap { reason: GapReason::Start, .. }
            )
        };
        let decoded: Vec<_> = decode(&params, &image, &bytes).iter().filter(wanted).copied().collect();
        let executed = canonical(&executed);
        let decoded = canonical(&decoded);
        for (index, (decoded, executed)) in decoded.iter().zip(&executed).enumerate() {
            assert_eq!(decoded, executed, "seed {seed}, element {index}, {params:x?}");
        }
        assert_eq!(decoded.len(), executed.len(), "seed {seed}");
    }
}

/// Contexts that repeat the last one are left out, and what comes right before tracing is switched on or after the last block: a trace
/// has them only with an address.
pub(super) fn canonical(elements: &[Element]) -> Vec<Element> {
    let last = elements.iter().rposition(|element| matches!(element, Element::Block(_)));
    let mut all: Vec<Element> = Vec::new();
    for element in &elements[..last.map_or(0, |last| last + 1)] {
        let replaces = |last: &Element| match element {
            Element::TraceOn(_) => {
                matches!(last, Element::Context(..) | Element::Exception(_) | Element::TraceOn(_))
            }
            Element::Context(..) => matches!(last, Element::Context(..)),
            _ => false,
        };
        while all.last().is_some_and(replaces) {
            all.pop();
        }
        all.push(*element);
    }
    let mut context = None;
    all.retain(|element| match element {
        Element::Context(new, _) => context.replace(*new) != Some(*new),
        _ => true,
    });
    all
}

/// Flipped, dropped and repeated bytes: nothing panics, and the end of the trace is as it was.
#[test]
fn damage_heals_at_the_next_synchronisation() {
    for seed in 0..300 {
        let (params, image, _, bytes) = run(seed);
        let mut rng = Rng::new(seed);
        if bytes.len() < 20 {
            continue;
        }
        let at = 6 + rng.below(bytes.len() as u64 / 4) as usize;
        let mut damaged = bytes.clone();
        match rng.below(3) {
            0 => damaged[at] ^= 1 << rng.below(8),
            1 => drop(damaged.remove(at)),
            _ => damaged.insert(at, damaged[at]),
        }
        let (good, bad) = (decode(&params, &image, &bytes), decode(&params, &image, &damaged));
        // After the last two A-Syncs, the trace means what it meant.
        let syncs: Vec<_> = (0..bytes.len() - 5)
            .filter(|&at| at > bytes.len() / 3 && bytes[at..].starts_with(&SYNC))
            .collect();
        let Some(&from) = syncs.iter().nth_back(1) else { continue };
        let tail = decode(&params, &image, &bytes[from..]);
        let blocks = |elements: &[Element]| {
            let blocks = elements.iter().filter(|element| matches!(element, Element::Block(_)));
            blocks.copied().rev().take(3).collect::<Vec<_>>()
        };
        if blocks(&tail).len() == 3 && blocks(&good) == blocks(&tail) {
            assert_eq!(blocks(&bad), blocks(&good), "seed {seed}");
        }
    }
}
