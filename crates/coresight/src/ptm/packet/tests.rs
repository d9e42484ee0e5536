use tracewright_testkit::Rng;

use super::*;
use crate::ptm::{Params, Registers};
use crate::shared::address::State as AddressState;
use crate::shared::exception::ExceptionBytes;

/// Packets of `bytes` after an A-Sync, in one chunk and byte by byte.
fn parse(params: &Params, bytes: &[u8]) -> Vec<(Vec<u8>, Packet)> {
    let all = [&[0, 0, 0, 0, 0, 0x80], bytes].concat();
    let chunked = |size: usize| {
        let mut found = Vec::new();
        let mut parser = Parser::new(params.clone());
        let mut sink =
            |offset: u64, bytes: &[u8], packet: &Packet| found.push((offset, bytes.to_vec(), *packet));
        for chunk in all.chunks(size) {
            parser.feed(chunk, &mut sink);
        }
        parser.finish(&mut sink);
        found
    };
    let whole = chunked(all.len());
    for size in 1..9 {
        assert_eq!(chunked(size), whole, "in chunks of {size}");
    }
    assert_eq!(whole[0].2, Packet::Async);
    whole.into_iter().skip(1).map(|(_, bytes, packet)| (bytes, packet)).collect()
}

#[track_caller]
fn check(params: &Params, bytes: &[u8], expected: Packet, text: &str) {
    let found = parse(params, bytes);
    assert_eq!(found[0], (bytes.to_vec(), expected));
    let mut again = Vec::new();
    expected.write(params, &mut again);
    assert_eq!(again, bytes, "{expected:?}");
    let mut line = String::new();
    opencsd::write(&mut line, &expected).unwrap();
    assert_eq!(line, text);
}

fn params(etmcr: u32) -> Params {
    Params::new(&Registers { etmcr, ..Registers::default() }).unwrap()
}

#[test]
fn atoms() {
    for (byte, text) in [
        (0x84, "E"),
        (0x86, "N"),
        (0x88, "EE"),
        (0x94, "ENE"),
        (0xbc, "NNNE"),
        (0xc8, "EENEE"),
        (0xf0, "NNEEE"),
    ] {
        let bits = text.chars().rev().fold(0, |bits, c| bits << 1 | u8::from(c == 'E'));
        let atoms = Packet::Atoms(Atoms { bits, count: text.len() as u8 });
        check(&params(0), &[byte], atoms, &format!("ATOM : Atom packet; {text}; "));
    }
    let cycles = |taken, cycles| Packet::CycleAtom { taken, cycles };
    let accurate = params(1 << 12);
    check(&accurate, &[0xbe], cycles(false, 15), "ATOM : Atom packet; N; Cycles=15; ");
    check(&accurate, &[0xfa, 0x01], cycles(false, 30), "ATOM : Atom packet; N; Cycles=30; ");
    check(&accurate, &[0xe8, 0x20], cycles(true, 522), "ATOM : Atom packet; E; Cycles=522; ");
    for byte in [0x80, 0x82] {
        assert_eq!(parse(&params(0), &[byte])[0].1, Packet::Reserved);
    }
}

#[test]
fn i_syncs() {
    let sync = ISync {
        reason: ISyncReason::TraceOn,
        address: 0xc003_6328,
        non_secure: true,
        cycles: Some(380),
        ..ISync::default()
    };
    check(
        &params(1 << 12),
        &[0x08, 0x28, 0x63, 0x03, 0xc0, 0x29, 0xf0, 0x17],
        Packet::ISync(sync),
        "ISYNC : Instruction Synchronisation packet; (Trace Enable); Addr=0xc0036328; NS;  ISA=ARM(32); Cycles=380; ",
    );
    let sync = ISync { address: 0x8000_0554, context_id: Some(0x1234), hyp: true, ..ISync::default() };
    check(
        &params(2 << 14),
        &[0x08, 0x54, 0x05, 0x00, 0x80, 0x03, 0x34, 0x12],
        Packet::ISync(sync),
        "ISYNC : Instruction Synchronisation packet; (Periodic); Addr=0x80000554; S; Hyp; CtxtID=00001234; ISA=ARM(32); ",
    );
}

