//! Code that no image has, where nothing but a report of its address and a trap tells that it ran.

use tracewright_core::{Element, Exception, Isa, MemorySpace};
use tracewright_etrace::decode::{self, Decoder};
use tracewright_etrace::packet::{Address, Context, Packet, QualStatus, Start, Support, Trap};
use tracewright_etrace::{Options, Params};
use tracewright_image::{Bytes, Image};

/// Returns what packets tell of a program at 0x1000: ret; nop; nop. Execution began there.
fn told(packets: &[Packet]) -> Vec<Element> {
    let code = [0x8067_u32, 0x13, 0x13].map(u32::to_le_bytes).concat();
    let mut builder = Image::builder();
    builder.raw("", Bytes::from(code), 0x1000, MemorySpace::ANY).unwrap();
    let image = builder.build();
    let mut elements = Vec::new();
    let mut tell = |_: u64, element: &Element| elements.push(*element);
    let mut decoder = Decoder::new(&Params::default(), decode::Options::default(), &image, Isa::Rv64);
    let options = Options { full_address: true, ..Options::default() };
    let support = Support { ienable: true, ioptions: options, ..Support::default() };
    let start = Start { taken: false, context: Context::default(), address: 0x1000 };
    let first = [Packet::Support(support), Packet::Start(start)];
    first.iter().chain(packets).for_each(|packet| decoder.packet(0, packet, &mut tell));
    decoder.finish(0, &mut tell);
    elements
}

/// The address of an instruction that retired.
const AT: Packet = Packet::Address(Address { value: 0x9000, notify: false, updiscon: false, returns: None });
const NO_CODE: Element = Element::NoCode { address: 0x9000, space: MemorySpace::ANY };

#[test]
fn a_trap_does_not_hide_it() {
    let trap = Trap { ecause: 8, thaddr: true, address: Some(0x1004), tval: Some(0), ..Trap::default() };
    let elements = told(&[AT, Packet::Trap(trap)]);
    let is_trap = |element: &Element| match element {
        // Where it was taken is not known: the length of the instruction at 0x9000 is not.
        Element::Exception(Exception { number: 8, return_address: None, .. }) => true,
        Element::Exception(_) => panic!("{element:?}"),
        _ => false,
    };
    let no_code = elements.iter().position(|element| *element == NO_CODE).expect("no code");
    assert_eq!(elements.iter().filter(|element| **element == NO_CODE).count(), 1);
    assert!(elements[no_code..].iter().any(is_trap), "{elements:?}");
    let handler = |element: &&Element| matches!(element, Element::Block(block) if block.start == 0x1004);
    assert!(elements[no_code..].iter().any(|element| handler(&element)), "{elements:?}");
}

#[test]
fn the_end_of_the_trace_does_not_hide_it() {
    let end = Support { qual_status: QualStatus::EndedRep, ..Support::default() };
    for packets in [&[AT][..], &[AT, Packet::Support(end)]] {
        let elements = told(packets);
        assert_eq!(elements.iter().filter(|element| **element == NO_CODE).count(), 1, "{elements:?}");
    }
}
