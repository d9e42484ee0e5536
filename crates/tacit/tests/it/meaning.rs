//! What streams mean for programs, written by hand.

use tracewright_core::{Element, Ended, Exception, GapReason, Isa, Mismatch, TraceOn};
use tracewright_tacit::packet::{Packet, SyncKind, TrapKind};
use tracewright_tacit::{Mode, Params};
use tracewright_testkit::tacit::emitted;

use crate::support::{decode, image};

const ISA: Isa = Isa::Rv64;

/// 0x100 addi; 0x104 beq +8 (to 0x10c); 0x108 j 0x100; 0x10c ret; 0x110 ecall; 0x114 mret; 0x118 j 0x118.
const CODE: [u32; 7] =
    [0x0000_0013, 0x0000_0463, 0xff9f_f06f, 0x0000_8067, 0x0000_0073, 0x3020_0073, 0x0000_006f];

fn sync(kind: SyncKind, target: u64, time: u64) -> Packet {
    let (privilege, asid, configuration) = (Some(0), Some(0), Some(0x80));
    Packet::Sync { kind, privilege, asid, configuration, target, time }
}

fn jump(at: u64, to: u64) -> Packet {
    Packet::UninferableJump { difference: at ^ to, time: 1 }
}

fn trap(kind: TrapKind, from: u64, to: u64) -> Packet {
    let asid = (kind == TrapKind::Return).then_some(0);
    Packet::Trap { kind, privilege: Some([0, 0]), asid, from, difference: from ^ to, time: 2 }
}

/// Returns a line for each element that matters.
fn told(params: &Params, packets: &[Packet]) -> Vec<String> {
    let bytes: Vec<u8> = packets.iter().flat_map(|packet| emitted(packet, params).to_vec()).collect();
    let code = CODE.iter().flat_map(|word| word.to_le_bytes()).collect();
    let line = |(_, element): (u64, Element)| match element {
        Element::Block(block) => {
            let cut = if block.ended == Ended::Cut { " cut" } else { "" };
            Some(format!("{:x}-{:x}{cut}", block.start, block.end))
        }
        Element::Cycles(cycles) => Some(format!("+{}", cycles?)),
        Element::Timestamp { value, .. } => Some(format!("@{value}")),
        Element::TraceOn(TraceOn::Normal) => Some("on".into()),
        Element::Exception(Exception { interrupt, return_address, .. }) => {
            let what = if interrupt { "interrupt" } else { "exception" };
            Some(format!("{what} {return_address:x?}"))
        }
        Element::Context(..) | Element::End => None,
        other => Some(format!("{other:x?}")),
    };
    decode(&bytes, params, &image(0x100, code), ISA).into_iter().filter_map(line).collect()
}

const START: SyncKind = SyncKind::Start;
const END: SyncKind = SyncKind::End;
const NOT: Packet = Packet::NotTakenBranch { time: 3 };
const TAKEN: Packet = Packet::TakenBranch { time: 70 };
const DIRECT: Packet = Packet::InferableJump { time: 0 };

#[test]
fn packets_lead_through_the_program() {
    let lines = told(
        &Params::default(),
        &[sync(START, 0x100, 9), NOT, DIRECT, TAKEN, jump(0x10c, 0x100), sync(END, 0x104, 99)],
    );
    assert_eq!(
        lines,
        [
            "on",
            "@9",
            "100-108",
            "+3",
            "108-10c",
            "+0",
            "100-108",
            "+70",
            "10c-110",
            "+1",
            "100-104 cut",
            "+16",
            "@99"
        ]
    );
}

#[test]
fn traps_come_within_blocks() {
    let lines = told(
        &Params::default(),
        &[
            sync(START, 0x100, 0),
            trap(TrapKind::Interrupt, 0x104, 0x114),
            trap(TrapKind::Return, 0x114, 0x104),
            TAKEN,
            jump(0x10c, 0x110),
            trap(TrapKind::Exception, 0x110, 0x100),
        ],
    );
    assert_eq!(
        lines,
        [
            "on",
            "@0",
            "100-104 cut",
            "interrupt Some(104)",
            "+2",
            "114-118",
            "+2",
            "104-108",
            "+70",
            "10c-110",
            "+1",
            "exception Some(110)",
            "+2"
        ]
    );
}

