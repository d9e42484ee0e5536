//! What messages mean for a program: the specification's examples, and each of its rules.

use tracewright_core::{
    Contradiction, Element, Ended, GapReason, Isa, MemorySpace, Message, Mismatch, TraceOn, Write,
};
use tracewright_image::{Bytes, Image};
use tracewright_ntrace::decode::{Decoder, Options};
use tracewright_ntrace::packet::{Address, Packet, Process, Values};
use tracewright_ntrace::stream::{self, Content, Parser};
use tracewright_ntrace::{Dialect, ImplicitReturn, Mode, Params};
use tracewright_testkit::riscv::asm;

use crate::support::{emitted, feed};

/// An instruction of two bytes, or of four.
#[derive(Clone, Copy)]
enum Op {
    Short(u32),
    Long(u32),
}

use Op::{Long, Short};

/// An instruction that goes to the next.
fn plain() -> Op {
    Short(asm::cr(9, 10, 11))
}

fn plain4() -> Op {
    Long(asm::i(0x13, 0, 10, 10, 1))
}

fn branch(offset: i32) -> Op {
    Long(asm::b(0, 10, 11, offset))
}

const EBREAK: Op = Short(0x9002);
const RETURN: Op = Short(0x8082);
const MRET: Op = Long(0x3020_0073);
/// An instruction of a vendor.
const CUSTOM: Op = Long(0x0b);

fn program(pieces: &[(u64, &[Op])]) -> Image {
    let mut builder = Image::builder();
    for (address, ops) in pieces {
        let mut bytes = Vec::new();
        for op in *ops {
            match op {
                Short(bits) => bytes.extend(&bits.to_le_bytes()[..2]),
                Long(bits) => bytes.extend(bits.to_le_bytes()),
            }
        }
        builder.raw("code", Bytes::from(bytes), *address, MemorySpace::ANY).unwrap();
    }
    builder.build()
}

/// The specification's code A: two branches, to 0x200 and 0x300.
fn code_a() -> Image {
    let main = [plain(), branch(0xfe), plain4(), branch(0x1f6), plain(), plain4(), EBREAK];
    program(&[(0x100, &main), (0x200, &[plain(), EBREAK]), (0x300, &[plain4(), EBREAK])])
}

fn branches() -> Params {
    Params { mode: Mode::Branch, ..Params::default() }
}

/// The elements of messages as short text: blocks with their ends, and all else but timestamps that begin a trace.
fn told(image: &Image, params: &Params, bytes: &[u8]) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut sink = |_: u64, element: &Element| match *element {
        Element::Block(block) => {
            let end = match block.ended {
                Ended::Taken => "T",
                Ended::NotTaken => "N",
                Ended::Through => "-",
                Ended::Cut => "|",
            };
            words.push(format!("{:x}..{:x}{end}", block.start, block.end));
        }
        Element::TraceOn(TraceOn::Normal) => words.push("on".into()),
        Element::TraceOn(on) => words.push(format!("on({on:?})")),
        Element::Exception(exception) => {
            let kind = if exception.interrupt { "interrupt" } else { "exception" };
            words.push(match exception.return_address {
                Some(address) => format!("{kind}@{address:x}"),
                None => kind.into(),
            });
        }
        Element::Context(now, _) => {
            words.push(format!("level {} {:x?} {:x?}", now.level, now.context_id, now.vmid));
        }
        Element::Timestamp { value, .. } => words.push(format!("time {value:x}")),
        Element::End => {}
        other => words.push(format!("{other:x?}")),
    };
    feed(&mut Decoder::new(params, Options::default(), image, Isa::Rv64), [bytes], &mut sink);
    words.join(" ")
}

fn full(address: u64) -> Address {
    Address::new(address, &Params::default(), Isa::Rv64)
}

fn packets(all: &[Packet], params: &Params) -> Vec<u8> {
    all.iter().flat_map(|packet| emitted(packet, 0, None, params).to_vec()).collect()
}

/// Elements of packets after a start at 0x100.
fn after_start(image: &Image, params: &Params, more: &[Packet]) -> String {
    let start = Packet::ProgTraceSync { sync: 5, icnt: 0, faddr: full(0x100) };
    let text = told(image, params, &packets(&[&[start][..], more].concat(), params));
    text.strip_prefix("on").unwrap_or_else(|| panic!("{text}")).trim_start().to_owned()
}

fn stop(icnt: u64, hist: u64) -> Packet {
    Packet::ProgTraceCorrelation { evcode: 4, cdf: 1, icnt, hist: Some(hist) }
}

