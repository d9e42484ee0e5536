//! Examples of the specification, each parsed, emitted and printed.

use tracewright_core::Isa;
use tracewright_ntrace::packet::{self, Address, History, Malformed, MessageBytes, Packet, Process, Values};
use tracewright_ntrace::stream::{Content, Parser, SyncPoint, SyncPoints};
use tracewright_ntrace::{Dialect, Params};
use tracewright_testkit::Rng;
use tracewright_testkit::ntrace::read;

#[track_caller]
fn check(bytes: &[u8], packet: Packet, timestamp: Option<u64>, params: &Params) {
    let parsed = packet::parse(bytes, params).unwrap();
    assert_eq!((parsed.packet, parsed.timestamp), (Some(packet), timestamp));
    let mut again = MessageBytes::default();
    packet::emit(&packet, parsed.source, timestamp, params, &mut again).unwrap();
    assert_eq!(again[..], *bytes, "{packet}");
}

fn sent(value: u64, bits: u16) -> Address {
    Address { value, bits }
}

fn extended() -> Params {
    Params { extend_addr_msb: true, ..Params::default() }
}

#[test]
fn indirect_branch_hist() {
    let packet = Packet::IndirectBranchHist { btype: 0, icnt: 0x7d, uaddr: sent(7, 6), hist: 0xffe };
    let params = Params::default();
    check(&[0x70, 0xd0, 0x1d, 0x1d, 0xf8, 0xff], packet, None, &params);
    check(&[0x70, 0xd0, 0x1d, 0x1d, 0xf8, 0xfd, 0x17], packet, Some(5), &params);
}

#[test]
fn fields_of_any_length() {
    let params = Params::default();
    let full = |rdata| Packet::ResourceFull { rcode: 1, rdata, hrepeat: None };
    check(&[0x6c, 0x44, 0x54, 0x54, 0x54, 0x54, 0x57], full(0x5555_5555), None, &params);
    let again = |rdata, count| Packet::ResourceFull { rcode: 2, rdata, hrepeat: Some(count) };
    check(&[0x6c, 0x48, 0x54, 0x54, 0x54, 0x54, 0x55, 0x2b], again(0x5555_5555, 10), None, &params);
    check(&[0x6c, 0x48, 0x05, 0x58, 0x0b], again(5, 150), None, &params);
    check(&[0x20, 0x00, 0x07], Packet::Error { etype: 0, ecode: 4 }, None, &params);
    check(&[0x78, 0xb0, 0x13], Packet::RepeatBranch { bcnt: 300 }, None, &params);
    check(&[0x08, 0xc8, 0x3b], Packet::Ownership { process: 0x3b2 }, None, &params);
    check(&[0x08, 0x33], Packet::Ownership { process: 0xc }, None, &params);
    let sync = |sync, icnt, faddr| Packet::ProgTraceSync { sync, icnt, faddr };
    check(&[0x24, 0x0d, 0x00, 0x0b], sync(3, 0, sent(0x80, 12)), None, &params);
    check(&[0x24, 0x50, 0x09, 0x24, 0x0b], sync(4, 9, sent(0x89, 12)), None, &params);
}

#[test]
fn sources() {
    let params = Params { src_bits: 2, ..Params::default() };
    let bytes = [0x10, 0x55, 0x00, 0x07];
    check(&bytes, Packet::IndirectBranch { btype: 1, icnt: 1, uaddr: sent(0x40, 12) }, None, &params);
    assert_eq!(packet::parse(&bytes, &params).unwrap().source, 1);
    assert_eq!(Params { src_bits: 13, ..params }.check(), Err("src_bits"));
}

