//! Bytes and what they are.

use tracewright_tacit::packet::{self, Malformed, Unread};
use tracewright_tacit::stream::{Item, Parser};
use tracewright_tacit::{Form, Mode, Params};
use tracewright_testkit::Rng;
use tracewright_testkit::tacit::{account, any_packet, any_params, emitted, read};

fn bytes(hex: &str) -> Vec<u8> {
    hex.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

/// Each line is read, told, and written again.
fn check(params: &Params, hex: &str, text: &str) {
    let bytes = bytes(hex);
    let (packet, len) = packet::read(&bytes, params).unwrap();
    assert_eq!((packet.to_string().as_str(), len), (text, bytes.len()), "{hex}");
    assert_eq!(emitted(&packet, params)[..], bytes, "{text}");
}

const EXAMPLE: &[(&str, &str)] = &[
    (
        "36 98 80 80 00 00 00 00 84 68 87",
        "Sync event=start privilege=M asid=0 configuration=0x80 target=0x80000000 time=1000",
    ),
    ("15", "NotTakenBranch time=5"),
    ("02 e4", "TakenBranch time=100"),
    ("0f", "InferableJump time=3"),
    ("0a 10 81 89", "UninferableJump xor=0x120 time=9"),
    (
        "32 9b 02 01 00 00 84 02 85 8c",
        "Trap event=exception before=M after=M from=0x80000104 xor=0x504 time=12",
    ),
    (
        "76 98 80 80 00 04 00 00 84 00 89",
        "Sync event=end privilege=M asid=0 configuration=0x80 target=0x80000400 time=1152",
    ),
];

#[test]
fn the_example_is_read() {
    for (hex, text) in EXAMPLE {
        check(&Params::default(), hex, text);
    }
    let stream: Vec<_> = EXAMPLE.iter().flat_map(|(hex, _)| bytes(hex)).collect();
    let told = read(Parser::new(Params::default()), [&stream[..]]);
    let texts: Vec<_> = told
        .iter()
        .map(|(.., item)| match item {
            Item::Packet(packet) => packet.to_string(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(texts, EXAMPLE.iter().map(|(_, text)| *text).collect::<Vec<_>>());
}

#[test]
fn packets_of_all_modes_and_forms() {
    let target = Params::default();
    check(&target, "fc", "TakenBranch time=63");
    check(&target, "02 c0", "TakenBranch time=64");
    check(&target, "06 00 81", "NotTakenBranch time=128");
    check(&target, "0e ff", "InferableJump time=127");
    check(&target, "92 83 aa 80 80 80", "Trap event=return before=M after=U asid=42 from=0x0 xor=0x0 time=0");
    check(&target, "52 88 80 80 80", "Trap event=interrupt before=U after=S from=0x0 xor=0x0 time=0");
    check(
        &target,
        "56 88 81 00 82 83",
        "Sync event=periodic privilege=S asid=1 configuration=0x0 target=0x4 time=3",
    );
    let predict = Params { mode: Mode::Predict, ..Params::default() };
    check(&predict, "0c", "Hits count=3");
    check(&predict, "02 c0", "Hits count=64");
    check(&predict, "0d", "Miss time=3");
    check(&predict, "06 00 81", "Miss time=128");
    let rtl = Params { form: Form::Rtl, ..Params::default() };
    check(
        &rtl,
        "36 80 80 92 82 83",
        "Sync event=start privilege=U asid=0 configuration=0x92 target=0x4 time=3",
    );
    check(&rtl, "56 80 80 82 83", "Sync event=periodic privilege=U asid=0 target=0x4 time=3");
    let plain = Params { form: Form::Plain, ..Params::default() };
    check(&plain, "36 82 83", "Sync event=start target=0x4 time=3");
    check(&plain, "92 82 81 83", "Trap event=return from=0x4 xor=0x2 time=3");
}

#[test]
fn bytes_that_are_no_packet() {
    let params = Params::default();
    let why = |hex: &str| packet::read(&bytes(hex), &params).unwrap_err();
    assert_eq!(why("1a"), Unread::Malformed(Malformed::Reserved, 1));
    assert_eq!(why("1e"), Unread::Malformed(Malformed::Reserved, 1));
    assert_eq!(why("22"), Unread::Malformed(Malformed::Kind("event"), 1));
    assert_eq!(why("16"), Unread::Malformed(Malformed::Kind("event"), 1));
    assert_eq!(why("72"), Unread::Malformed(Malformed::Kind("event"), 1));
    assert_eq!(why("36 18"), Unread::Malformed(Malformed::Kind("privilege"), 2));
    assert_eq!(why("36 9b"), Unread::Malformed(Malformed::Kind("privilege"), 2));
    assert_eq!(why("32 a0"), Unread::Malformed(Malformed::Kind("privilege"), 2));
    assert_eq!(why("36 98 00 00 84"), Unread::Malformed(Malformed::Wide("asid"), 5));
    assert_eq!(why("02 01 01 01 01 01 01 01 01 01 01"), Unread::Malformed(Malformed::Endless("time"), 11));
    assert_eq!(why("02 01 01 01 01 01 01 01 01 01 82"), Unread::Malformed(Malformed::Wide("time"), 11));
    assert_eq!(why("0a 00 00 00 00 00 90"), Unread::Malformed(Malformed::Wide("target"), 7));
    assert_eq!(why("0a 10"), Unread::More);
    assert_eq!(why(""), Unread::More);
    // Bits above the width may be copies of the highest.
    let (packet, _) = packet::read(&bytes("0a 00 00 00 00 00 70 7f 7f ff 80"), &params).unwrap();
    assert_eq!(packet.to_string(), "UninferableJump xor=0xffffff0000000000 time=0");
}

/// A stream begins with its start, and may begin again only after its end. Damage ends it.
#[test]
fn a_stream_is_read_from_its_start() {
    let params = Params::default();
    let items = |hex: &str| -> Vec<_> {
        read(Parser::new(params.clone()), [&bytes(hex)[..]])
            .into_iter()
            .map(|(at, _, item)| (at, item))
            .collect()
    };
    assert_eq!(
        items("15 0f 36 98 80 80 80 80"),
        [(0, Item::Malformed(Malformed::NoStart)), (1, Item::NotSync { len: 7 })]
    );
    assert_eq!(items("56"), [(0, Item::Malformed(Malformed::NoStart))]);
    let (start, end) = ("36 98 80 80 80 80", "76 98 80 80 80 80");
    let again = items(&format!("{start} 15 {end} {start} {end} 15 15"));
    assert!(matches!(
        again[..5],
        [_, _, _, _, (25, Item::Malformed(Malformed::NoStart)) | (_, Item::Packet(_))]
    ));
    assert_eq!(again[5..], [(25, Item::Malformed(Malformed::NoStart)), (26, Item::NotSync { len: 1 })]);
    assert_eq!(items(&format!("{start} 36 98"))[1], (6, Item::Incomplete));
    let damaged = items(&format!("{start} 1a {start}"));
    assert_eq!(damaged[1..], [(6, Item::Malformed(Malformed::Reserved)), (7, Item::NotSync { len: 6 })]);
}

#[test]
fn packets_round_trip() {
    for seed in 0..30_000_u64 {
        let mut rng = Rng::new(seed);
        let params = any_params(&mut rng);
        let packet = any_packet(&mut rng, &params);
        let bytes = emitted(&packet, &params);
        assert_eq!(packet::read(&bytes, &params), Ok((packet, bytes.len())), "{params:?}");
        for len in 0..bytes.len() {
            assert_eq!(packet::read(&bytes[..len], &params), Err(Unread::More));
        }
    }
}

#[test]
fn every_byte_is_accounted_for() {
    let stream: Vec<_> = EXAMPLE.iter().flat_map(|(hex, _)| bytes(hex)).collect();
    for at in 0..stream.len() {
        for value in [0, 0x1a, 0x36, 0xff] {
            let mut damaged = stream.clone();
            damaged[at] = value;
            account(&read(Parser::new(Params::default()), [&damaged[..]]), 0, &damaged);
        }
    }
}
