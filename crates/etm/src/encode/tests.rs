//! The rules of the encoder, each on a stream worked out by hand.

use core::num::NonZero;
use std::vec::Vec;

use tracewright_core::{
    Block, Class, Context, Element, Ended, Exception, Flow, GapReason, Isa, Role, Security, TraceOn,
    Transaction,
};

use super::random::Random;
use super::{Commits, Encoder, Options};
use crate::packet::{ASYNC, EmitError};
use crate::{CoreProfile, Protocol, Registers};

const BB: u32 = 1 << 3;
const CCI: u32 = 1 << 4;
const CID: u32 = 1 << 6;
const VMID: u32 = 1 << 7;
const TS: u32 = 1 << 11;
const RS: u32 = 1 << 12;

/// Returns ETMv4.0 registers with branch broadcast, cycle counts, a return stack and COMMOPT = 1. `on` is TRCCONFIGR.
fn etm(on: u32) -> Registers {
    Registers { trcconfigr: 1 | on, trcidr0: 0x2800_0ea1, trcidr2: 0x1000_0488, ..Registers::default() }
}

fn ete(on: u32) -> Registers {
    Registers { protocol: Protocol::Ete, trcdevarch: 0x4773_5a13, ..etm(on) }
}

fn encode(registers: &Registers, options: &Options, elements: &[Element]) -> Result<Vec<u8>, EmitError> {
    let mut encoder = Encoder::new(registers, options.clone()).unwrap();
    let mut out = Vec::new();
    elements.iter().try_for_each(|element| encoder.element(element, &mut out))?;
    encoder.element(&Element::End, &mut out)?;
    Ok(out)
}

/// Returns the bytes of elements that come after Trace On and a branch at 0x1000 to itself, EL0.
fn bytes(registers: &Registers, options: &Options, elements: &[Element]) -> Vec<u8> {
    // The event separates the atom from those that follow.
    let start = [Element::TraceOn(TraceOn::Normal), context(0), cond(0x1000, 1, true), Element::Event(1)];
    let before = encode(registers, &Options { commits: Commits::Implicit, ..options.clone() }, &start);
    let before = before.unwrap().len() - if registers.trcidr8 > 0 { 2 } else { 0 };
    encode(registers, options, &[&start, elements].concat()).unwrap().split_off(before)
}

fn trace(on: u32, elements: &[Element]) -> Vec<u8> {
    bytes(&etm(on), &Options::default(), elements)
}

fn context(level: u8) -> Element {
    ids(level, None, None)
}

fn ids(level: u8, vmid: Option<u32>, context_id: Option<u32>) -> Element {
    let security = Security::NonSecure;
    Element::Context(Context { level, security, is_64bit: true, vmid, context_id }, Isa::A64)
}

fn block(start: u64, count: u32, flow: Flow, role: Role, ended: Ended) -> Element {
    let end = start + 4 * u64::from(count);
    let class = Class { flow, role, conditional: ended == Ended::NotTaken };
    Element::Block(Block { start, end, count, isa: Isa::A64, last_len: 4, class, ended })
}

fn cond(start: u64, count: u32, taken: bool) -> Element {
    let ended = if taken { Ended::Taken } else { Ended::NotTaken };
    block(start, count, Flow::Direct, Role::Jump, ended)
}

fn call(start: u64) -> Element {
    block(start, 1, Flow::Direct, Role::Call, Ended::Taken)
}

fn indirect(start: u64, role: Role) -> Element {
    block(start, 1, Flow::Indirect, role, Ended::Taken)
}

fn cut(start: u64, count: u32) -> Element {
    block(start, count, Flow::Next, Role::Jump, Ended::Cut)
}

fn exception(number: u16, address: impl Into<Option<u64>>, at_target: bool) -> Element {
    let return_address = address.into();
    Element::Exception(Exception { number, interrupt: false, value: None, return_address, at_target })
}

#[test]
fn the_start() {
    let elements = [Element::TraceOn(TraceOn::Normal), context(1), cond(0xffff_8000_1008_0000, 3, true)];
    let start = [
        &ASYNC[..],
        &[0x01, 0x00],                                                 // Trace Info
        &[0x04],                                                       // Trace On
        &[0x85, 0x00, 0x00, 0x08, 0x10, 0x00, 0x80, 0xff, 0xff, 0x31], // Address with Context, EL1
        &[0xf7],                                                       // E
    ];
    assert_eq!(encode(&etm(0), &Options::default(), &elements), Ok(start.concat()));
}