/// Long waits are several counts, since a count has 32 bits.
#[test]
fn long_waits_are_told() {
    let long = Packet::NotTakenBranch { time: (1 << 33) + 5 };
    let lines = told(&Params::default(), &[sync(START, 0x100, 0), long]);
    assert_eq!(lines, ["on", "@0", "100-108", "+4294967295", "+4294967295", "+7"]);
    // More than anyone waits is not believed.
    let endless = Packet::NotTakenBranch { time: u64::MAX };
    assert_eq!(told(&Params::default(), &[sync(START, 0x100, 0), endless]), ["on", "@0", "100-108"]);
}

/// What contradicts the program is reported. Only packets with a whole address help after that.
#[test]
fn contradictions_are_told() {
    let mismatch = |what| format!("{:x?}", Element::Mismatch(what));
    let lines = |packets: &[Packet]| told(&Params::default(), packets);
    let start = sync(START, 0x100, 0);
    assert_eq!(lines(&[start, DIRECT, NOT])[2..3], [mismatch(Mismatch::NoTarget(0x104))]);
    assert_eq!(
        lines(&[start, NOT, NOT])[4..],
        [mismatch(Mismatch::NotTaken(0x108)), "Gap { reason: Mismatch, from: 8, to: 9 }".into()]
    );
    let again = lines(&[start, DIRECT, NOT, sync(SyncKind::Periodic, 0x100, 50), NOT]);
    assert_eq!(
        again[2..],
        [
            mismatch(Mismatch::NoTarget(0x104)),
            "Gap { reason: Mismatch, from: 7, to: 9 }".into(),
            "on".into(),
            "+50".into(),
            "@50".into(),
            "100-108".into(),
            "+3".into(),
        ]
    );
    let missed = lines(&[start, trap(TrapKind::Exception, 0x110, 0x100), NOT]);
    assert_eq!(
        missed[2..5],
        [mismatch(Mismatch::Missed { from: 0x100, to: 0x110 }), "on".into(), "exception Some(110)".into()]
    );
    let code = lines(&[start, TAKEN, jump(0x10c, 0x200), NOT, trap(TrapKind::Exception, 0x300, 0x100), NOT]);
    assert_eq!(
        code[6..],
        [
            "NoCode { address: 200, space: MemorySpace(any) }",
            "UnknownPath { start: None, next: 100, isa: Rv64, count: None }",
            "exception None",
            "+5",
            "100-108",
            "+3"
        ][..],
        "{code:?}"
    );
}

#[test]
fn the_start_must_be_there() {
    let lost = Element::Lost(GapReason::BadPacket);
    assert_eq!(
        told(&Params::default(), &[NOT, sync(START, 0x100, 0)]),
        [format!("{lost:?}"), "Gap { reason: BadPacket, from: 0, to: 8 }".into()]
    );
    // What comes after the end, too.
    let twice =
        told(&Params::default(), &[sync(START, 0x100, 0), sync(END, 0x100, 4), sync(START, 0x10c, 9)]);
    assert_eq!(twice, ["on", "@0", "+4", "@4", "on", "+5", "@9"]);
}

#[test]
fn predictions_are_followed() {
    let params = Params { mode: Mode::Predict, ..Params::default() };
    // Not taken is predicted at first, and stays so; then a miss, and not taken again.
    let lines = told(
        &params,
        &[
            sync(START, 0x100, 0),
            Packet::Hits { count: 2 },
            Packet::Miss { time: 7 },
            jump(0x10c, 0x100),
            Packet::Hits { count: 1 },
            trap(TrapKind::Interrupt, 0x104, 0x118),
        ],
    );
    assert_eq!(
        lines,
        [
            "on",
            "@0",
            "100-108",
            "108-10c",
            "100-108",
            "108-10c",
            "100-108",
            "+7",
            "10c-110",
            "+1",
            "100-108",
            "108-10c",
            "100-104 cut",
            "interrupt Some(104)",
            "+2"
        ]
    );
    // A jump to itself has no branch.
    let endless = told(&params, &[sync(START, 0x118, 0), Packet::Miss { time: 1 }]);
    assert_eq!(endless[2..3], [format!("{:x?}", Element::Mismatch(Mismatch::NoTarget(0x118)))]);
}
