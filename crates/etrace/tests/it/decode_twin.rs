//! The decoder and its naive twin, written from the specification's pseudo-code, find the same instructions.

use crate::decode_reference::c_codec_params;
use crate::support;

use support::twin::Twin;
use support::{Spike, decode, instructions};
use tracewright_core::{Element, Isa};
use tracewright_etrace::decode::{self, Decoder, Quirks};
use tracewright_etrace::encode::{self, Encoder, Resync, ResyncMode};
use tracewright_etrace::ingress::Executed;
use tracewright_etrace::packet::Packet;
use tracewright_etrace::stream::{Config, Content, Encapsulation, Message, Parser};
use tracewright_etrace::{Options, Params, SupportLayout};
use tracewright_image::{Bytes, Image};
use tracewright_testkit::etrace::flows;
use tracewright_testkit::riscv::walk::{Event, Happenings, Program, Walk};
use tracewright_testkit::{Rng, captures_for};

fn packets(bytes: &[u8], config: &Config) -> Vec<Packet> {
    let mut packets = Vec::new();
    let mut parser = Parser::new(config.clone());
    parser.feed(bytes, &mut |_: u64, _: &[u8], message: &Message| {
        if let Content::Instruction(packet) = message.content {
            packets.push(packet);
        }
    });
    packets
}

/// Returns the twin's result, without instructions that never retire.
fn twin(
    packets: &[Packet],
    params: &Params,
    quirk: bool,
    image: &Image,
    isa: Isa,
) -> Result<Vec<u64>, String> {
    let mut twin = Twin::new(params, Options::default(), quirk, image, isa);
    for (i, packet) in packets.iter().enumerate() {
        twin.packet(packet).map_err(|why| format!("packet {i} {packet}: {why}"))?;
    }
    let makes_trap = |address: &u64| {
        let mut bytes = [0; 4];
        image.read_into(*address, tracewright_core::MemorySpace::ANY, &mut bytes);
        matches!(u32::from_le_bytes(bytes), 0x73 | 0x0010_0073)
            || u16::from_le_bytes([bytes[0], bytes[1]]) == 0x9002
    };
    Ok(twin.ran.into_iter().filter(|address| !makes_trap(address)).collect())
}

#[test]
fn captures_of_the_reference_model() {
    let Some(captures) = captures_for("captures_of_the_reference_model", "") else { return };
    let mut compared = 0;
    for flow in flows(&captures) {
        let Some(spike) = Spike::read(&captures, &flow.program) else { continue };
        let isa = if flow.params.iaddress_width == 32 { Isa::Rv32 } else { Isa::Rv64 };
        let (encapsulation, options) = (Encapsulation::Smi, Options::default());
        let config = Config { params: flow.params.clone(), encapsulation, options, data: Default::default() };
        let raw = flow.raw();
        let ours = instructions(&spike.image, &decode(&raw, &config, options, &spike.image, isa));
        let twins = twin(&packets(&raw, &config), &flow.params, false, &spike.image, isa);
        assert!(twins.as_ref() == Ok(&ours), "{}/{} {:?}", flow.set, flow.program, twins.err());
        compared += ours.len();
    }
    assert!(compared > 1_000_000 || compared == 0, "{compared}");
}

/// Random executions with any options but implicit returns, for which there are several pseudo-codes.
#[test]
fn random_executions() {
    let mut compared = 0;
    for seed in 0..1_000 {
        let rng = &mut Rng::new(seed);
        let program = Program::generate(rng);
        let params = Params {
            iaddress_width: if program.isa == Isa::Rv32 { 32 } else { 64 },
            bpred_size: 1 + rng.below(6) as u8,
            cache_size: 1 + rng.below(6) as u8,
            sijump: true,
            support: SupportLayout::Pulp,
            ..Params::default()
        };
        let options = Options {
            full_address: rng.one_in(2),
            jump_target_cache: rng.one_in(2),
            branch_prediction: rng.one_in(2),
            sijump: rng.one_in(2),
            ..Options::default()
        };
        let resync = Resync { mode: ResyncMode::Packets, max: rng.below(6) as u8, anywhere: false };
        let happenings =
            Happenings { interrupts: 300, faults: 300, wrong_returns: 40, ..Happenings::default() };
        let config = encode::Config { params: params.clone(), options, resync, ..encode::Config::default() };
        let (mut encoder, mut executed, mut packets) =
            (Encoder::new(config), Executed::default(), Vec::new());
        let mut out = |packet: &Packet| packets.push(*packet);
        Walk::new(&program, Rng::new(seed)).with(happenings).run(2_000, &mut |event| match event {
            Event::Block(block) => encoder.entry(&executed.block(block), &mut out),
            Event::Trap(trap) => {
                encoder.entry(&executed.trap(trap.pc, trap.cause, trap.interrupt, trap.value), &mut out);
            }
            Event::Privilege(privilege) => executed.privilege(*privilege),
            Event::Context { id, .. } => executed.context((*id).into()),
        });
        encoder.finish(&mut out);
        let mut builder = Image::builder();
        let code = Bytes::from(program.bytes.clone());
        builder.raw("code", code, program.address, tracewright_core::MemorySpace::ANY).unwrap();
        let image = builder.build();
        let mut elements = Vec::new();
        let mut tell = |offset: u64, element: &Element| elements.push((offset, *element));
        let mut decoder = Decoder::new(&params, decode::Options::default(), &image, program.isa);
        packets.iter().for_each(|packet| decoder.packet(0, packet, &mut tell));
        decoder.finish(0, &mut tell);
        // Where the number of rounds of a loop is unknown, the twin takes the first.
        if elements.iter().any(|(_, element)| matches!(element, Element::UnknownPath { .. })) {
            continue;
        }
        let ours = instructions(&image, &elements);
        let twins = twin(&packets, &params, false, &image, program.isa);
        assert!(twins.as_ref() == Ok(&ours), "seed {seed} {:?}", twins.err());
        compared += 1;
    }
    assert!(compared > 950, "{compared}");
}

/// The C codec's options, with a call counter.
#[test]
fn captures_of_the_c_codec() {
    let Some(captures) = captures_for("captures_of_the_c_codec", "") else { return };
    let folder = captures.join("riscv/etrace/c_codec_options");
    for program in ["median", "mm", "mt-vvadd", "qsort"] {
        let Some(spike) = Spike::read(&captures, program) else { continue };
        for mix in ["base", "f", "i", "b", "j", "ib", "bj", "ibj"] {
            let raw = std::fs::read(folder.join(format!("{program}.{mix}.te_inst_raw"))).unwrap();
            let params = c_codec_params(mix, Isa::Rv64);
            let (encapsulation, options) = (Encapsulation::Smi, Options::default());
            let config = Config { params: params.clone(), encapsulation, options, data: Default::default() };
            let quirks = Quirks::C_CODEC;
            let options = decode::Options { quirks, ..decode::Options::default() };
            let ours = instructions(&spike.image, &decode(&raw, &config, options, &spike.image, Isa::Rv64));
            let twins = twin(&packets(&raw, &config), &params, true, &spike.image, Isa::Rv64);
            assert!(twins.as_ref() == Ok(&ours), "{program}.{mix} {:?}", twins.err());
        }
    }
}