#[test]
fn trace_info_says_the_threshold() {
    let out =
        encode(&etm(CCI), &Options { cycle_threshold: 200, ..Options::default() }, &[Element::Event(2)]);
    assert_eq!(out.unwrap()[12..], [0x01, 0b1001, 0x01, 0xc8, 0x01, 0x72]);
}

#[test]
fn atoms() {
    let elements = [
        cond(0x1000, 2, false),
        cond(0x1008, 2, true),
        block(0x1010, 1, Flow::Isb, Role::Jump, Ended::Through),
        call(0x1014),
        // N E E E is one packet, and the last two atoms are another.
        cond(0x2000, 1, false),
        cond(0x2004, 1, true),
    ];
    assert_eq!(trace(0, &elements), [0xdc, 0xda]);
}

#[test]
fn waits_are_atoms_only_in_wfx_mode() {
    let elements = [block(0x1000, 2, Flow::Wait, Role::Jump, Ended::Through), cond(0x1008, 1, false)];
    assert_eq!(trace(0, &elements), [0xf6]);
    let wfx = Registers { trcidr1: 0x4100_f433, trcidr2: 0x9000_0488, ..etm(0) };
    assert_eq!(bytes(&wfx, &Options::default(), &elements), [0xd9]);
    // Version 4.2 has no such mode.
    let older = Registers { trcidr1: 0x4100_f423, ..wfx };
    assert_eq!(bytes(&older, &Options::default(), &elements), [0xf6]);
}

#[test]
fn indirect_branches_need_addresses() {
    let elements = [
        indirect(0x1000, Role::Jump),
        indirect(0x1040, Role::Call), // 0x10: A[8:2]
        indirect(0x2040, Role::Jump), // A[16:9] too
        indirect(0x1040, Role::Jump), // entry 1
        indirect(0x1040, Role::Jump), // entry 0
        indirect(0x2040, Role::Jump), // entry 2
        cond(0x5_2040, 1, true),      // 32 bits
        cond(0x5_2080, 1, true),
    ];
    let expected = [
        &[0xf7, 0x95, 0x10][..],
        &[0xf7, 0x95, 0x90, 0x10],
        &[0xf7, 0x91],
        &[0xf7, 0x90],
        &[0xf7, 0x92],
        &[0xf7, 0x9a, 0x10, 0x10, 0x05, 0x00],
        &[0xdb],
    ];
    assert_eq!(trace(0, &elements), expected.concat());
}

#[test]
fn t32_addresses_are_in_halfwords() {
    let t32 = |start: u64| {
        let class = Class { flow: Flow::Indirect, role: Role::Jump, conditional: false };
        let ended = Ended::Taken;
        Element::Block(Block { start, end: start + 2, count: 1, isa: Isa::T32, last_len: 2, class, ended })
    };
    let security = Security::Secure;
    let context = Context { level: 3, security, is_64bit: false, vmid: None, context_id: None };
    let elements = [Element::Context(context, Isa::T32), t32(0x1_0002), t32(0x1_0006), t32(0x1_0106)];
    let out = encode(&etm(0), &Options::default(), &elements).unwrap();
    let expected = [
        &[0x83, 0x01, 0x00, 0x01, 0x00, 0x03][..], // Address with Context, 32 bit, IS1
        &[0xf7, 0x96, 0x03],
        &[0xf7, 0x96, 0x83, 0x01],
        &[0xf7],
    ];
    assert_eq!(out[14..], expected.concat());
}

#[test]
fn the_return_stack_saves_addresses() {
    let elements = [
        call(0x1000),
        call(0x1040),
        indirect(0x1080, Role::Return),
        indirect(0x1044, Role::Return),
        // Back at 0x1004, the stack is empty.
        indirect(0x1004, Role::Return),
        cond(0x1004, 1, true),
    ];
    assert_eq!(trace(RS, &elements), [0xc1, 0x95, 0x01, 0xf7]);
    assert_eq!(trace(0, &elements), [0xff, 0x95, 0x11, 0xf7, 0x95, 0x01, 0xf7, 0x90, 0xf7]);
}