/// Addresses in a field of a message: what was sent, and the address that it stands for.
#[test]
fn addresses() {
    let field = |bytes: &[u8]| {
        let mut all = vec![0x24, 0x05];
        all.extend(bytes);
        *all.last_mut().unwrap() |= 3;
        let Some(Packet::ProgTraceSync { faddr, .. }) =
            packet::parse(&all, &Params::default()).unwrap().packet
        else {
            panic!("{all:x?}")
        };
        faddr
    };
    let plain = Params::default();
    let extended = extended();
    let ones = |count: usize, last: u8| [vec![0xfc; count], vec![last]].concat();
    for (bytes, params, whole) in [
        (ones(5, 0x7d), &extended, 0xf_ffff_fffe),
        (vec![0xfc, 0xfc, 0xfc, 0xfc, 0x7c, 0xf1], &extended, 0xffff_fffe_3fff_fffe),
        (ones(6, 0x01), &extended, 0x1f_ffff_fffe),
        (ones(10, 0x15), &extended, 0xbfff_ffff_ffff_fffe),
        (vec![0xe8, 0x8c, 0x04, 0, 0, 0xfc, 0xfc, 0xfc, 0xfc, 0xfc, 0x1f], &plain, 0xffff_ffff_8000_31f4),
        (vec![0xe8, 0x8c, 0x04, 0, 0, 0xff], &extended, 0xffff_ffff_8000_31f4),
    ] {
        let sent = field(&bytes);
        assert_eq!(sent.whole(params, Isa::Rv64), whole, "{bytes:x?}");
        assert_eq!(Address::new(whole, params, Isa::Rv64), sent, "{whole:x}");
    }
    // A part with 32 bits uses all of them.
    let high = Address::new(0x4040_0000, &plain, Isa::Rv32);
    assert_eq!((high.value, high.whole(&plain, Isa::Rv32)), (0x2020_0000, 0x4040_0000));
    // The address at which the last field has its top bit set, with and without extension.
    let bytes = [0x24, 0x15, 0x68, 0x90, 0, 0, 0, 0xfc, 0xfc, 0xff];
    let sifive = Params { dialect: Dialect::Sifive, ..plain.clone() };
    let spacemit = Params { dialect: Dialect::Spacemit, ..plain.clone() };
    let high = 0xffff_ffff_8000_1234;
    for (params, whole) in
        [(&plain, 0x1_ffff_8000_1234), (&extended, high), (&sifive, high), (&spacemit, high)]
    {
        let packet = packet::parse(&bytes, params).unwrap().packet;
        let Some(Packet::ProgTraceSync { sync: 5, icnt: 0, faddr }) = packet else { panic!("{packet:?}") };
        assert_eq!(faddr.whole(params, Isa::Rv64), whole);
        // Fewer bits would do where any top bit extends.
        let again = Address::new(whole, params, Isa::Rv64);
        assert!(again == faddr || params.extend_addr_msb && again.bits == 36);
    }
    // Each address is relative to the one before.
    let mut last = 0x3fc04;
    assert_eq!(Address::new(last, &plain, Isa::Rv64), field(&[0x08, 0xe0, 0x7f]));
    for (address, bytes) in [(0x3f368, [0xd8, 0x7b].as_slice()), (0x3e100, &[0xd0, 0x93])] {
        assert_eq!(Address::new(address ^ last, &plain, Isa::Rv64), field(bytes));
        last = address;
    }
}

/// Every address is sent so that it is the same when received.
#[test]
fn any_address() {
    for seed in 0..20_000 {
        let mut rng = Rng::new(seed);
        let address = if rng.one_in(2) { rng.sized(64) } else { !rng.sized(63) } & !1;
        for isa in [Isa::Rv32, Isa::Rv64] {
            let address = if isa == Isa::Rv32 { address & 0xffff_ffff } else { address };
            let plain = Address::new(address, &Params::default(), isa);
            assert_eq!(plain.whole(&Params::default(), isa), address);
            let short = Address::new(address, &extended(), isa);
            assert_eq!(short.whole(&extended(), isa), address, "{short:x?}");
            assert!(short.bits <= plain.bits + 6 && short.bits.is_multiple_of(6));
        }
    }
}

#[test]
fn contexts() {
    let guest = Process { format: 2, privilege: 0, is_virtual: true, context: 0x1d };
    assert_eq!((Process::of(0x3b2), guest.field()), (guest, 0x3b2));
    assert_eq!(Process::of(0xc), Process { format: 0, privilege: 3, is_virtual: false, context: 0 });
}

#[test]
fn histories() {
    let letters = |field: u64| History::of(field).unwrap().to_string();
    assert_eq!([5, 0xf, 0x10, 1].map(letters), ["NT", "TTT", "NNNN", ""]);
    assert_eq!(letters(0x5555_5555), "NT".repeat(15));
    assert_eq!(History::of(0), None);
}

