//! What is particular to M profile: an exception return is a P0 element, and an exception may stop an instruction halfway.

use tracewright_core::{Element, Ended, Isa, MemorySpace, Security};
use tracewright_etm::decode::{Decoder, Feed, Options};
use tracewright_etm::packet::{
    Address, AddressForm, Atoms, Context, Emitter, Exception, InstructionSet, Packet, Parser, ReturnAddress,
    TraceInfo,
};
use tracewright_etm::{Architecture, CoreProfile, Params, Registers};
use tracewright_image::{Builder, Bytes, Image};

const START: u64 = 0x1000;
/// The branch of the handler.
const HANDLER: u64 = 0x1010;

/// `START`: nop; ldmia.w sp!, {r4-r7} (32 bits); b START. `HANDLER`: bx lr.
const CODE: [u16; 9] = [0xbf00, 0xe8bd, 0x00f0, 0xe7fb, 0xbf00, 0xbf00, 0xbf00, 0xbf00, 0x4770];

fn image() -> Image {
    let mut builder = Builder::default();
    let code: Vec<u8> = CODE.iter().flat_map(|half| half.to_le_bytes()).collect();
    builder.raw("code", Bytes::new(code), START, MemorySpace::ANY).unwrap();
    builder.build()
}

/// The ETMv4s of Cortex-M: that of M7 is of Armv7-M; those of M23, M33, M35P, M52, M55 and M85 are of Armv8-M. `depth` is how many P0
/// elements may be speculative.
fn registers(depth: u32) -> [Registers; 3] {
    let of = |architecture, trcidr1| Registers {
        profile: CoreProfile::M,
        architecture,
        trcidr0: 0x2800_06e1,
        trcidr1,
        trcidr2: 0x4,
        trcidr8: depth,
        ..Registers::default()
    };
    [of(Architecture::V7, 0x4100_f401), of(Architecture::V8, 0x4100_f421), of(Architecture::V8, 0x4100_f454)]
}

fn at(value: u64) -> Packet {
    Packet::Address(Address { value, is: InstructionSet::Is1, form: AddressForm::Long32 })
}

fn taken() -> Packet {
    Packet::Atom(Atoms { bits: 1, count: 1 })
}

/// Decodes packets from `START` on. Returns blocks and exceptions as words.
fn told(registers: &Registers, packets: &[Packet]) -> Vec<String> {
    let params = Params::new(registers).unwrap();
    let mut emitter = Emitter::new(params.clone());
    let context = Context::new(0, false, Security::Secure);
    let Packet::Address(start) = at(START) else { unreachable!() };
    let begin = [
        Packet::Async,
        Packet::TraceInfo(TraceInfo::default()),
        Packet::TraceOn,
        Packet::AddressContext(start, context),
    ];
    let bytes: Vec<u8> = begin
        .iter()
        .chain(packets)
        .flat_map(|packet| {
            emitter.emit(packet).unwrap_or_else(|error| panic!("{packet:?}: {error}")).to_vec()
        })
        .collect();
    let (image, mut words) = (image(), Vec::new());
    let sink = |_: u64, element: &Element| match element {
        Element::Block(block) => {
            assert_eq!(block.isa, Isa::T32);
            let how = if block.ended == Ended::Cut { "cut" } else { "taken" };
            words.push(format!("{:x}-{:x} {how}", block.start, block.end));
        }
        Element::Exception(exception) => {
            words.push(format!("returns to {:x}", exception.return_address.unwrap()));
        }
        Element::ExceptionReturn => words.push("exception return".into()),
        Element::Mismatch { .. } | Element::Gap { .. } => words.push(format!("{element:?}")),
        _ => {}
    };
    let mut feed = Feed { decoder: Decoder::new(&params, &image, Options::default()).unwrap(), sink };
    let mut parser = Parser::new(params);
    parser.feed(&bytes, &mut feed);
    parser.finish(&mut feed);
    feed.decoder.finish(parser.position(), &mut feed.sink);
    words
}

/// A commit counts it, and a cancellation takes it back first.
#[test]
fn an_exception_return_is_a_p0_element() {
    for registers in registers(4) {
        let returned = [at(HANDLER), taken(), Packet::ExceptionReturn, at(START)];
        let committed = [&returned[..], &[Packet::Commit(2), taken(), Packet::Commit(1)]].concat();
        let branch = "1010-1012 taken";
        assert_eq!(
            told(&registers, &committed),
            [branch, "exception return", "1000-1008 taken"],
            "{registers:?}"
        );
        let cancel = Packet::CancelF1 { count: 1, mispredict: false };
        let cancelled = [&returned[..], &[cancel, Packet::Commit(1)]].concat();
        assert_eq!(told(&registers, &cancelled), [branch], "{registers:?}");
        // On A profile it is none: the cancellation takes the branch.
        let a = Registers { profile: CoreProfile::A, ..registers };
        assert!(!told(&a, &cancelled[..5]).contains(&branch.into()), "{a:?}");
    }
}

/// Loads and stores of several registers are stopped halfway, and begin again or go on later.
#[test]
fn a_return_address_inside_an_instruction_of_32_bits() {
    for registers in registers(0) {
        let interrupted = |address| {
            let exception =
                Exception { number: 15, return_address: ReturnAddress::Follows, fault_pending: false };
            [
                Packet::Exception(exception),
                at(address),
                at(HANDLER),
                taken(),
                Packet::ExceptionReturn,
                at(START + 2),
                taken(),
            ]
        };
        let after = ["1010-1012 taken", "exception return", "1002-1008 taken"];
        // At the instruction, and inside: neither has run.
        for address in [START + 2, START + 4] {
            let returns = format!("returns to {address:x}");
            let expected = [&["1000-1002 cut", &*returns][..], &after].concat();
            assert_eq!(told(&registers, &interrupted(address)), expected, "{registers:?}");
        }
        // Behind it: it has.
        let expected = [&["1000-1006 cut", "returns to 1006"][..], &after].concat();
        assert_eq!(told(&registers, &interrupted(START + 6)), expected, "{registers:?}");
    }
}
