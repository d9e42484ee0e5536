//! Packets of other encoders: the reference flow's model, the C codec, PULP's hardware.

use crate::support::{assert_same, pulp_records, smi};

use tracewright_etrace::Params;
use tracewright_etrace::packet::{self, Packet};
use tracewright_etrace::stream::{Content, Message, Parser, Writer};
use tracewright_testkit::etrace::{c_codec, flows, mixes, read, te_inst};
use tracewright_testkit::{captures_for, skip};

/// Reads every packet of the reference model as its recorded fields, and writes the same bytes.
#[test]
fn packets_of_the_reference_model() {
    let Some(captures) = captures_for("packets_of_the_reference_model", "") else { return };
    let (mut packets, mut with_fields) = (0, 0);
    for flow in flows(&captures) {
        let name = format!("{}/{}", flow.set, flow.program);
        let parsed = parsed(&name, &flow.raw(), &flow.params);
        packets += parsed.len();
        let Some(csv) = flow.csv() else { continue };
        assert_same(&name, &parsed, &te_inst(&csv, &flow.params));
        with_fields += parsed.len();
    }
    assert_eq!(packets, 342_229);
    match with_fields {
        0 => skip("packets_of_the_reference_model", "no xz: without fields"),
        with_fields => assert_eq!(with_fields, 81_027),
    }
}

/// Reads every packet of the C codec as its recorded fields, and writes the same bytes.
#[test]
fn packets_of_the_c_codec() {
    let Some(captures) = captures_for("packets_of_the_c_codec", "") else { return };
    let mut packets = 0;
    for (mix, options) in mixes(&captures) {
        let place = format!("{}.{}", mix.program, mix.set);
        let parsed = parsed(&place, &mix.raw(), &mix.params);
        packets += parsed.len();
        let Some(csv) = mix.csv() else { return skip("packets_of_the_c_codec", "no xz") };
        let described = |packet: Packet| match packet {
            Packet::Support(support) => {
                assert_eq!(support.ioptions, options, "{place}");
                None
            }
            packet => Some(packet),
        };
        let parsed: Vec<_> = parsed.into_iter().map(described).collect();
        assert_same(&place, &parsed, &c_codec(&csv, &mix.params));
    }
    assert_eq!(packets, 958_404);
}

/// Returns the packets of a stream, each of which is written as the same bytes.
fn parsed(name: &str, raw: &[u8], params: &Params) -> Vec<Packet> {
    let told = read(Parser::new(smi(params)), [raw]);
    let packet = |(offset, bytes, message): &(u64, Vec<u8>, Message)| {
        let Content::Instruction(packet) = message.content else {
            panic!("{name} at {offset:#x}: {message:?} {bytes:02x?}");
        };
        assert!(packet::is_canonical(&bytes[1..], &packet, params), "{name} {packet} {bytes:02x?}");
        packet
    };
    told.iter().map(packet).collect()
}

/// Reads all records of PULP's hardware as packets, and writes the same bytes.
#[test]
fn records_of_pulp() {
    let Some(captures) = captures_for("records_of_pulp", "") else { return };
    for (program, records) in [("hello_culsans", 48), ("l1_test", 21), ("gpios_all", 305)] {
        let bytes =
            std::fs::read(captures.join("riscv/rv_tracer").join(program).join("packets.bin")).unwrap();
        let config = pulp_records();
        let mut writer = Writer::new(config.clone());
        let mut written = Vec::new();
        let told = read(Parser::new(config), [&bytes[..]]);
        for (offset, _, message) in &told {
            assert!(matches!(message.content, Content::Instruction(_)), "{program} {offset:#x} {message:?}");
            writer.message(message, &mut written).unwrap();
        }
        assert_eq!(told.len(), records, "{program}");
        assert_eq!(written.len(), bytes.len());
        for (i, (written, bytes)) in written.chunks(40).zip(bytes.chunks(40)).enumerate() {
            assert_eq!(written, bytes, "{program} record {i}");
        }
    }
}