#[test]
fn text() {
    let text = |bytes: &[u8]| packet::parse(bytes, &Params::default()).unwrap().packet.unwrap().to_string();
    assert_eq!(
        text(&[0x24, 0x0d, 0x00, 0x0b]),
        "ProgTraceSync sync=3 icnt=0x0 faddr=0x80 (exit from debug mode)"
    );
    assert_eq!(text(&[0x08, 0xc8, 0x3b]), "Ownership process=0x3b2 (VU)");
    assert_eq!(text(&[0x20, 0x00, 0x07]), "Error etype=0 ecode=0x4 (buffer full)");
    assert_eq!(
        text(&[0x6c, 0x48, 0x05, 0x58, 0x0b]),
        "ResourceFull rcode=2 rdata=0x5 hrepeat=0x96 (repeated history) (NT)"
    );
    assert_eq!(text(&[0x10, 0x55, 0x00, 0x07]), "IndirectBranch btype=1 icnt=0x5 uaddr=0x40 (trap)");
}

#[test]
fn older_messages() {
    let params = Params { dialect: Dialect::Sifive, ..Params::default() };
    let mut ckdata = Values::default();
    [0x40, 7].into_iter().for_each(|value| ckdata.push(value));
    let call = Packet::InCircuitTrace { cksrc: 9, ckdf: 1, ckdata };
    let bytes = [0x88, 0x64, 0x00, 0x05, 0x1f];
    check(&bytes, call, None, &params);
    // The standard reserves that number, and software's messages too.
    assert_eq!(packet::parse(&bytes, &Params::default()).unwrap().packet, None);
    check(&[0x1c, 0x11, 0x27], Packet::DataAcquisition { idtag: 4, data: 9 }, None, &params);
}

#[test]
fn what_is_not_a_message() {
    let malformed = |bytes: &[u8]| packet::parse(bytes, &Params::default()).unwrap_err();
    assert_eq!(malformed(&[0x70, 0xd0, 0x1d, 0x1f]), Malformed::Short("hist"));
    // A fixed field does not end a field.
    assert_eq!(malformed(&[0x24, 0x17]).to_string(), "faddr is missing");
    assert_eq!(malformed(&[0x24 | 1, 0x17]), Malformed::Short("sync"));
    assert_eq!(malformed(&[0x0c, 0x05, 0x05, 0x07]), Malformed::Long);
    assert_eq!(malformed(&[0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x43]), Malformed::Wide("icnt"));
    let mut bytes = MessageBytes::default();
    let wide = Packet::IndirectBranch { btype: 4, icnt: 0, uaddr: sent(0, 6) };
    assert_eq!(packet::emit(&wide, 0, None, &Params::default(), &mut bytes), Err(Malformed::Wide("btype")));
    let absent = Packet::ResourceFull { rcode: 2, rdata: 1, hrepeat: None };
    let mut bytes = MessageBytes::default();
    assert_eq!(
        packet::emit(&absent, 0, None, &Params::default(), &mut bytes),
        Err(Malformed::Short("hrepeat"))
    );
}