#[test]
fn an_indirect_jump_matches_too_but_calls_and_exception_returns_do_not() {
    let jump = [call(0x1000), indirect(0x1040, Role::Jump), cond(0x1004, 1, false)];
    assert_eq!(trace(RS, &jump), [0xfb]);
    // A call pushes 0x1044.
    let call_back = [call(0x1000), indirect(0x1040, Role::Call), cond(0x1044, 1, false)];
    assert_eq!(trace(RS, &call_back), [0xdb, 0x95, 0x11, 0xf6]);
    let eret = [
        call(0x1000),
        indirect(0x1040, Role::ExceptionReturn),
        Element::ExceptionReturn,
        cond(0x1004, 1, false),
    ];
    assert_eq!(trace(RS, &eret), [0xdb, 0x07, 0x95, 0x01, 0xf6]);
}

#[test]
fn a_return_elsewhere_leaves_the_return_stack_alone() {
    let elements = [
        call(0x1000),
        indirect(0x1040, Role::Return),
        indirect(0x1080, Role::Return), // not where the call was
        cond(0x1004, 1, false),         // but this is
    ];
    assert_eq!(trace(RS, &elements), [0xdb, 0x95, 0x20, 0xd9]);
}

#[test]
fn branch_broadcast_tells_taken_branches() {
    let elements = [
        cond(0x1000, 1, false),
        call(0x1004),
        block(0x1040, 1, Flow::Isb, Role::Jump, Ended::Through),
        indirect(0x1044, Role::Return),
        cond(0x1008, 1, false),
    ];
    assert_eq!(trace(BB | RS, &elements), [0x90, 0xda, 0x95, 0x10, 0xdb, 0x95, 0x02, 0xf6]);
}

#[test]
fn an_interrupt_in_the_middle_of_a_block() {
    let elements = [
        cut(0x1000, 3),
        exception(0xe, 0x100c, false),
        context(1),
        cond(0xffff_8000_1008_0480, 2, true),
        indirect(0xffff_8000_1008_1000, Role::ExceptionReturn),
        Element::ExceptionReturn,
        context(0),
        cond(0x100c, 1, true),
    ];
    let expected = [
        &[0x06, 0x1d, 0x95, 0x03][..], // IRQ, return address 0x100c
        &[0x85, 0x20, 0x02, 0x08, 0x10, 0x00, 0x80, 0xff, 0xff, 0x31], // vector, EL1
        &[0xdb, 0x07],                 // E E, Exception Return
        &[0x81, 0x30, 0x91, 0xf7],     // EL0, 0x100c is history entry 1
    ];
    assert_eq!(trace(0, &elements), expected.concat());
    // In ETE, the instruction shows that it is an exception return.
    let ete = bytes(&ete(0), &Options::default(), &elements);
    assert_eq!(ete, expected.concat().into_iter().filter(|&byte| byte != 0x07).collect::<Vec<_>>());
}

#[test]
fn an_interrupt_at_a_branch_target() {
    let at = |branch, address| [branch, exception(0xe, address, true), context(1), cond(0x1100, 1, false)];
    // EE = 10: the address is target and return address.
    assert_eq!(trace(0, &at(cond(0x1000, 1, true), 0x1040))[..5], [0xf7, 0x06, 0x5c, 0x95, 0x10]);
    assert_eq!(trace(0, &at(indirect(0x1000, Role::Jump), 0x1040))[..5], [0xf7, 0x06, 0x5c, 0x95, 0x10]);
    // With a return stack, the target comes first. Otherwise a decoder would pop it.
    let jump = at(indirect(0x1000, Role::Jump), 0x1040);
    assert_eq!(trace(RS, &jump)[..6], [0xf7, 0x95, 0x10, 0x06, 0x5c, 0x90]);
    // After a branch that was not taken, nothing is special.
    let through = [cond(0x1000, 1, false), exception(0xe, 0x1004, false)];
    assert_eq!(trace(0, &through), [0xf6, 0x06, 0x1d, 0x95, 0x01]);
}

#[test]
fn a_call_exception_after_a_wait_that_is_no_atom() {
    let elements = [
        block(0x1000, 2, Flow::Wait, Role::Jump, Ended::Through),
        cut(0x1008, 1),
        exception(2, 0x100c, false),
    ];
    assert_eq!(trace(0, &elements), [0x06, 0x05, 0x95, 0x03]);
}

