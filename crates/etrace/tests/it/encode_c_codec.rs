//! The encoder compared with the C codec of 2021, with options: the same input gives the same packets.

use crate::support::{assert_same, entries};

use tracewright_etrace::Params;
use tracewright_etrace::encode::{Config, Quirks, Resync, ResyncMode};
use tracewright_etrace::packet::Packet;
use tracewright_testkit::etrace::{c_codec, encode, mixes, text};
use tracewright_testkit::{captures_for, skip};

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