/// A reader resumes after the next byte that ends a message.
#[test]
fn damage_ends_with_its_message() {
    let good = [0x0c, 0x0f];
    let contents = |bytes: &[u8], params: &Params| -> Vec<Content> {
        let told = read(Parser::new(params.clone()), [bytes]);
        told.into_iter().map(|(.., message)| message.content).collect()
    };
    let standard = |bytes: &[u8]| contents(bytes, &Params::default());
    let branch = Content::Packet(Packet::DirectBranch { icnt: 3 });
    let mseo = Content::Malformed(Malformed::Mseo);
    assert_eq!(standard(&[&[0xff, 0xff][..], &good].concat()), [Content::Idle { len: 2 }, branch]);
    // Reserved bits, a start that ends a field, and a second end.
    let lost = Content::NotSync { len: 2 };
    assert_eq!(standard(&[&[0x0c, 0x02, 0x0c, 0x0f][..], &good].concat()), [mseo, lost, branch]);
    assert_eq!(standard(&[&[0x05, 0x0c, 0x0f][..], &good].concat()), [mseo, lost, branch]);
    assert_eq!(standard(&[&[0x07][..], &good].concat()), [mseo, branch]);
    // Memory that was never written.
    let zeros = [&[0; 200][..], &[0x07], &good].concat();
    let endless = Content::Malformed(Malformed::Endless);
    assert_eq!(standard(&zeros), [endless, Content::NotSync { len: 137 }, branch]);
    let sifive = Params { dialect: Dialect::Sifive, ..Params::default() };
    assert_eq!(contents(&zeros[..200], &sifive), [Content::Idle { len: 200 }]);
    // Messages of vendors have any length, reserved ones have not.
    let long = |tcode: u8| [&[tcode << 2][..], &[0; 99], &[3], &good].concat();
    assert_eq!(standard(&long(56)), [Content::Other { tcode: 56, len: 101 }, branch]);
    assert_eq!(standard(&long(40)), [endless, Content::NotSync { len: 37 }, branch]);
    assert_eq!(standard(&[0xa0, 0x03]), [Content::Other { tcode: 40, len: 2 }]);
    assert_eq!(standard(&[0x70, 0xd0]), [Content::Incomplete]);
    // In the middle of a message.
    let told = read(Parser::starting_at(Params::default(), 0), [&[0x15, 0x68, 0x0b][..], &good]);
    let contents: Vec<_> = told.iter().map(|(.., message)| message.content).collect();
    assert_eq!(contents, [Content::NotSync { len: 3 }, branch]);
}

/// Where tracing was switched on, the first message counts, unless the memory has wrapped.
#[test]
fn slices_begin_with_a_start_or_inside_a_message() {
    let start: &[u8] = &[0x24, 0x15, 0x68, 0x90, 0, 0, 0, 0xfc, 0xfc, 0xff];
    let branch: &[u8] = &[0x84, 0x40, 0x11, 0x0f];
    let skipped = |parts: &[&[u8]]| {
        let bytes = parts.concat();
        let told = read(Parser::slice_at(Params::default(), 7), bytes.chunks(3));
        let (offset, _, first) = &told[0];
        assert_eq!(*offset, 7);
        match first.content {
            Content::NotSync { len } => (len, told.len()),
            _ => (0, told.len()),
        }
    };
    assert_eq!(skipped(&[start, branch]), (0, 2));
    assert_eq!(skipped(&[&[0xff; 5], start, branch]), (0, 3));
    // Messages that nothing begins with, whole or not.
    assert_eq!(skipped(&[branch, start, branch]), (4, 3));
    assert_eq!(skipped(&[&start[3..], start, branch]), (7, 3));
    // A periodic synchronisation, and one after a count.
    assert_eq!(skipped(&[&[0x24, 0x09, 0x0b], start]), (3, 2));
    assert_eq!(skipped(&[&[0x24, 0x55, 0x0b], start]), (3, 2));
    assert_eq!(skipped(&[&[0x26, 0x0b], start]), (2, 2));
    assert_eq!(skipped(&[&[0x24, 0x15]]), (0, 1));
}

#[test]
fn decoding_can_start_at_whole_addresses() {
    let params = Params { src_bits: 2, ..Params::default() };
    let mut bytes = vec![0x68, 0x0b];
    for (source, packet) in [
        (0, Packet::DirectBranch { icnt: 9 }),
        (3, Packet::ProgTraceSync { sync: 2, icnt: 9, faddr: sent(9, 6) }),
        (1, Packet::IndirectBranch { btype: 0, icnt: 9, uaddr: sent(9, 6) }),
        (1, Packet::IndirectBranchHistSync { sync: 2, btype: 0, icnt: 9, faddr: sent(9, 6), hist: 1 }),
    ] {
        let mut message = MessageBytes::default();
        packet::emit(&packet, source, None, &params, &mut message).unwrap();
        bytes.extend(&message[..]);
    }
    let points: Vec<_> = SyncPoints::new(&params, &bytes).collect();
    assert_eq!(points, [SyncPoint { offset: 4, source: 3 }, SyncPoint { offset: 12, source: 1 }]);
}