#[test]
fn ids_are_told_when_they_change() {
    let elements = [
        ids(0, Some(3), Some(0x1234_5678)),
        cond(0x1000, 1, false),
        ids(1, Some(3), Some(0x1234_5678)),
        cond(0x1004, 1, false),
        ids(1, Some(4), Some(0x1234_5678)),
        cond(0x1008, 1, false),
        ids(1, Some(4), Some(0x42)),
        cond(0x100c, 1, false),
    ];
    let expected = [
        &[0x81, 0xf0, 0x03, 0x78, 0x56, 0x34, 0x12, 0xf6][..],
        &[0x81, 0x31, 0xf6],
        &[0x81, 0x71, 0x04, 0xf6],
        &[0x81, 0xb1, 0x42, 0x00, 0x00, 0x00, 0xf6],
    ];
    assert_eq!(trace(CID | VMID, &elements), expected.concat());
    // If IDs are not traced, only the level changes.
    assert_eq!(trace(0, &elements), [0xf6, 0x81, 0x31, 0xf8]);
}

#[test]
fn cycle_counts_without_commits() {
    let cycles = |cycles| [cond(0x1000, 1, false), Element::Cycles(cycles)];
    assert_eq!(trace(CCI, &cycles(Some(7))), [0xf6, 0x13]);
    assert_eq!(trace(CCI, &cycles(Some(8))), [0xf6, 0x0d, 0xf4]);
    assert_eq!(trace(CCI, &cycles(Some(20))), [0xf6, 0x0e, 0x10]);
    assert_eq!(trace(CCI, &cycles(Some(1004))), [0xf6, 0x0e, 0xe8, 0x07]);
    assert_eq!(trace(CCI, &cycles(None)), [0xf6, 0x0f]);
    assert_eq!(trace(0, &cycles(Some(7))), [0xf6]);
    let too_few = encode(&etm(CCI), &Options::default(), &[Element::Cycles(Some(3))]);
    assert_eq!(too_few, Err(EmitError::Value), "below the threshold");
}

#[test]
fn timestamps_are_told_in_as_few_bytes_as_can_be() {
    let time = |value, cycles| Element::Timestamp { value, cycles };
    let elements = [time(0x1_2345, None), time(0x1_23ff, Some(5)), time(0x1_2380, None)];
    assert_eq!(trace(TS, &elements), [0x02, 0xc5, 0xc6, 0x04, 0x02, 0xff, 0x47, 0x02, 0x00]);
    assert_eq!(trace(TS | CCI, &elements[..2]), [0x02, 0xc5, 0xc6, 0x04, 0x03, 0xff, 0x47, 0x05]);
    assert_eq!(trace(0, &elements), []);
}

#[test]
fn synchronisation_starts_everything_anew() {
    let options = Options { sync_every: NonZero::new(20), ..Options::default() };
    let start = [Element::TraceOn(TraceOn::Normal), ids(0, None, Some(7)), call(0x1000)];
    // The return stack is empty then.
    let end = [indirect(0x1040, Role::Return), cond(0x1004, 1, false)];
    // From Trace On to here there are 20 bytes.
    let elements = [&start[..], &[Element::Event(1); 9], &end].concat();
    let out = encode(&etm(CID | RS), &options, &elements).unwrap();
    let context = [0x81, 0xb0, 0x07, 0x00, 0x00, 0x00];
    let expected = [
        &ASYNC[..],
        &[0x01, 0x00, 0x04],
        &context,
        &[0x95, 0x80, 0x08, 0xf7],
        &[0x71; 9],
        &ASYNC,
        &[0x01, 0x00],
        &context,
        &[0x95, 0x90, 0x08, 0xf7, 0x95, 0x01, 0xf6],
    ];
    assert_eq!(out, expected.concat());
}

#[test]
fn no_synchronisation_after_instructions_that_no_atom_tells() {
    let options = Options { sync_every: NonZero::new(1), ..Options::default() };
    let elements = [
        block(0x1000, 2, Flow::Wait, Role::Jump, Ended::Through),
        cond(0x1008, 1, false),
        cond(0x100c, 1, false),
    ];
    let out = bytes(&etm(0), &options, &elements);
    let sync = |low| [&ASYNC[..], &[0x01, 0x00, 0x81, 0x30, 0x95, low, 0x08, 0xf6]].concat();
    assert_eq!(out, [sync(0x80), sync(0x83)].concat());
}

