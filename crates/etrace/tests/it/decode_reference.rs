//! Traces of other encoders decode to exactly what Spike lists.

use crate::support;

use support::{Spike, decode, instructions};
use tracewright_core::{Element, Isa, MemorySpace};
use tracewright_etrace::decode::{self, Decoder, Quirks};
use tracewright_etrace::stream::{Config, Encapsulation, Message, Parser};
use tracewright_etrace::{Options, Params, SupportLayout};
use tracewright_image::{Bytes, Image, Place};
use tracewright_testkit::etrace::flows;
use tracewright_testkit::{captures_for, skip};

/// Decodes every instruction and every trap of the reference flow's traces.
#[test]
fn reference_model() {
    let Some(captures) = captures_for("reference_model", "") else { return };
    let (mut decoded, mut failed) = (0, Vec::new());
    for flow in flows(&captures) {
        let Some(spike) = Spike::read(&captures, &flow.program) else {
            skip("reference_model", &format!("no Spike trace of {}", flow.program));
            continue;
        };
        let isa = if flow.params.iaddress_width == 32 { Isa::Rv32 } else { Isa::Rv64 };
        let config = Config {
            params: flow.params.clone(),
            encapsulation: Encapsulation::Smi,
            options: Options::default(),
            data: Default::default(),
        };
        let elements = decode(&flow.raw(), &config, config.options, &spike.image, isa);
        let name = format!("{}/{}", flow.set, flow.program);
        match spike.compare(&instructions(&spike.image, &elements), &elements) {
            Ok(count) => decoded += count,
            Err(why) => failed.push(format!("{name}: {why}")),
        }
        let bad = elements.iter().find(|(_, element)| is_bad(element));
        if let Some(bad) = bad {
            failed.push(format!("{name}: {bad:x?}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(decoded > 1_000_000, "{decoded} instructions");
}

/// Decodes the C codec's traces, with all mixes of its options.
#[test]
fn c_codec() {
    let Some(captures) = captures_for("c_codec", "") else { return };
    let folder = captures.join("riscv/etrace/c_codec_options");
    let (mut decoded, mut failed) = (0, Vec::new());
    let programs =
        ["dhrystone", "embench-crc32", "median", "mm", "mt-vvadd", "qsort", "rsort", "towers", "vvadd"];
    for program in programs {
        let Some(spike) = Spike::read(&captures, program) else {
            skip("c_codec", &format!("no Spike trace of {program}"));
            continue;
        };
        let isa = if program.starts_with("embench") { Isa::Rv32 } else { Isa::Rv64 };
        for mix in ["base", "f", "i", "b", "j", "ib", "bj", "ibj"] {
            let raw = std::fs::read(folder.join(format!("{program}.{mix}.te_inst_raw"))).unwrap();
            let config = Config {
                params: c_codec_params(mix, isa),
                encapsulation: Encapsulation::Smi,
                options: Options::default(),
                data: Default::default(),
            };
            let quirks = Quirks::C_CODEC;
            let options = decode::Options { quirks, ..decode::Options::default() };
            let elements = decode(&raw, &config, options, &spike.image, isa);
            match spike.compare(&instructions(&spike.image, &elements), &elements) {
                Ok(count) => decoded += count,
                Err(why) => failed.push(format!("{program}.{mix}: {why}")),
            }
            if let Some(bad) = elements.iter().find(|(_, element)| is_bad(element)) {
                failed.push(format!("{program}.{mix}: {bad:x?}"));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(decoded > 41_000_000, "{decoded} instructions");
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
        let config = Config {
            params: Params {
                iaddress_lsb: 0,
                support: SupportLayout::Pulp,
                address_bytes: true,
                ..Params::default()
            },
            encapsulation: Encapsulation::Pulp,
            options: Options::default(),
            data: Default::default(),
        };
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
        let config = Config {
            params,
            encapsulation: Encapsulation::Smi,
            options: Options::default(),
            data: Default::default(),
        };
        let mut decoder = Decoder::new(&config.params, config.options, image, Isa::Rv64);
        let mut sink = |_: u64, _: &Element| {};
        let mut parser = Parser::new(config.clone());
        parser.feed(&raw, &mut |offset: u64, _: &[u8], message: &Message| {
            decoder.message(offset, message, &mut sink);
        });
        decoder.facts().to_string()
    };
    let right = c_codec_params("base", Isa::Rv64);
    assert_eq!(facts(right.clone(), &spike.image), "");
    let said = facts(Params { nocontext: true, ..right.clone() }, &spike.image);
    assert!(said.starts_with("the first format-3 packet gives an address outside every image"), "{said}");
    assert!(said.contains("check context_width"), "{said}");
    // Another program at the same addresses.
    let Some(other) = Spike::read(&captures, "towers") else { return };
    let said = facts(right, &other.image);
    assert!(said.starts_with("the program could not be followed"), "{said}");
}

/// Returns the parameters of the C codec.
pub fn c_codec_params(mix: &str, isa: Isa) -> Params {
    let has = |option: char, size: u8| if mix.contains(option) && mix != "base" { size } else { 0 };
    Params {
        iaddress_width: if isa == Isa::Rv32 { 32 } else { 64 },
        nocontext: false,
        bpred_size: has('b', 7),
        cache_size: has('j', 7),
        call_counter_size: has('i', 7),
        f0s_width: u8::from(mix.contains("bj")),
        ..Params::default()
    }
}

fn is_bad(element: &Element) -> bool {
    matches!(element, Element::Mismatch(_) | Element::Gap { .. } | Element::Lost(_) | Element::NoCode { .. })
}
