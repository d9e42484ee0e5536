//! Packets of the specification: each line is bytes and their meaning, read and emitted, in the order of the header
//! map.
//!
//! Values were worked out by hand from the layouts in the specification, or come from real captures. None comes from
//! our own emitter.

use tracewright_etm::packet::{ASYNC, Emitter, Packet, Parser};
use tracewright_etm::{Architecture, CoreProfile, Params, Protocol, Registers};

/// Reads each line after an A-Sync and a Trace Info: bytes, `->`, and the packets as text with `|` between them. If the line
/// does not begin with `*`, emitting the packets must give the same bytes.
fn check(registers: &Registers, lines: &str) {
    let params = Params::new(registers).unwrap();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")) {
        let (hex, expected) = line.split_once(" -> ").unwrap();
        let (is_canonical, hex) = hex.strip_prefix("* ").map_or((true, hex), |hex| (false, hex));
        let mut stream = [&ASYNC[..], &[0x01, 0x00]].concat();
        stream.extend(hex.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()));
        let mut packets = Vec::new();
        let mut parser = Parser::new(params.clone());
        parser.feed(&stream, &mut |_: u64, _: &[u8], packet: &Packet| packets.push(*packet));
        let said = packets[2..].iter().map(|packet| {
            let text = format!("{}: {}", packet.kind().name(), packet.details(&params));
            text.trim_end_matches(": ").to_owned()
        });
        assert_eq!(said.collect::<Vec<_>>().join(" | "), expected, "{hex}");
        if is_canonical {
            let mut emitter = Emitter::new(params.clone());
            let mut emit = |packet| emitter.emit(packet).unwrap_or_else(|e| panic!("{hex}: {e}")).to_vec();
            assert_eq!(packets.iter().flat_map(&mut emit).collect::<Vec<u8>>(), stream, "{hex}");
        }
    }
}

fn etm4() -> Registers {
    Registers { trcidr1: 0x4100_f462, ..Registers::default() }
}

fn ete() -> Registers {
    Registers { protocol: Protocol::Ete, trcdevarch: 0x4773_5a13, ..Registers::default() }
}

#[test]
fn extension_and_synchronisation() {
    check(
        &etm4(),
        "
        00 03 -> Discard
        00 05 -> Overflow
        00 00 00 00 00 00 00 00 00 00 00 80 -> A-Sync
        04 -> Trace On
        70 -> Ignore
        88 -> Timestamp Marker
        ",
    );
}

#[test]
fn trace_info() {
    check(
        &etm4(),
        "
        01 00 -> Trace Info: cycle counting off
        01 01 00 -> Trace Info: cycle counting off
        01 09 01 16 -> Trace Info: cycle counting on, threshold 22
        01 1f 41 85 02 05 80 01 07 -> Trace Info: cycle counting on, threshold 128, in a transaction, 5 uncommitted, P0 key 261, window 7
        // The extension of a control byte is ignored.
        * 01 81 00 01 f7 -> Trace Info: cycle counting on | Atom F1: E
        ",
    );
}

#[test]
fn timestamp() {
    check(
        &etm4(),
        "
        02 d7 df 01 -> Timestamp: 0x6fd7
        02 ba cf 81 80 ff ff ff ff ff -> Timestamp: 0xfffffffff00067ba
        // Fewer bytes replace the low bits. Trace Info clears the rest.
        02 d7 df 01 02 05 -> Timestamp: 0x6fd7 | Timestamp: 0x6f85
        02 d7 df 01 01 00 02 05 -> Timestamp: 0x6fd7 | Trace Info: cycle counting off | Timestamp: 0x5
        02 ff ff ff ff ff ff 7f -> Timestamp: 0x1ffffffffffff
        02 ff ff ff ff ff ff ff 7f -> Timestamp: 0xffffffffffffff
        03 05 88 01 -> Timestamp: 0x5, 136 cycles
        ",
    );
}

#[test]
fn exception() {
    check(
        &etm4(),
        "
        06 1d -> Exception: IRQ (0xe), return address follows
        06 58 -> Exception: Data Fault (0xc), return address follows, = branch target
        06 03 -> Exception: Debug Halt (0x1), return address follows
        07 -> Exception Return
        ",
    );
    let m = Registers { profile: CoreProfile::M, ..etm4() };
    check(
        &m,
        "
        05 -> Function Return
        06 17 -> Exception: SVC (0xb), return address follows
        06 21 -> Exception: IRQ0, return address follows
        // Number 0x208 = 8 + 16 * 32 is interrupt 8. With P, a fault is pending.
        06 91 10 -> Exception: IRQ8, return address follows
        06 87 20 -> Exception: HardFault (0x3), return address follows, fault pending
        ",
    );
    check(
        &ete(),
        "
        06 01 70 90 -> PE Reset | Address Exact: 0x0 [0]
        06 31 70 -> Transaction Failure
        0a 0b -> Transaction Start | Transaction Commit
        09 01 ff ff 0f 00 00 00 00 00 -> Instrumentation: EL1 0xfffff
        ",
    );
}

