//! The sample `rp2350`: a program in T32 that is interrupted, as the ETM of a Cortex-M33 traces it into the chip's RAM.

use tracewright_core::{
    Block, Class, Context, Element, Ended, Exception, Flow, Isa, Role, Security, TraceOn,
};
use tracewright_etm::encode::{Encoder, Options};
use tracewright_etm::{Architecture, CoreProfile, Registers};

use super::hello::elf;

pub const MAIN: u64 = 0x1000_0100;
const LOOP: u64 = MAIN + 0x2;
const AFTER_CALL: u64 = MAIN + 0x8;
const SQUARE: u64 = MAIN + 0x10;
const SYSTICK: u64 = MAIN + 0x14;

const CODE: [u16; 12] = [
    0x2400, // main: movs r4, #0
    0x4620, // loop: mov r0, r4
    0xf000, 0xf804, // bl square
    0x3401, // adds r4, #1
    0x2c05, // cmp r4, #5
    0xd1f9, // bne loop
    0xe7fe, // b .
    0x4340, // square: muls r0, r0
    0x4770, // bx lr
    0x3501, // systick: adds r5, #1
    0x4770, // bx lr
];

fn block(start: u64, end: u64, (flow, role): (Flow, Role), last_len: u8, ended: Ended) -> Element {
    let conditional = flow == Flow::Direct && role == Role::Jump;
    let count = ((end - start - u64::from(last_len)) / 2) as u32 + 1;
    let class = Class { flow, role, conditional };
    Element::Block(Block { start, end, count, isa: Isa::T32, last_len, class, ended })
}

/// Returns what ran: five rounds of a loop. SysTick comes before the third is counted.
fn executed() -> Vec<Element> {
    let context =
        Context { level: 0, security: Security::Secure, is_64bit: false, vmid: None, context_id: None };
    let mut elements = vec![Element::TraceOn(TraceOn::Normal), Element::Context(context, Isa::T32)];
    let a_return = (Flow::Indirect, Role::Return);
    for round in 0..5 {
        let start = if round == 0 { MAIN } else { LOOP };
        elements.push(block(start, AFTER_CALL, (Flow::Direct, Role::Call), 4, Ended::Taken));
        elements.push(block(SQUARE, SQUARE + 4, a_return, 2, Ended::Taken));
        if round == 2 {
            elements.push(Element::Exception(Exception {
                number: 15,
                interrupt: true,
                value: None,
                return_address: Some(AFTER_CALL),
                at_target: true,
            }));
            elements.push(block(SYSTICK, SYSTICK + 4, a_return, 2, Ended::Taken));
            elements.push(Element::ExceptionReturn);
        }
        let again = if round < 4 { Ended::Taken } else { Ended::NotTaken };
        elements.push(block(AFTER_CALL, MAIN + 0xe, (Flow::Direct, Role::Jump), 2, again));
    }
    elements.push(Element::End);
    elements
}

/// Returns the trace, as its TPIU frames it.
pub fn trace() -> Vec<u8> {
    let registers = Registers {
        profile: CoreProfile::M,
        architecture: Architecture::V8,
        // Branch broadcast.
        trcconfigr: 1 | 1 << 3,
        trctraceidr: 1,
        trcidr0: 0x2800_06e1,
        trcidr1: 0x4100_f421,
        trcidr2: 0x4,
        ..Registers::default()
    };
    let mut encoder = Encoder::new(&registers, Options::default()).unwrap();
    let mut trace = Vec::new();
    for element in executed() {
        encoder.element(&element, &mut trace).unwrap_or_else(|error| panic!("{element:?}: {error}"));
    }
    super::framed(1, &trace)
}

/// Returns the program as an ELF file.
pub fn file() -> Vec<u8> {
    let function = |name, start: u64, end: u64| elf::symbol(name, start | 1, end - start, 0x12, 1);
    let symbols = vec![
        function("main", MAIN, SQUARE),
        function("square", SQUARE, SYSTICK),
        function("SysTick_Handler", SYSTICK, SYSTICK + 4),
    ];
    let code = CODE.iter().flat_map(|half| half.to_le_bytes()).collect();
    elf::Elf { machine: elf::EM_ARM, wide: false, ..elf::program(MAIN, code, symbols) }.write()
}