#[test]
fn commits() {
    let deep = Registers { trcidr8: 3, ..etm(0) };
    let four =
        [cond(0x1000, 1, false), cond(0x1004, 1, false), cond(0x1008, 1, false), cond(0x100c, 1, false)];
    // With the one before, three fit.
    assert_eq!(bytes(&deep, &Options::default(), &four), [0xd8, 0x2d, 0x03, 0xd8, 0x2d, 0x02]);
    let implicit = Options { commits: Commits::Implicit, ..Options::default() };
    assert_eq!(bytes(&deep, &implicit, &four), [0xdd, 0x2d, 0x03]);
    // An exception is an element like an atom.
    let elements = [cond(0x1000, 1, false), exception(0xe, 0x1004, false)];
    let expected = [0xf6, 0x06, 0x1d, 0x95, 0x01, 0x2d, 0x03];
    assert_eq!(bytes(&deep, &Options::default(), &elements), expected);
}

#[test]
fn cycle_counts_commit() {
    let registers = |max| Registers { trcidr8: max, trcidr0: 0x0800_0ea1, ..etm(CCI) };
    let atoms = |count: u32, cycles| {
        let atoms = (1..count).map(|i| cond(0x0ffc + 4 * u64::from(i), 1, false));
        atoms.chain([Element::Cycles(cycles)]).collect::<Vec<_>>()
    };
    let last = |max, count, cycles, len| {
        let mut out = bytes(&registers(max), &Options::default(), &atoms(count, cycles));
        out.split_off(out.len() - len)
    };
    assert_eq!(last(100, 2, Some(4), 1), [0x14]);
    assert_eq!(last(100, 5, Some(4), 2), [0x0c, 0x40]);
    assert_eq!(last(100, 2, Some(9), 2), [0x0c, 0x15]);
    assert_eq!(last(100, 90, Some(4), 2), [0x0d, 0x50]); // 90 = 100 - 15 + 5
    assert_eq!(last(100, 30, Some(4), 3), [0x0e, 30, 0x00]);
    assert_eq!(last(100, 2, None, 2), [0x0f, 2]);
    assert_eq!(last(0, 2, Some(4), 2), [0x0d, 0xf0]); // 0 = 0 - 15 + 15
    assert_eq!(last(0, 2, Some(20), 3), [0x0e, 0x00, 0x10]);
}

#[test]
fn trace_info_says_what_is_not_committed() {
    let deep = Registers { trcidr8: 3, ..etm(0) };
    let options = Options { sync_every: NonZero::new(1), ..Options::default() };
    let elements = [cond(0x1000, 1, true)];
    let sync = [0x81, 0x30, 0x95, 0x80, 0x08, 0xf7, 0x2d];
    let out = bytes(&deep, &options, &elements);
    assert_eq!(out, [&ASYNC[..], &[0x01, 0x04, 0x01], &sync, &[0x02]].concat());
    let out = bytes(&deep, &Options { commit_before_sync: true, ..options }, &elements);
    assert_eq!(out, [&[0x2d, 0x01], &ASYNC[..], &[0x01, 0x00], &sync, &[0x01]].concat());
}

#[test]
fn overflow() {
    let elements =
        [Element::Lost(GapReason::Overflow), Element::TraceOn(TraceOn::Overflow), cond(0x1000, 1, false)];
    let expected =
        [&[0x00, 0x05][..], &ASYNC, &[0x01, 0x00, 0x04, 0x81, 0x30, 0x95, 0x80, 0x08, 0xf6]].concat();
    assert_eq!(trace(0, &elements), expected);
    assert_eq!(trace(0, &elements[1..]), expected, "Trace On alone says it too");
    let discard = [Element::Lost(GapReason::Discard), Element::TraceOn(TraceOn::Normal), elements[2]];
    assert_eq!(trace(0, &discard)[..2], [0x00, 0x03]);
}