fn jump(icnt: u64, hist: u64, uaddr: u64) -> Packet {
    Packet::IndirectBranchHist { btype: 0, icnt, uaddr: full(uaddr), hist }
}

fn trap(btype: u8, icnt: u64, hist: u64, uaddr: u64) -> Packet {
    Packet::IndirectBranchHist { btype, icnt, uaddr: full(uaddr), hist }
}

const START: [u8; 4] = [0x24, 0x0d, 0x00, 0x0b];

#[test]
fn code_a_by_branches_and_by_history() {
    let check = |params: &Params, more: &[u8], expected: &str| {
        assert_eq!(told(&code_a(), params, &[&START, more].concat()), format!("on(Debug) {expected}"));
    };
    let (first, second, none) =
        ("100..106T 200..202|", "100..106N 106..10e|", "100..106N 106..10eN 10e..114|");
    check(&branches(), &[0x0c, 0x0f, 0x84, 0x00, 0x07], first);
    check(&Params::default(), &[0x84, 0x40, 0x11, 0x0f], first);
    check(&branches(), &[0x0c, 0x1f, 0x84, 0x00, 0x0b], "100..106N 106..10eT 300..304|");
    check(&Params::default(), &[0x84, 0x40, 0x25, 0x17], "100..106N 106..10eT 300..304|");
    check(&branches(), &[0x84, 0x00, 0x2b], none);
    check(&Params::default(), &[0x84, 0x40, 0x29, 0x13], none);
    // A count up to the middle of the second block, whose branch did not run.
    check(&branches(), &[0x84, 0x00, 0x17], &second.replace("10e", "10a"));
}

/// Traps where an instruction begins, and counts that end inside one.
#[test]
fn counts_end_with_an_instruction() {
    let image = code_a();
    let at = |icnt: u64| {
        after_start(&image, &branches(), &[Packet::IndirectBranch { btype: 2, icnt, uaddr: full(0x300) }])
    };
    assert_eq!(at(0), "exception@100");
    assert_eq!(at(1), "100..102| exception@102");
    assert_eq!(at(3), "100..106N exception@106");
    assert_eq!(at(5), "100..106N 106..10a| exception@10a");
    assert_eq!(at(7), "100..106N 106..10eN exception@10e");
    for (icnt, to) in [(4, 0x108), (6, 0x10c), (9, 0x112)] {
        let start = if icnt == 9 { 0x10e } else { 0x106 };
        let missed = Element::Mismatch(Mismatch::Missed { from: start, to });
        assert!(at(icnt).contains(&format!("{missed:x?}")), "{}", at(icnt));
    }
}

/// The specification's code B: a counter of four bits.
#[test]
fn counters_add_up() {
    let main = [plain(), branch(8), plain4(), plain4(), plain4(), plain4(), plain4(), plain(), EBREAK];
    let image = program(&[(0x100, &main)]);
    let expected = "on(Debug) 100..106N 106..11c|";
    let full = [&START[..], &[0x6c, 0x40, 0x0b, 0x84, 0x40, 0x15, 0x0b]].concat();
    assert_eq!(told(&image, &Params::default(), &full), expected);
    let sync = [&START[..], &[0x24, 0x50, 0x09, 0x24, 0x0b, 0x84, 0x00, 0x17]].concat();
    assert_eq!(told(&image, &branches(), &sync), expected);
}

/// The specification's code C: an instruction that a vendor defines may jump.
#[test]
fn custom_instructions_may_jump() {
    let image = program(&[(0x100, &[plain4(), CUSTOM, plain(), EBREAK]), (0x200, &[plain()])]);
    let none = stop(5, 1);
    assert_eq!(after_start(&image, &Params::default(), &[none]), "100..10a|");
    let taken = Packet::IndirectBranch { btype: 0, icnt: 4, uaddr: full(0x100 ^ 0x200) };
    assert_eq!(after_start(&image, &Params::default(), &[taken, stop(1, 1)]), "100..108| 200..202|");
    // Others do not.
    let plain = Packet::IndirectBranch { btype: 0, icnt: 2, uaddr: full(0x100 ^ 0x200) };
    let text = after_start(&image, &Params::default(), &[plain]);
    assert!(text.starts_with("100..104| Mismatch(Missed { from: 104, to: 200 })"), "{text}");
}