#[test]
fn branches() {
    let sync = [0x08, 0x54, 0x05, 0x00, 0x80, 0x01];
    let after = |bytes: &[u8], expected: Packet, text: &str| {
        let all = [&sync[..], bytes].concat();
        let found = parse(&params(0), &all);
        assert_eq!(found[1], (bytes.to_vec(), expected));
        let mut line = String::new();
        opencsd::write(&mut line, &expected).unwrap();
        assert_eq!(line, text);
        let mut again = Vec::new();
        expected.write(&params(0), &mut again);
        assert_eq!(again, bytes);
    };
    let address = Address { value: 0x8000_0558, width: 13, known: 32, ..Address::default() };
    let branch = Branch { address, ..Branch::default() };
    let text = "BRANCH_ADDRESS : Branch address packet; Addr=0x80000558 ~[0x558]; ";
    after(&[0xad, 0x05], Packet::Branch(branch), text);
    let exception = Some(ExceptionBytes { number: 1, ..ExceptionBytes::default() });
    let address = Address { width: 32, known: 32, ..Address::default() };
    after(
        &[0x81, 0x80, 0x80, 0x80, 0x48, 0x02],
        Packet::Branch(Branch { address, exception, cycles: None }),
        "BRANCH_ADDRESS : Branch address packet; Addr=0x00000000 ~[0x0]; S; Excep=Debug Halt [01]; ",
    );
    let address = Address {
        value: 0x8000_0f7c,
        state: AddressState::Thumb,
        width: 32,
        known: 32,
        changes_state: true,
        ..Address::default()
    };
    after(
        &[0xfd, 0x9e, 0x80, 0x80, 0x18],
        Packet::Branch(Branch { address, ..Branch::default() }),
        "BRANCH_ADDRESS : Branch address packet; Addr=0x80000F7C ~[0x80000F7C]; ISA=Thumb2; ",
    );
    after(
        &[0x72, 0xfd, 0x9e, 0x80, 0x80, 0x18],
        Packet::WaypointUpdate(address),
        "WP_UPDATE : Waypoint update packet; Addr=0x80000F7C ~[0x80000F7C]; ISA=Thumb2; ",
    );
}

#[test]
fn the_others() {
    let all = params(1 << 12 | 3 << 14);
    let timestamp = Timestamp { value: 0x82_f9d1_8bcc, told: 64, clock_changed: false, cycles: Some(0) };
    check(
        &all,
        &[0x42, 0xcc, 0x97, 0xc6, 0xce, 0xaf, 0x90, 0x80, 0x80, 0x00, 0x00],
        Packet::Timestamp(timestamp),
        "TIMESTAMP : Timestamp packet; TS=0x00000082F9D18BCC ~[0x82F9D18BCC](562537008076); Cycles=0; ",
    );
    for (bytes, packet) in [
        (&[0x0c][..], Packet::Trigger),
        (&[0x3c, 0x12], Packet::Vmid(0x12)),
        (&[0x6e, 0x78, 0x56, 0x34, 0x12], Packet::ContextId(0x1234_5678)),
        (&[0x66], Packet::Ignore),
        (&[0x76], Packet::ExceptionReturn),
    ] {
        assert_eq!(parse(&all, bytes)[0], (bytes.to_vec(), packet));
        let mut again = Vec::new();
        packet.write(&all, &mut again);
        assert_eq!(again, bytes);
    }
}

#[test]
fn what_is_not_a_packet_ends_at_the_next_a_sync() {
    for bad in [&[0x04][..], &[0, 0, 1], &[0, 0, 0, 0x80], &[0xff, 0xff, 0xff, 0xff, 0x80], &[0; 20]] {
        let bytes = [bad, &[0, 0, 0, 0, 0, 0x80, 0x84]].concat();
        let found = parse(&params(0), &bytes);
        let packets: Vec<_> = found.iter().map(|(_, packet)| *packet).collect();
        let [first, .., Packet::Async, Packet::Atoms(_)] = packets[..] else {
            assert!(matches!(packets[..], [Packet::Async, Packet::Atoms(_)]), "{packets:?}");
            continue;
        };
        assert!(matches!(first, Packet::Reserved | Packet::Malformed { .. }), "{bad:02x?}: {packets:?}");
    }
}

/// The hot loop reads what the general form reads, which reads the same bytes in small chunks.
#[test]
fn any_bytes_in_any_chunks() {
    for seed in 0..3000 {
        let mut rng = Rng::new(seed);
        let params = params(rng.next_u64() as u32 & (1 << 12 | 3 << 14 | 1 << 28));
        // An I-Sync tells all that later addresses need.
        let mut bytes = vec![8];
        bytes.extend(rng.bytes(4).iter().map(|byte| byte & !2));
        bytes.extend(vec![0; 1 + usize::from(params.context_id_bytes)]);
        for _ in 0..1 + rng.below(6) {
            let mut more = rng.bytes(9);
            match rng.below(4) {
                0 => {}
                // Atoms, or headers without a meaning.
                1 => more.iter_mut().for_each(|byte| *byte |= 0x80),
                // Branches of all lengths.
                _ => (more[0], more[3]) = (more[0] | 1, more[3] & rng.pick(&[0xff_u8, 0x7f])),
            }
            bytes.extend(more);
        }
        parse(&params, &bytes);
    }
}
