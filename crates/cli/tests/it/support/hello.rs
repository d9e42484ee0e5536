//! The sample `hello`: a program that adds up squares, its trace, its memory, and an ELF file with its symbols.

use tracewright_core::{
    Block, Class, Context, Element, Ended, Exception, Flow, Isa, Role, Security, TraceOn,
};
use tracewright_etm::Registers;
use tracewright_etm::encode::{Encoder, Options};

#[path = "../../../../image/tests/it/support/mod.rs"]
pub mod elf;

pub const MAIN: u64 = 0x40_0000;
const LOOP: u64 = 0x40_000c;
const SQUARE: u64 = 0x40_0040;
const REPORT: u64 = 0x40_0050;

const CODE: [u32; 23] = [
    0xa9bf_7bfd, // main: stp x29, x30, [sp, #-16]!
    0x5280_0013, // mov w19, #0
    0x5280_0014, // mov w20, #0
    0x2a13_03e0, // loop: mov w0, w19
    0x9400_000c, // bl square
    0x0b00_0294, // add w20, w20, w0
    0x1100_0673, // add w19, w19, #1
    0x7100_167f, // cmp w19, #5
    0x54ff_ff61, // b.ne loop
    0x2a14_03e0, // mov w0, w20
    0x9400_000a, // bl report
    0xa8c1_7bfd, // ldp x29, x30, [sp], #16
    0xd65f_03c0, // ret
    0xd503_201f, // nop
    0xd503_201f, // nop
    0xd503_201f, // nop
    0x1b00_7c00, // square: mul w0, w0, w0
    0xd65f_03c0, // ret
    0xd503_201f, // nop
    0xd503_201f, // nop
    0xd280_0808, // report: mov x8, #64
    0xd400_0001, // svc #0
    0xd65f_03c0, // ret
];

fn block(start: u64, end: u64, flow: Flow, role: Role, ended: Ended) -> Element {
    let conditional = flow == Flow::Direct && role == Role::Jump;
    let class = Class { flow, role, conditional };
    Element::Block(Block {
        start,
        end,
        count: ((end - start) / 4) as u32,
        isa: Isa::A64,
        last_len: 4,
        class,
        ended,
    })
}

/// What ran. The system call's own instructions are filtered out, as in nearly all traces of programs.
pub fn executed() -> Vec<Element> {
    let context = Context {
        level: 0,
        security: Security::NonSecure,
        is_64bit: true,
        vmid: None,
        context_id: Some(0x2a),
    };
    let trace_on = [Element::TraceOn(TraceOn::Normal), Element::Context(context, Isa::A64)];
    let mut elements = trace_on.to_vec();
    elements.push(Element::Timestamp { value: 0x1_2345_6780, cycles: None });
    for round in 0..5 {
        let start = if round == 0 { MAIN } else { LOOP };
        let again = if round < 4 { Ended::Taken } else { Ended::NotTaken };
        elements.extend([
            block(start, 0x40_0014, Flow::Direct, Role::Call, Ended::Taken),
            block(SQUARE, 0x40_0048, Flow::Indirect, Role::Return, Ended::Taken),
            block(0x40_0014, 0x40_0024, Flow::Direct, Role::Jump, again),
            Element::Cycles(Some(9 + round)),
        ]);
    }
    elements.push(block(0x40_0024, 0x40_002c, Flow::Direct, Role::Call, Ended::Taken));
    elements.push(block(REPORT, 0x40_0058, Flow::Next, Role::Jump, Ended::Cut));
    let svc = Exception {
        number: 2,
        interrupt: false,
        value: None,
        return_address: Some(0x40_0058),
        at_target: false,
    };
    elements.push(Element::Exception(svc));
    elements.extend(trace_on);
    elements.push(Element::Timestamp { value: 0x1_2345_9a04, cycles: None });
    elements.push(block(0x40_0058, 0x40_005c, Flow::Indirect, Role::Return, Ended::Taken));
    elements.push(block(0x40_002c, 0x40_0034, Flow::Indirect, Role::Return, Ended::Taken));
    elements.push(Element::Cycles(Some(310)));
    elements.push(Element::End);
    elements
}

/// The trace unit, and its trace.
pub fn trace() -> (Registers, Vec<u8>) {
    let registers = Registers {
        // Cycle counts, context IDs, timestamps.
        trcconfigr: 1 | 1 << 4 | 1 << 6 | 1 << 11,
        trctraceidr: 0x10,
        trcidr0: 0x2800_0ea1,
        trcidr1: 0x4100_f422,
        trcidr2: 0x1000_0488,
        ..Registers::default()
    };
    let mut encoder = Encoder::new(&registers, Options::default()).unwrap();
    let mut trace = Vec::new();
    for element in executed() {
        encoder.element(&element, &mut trace).unwrap_or_else(|error| panic!("{element:?}: {error}"));
    }
    (registers, trace)
}

/// What is in memory.
pub fn code() -> Vec<u8> {
    CODE.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The program as an ELF file.
pub fn file() -> Vec<u8> {
    let function = |name, start, end| elf::symbol(name, start, end - start, 0x12, 1);
    let symbols = vec![
        function("main", MAIN, 0x40_0034),
        function("square", SQUARE, 0x40_0048),
        function("report", REPORT, 0x40_005c),
    ];
    elf::program(MAIN, code(), symbols).write()
}