#[test]
fn histories_go_ahead_of_counts() {
    let image = code_a();
    let full = |rcode, rdata, hrepeat| Packet::ResourceFull { rcode, rdata, hrepeat };
    let expected = "100..106N 106..10eT 300..304|";
    for parts in [[full(1, 0b10, None), full(1, 0b11, None)], [full(1, 0b101, None), full(0, 4, None)]] {
        let icnt = if parts[1] == full(0, 4, None) { 5 } else { 9 };
        assert_eq!(after_start(&image, &Params::default(), &[parts[0], parts[1], stop(icnt, 1)]), expected);
    }
    // A loop that runs six times, and then is left.
    let main = program(&[(0x100, &[plain(), branch(-2), plain()])]);
    let rounds = "100..106T ".repeat(6) + "100..106N 106..108|";
    for (rdata, times) in [(0b11, 6), (0b111, 3)] {
        let parts = [full(2, rdata, Some(times)), stop(22, 0b10)];
        assert_eq!(after_start(&main, &Params::default(), &parts), rounds);
    }
    let sifive = Params { dialect: Dialect::Sifive, ..Params::default() };
    assert_eq!(after_start(&main, &sifive, &[full(9, 6, None), full(8, 1, None), stop(22, 1)]), rounds);
    // Branch messages repeat, too.
    let again = [Packet::DirectBranch { icnt: 3 }, Packet::RepeatBranch { bcnt: 5 }];
    let end = Packet::ProgTraceCorrelation { evcode: 4, cdf: 0, icnt: 4, hist: None };
    assert_eq!(after_start(&main, &branches(), &[again[0], again[1], end]), rounds);
}

#[test]
fn what_a_history_cannot_mean() {
    let image = code_a();
    let text = |packet| after_start(&image, &Params::default(), &[packet]);
    let missed = |from, to| format!("{:x?}", Element::Mismatch(Mismatch::Missed { from, to }));
    // A branch too many, one too few, and a history without a 1.
    assert!(text(stop(4, 0b111)).contains(&missed(0x200, 0x202)), "{}", text(stop(4, 0b111)));
    assert!(text(stop(4, 1)).contains(&format!("{:x?}", Element::Mismatch(Mismatch::NoTarget(0x102)))));
    let contradiction =
        format!("{:x?}", Element::Lost(GapReason::Contradiction(Contradiction::UnexpectedPacket)));
    assert!(text(stop(4, 0)).contains(&contradiction));
    assert!(text(Packet::ResourceFull { rcode: 3, rdata: 1, hrepeat: None }).contains(&contradiction));
    assert!(text(Packet::RepeatBranch { bcnt: 1 }).contains(&contradiction));
    // A direct branch that is none.
    let text = after_start(&image, &branches(), &[Packet::DirectBranch { icnt: 1 }]);
    assert!(text.contains("Mismatch(Missed"), "{text}");
}

/// Where tracing begins and ends, and what happens in between.
#[test]
fn events() {
    let image =
        program(&[(0x100, &[plain(), MRET]), (0x200, &[plain(), plain(), MRET]), (0x300, &[plain()])]);
    let sync = |sync, at| Packet::ProgTraceSync { sync, icnt: 0, faddr: full(at) };
    let text = |all: &[Packet]| after_start(&image, &Params::default(), all);
    // Debug mode, and trace off twice.
    let debug = Packet::ProgTraceCorrelation { evcode: 0, cdf: 1, icnt: 1, hist: Some(1) };
    let off = stop(0, 1);
    assert_eq!(text(&[debug, off, sync(3, 0x102)]), "100..102| on(Debug)");
    // An interrupt, and another at its handler's entry.
    let traps = [trap(3, 1, 1, 0x300), trap(2, 0, 1, 0x100)];
    assert_eq!(text(&[traps[0], traps[1], stop(1, 1)]), "100..102| interrupt@102 exception@200 300..302|");
    // One right after a return from the last one, with a synchronisation at the return address.
    let back = Packet::IndirectBranchSync { sync: 2, btype: 0, icnt: 3, faddr: full(0x200) };
    let again = Packet::IndirectBranchSync { sync: 2, btype: 3, icnt: 0, faddr: full(0x300) };
    assert_eq!(text(&[back, again, stop(1, 1)]), "100..106T interrupt@200 300..302|");
    // Periodic synchronisation in a block does not end the block.
    let inside = Packet::IndirectBranchSync { sync: 2, btype: 0, icnt: 1, faddr: full(0x202) };
    assert_eq!(text(&[jump(3, 1, 0x300), inside, stop(3, 1)]), "100..106T 200..208T");
    // It must be where execution is.
    let elsewhere = Packet::IndirectBranchSync { sync: 2, btype: 0, icnt: 1, faddr: full(0x204) };
    assert!(
        text(&[jump(3, 1, 0x300), elsewhere]).contains("200..202| Mismatch(Missed { from: 202, to: 204 })")
    );
    // But tracing may begin anew.
    assert_eq!(text(&[sync(9, 0x300), stop(1, 1)]), "on 300..302|");
    // A full buffer.
    let error = Packet::Error { etype: 0, ecode: 4 };
    let lost = "Lost(Overflow) Gap { reason: Overflow, from: 4, to: 7 } on(Overflow) 200..202|";
    assert_eq!(text(&[error, sync(7, 0x200), stop(1, 1)]), lost);
    // What was counted before the loss did run.
    let counted = Packet::ResourceFull { rcode: 0, rdata: 1, hrepeat: None };
    assert!(text(&[counted, error]).starts_with("100..102| Lost(Overflow)"));
    // Causes that are not told apart.
    let plain = Packet::IndirectBranch { btype: 1, icnt: 0, uaddr: full(0x300) };
    assert_eq!(text(&[plain, stop(1, 1)]), "exception@100 200..202|");
}

