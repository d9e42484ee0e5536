//! The decoder and its naive twin, written from the specification's pseudo-code, find the same instructions.

use crate::support;

use support::twin::Twin;
use support::{Spike, decode, difference, instructions, program_image, smi};
use tracewright_core::{Element, Isa};
use tracewright_etrace::decode::{self, Decoder, Quirks};
use tracewright_etrace::encode::{self, Resync, ResyncMode};
use tracewright_etrace::ingress::Executed;
use tracewright_etrace::packet::Packet;
use tracewright_etrace::stream::{Content, Parser};
use tracewright_etrace::{Options, Params, SupportLayout};
use tracewright_image::Image;
use tracewright_testkit::etrace::{encode, entry, flows, mixes, read};
use tracewright_testkit::riscv::walk::{Happenings, Program, Walk};
use tracewright_testkit::{Rng, captures_for};

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

/// Compares a trace in SMI framing. Returns the number of instructions.
fn compare(name: &str, raw: &[u8], params: &Params, quirks: Quirks, spike: &Spike) -> usize {
    let (config, image) = (smi(params), &spike.image);
    let isa = if params.iaddress_width == 32 { Isa::Rv32 } else { Isa::Rv64 };
    let options = decode::Options { quirks, ..decode::Options::default() };
    let ours = instructions(image, &decode(raw, &config, options, image, isa));
    let told = read(Parser::new(config), [raw]);
    let packets = told.iter().filter_map(|(.., message)| match message.content {
        Content::Instruction(packet) => Some(packet),
        _ => None,
    });
    let twins = twin(&packets.collect::<Vec<_>>(), params, quirks.keeps_predictor, image, isa);
    assert!(twins.as_ref() == Ok(&ours), "{name} {:?}", twins.map(|twins| difference(&twins, &ours)));
    ours.len()
}

#[test]
fn captures_of_the_reference_model() {
    let Some(captures) = captures_for("captures_of_the_reference_model", "") else { return };
    let mut compared = 0;
    for flow in flows(&captures) {
        let Some(spike) = Spike::read(&captures, &flow.program) else { continue };
        let name = format!("{}/{}", flow.set, flow.program);
        compared += compare(&name, &flow.raw(), &flow.params, Quirks::default(), &spike);
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
        let (mut executed, mut entries) = (Executed::default(), Vec::new());
        let mut walk = Walk::new(&program, Rng::new(seed)).with(happenings);
        walk.run(2_000, &mut |event| entries.extend(entry(&mut executed, event)));
        let packets = encode(config, &entries);
        let image = program_image(&program);
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
    for mixes in mixes(&captures).chunk_by(|one, other| one.program == other.program) {
        let program = mixes[0].program.as_str();
        if !["median", "mm", "mt-vvadd", "qsort"].contains(&program) {
            continue;
        }
        let Some(spike) = Spike::read(&captures, program) else { continue };
        for mix in mixes {
            let name = format!("{program}.{}", mix.mix);
            compare(&name, &mix.raw(), &mix.params, Quirks::C_CODEC, &spike);
        }
    }
}
