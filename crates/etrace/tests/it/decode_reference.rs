//! Traces of other encoders decode to exactly what Spike lists.

use crate::support;

use support::twin::Twin;
use support::{Spike, decode, difference, instructions, pulp_records, smi};
use tracewright_core::{Element, Isa, MemorySpace};
use tracewright_etrace::Params;
use tracewright_etrace::decode::{self, Decoder, Quirks};
use tracewright_etrace::stream::{Content, Message, Parser};
use tracewright_image::{Bytes, Image, Place};
use tracewright_testkit::etrace::{flows, mixes, read};
use tracewright_testkit::{captures_for, skip};

/// Decoded traces: the number of instructions, and what is wrong.
#[derive(Default)]
struct Outcome {
    decoded: usize,
    failed: Vec<String>,
}

impl Outcome {
    /// Decodes a trace of the reference flow and compares it with Spike's. If it `has_twin`, so does the naive
    /// twin.
    fn compare(
        &mut self,
        name: &str,
        raw: &[u8],
        params: &Params,
        quirks: Quirks,
        spike: &Spike,
        has_twin: bool,
    ) {
        let isa = if params.iaddress_width == 32 { Isa::Rv32 } else { Isa::Rv64 };
        let options = decode::Options { quirks, ..decode::Options::default() };
        let elements = decode(raw, &smi(params), options, &spike.image, isa);
        match spike.compare(&elements) {
            Ok(count) => self.decoded += count,
            Err(why) => self.failed.push(format!("{name}: {why}")),
        }
        if let Some(bad) = elements.iter().find(|(_, element)| is_bad(element)) {
            self.failed.push(format!("{name}: {bad:x?}"));
        }
        if has_twin {
            let told = read(Parser::new(smi(params)), [raw]);
            let packets = told.iter().filter_map(|(.., message)| match message.content {
                Content::Instruction(packet) => Some(packet),
                _ => None,
            });
            let packets: Vec<_> = packets.collect();
            let twins = Twin::follow(&packets, params, quirks.keeps_predictor, &spike.image, isa);
            match twins.map(|twins| difference(&twins, &spike.retired)) {
                Ok(None) => {}
                wrong => self.failed.push(format!("{name}, twin: {wrong:?}")),
            }
        }
    }

    fn check(&self, least: usize) {
        assert!(self.failed.is_empty(), "{}", self.failed.join("\n"));
        assert!(self.decoded > least, "{} instructions", self.decoded);
    }
}

/// Decodes every instruction and every trap of the reference flow's traces.
#[test]
fn reference_model() {
    let Some(captures) = captures_for("reference_model", "") else { return };
    let mut outcome = Outcome::default();
    for flow in flows(&captures) {
        let Some(spike) = Spike::read(&captures, &flow.program) else {
            skip("reference_model", &format!("no Spike trace of {}", flow.program));
            continue;
        };
        let name = format!("{}/{}", flow.set, flow.program);
        outcome.compare(&name, &flow.raw(), &flow.params, Quirks::default(), &spike, true);
    }
    outcome.check(1_000_000);
}

/// Decodes the C codec's traces, with all mixes of its options.
#[test]
fn c_codec() {
    let Some(captures) = captures_for("c_codec", "") else { return };
    let mut outcome = Outcome::default();
    for mixes in mixes(&captures).chunk_by(|(one, _), (other, _)| one.program == other.program) {
        let program = &mixes[0].0.program;
        let Some(spike) = Spike::read(&captures, program) else {
            skip("c_codec", &format!("no Spike trace of {program}"));
            continue;
        };
        for (mix, _) in mixes {
            let name = format!("{program}.{}", mix.set);
            // The twin is too slow for all of them.
            let has_twin = ["median", "mm", "mt-vvadd", "qsort"].contains(&program.as_str());
            outcome.compare(&name, &mix.raw(), &mix.params, Quirks::C_CODEC, &spike, has_twin);
        }
    }
    outcome.check(41_000_000);
}

/// Decodes PULP's hardware traces: compares with its own decoder, up to where that ends.
#[test]
fn pulp() {
    let Some(captures) = captures_for("pulp", "") else { return };
    // Instructions listed by the decoder beside the captures, how many of them are right, and ours.
    for (program, elf, listed, equal, ours, mismatches) in [
        // The program ends in a jump to itself, which each of four synchronisation packets reports once more.
        ("l1_test", "l1", 257, 257, 261, 0),
        ("hello_culsans", "hello_culsans", 656, 656, 660, 0),
        // The encoder drops branches before a synchronisation packet.
        ("gpios_all", "gpios_all", 566, 555, 10_050, 11),
    ] {
        let folder = captures.join("riscv/rv_tracer").join(program);
        let mut builder = Image::builder();
        let bytes = std::fs::read(folder.join(format!("{elf}.riscv"))).unwrap();
        builder.elf(elf, Bytes::from(bytes), Place::AsLinked, MemorySpace::ANY).unwrap();
        let image = builder.build();
        let config = pulp_records();
        let raw = std::fs::read(folder.join("packets.bin")).unwrap();
        let elements = decode(&raw, &config, config.options, &image, Isa::Rv64);
        let decoded = instructions(&image, &elements);
        let text = std::fs::read_to_string(folder.join("execution_trace_by_pulp_decoder.txt")).unwrap();
        let expected: Vec<u64> = text
            .lines()
            .filter_map(|line| {
                u64::from_str_radix(line.split_whitespace().next()?.strip_prefix("0x")?, 16).ok()
            })
            .collect();
        let same = decoded.iter().zip(&expected).take_while(|(a, b)| a == b).count();
        let bad: Vec<_> = elements.iter().filter(|(_, element)| is_bad(element)).collect();
        assert_eq!(
            (expected.len(), same, decoded.len(), bad.len()),
            (listed, equal, ours, mismatches),
            "{program}: {bad:x?}"
        );
    }
}

/// Detects wrong parameters and a wrong program.
#[test]
fn what_is_wrong_is_said() {
    let Some(captures) = captures_for("what_is_wrong_is_said", "") else { return };
    let Some(spike) = Spike::read(&captures, "median") else {
        return skip("what_is_wrong_is_said", "no Spike trace of median");
    };
    let raw = std::fs::read(captures.join("riscv/etrace/c_codec_options/median.base.te_inst_raw")).unwrap();
    let facts = |params: Params, image: &Image| {
        let config = smi(&params);
        let mut decoder = Decoder::new(&config.params, config.options, image, Isa::Rv64);
        let mut sink = |_: u64, _: &Element| {};
        let mut parser = Parser::new(config.clone());
        parser.feed(&raw, &mut |offset: u64, _: &[u8], message: &Message| {
            decoder.message(offset, message, &mut sink);
        });
        decoder.facts().to_string()
    };
    let right = Params { nocontext: false, ..Params::default() };
    assert_eq!(facts(right.clone(), &spike.image), "");
    let said = facts(Params { nocontext: true, ..right.clone() }, &spike.image);
    assert!(said.starts_with("the first format-3 packet gives an address outside every image"), "{said}");
    assert!(said.contains("check context_width"), "{said}");
    // Another program at the same addresses.
    let Some(other) = Spike::read(&captures, "towers") else { return };
    let said = facts(right, &other.image);
    assert!(said.starts_with("the program could not be followed"), "{said}");
}

fn is_bad(element: &Element) -> bool {
    matches!(element, Element::Mismatch(_) | Element::Gap { .. } | Element::Lost(_) | Element::NoCode { .. })
}