/// Messages before the first synchronisation are a gap.
#[test]
fn a_stream_may_begin_anywhere() {
    let sync = Packet::ProgTraceSync { sync: 2, icnt: 7, faddr: full(0x200) };
    let params = branches();
    let bytes = packets(&[Packet::DirectBranch { icnt: 3 }, sync], &params);
    let text = told(&code_a(), &params, &bytes);
    assert_eq!(text, "Lost(Start) Gap { reason: Start, from: 0, to: 2 } on");
    // An end alone is none.
    assert_eq!(told(&code_a(), &params, &packets(&[stop(0, 1), sync], &params)), "on");
}

/// A program with a call at 0x100 to 0x200, which returns, and another jump back.
fn calls() -> Image {
    let main = [Long(asm::j(1, 0x100)), plain(), Long(asm::j(1, 0xfa)), plain()];
    program(&[(0x100, &main), (0x200, &[plain(), RETURN]), (0x300, &[plain()])])
}

#[test]
fn returns_are_implicit() {
    let params = Params { implicit_return: ImplicitReturn::Stack, ..Params::default() };
    let text = |all: &[Packet]| after_start(&calls(), &params, all);
    let both = "100..104T 200..204T 104..10aT 200..204T 10a..10c|";
    assert_eq!(text(&[stop(2 + 2 + 3 + 2 + 1, 1)]), both);
    // Execution may also have ended right after the return, or a trap came there.
    assert_eq!(text(&[stop(4, 1)]), "100..104T 200..204T");
    assert_eq!(text(&[trap(2, 4, 1, 0x200)]), "100..104T 200..204T exception@104");
    // It went elsewhere.
    assert_eq!(text(&[jump(4, 1, 0x200), stop(1, 1)]), "100..104T 200..204T 300..302|");
    // A synchronisation forgets the call.
    let sync = Packet::IndirectBranchSync { sync: 2, btype: 0, icnt: 2, faddr: full(0x200) };
    let lost = text(&[sync, stop(3, 1)]);
    assert!(lost.starts_with("100..104T 200..204T Lost(Contradiction(ReturnStackEmpty))"), "{lost}");
    assert_eq!(text(&[sync, jump(2, 1, 0x304), stop(1, 1)]), "100..104T 200..204T 104..106|");
    // Without the option, the target must be there.
    let none = after_start(&calls(), &Params::default(), &[stop(5, 1)]);
    assert!(none.starts_with("100..104T 200..204T Mismatch(NoTarget(202))"), "{none}");
}

