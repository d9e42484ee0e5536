//! What others encoded, decoded: exactly what Spike says that ran.

mod support;

use support::{Spike, decode, instructions};
use tracewright_core::{Element, Isa};
use tracewright_etrace::Options;
use tracewright_etrace::stream::{Config, Encapsulation};
use tracewright_testkit::etrace::flows;
use tracewright_testkit::{captures, skip};

/// Every instruction and every trap of the reference flow's traces.
#[test]
fn reference_model() {
    let Some(captures) = captures() else { return skip("reference_model", "no captures") };
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

fn is_bad(element: &Element) -> bool {
    matches!(element, Element::Mismatch(_) | Element::Gap { .. } | Element::Lost(_) | Element::NoCode { .. })
}
