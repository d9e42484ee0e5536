//! Packets of other encoders: the reference flow's model, the C codec, PULP's hardware.

use tracewright_etrace::packet::{self, Packet, PayloadBytes};
use tracewright_etrace::stream::{Config, Content, Encapsulation, Message, Parser, Writer};
use tracewright_etrace::{Options, Params, SupportLayout, data};
use tracewright_testkit::etrace::{c_codec, flows, mixes, te_inst};
use tracewright_testkit::{captures_for, skip};

/// Reads every packet of the reference model as its recorded fields, and writes the same bytes.
#[test]
fn packets_of_the_reference_model() {
    let Some(captures) = captures_for("packets_of_the_reference_model", "") else { return };
    let (mut packets, mut with_fields) = (0, 0);
    for flow in flows(&captures) {
        let mut parsed = Vec::new();
        let mut parser = Parser::new(smi(&flow.params));
        let mut sink = |offset: u64, bytes: &[u8], message: &Message| match message.content {
            Content::Instruction(packet) => parsed.push((bytes.to_vec(), packet)),
            _ => panic!("{}/{} at {offset:#x}: {message:?} {bytes:02x?}", flow.set, flow.program),
        };
        parser.feed(&flow.raw(), &mut sink);
        parser.finish(&mut sink);
        for (bytes, packet) in &parsed {
            let mut payload = PayloadBytes::default();
            packet::emit(packet, &flow.params, &mut payload).unwrap();
            assert_eq!(payload[..], bytes[1..], "{}/{} {packet}", flow.set, flow.program);
        }
        packets += parsed.len();
        let Some(csv) = flow.csv() else { continue };
        let expected = te_inst(&csv, &flow.params);
        let parsed: Vec<Packet> = parsed.iter().map(|(_, packet)| *packet).collect();
        for (i, (parsed, expected)) in parsed.iter().zip(&expected).enumerate() {
            assert_eq!(parsed, expected, "{}/{} packet {i}", flow.set, flow.program);
        }
        assert_eq!(parsed.len(), expected.len(), "{}/{}", flow.set, flow.program);
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
        let mut parsed = Vec::new();
        let mut parser = Parser::new(smi(&mix.params));
        let mut sink = |offset: u64, bytes: &[u8], message: &Message| match message.content {
            Content::Instruction(packet) => parsed.push((bytes.to_vec(), packet)),
            _ => panic!("{place} at {offset:#x}: {message:?} {bytes:02x?}"),
        };
        parser.feed(&mix.raw(), &mut sink);
        parser.finish(&mut sink);
        for (bytes, packet) in &parsed {
            let mut payload = PayloadBytes::default();
            packet::emit(packet, &mix.params, &mut payload).unwrap();
            assert_eq!(payload[..], bytes[1..], "{place} {packet}");
        }
        packets += parsed.len();
        let Some(csv) = mix.csv() else { return skip("packets_of_the_c_codec", "no xz") };
        let expected = c_codec(&csv, &mix.params);
        for (i, ((_, parsed), expected)) in parsed.iter().zip(&expected).enumerate() {
            match (expected, parsed) {
                (None, Packet::Support(support)) => assert_eq!(support.ioptions, options, "{place}"),
                (expected, parsed) => assert_eq!(Some(*parsed), *expected, "{place} packet {i}"),
            }
        }
        assert_eq!(parsed.len(), expected.len(), "{place}");
    }
    assert_eq!(packets, 958_404);
}

fn smi(params: &Params) -> Config {
    Config {
        params: params.clone(),
        encapsulation: Encapsulation::Smi,
        options: Options::default(),
        data: data::Options::default(),
    }
}

/// Returns the parameters of PULP's encoder, as its decoder has them.
fn pulp() -> Params {
    Params {
        iaddress_lsb: 0,
        privilege_width: 2,
        support: SupportLayout::Pulp,
        address_bytes: true,
        ..Params::default()
    }
}

/// Reads all records of PULP's hardware as packets, and writes the same bytes.
#[test]
fn records_of_pulp() {
    let Some(captures) = captures_for("records_of_pulp", "") else { return };
    for (program, records) in [("hello_culsans", 48), ("l1_test", 21), ("gpios_all", 305)] {
        let bytes =
            std::fs::read(captures.join("riscv/rv_tracer").join(program).join("packets.bin")).unwrap();
        let config = Config {
            params: pulp(),
            encapsulation: Encapsulation::Pulp,
            options: Options::default(),
            data: data::Options::default(),
        };
        let mut writer = Writer::new(config.clone());
        let mut written = Vec::new();
        let mut parsed = 0;
        let mut parser = Parser::new(config);
        let mut sink = |offset: u64, _: &[u8], message: &Message| {
            assert!(matches!(message.content, Content::Instruction(_)), "{program} {offset:#x} {message:?}");
            writer.message(message, &mut written).unwrap();
            parsed += 1;
        };
        parser.feed(&bytes, &mut sink);
        parser.finish(&mut sink);
        assert_eq!(parsed, records, "{program}");
        assert_eq!(written.len(), bytes.len());
        for (i, (written, bytes)) in written.chunks(40).zip(bytes.chunks(40)).enumerate() {
            assert_eq!(written, bytes, "{program} record {i}");
        }
    }
}