#[test]
fn unknown_paths() {
    let with_q = Registers { trcidr0: 0x2801_8ea1, trcconfigr: 1 | 3 << 13, ..etm(0) };
    let path = |next, count| {
        let path = Element::UnknownPath { start: Some(0x1000), next, count, isa: Isa::A64 };
        bytes(&with_q, &Options::default(), &[path, cond(next, 1, false)])
    };
    assert_eq!(path(0x1040, Some(9)), [0xa5, 0x10, 0x09, 0xf6]);
    assert_eq!(path(0x1040, None), [0xaf, 0x95, 0x10, 0xf6]);
    let far = [0xac, 0x09, 0x9d, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0xf6];
    assert_eq!(path(1 << 32, Some(9)), far);
}

#[test]
fn ete_only() {
    let transaction = [
        Element::Transaction(Transaction::Start),
        cond(0x1000, 1, false),
        Element::Transaction(Transaction::Commit),
        Element::Instrumentation { level: 1, value: 0x0102 },
        Element::TimestampMarker,
    ];
    let expected = [0x0a, 0xf6, 0x0b, 0x09, 0x01, 0x02, 0x01, 0, 0, 0, 0, 0, 0, 0x88];
    let marked = Registers { trcidr0: 0x2880_0ea1, ..ete(TS) };
    assert_eq!(bytes(&marked, &Options::default(), &transaction), expected);
    let reset = [exception(0, None, false), cond(0x1000, 1, false)];
    let out = bytes(&ete(0), &Options::default(), &reset);
    // The history then has an address of 0 before 0x1000.
    assert_eq!(out, [0x06, 0x01, 0x70, 0x91, 0xf6]);
    assert_eq!(encode(&etm(0), &Options::default(), &transaction), Err(EmitError::NotInConfiguration));
}

#[test]
fn source_addresses() {
    let options = |seed| Options { source_addresses: Some(seed), ..Options::default() };
    // A seed that selects the branch of each trace below.
    let seed = (0..).find(|&seed| Random::new(seed).below(4) == 0).unwrap();
    let registers = ete(RS);
    let after = |elements: &[Element]| {
        let start =
            [Element::TraceOn(TraceOn::Normal), context(0), cond(0x1000, 1, false), Element::Event(1)];
        let before = encode(&registers, &options(seed), &start).unwrap().len();
        encode(&registers, &options(seed), &[&start, elements].concat()).unwrap().split_off(before)
    };
    // The branches before it that were not taken need no atoms.
    let elements = [cond(0x1004, 1, false), cond(0x1008, 2, false), cond(0x1010, 2, true)];
    assert_eq!(after(&elements), [0xb4, 0x05]);
    // An ISB needs its atom.
    let elements = [block(0x1004, 1, Flow::Isb, Role::Jump, Ended::Through), call(0x1008)];
    assert_eq!(after(&elements), [0xf7, 0xb4, 0x02]);
    // An indirect branch still needs its address.
    let elements = [indirect(0x1000, Role::Jump), cond(0x1040, 1, false)];
    assert_eq!(after(&elements), [0xb0, 0x95, 0x10, 0xf6]);
    let eret = [indirect(0x1004, Role::ExceptionReturn), cond(0x1040, 1, false)];
    assert_eq!(after(&eret), [0xf7, 0x95, 0x10, 0xf6]);
}

#[test]
fn m_profile_exceptions_may_have_no_return_address() {
    let registers = Registers { profile: CoreProfile::M, ..etm(0) };
    let out = bytes(&registers, &Options::default(), &[exception(0xf, None, false)]);
    assert_eq!(out[..3], [0x06, 0x1f, 0x9b]);
}

#[test]
fn what_is_told_wrong_is_taken_back() {
    let deep = Registers { trcidr8: 20, ..etm(0) };
    let options = |seed| Options { mispredict: Some(seed), sync_every: None, ..Options::default() };
    let block = |i: u64| cond(0x1000 + 4 * i, 1, i.is_multiple_of(3));
    let elements: Vec<_> = (0..12).map(block).collect();
    let plain = bytes(&deep, &Options::default(), &elements);
    let wrong: Vec<_> = (0..20).map(|seed| bytes(&deep, &options(seed), &elements)).collect();
    let has = |range: core::ops::RangeInclusive<u8>| wrong.iter().flatten().any(|byte| range.contains(byte));
    assert!(wrong.iter().any(|bytes| *bytes != plain));
    assert!(has(0x2e..=0x2e) && has(0x2f..=0x2f) && has(0x30..=0x33) && has(0x34..=0x37) && has(0x38..=0x3f));
}