#[test]
fn jumps_whose_address_is_known() {
    // auipc x6, 0; jalr 0x100(x6).
    let pair = [Long(asm::u(0x17, 6, 0)), Long(asm::i(0x67, 0, 0, 6, 0x100))];
    let image = program(&[(0x100, &pair), (0x200, &[plain(), plain()])]);
    let params = Params { sequential_jump: true, ..Params::default() };
    assert_eq!(after_start(&image, &params, &[stop(5, 1)]), "100..108T 200..202|");
    // A message that parts the two makes the target explicit.
    let sync = Packet::IndirectBranchSync { sync: 2, btype: 0, icnt: 2, faddr: full(0x104) };
    assert_eq!(after_start(&image, &params, &[sync, jump(2, 1, 0x304), stop(1, 1)]), "100..108T 200..202|");
    assert_eq!(
        after_start(&image, &Params::default(), &[jump(4, 1, 0x300), stop(1, 1)]),
        "100..108T 200..202|"
    );
    // Direct jumps may have a bit, or a message.
    let image = program(&[(0x100, &[plain(), Long(asm::j(0, 0xfe))]), (0x200, &[plain()])]);
    let params = Params { all_jumps: true, ..Params::default() };
    assert_eq!(after_start(&image, &params, &[stop(4, 0b11)]), "100..106T 200..202|");
    assert!(after_start(&image, &params, &[stop(4, 0b10)]).contains("Mismatch(NotTaken(102))"));
    let params = Params { mode: Mode::Branch, ..params };
    let end = Packet::ProgTraceCorrelation { evcode: 4, cdf: 0, icnt: 1, hist: None };
    assert_eq!(after_start(&image, &params, &[Packet::DirectBranch { icnt: 3 }, end]), "100..106T 200..202|");
}

#[test]
fn contexts() {
    let image = code_a();
    let owner = |format, privilege, is_virtual, context| Packet::Ownership {
        process: Process { format, privilege, is_virtual, context }.field(),
    };
    let all = [
        owner(3, 1, true, 7),
        owner(2, 1, true, 0x1d),
        owner(2, 1, true, 0x1d),
        owner(0, 3, false, 0),
        stop(1, 1),
    ];
    assert_eq!(
        after_start(&image, &Params::default(), &all),
        "level 6 None Some(7) level 6 Some(1d) Some(7) level 3 Some(1d) Some(7) 100..102|"
    );
}

#[test]
fn times() {
    let image = code_a();
    let at = |dialect, ts_width, sent: [u64; 3]| {
        let params = Params { dialect, ts_width, ..Params::default() };
        let sync = Packet::ProgTraceSync { sync: 5, icnt: 0, faddr: full(0x100) };
        let counted = Packet::ResourceFull { rcode: 0, rdata: 1, hrepeat: None };
        let all = [counted, sync, counted, stop(0, 1)];
        let times = [Some(9), Some(sent[0]), Some(sent[1]), Some(sent[2])];
        let bytes: Vec<u8> = all
            .iter()
            .zip(times)
            .flat_map(|(packet, time)| emitted(packet, 0, time, &params).to_vec())
            .collect();
        told(&image, &params, &bytes)
    };
    let lost = "Lost(Start) Gap { reason: Start, from: 0, to: 3 } on";
    // The first message has a time that is relative to none.
    assert_eq!(at(Dialect::Standard, 64, [0x10, 6, 3]), format!("{lost} time 10 time 16 100..102| time 19"));
    assert_eq!(at(Dialect::Standard, 8, [0xf0, 6, 0x13]), format!("{lost} time f0 time f6 100..102| time 9"));
    assert_eq!(at(Dialect::Sifive, 40, [0x10, 0x1f, 3]), format!("{lost} time 10 time f 100..102| time c"));
}

/// Where code is missing, the next address resumes.
#[test]
fn missing_code() {
    let image = program(&[(0x100, &[plain(), Short(asm::cr(8, 10, 0))]), (0x200, &[plain()])]);
    let params = Params::default();
    let away = [jump(2, 1, 0x100 ^ 0x1000), jump(5, 1, 0x1000 ^ 0x200), stop(1, 1)];
    let text = after_start(&image, &params, &away);
    let gone = "100..104T NoCode { address: 1000, space: MemorySpace(any) } UnknownPath { start: None, next: 200, isa: Rv64, count: None }";
    assert_eq!(text, format!("{gone} 200..202|"));
    // Also in the middle of a block, and if messages without an address come first.
    let text = after_start(&image, &params, &[jump(2, 1, 0x300), stop(5, 1)]);
    assert!(text.starts_with("100..104T 200..202| NoCode { address: 202"), "{text}");
    let counted = Packet::ResourceFull { rcode: 1, rdata: 2, hrepeat: None };
    let text = after_start(&image, &params, &[away[0], counted, jump(5, 1, 0x1000 ^ 0x200), stop(1, 1)]);
    assert_eq!(text, format!("{gone} 200..202|"));
}