#[test]
fn cycle_counts() {
    // COMMOPT = 1: counts only. The threshold is added.
    check(
        &Registers { trcidr0: 0x2600_0ea1, ..etm4() },
        "
        01 09 01 16 10 -> Trace Info: cycle counting on, threshold 22 | Cycle Count F3: 22 cycles
        01 09 01 16 13 -> Trace Info: cycle counting on, threshold 22 | Cycle Count F3: 25 cycles
        01 09 01 16 0d ff -> Trace Info: cycle counting on, threshold 22 | Cycle Count F2: 37 cycles
        01 09 01 16 0e 88 01 -> Trace Info: cycle counting on, threshold 22 | Cycle Count F1: 158 cycles
        01 09 01 16 0f -> Trace Info: cycle counting on, threshold 22 | Cycle Count F1: unknown
        ",
    );
    // COMMOPT = 0, MAXSPEC = 32: counts commit.
    let commits = Registers { trcidr0: 0x0600_0ea1, trcidr8: 32, ..etm4() };
    check(
        &commits,
        "
        1d -> Cycle Count F3: 1 cycles, commit 4
        0c 72 -> Cycle Count F2: 2 cycles, commit 8
        // Counted back from MAXSPEC: 4 + 32 - 15.
        0d 42 -> Cycle Count F2: 2 cycles, commit 21
        0e 85 01 03 -> Cycle Count F1: 3 cycles, commit 133
        0f 07 -> Cycle Count F1: unknown, commit 7
        ",
    );
    // If MAXSPEC is too small, the count is below zero. The packet is still whole.
    let shallow = Registers { trcidr8: 4, ..commits };
    check(&shallow, "0d 02 -> Cycle Count F2: 2 cycles, commit -11");
}

#[test]
fn speculation() {
    check(
        &etm4(),
        "
        2d 05 -> Commit: 5
        2d 81 02 -> Commit: 257
        2e 04 -> Cancel F1: 4
        2f 04 -> Cancel F1 Mispredict: 4
        30 -> Mispredict
        31 -> Mispredict: E, then mispredict
        32 -> Mispredict: EE, then mispredict
        33 -> Mispredict: N, then mispredict
        34 -> Cancel F2: 1 and mispredict
        36 -> Cancel F2: EE, then 1 and mispredict
        38 -> Cancel F3: 2 and mispredict
        3f -> Cancel F3: E, then 5 and mispredict
        ",
    );
}

#[test]
fn conditional_and_data_trace() {
    let conditional = Registers { trcconfigr: 0x701, trcidr0: 0x0600_0041, ..etm4() };
    check(
        &conditional,
        "
        40 -> Conditional Instruction F2: 1, next key
        42 -> Conditional Instruction F2: 2, next key
        43 -> Conditional Flush
        46 -> Conditional Result F4: same key = 2
        49 -> Conditional Result F2: key + 1 = 1
        4c -> Conditional Result F2: key + 2 = 0
        5a 42 -> Conditional Result F3: tokens 0xa42
        69 25 c1 01 -> Conditional Result F1: key 2 = 0x5, key 12 = 0x1
        6e 35 -> Conditional Result F1: key 3 = 0x5
        6c 81 01 -> Conditional Instruction F1: key 129
        6d 07 -> Conditional Instruction F3: 3, next keys, and 1, same key
        ",
    );
    let reserved = "Conditional Instruction F2 is not in this trace unit's configuration";
    check(&etm4(), &format!("* 40 -> Reserved (configuration): {reserved}"));
    let data = Registers { trcconfigr: 0x1_0007, trcidr0: 0x0600_001f, ..etm4() };
    check(
        &data,
        "
        25 -> Data Sync Mark: 5
        2c -> Data Sync Mark (unnumbered): 4
    ",
    );
}

#[test]
fn events_and_contexts() {
    check(
        &etm4(),
        "
        71 -> Event: 0
        7a -> Event: 1 3
        80 -> Context: unchanged
        81 31 -> Context: EL1 AArch64 non-secure
        81 c2 07 78 56 34 12 -> Context: EL2 AArch32 secure, context ID 0x12345678, VMID 0x7
        ",
    );
    let wide = Registers { trcidr2: 0x0000_1088, ..ete() };
    check(&wide, "81 7b 04 03 02 01 -> Context: EL3 AArch64 realm, VMID 0x1020304");
    check(&wide, "81 1b -> Context: EL3 AArch64 root");
}

