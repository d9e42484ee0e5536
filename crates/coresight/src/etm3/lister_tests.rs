//! What the encoder writes, as OpenCSD's own lister reads it (Debian's `trc_pkt_lister`, 1.3.3).

use std::num::NonZero;

use tracewright_core::{Element, Ended, Isa};
use tracewright_testkit::{Rng, lister};

use super::encode::{self, Encoder};
use super::tests::{execution, program_bytes, program_of};
use super::{Params, Registers};

const STREAMS: u64 = 200;

/// What both sides must agree on.
#[derive(Debug, Default, PartialEq, Eq)]
struct Ran {
    /// Address and size of each instruction, and whether it passed its condition.
    instructions: Vec<(u64, u64, bool)>,
    exceptions: Vec<u16>,
    timestamps: Vec<u64>,
    cycles: u64,
}

fn executed(elements: &[Element], isa: Isa, params: &Params) -> Ran {
    let size = if isa == Isa::A32 { 4 } else { 2 };
    let mut ran = Ran::default();
    let last = elements.iter().rposition(|element| matches!(element, Element::Block(_))).unwrap_or(0);
    let mut exception = None;
    for (index, element) in elements.iter().enumerate() {
        match element {
            Element::Block(block) => {
                ran.exceptions.extend(exception.take());
                for start in (block.start..block.end).step_by(size as usize) {
                    let passed = start + size < block.end || block.ended != Ended::NotTaken;
                    ran.instructions.push((start, size, passed));
                }
            }
            // An exception is told with the address of its handler.
            Element::Exception(found) => exception = Some(found.number),
            // That of one that is not traced is told, too.
            Element::TraceOn(_) | Element::End => ran.exceptions.extend(exception.take()),
            Element::Timestamp { value, .. } => ran.timestamps.push(*value),
            Element::Cycles(Some(cycles)) if params.cycle_accurate() && index <= last + 1 => {
                ran.cycles += u64::from(*cycles);
            }
            _ => {}
        }
    }
    ran
}

fn number(text: &str, before: &str) -> Option<u64> {
    let text = text.split_once(before)?.1;
    let (text, radix) = text.strip_prefix("0x").map_or((text, 10), |digits| (digits, 16));
    let digits: String = text.chars().take_while(|c| c.is_digit(radix)).collect();
    u64::from_str_radix(&digits, radix).ok()
}

fn listed(text: &str) -> Ran {
    let mut ran = Ran::default();
    for line in text.lines() {
        let Some((_, element)) = line.split_once("OCSD_GEN_TRC_ELEM_") else { continue };
        ran.cycles += number(element, "[CC=").unwrap_or(0);
        if element.starts_with("INSTR_RANGE") {
            let (start, end) = (number(element, "exec range=").unwrap(), number(element, ":[").unwrap());
            ran.instructions.push((start, end - start, element.contains(") E ")));
        } else if element.starts_with("EXCEPTION(") {
            ran.exceptions.push(number(element, "excep num (").unwrap() as u16);
        } else if element.starts_with("TIMESTAMP") {
            ran.timestamps.push(number(element, "TS=").unwrap());
        }
    }
    ran
}

#[test]
fn opencsd_reads_what_was_encoded() {
    if !lister::available("opencsd_reads_what_was_encoded") {
        return;
    }
    for seed in 0..STREAMS {
        let mut rng = Rng::new(seed);
        // Instructions with and without cycles, timestamps, context IDs, broadcast; OpenCSD decodes no data.
        let etmcr = rng.next_u64() as u32 & (1 << 12 | 3 << 14 | 1 << 8 | 1 << 28);
        let etmidr = *rng.pick(&[0x410c_f250, 0x411c_f250]);
        let registers = Registers { etmcr, etmidr, ..Registers::default() };
        let params = Params::new(&registers).unwrap();
        let isa = *rng.pick(&[Isa::A32, Isa::T32]);
        let code = program_bytes(&mut rng, isa);
        let elements = execution(&mut rng, &program_of(code.clone()), isa, &params);
        let sync_every = NonZero::new(20 + rng.below(300) as u32);
        let mut encoder =
            Encoder::new(&registers, encode::Options { sync_every, ..Default::default() }).unwrap();
        let mut bytes = Vec::new();
        elements.iter().for_each(|element| encoder.element(element, &mut bytes).unwrap());
        if bytes.is_empty() {
            continue;
        }
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
            memory: &[(0x8000, &code)],
            bytes: &bytes,
        };
        let text = source.list(&["-decode"]);
        let (ours, theirs) = (executed(&elements, isa, &params), listed(&text));
        let differs =
            ours.instructions.iter().zip(&theirs.instructions).position(|(ours, theirs)| ours != theirs);
        if let Some(at) = differs {
            let (ours, theirs) = (&ours.instructions[at..], &theirs.instructions[at..]);
            panic!("seed {seed}, instruction {at}: {:x?}, {:x?}; {registers:x?}", ours[0], theirs[0]);
        }
        assert_eq!(ours, theirs, "seed {seed}: {registers:x?}");
    }
}