#[test]
fn older_messages() {
    let params = Params { dialect: Dialect::Sifive, ..Params::default() };
    let image = program(&[(0x100, &[plain(), Short(asm::cr(8, 10, 0))]), (0x200, &[plain()])]);
    let values = |all: &[u64]| {
        let mut values = Values::default();
        all.iter().for_each(|&value| values.push(value));
        values
    };
    // An event at 0x102 moves the address to which the next one is relative. Counters do not.
    let event = Packet::InCircuitTrace { cksrc: 8, ckdf: 0, ckdata: values(&[1]) };
    let counters = Packet::InCircuitTrace { cksrc: 12, ckdf: 0, ckdata: values(&[0x77]) };
    let text = after_start(&image, &params, &[event, counters, jump(2, 1, 0x102 ^ 0x200), stop(1, 1)]);
    assert_eq!(text, "100..104T 200..202|");
    let whole = Packet::InCircuitTraceSync { cksrc: 8, ckdf: 0, ckdata: values(&[0x300]) };
    let text = after_start(&image, &params, &[whole, jump(2, 1, 0x600 ^ 0x200), stop(1, 1)]);
    assert_eq!(text, "100..104T 200..202|");
    let written = Packet::DataAcquisition { idtag: 4 * 5 + 2, data: 9 };
    let text = after_start(&image, &params, &[written]);
    let write = Write { channel: 5, bits: 16, value: 9, ..Write::default() };
    assert_eq!(text, format!("{:x?}", Element::Message(Message::Write(write))));
}

/// Reserved messages may have counted what ran, so nothing after them is certain. Those of vendors do not.
#[test]
fn unknown_messages() {
    let image = code_a();
    let start =
        emitted(&Packet::ProgTraceSync { sync: 5, icnt: 0, faddr: full(0x100) }, 0, None, &Params::default());
    let text = |tcode: u8| {
        let end = emitted(&stop(1, 1), 0, None, &Params::default());
        told(&image, &Params::default(), &[&start[..], &[tcode << 2, 7], &end].concat())
    };
    assert_eq!(text(57), "on 100..102|");
    assert!(text(40).starts_with("on Lost(Contradiction(UnexpectedPacket)) Gap"), "{}", text(40));
}

/// A message may stand for more than anybody wants to follow.
#[test]
fn messages_have_a_limit() {
    let image = program(&[(0x100, &[Short(asm::cj(0))])]);
    let params = Params::default();
    let start = Packet::ProgTraceSync { sync: 5, icnt: 0, faddr: full(0x100) };
    for more in [stop(1 << 31, 1), Packet::ResourceFull { rcode: 2, rdata: 2, hrepeat: Some(1 << 20) }] {
        let options = Options { most_blocks: Some(1000), ..Options::default() };
        let mut decoder = Decoder::new(&params, options, &image, Isa::Rv64);
        let mut blocks = 0;
        let mut sink = |_: u64, element: &Element| blocks += u32::from(matches!(element, Element::Block(_)));
        feed(&mut decoder, [&packets(&[start, more], &params)[..]], &mut sink);
        assert_eq!(blocks, 1000);
    }
    // A history that no branch uses up.
    let text = after_start(&image, &params, &[Packet::ResourceFull { rcode: 1, rdata: 2, hrepeat: None }]);
    assert!(text.contains("Mismatch(Missed"), "{text}");
    assert!(text.matches("100..102T").count() < 40);
}

/// One of several sources is decoded. Damage may have been of any.
#[test]
fn sources() {
    let params = Params { src_bits: 4, ..Params::default() };
    let mut bytes = Vec::new();
    for (source, at) in [(3, 0x100), (9, 0x200)] {
        let start = Packet::ProgTraceSync { sync: 5, icnt: 0, faddr: full(at) };
        bytes.extend(&emitted(&start, source, None, &params)[..]);
    }
    bytes.extend(&emitted(&stop(1, 1), 9, None, &params)[..]);
    bytes.push(0x07);
    let mut words = Vec::new();
    let options = Options { source: Some(3), ..Options::default() };
    let image = code_a();
    let mut decoder = Decoder::new(&params, options, &image, Isa::Rv64);
    let mut parser = Parser::new(params.clone());
    parser.feed(&bytes, &mut |offset: u64, _: &[u8], message: &stream::Message| {
        decoder.message(offset, message, &mut |_: u64, element: &Element| words.push(*element));
        assert_ne!(message.content, Content::Incomplete);
    });
    assert_eq!(words, [Element::TraceOn(TraceOn::Normal), Element::Lost(GapReason::BadPacket)]);
}