#[test]
fn addresses() {
    check(
        &etm4(),
        "
        9d 00 35 09 00 c0 ff ff ff -> Address 64 IS0: 0xffffffc000096a00
        9e 01 9a 4f 00 01 00 00 00 -> Address 64 IS1: 0x1004f9a02
        9a 22 1c 5a 00 -> Address 32 IS0: 0x5a3888
        9b 01 9a 4f 00 -> Address 32 IS1: 0x4f9a02
        // Short forms take the upper bits from the last address.
        9d 00 35 09 00 c0 ff ff ff 95 59 -> Address 64 IS0: 0xffffffc000096a00 | Address Short IS0: 0xffffffc000096b64
        9d 00 35 09 00 c0 ff ff ff 95 d6 95 -> Address 64 IS0: 0xffffffc000096a00 | Address Short IS0: 0xffffffc000092b58
        9b 01 9a 4f 00 96 7f -> Address 32 IS1: 0x4f9a02 | Address Short IS1: 0x4f9afe
        9b 01 9a 4f 00 96 81 9b -> Address 32 IS1: 0x4f9a02 | Address Short IS1: 0x4f9b02
        // Exact matches are added again: [1] swaps the two newest.
        9a 01 00 00 00 9a 02 00 00 00 91 91 92 -> Address 32 IS0: 0x4 | Address 32 IS0: 0x8 | Address Exact: 0x4 [1] | Address Exact: 0x8 [1] | Address Exact: 0x8 [2]
        85 00 35 09 00 c0 ff ff ff f1 00 2a 00 00 00 -> Address+Context 64 IS0: 0xffffffc000096a00, EL1 AArch64 non-secure, context ID 0x2a, VMID 0x0
        83 01 9a 4f 00 00 -> Address+Context 32 IS1: 0x4f9a02, EL0 AArch32 secure
        // 32 bits keep the upper half in AArch64, and clear it in AArch32.
        9d 00 00 00 00 01 00 00 00 81 10 9a 01 00 00 00 81 00 9a 02 00 00 00 -> Address 64 IS0: 0x100000000 | Context: EL0 AArch64 secure | Address 32 IS0: 0x100000004 | Context: EL0 AArch32 secure | Address 32 IS0: 0x8
        ",
    );
    check(
        &ete(),
        "
        b4 78 -> Source Address Short IS0: 0x1e0
        b5 7c -> Source Address Short IS1: 0xf8
        b6 22 1c 5a 00 b0 -> Source Address 32 IS0: 0x5a3888 | Source Address Exact: 0x5a3888 [0]
        b9 01 9a 4f 00 01 00 00 00 -> Source Address 64 IS1: 0x1004f9a02
        ",
    );
}

#[test]
fn q() {
    let q = Registers { trcidr0: 0x0601_8001, ..etm4() };
    check(
        &q,
        "
        a5 63 09 -> Q: 9 instructions, then 0x18c
        a6 63 09 -> Q: 9 instructions, then 0xc6
        aa 3c 3c 06 00 01 -> Q: 1 instructions, then 0x678f0
        aa 3c 3c 06 00 01 a0 82 01 -> Q: 1 instructions, then 0x678f0 | Q: 130 instructions, then 0x678f0 [0]
        ac 05 -> Q: 5 instructions, address follows
        af -> Q: unknown number of instructions, address follows
        ",
    );
}

#[test]
fn atoms() {
    check(
        &etm4(),
        "
        f6 f7 -> Atom F1: N | Atom F1: E
        d9 -> Atom F2: EN
        f9 fc -> Atom F3: ENN | Atom F3: NNE
        dc dd de df -> Atom F4: NEEE | Atom F4: NNNN | Atom F4: NENE | Atom F4: ENEN
        f5 d5 d6 d7 -> Atom F5: NEEEE | Atom F5: NNNNN | Atom F5: NENEN | Atom F5: ENENE
        c0 e0 -> Atom F6: EEEE | Atom F6: EEEN
        d4 f4 -> Atom F6: EEEEEEEEEEEEEEEEEEEEEEEE | Atom F6: EEEEEEEEEEEEEEEEEEEEEEEN
        ",
    );
}

#[test]
fn gates() {
    let old = Registers::default();
    let m7 = Registers { profile: CoreProfile::M, architecture: Architecture::V7, ..etm4() };
    let ete_1_0 = Registers { trcdevarch: 0x4770_5a13, ..ete() };
    // Reserved in every version.
    let never =
        [0x08, 0x47, 0x4b, 0x4f, 0x60, 0x67, 0x84, 0x87, 0x89, 0x8f, 0x93, 0x94, 0x97, 0x99, 0x9c, 0x9f];
    for (registers, closed, open) in [
        (&old, &[0x70, 0x88, 0xa0, 0x0a, 0xb0, 0x09][..], &[][..]),
        (&m7, &[0x05], &[]),
        (&etm4(), &[0x05], &[0x07, 0x70, 0x88]),
        (&ete(), &[0x07, 0x20, 0x40], &[0x09, 0xb9]),
        (&ete_1_0, &[0x09], &[]),
    ] {
        let params = Params::new(registers).unwrap();
        for (headers, is_closed) in [(&never[..], true), (closed, true), (open, false)] {
            for &header in headers {
                assert_eq!(params.kind(header).is_error(), is_closed, "{header:02x} {registers:?}");
            }
        }
    }
}

#[test]
fn an_async_that_a_cut_packet_took_zeros_of() {
    // A 32-bit address, cut after its first byte, takes three zeros of the A-Sync.
    let cut = "* 9a 01 00 00 00 00 00 00 00 00 00 00 00 80 01 00 f7";
    let said = "Address 32 IS0: 0x4 | A-Sync | Trace Info: cycle counting off | Atom F1: E";
    check(&etm4(), &format!("{cut} -> {said}"));
}
