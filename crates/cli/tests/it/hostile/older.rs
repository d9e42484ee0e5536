//! Inputs of the older CoreSight protocols: a loop that calls a function, and messages.

use tracewright_core::{
    Block, Class, Context, Delay, Element, Ended, Exception, ExceptionChange, Flow, Isa, Message, Role,
    Sample, Security, TraceOn, Watched, Write,
};
use tracewright_coresight::{etm3, itm, ptm, stm};

use super::corpus::{Input, Kind};

/// A32 code at address 0x8000: `add; bl 0x8010; subs; bne 0x8000; bx lr`.
const CODE: [u32; 5] = [0xe280_0001, 0xeb00_0001, 0xe251_1001, 0x1aff_fffb, 0xe12f_ff1e];

/// All inputs.
pub fn make() -> Vec<Input> {
    let registers = ptm::Registers { etmcr: 1 << 12, etmtraceidr: 0x10, ..ptm::Registers::default() };
    let params = ptm::Params::new(&registers).expect("registers of a PTM");
    let mut of_ptm = ptm::encode::Encoder::new(params, ptm::encode::Options::default());
    let registers = etm3::Registers { etmcr: 0, etmtraceidr: 0x10, ..etm3::Registers::default() };
    let mut of_etm3 =
        etm3::encode::Encoder::new(&registers, etm3::encode::Options::default()).expect("an ETMv3");
    let (mut ptm, mut etm3) = (Vec::new(), Vec::new());
    for element in executed() {
        of_ptm.element(&element, &mut ptm).expect("what ran");
        of_etm3.element(&element, &mut etm3).expect("what ran");
    }
    let params = itm::Params::new(&itm::Registers::default());
    let mut of_itm = itm::encode::Encoder::new(&params, itm::encode::Options::default());
    let mut of_stm = stm::encode::Encoder::new(stm::encode::Options::default());
    let (mut itm, mut stm) = (Vec::new(), Vec::new());
    for element in written(None) {
        assert!(of_itm.element(&element, &mut itm), "{element:?}");
    }
    for element in written(Some(0x41)) {
        of_stm.element(&element, &mut stm);
    }
    let etm3_source =
        format!("etm3,id=0x10,ETMCR=0,ETMIDR={:#x},ETMCCER={:#x}", registers.etmidr, registers.etmccer);
    let code: Vec<u8> = CODE.iter().flat_map(|word| word.to_le_bytes()).collect();
    let file = |bytes, source: &str| {
        Input::file(Kind::Raw, "trace.bin", bytes).options(&format!("--packing source --source {source}"))
    };
    // `nop; b 0x8000` in T32, in a ring that is not full.
    let ring: Vec<u8> = [0x8002_u32, 0x8000].repeat(24).iter().flat_map(|word| word.to_le_bytes()).collect();
    let mtb = "--source mtb,MTB_POSITION=0xc0,MTB_MASTER=0x80000004 --image in/code.bin@8000";
    let ring = Input::file(Kind::Raw, "trace.bin", [ring, vec![0; 64]].concat()).options(mtb);
    vec![
        ring.with("code.bin", vec![0x00, 0xbf, 0xfd, 0xe7]),
        file(ptm, "ptm,id=0x10,ETMCR=0x1000")
            .with("code.bin", code.clone())
            .options("--image in/code.bin@8000"),
        file(etm3, &etm3_source).with("code.bin", code).options("--image in/code.bin@8000"),
        file(itm, "itm,sync=0"),
        file(stm, "stm,id=0x10"),
    ]
}

/// Turns of the loop, and an exception in each fifth.
fn executed() -> Vec<Element> {
    let security = Security::NonSecure;
    let context = Context { level: 1, security, is_64bit: false, vmid: None, context_id: None };
    let mut elements = vec![Element::TraceOn(TraceOn::Normal), Element::Context(context, Isa::A32)];
    let block = |start: u64, count: u32, flow, role, ended| {
        let class = Class { flow, role, conditional: role == Role::Jump };
        let end = start + 4 * u64::from(count);
        Element::Block(Block { start, end, count, isa: Isa::A32, last_len: 4, class, ended })
    };
    for turn in 0..200 {
        if turn % 5 == 4 {
            elements.push(Element::Exception(Exception {
                number: 0xe,
                interrupt: false,
                value: None,
                return_address: Some(0x8000),
                at_target: false,
            }));
        }
        elements.push(block(0x8000, 2, Flow::Direct, Role::Call, Ended::Taken));
        elements.push(block(0x8010, 1, Flow::Indirect, Role::Return, Ended::Taken));
        let ended = if turn % 7 == 6 { Ended::NotTaken } else { Ended::Taken };
        elements.push(block(0x8008, 2, Flow::Direct, Role::Jump, ended));
        elements.push(Element::Cycles(Some(7 + turn % 3)));
        if ended == Ended::NotTaken {
            elements.push(block(0x8010, 1, Flow::Indirect, Role::Return, Ended::Taken));
        }
    }
    elements.push(Element::End);
    elements
}

/// Text, and from a core (ITM) what its debug hardware sees.
fn written(master: Option<u16>) -> Vec<Element> {
    let message = Element::Message;
    let mut elements = Vec::new();
    for (turn, byte) in (0..).zip("message from a board\n".repeat(8).bytes()) {
        let write = Write { master, channel: turn % 3, bits: 8, value: byte.into(), ..Write::default() };
        elements.push(message(Message::Write(write)));
        if master.is_some() {
            elements.push(Element::Timestamp { value: 1000 + u64::from(turn), cycles: None });
            continue;
        }
        let change =
            [ExceptionChange::Entered, ExceptionChange::Left, ExceptionChange::Resumed][turn as usize % 3];
        elements.push(message(Message::Exception { number: if turn % 3 == 2 { 0 } else { 15 }, change }));
        elements.push(message(Message::Sample(Sample::At(0x8000 + 4 * u64::from(turn % 5)))));
        let watched = Watched::Wrote { size: 4, value: 0x2000_0000 + turn };
        elements.push(message(Message::Watch { comparator: 1, watched }));
        let delay = Delay { timestamp: false, packet: false };
        elements.push(Element::LocalTime { cycles: u64::from(turn % 9), delay });
    }
    elements.push(Element::End);
    elements
}
