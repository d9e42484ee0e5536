//! The encoder compared with the reference model and the C codec: the same input gives the same packets.

use crate::support::{assert_same, entries};

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use tracewright_etrace::encode::{Config, Quirks, Resync, ResyncMode};
use tracewright_etrace::ingress::Entry;
use tracewright_etrace::packet::{self, Packet, PayloadBytes};
use tracewright_etrace::{Options, Params};
use tracewright_testkit::etrace::{Flow, c_codec, encode, flows, mixes, te_inst, text};
use tracewright_testkit::{captures_for, skip};

/// Returns the settings of the reference model for a set.
fn reference(flow: &Flow) -> Config {
    let (full_address, max) = match flow.set.split_once('_') {
        Some((_, "basic")) => (false, 0),
        Some((_, "debug")) => (true, 1),
        _ => (false, 16),
    };
    Config {
        params: flow.params.clone(),
        options: Options { full_address, ..Options::default() },
        resync: Resync { mode: ResyncMode::Packets, max, anywhere: true },
        quirks: Quirks::REFERENCE,
        ..Config::default()
    }
}

/// Returns the inputs of all sets: those of the basic ones, which hold for the others with the same width of
/// types.
fn inputs(flows: &[Flow]) -> HashMap<(String, String), Vec<Entry>> {
    let mut inputs = HashMap::new();
    for flow in flows {
        if let Some(text) = flow.encoder_input() {
            inputs.insert((flow.set[..6].to_owned(), flow.program.clone()), entries(&text));
        }
    }
    inputs
}

#[test]
fn packets_are_those_of_the_reference_model() {
    let Some(captures) = captures_for("packets_are_those_of_the_reference_model", "") else { return };
    let flows = flows(&captures);
    let inputs = inputs(&flows);
    if inputs.is_empty() {
        return skip("packets_are_those_of_the_reference_model", "no xz");
    }
    let (mut compared, mut totals) = (0, HashMap::new());
    for flow in &flows {
        let name = format!("{}/{}", flow.set, flow.program);
        let input = &inputs[&(flow.set[..6].to_owned(), flow.program.clone())];
        let ours = encode(reference(flow), input);
        if let Some(csv) = flow.csv() {
            assert_same(&name, &ours, &te_inst(&csv, &flow.params));
            compared += 1;
        }
        let raw = flow.raw();
        let mut payload = PayloadBytes::default();
        let mut bytes = Vec::new();
        for packet in &ours {
            packet::emit(packet, &flow.params, &mut payload).unwrap();
            bytes.push(payload.len() as u8 | 2 << 5);
            bytes.extend_from_slice(&payload);
        }
        assert!(bytes == raw, "{name}: {} bytes, not {}", bytes.len(), raw.len());
        totals.insert(name, [input.len(), ours.len(), bytes.len() - ours.len()]);
    }
    assert!(compared >= 50, "{compared}");
    let statistics = statistics(&captures);
    assert!(statistics.len() >= 45, "{}", statistics.len());
    for (name, expected) in statistics {
        assert_eq!(totals[&name], expected, "{name}: instructions, packets, bytes");
    }
}

/// Returns the statistics of the model's logs for each program: instructions, packets, bytes.
fn statistics(captures: &Path) -> Vec<(String, [usize; 3])> {
    let mut statistics = Vec::new();
    for set in ["itype3_basic", "itype3_debug", "itype4_basic", "itype4_debug", "itype4_fake_scf"] {
        for log in ["encoder_i_statistics.log", "encoder_i_statistics_large.log"] {
            let path = captures.join("riscv/etrace").join(set).join(log);
            let Ok(text) = fs::read_to_string(path) else { continue };
            for line in text.lines() {
                let fields: Vec<&str> = line.split_whitespace().collect();
                if let [program, numbers @ .., _] = &fields[..]
                    && numbers.len() == 3
                    && !matches!(*program, "Test" | "Average")
                {
                    let numbers: Vec<usize> = numbers.iter().map(|number| number.parse().unwrap()).collect();
                    statistics.push((format!("{set}/{program}"), numbers.try_into().unwrap()));
                }
            }
        }
    }
    statistics
}

/// Compares with the C codec of 2021, with options.
#[test]
fn packets_are_those_of_the_c_codec() {
    let Some(captures) = captures_for("packets_are_those_of_the_c_codec", "") else { return };
    let inputs = captures.join("riscv/etrace/itype4_basic");
    let mut compared = 0;
    for mixes in mixes(&captures).chunk_by(|(one, _), (other, _)| one.program == other.program) {
        let program = &mixes[0].0.program;
        let Some(input) = text(&inputs.join(format!("{program}.encoder_input.xz"))) else {
            return skip("packets_are_those_of_the_c_codec", "no xz");
        };
        let entries = entries(&input);
        for (mix, options) in mixes {
            let config = Config {
                params: Params { bpred_size: 7, cache_size: 7, call_counter_size: 7, ..Params::default() },
                options: *options,
                resync: Resync { mode: ResyncMode::Packets, max: 12, anywhere: true },
                quirks: Quirks::C_CODEC,
                ..Config::default()
            };
            // The tables do not describe support packets.
            let described = |packet: Packet| (!matches!(packet, Packet::Support(_))).then_some(packet);
            let ours: Vec<_> = encode(config, &entries).into_iter().map(described).collect();
            let theirs = c_codec(&mix.csv().unwrap(), &mix.params);
            assert_same(&format!("{program} {}", mix.set), &ours, &theirs);
            compared += 1;
        }
    }
    assert!(compared >= 70, "{compared}");
}
