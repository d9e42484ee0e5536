//! Patterns, and what is said to try.

use super::patterns::Patterns;
use super::*;

const ETM: [u8; 15] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 1, 1, 1];

fn looks(bytes: &[u8]) -> (Looks, u64) {
    let mut patterns = Patterns::default();
    // In pieces of any size.
    bytes.chunks(3).for_each(|piece| patterns.feed(piece));
    patterns.looks()
}

#[test]
fn protocols_are_told_by_their_patterns() {
    assert_eq!(looks(&ETM), (Looks::Etm { counts_cycles: true }, 1));
    assert_eq!(looks(&[ETM, ETM].concat()).1, 2);
    assert_eq!(looks(&[&[7; 9][..], &ETM[..13]].concat()), (Looks::Etm { counts_cycles: false }, 1));
    assert_eq!(looks(&ETM[..12]), (Looks::Etm { counts_cycles: false }, 1));
    assert_eq!(looks(&[0, 0, 0, 0, 0, 0x80, 0x08, 1, 2, 3, 4, 0x21]), (Looks::Older, 1));
    let asynchronous = [&[0xff; 10][..], &[0x0f, 0x0f, 0x30]].concat();
    assert_eq!(looks(&asynchronous), (Looks::Stm, 1));
    let aligned = [&[0; 31][..], &[0x80, 0x05, 0x1f]].concat();
    assert!(matches!(looks(&aligned), (Looks::Etrace(_), 1)));
    assert_eq!(looks(&[1, 2, 3, 0xff, 0x80]), (Looks::Unknown, 0));
}

#[test]
fn options_name_what_can_be_read() {
    let source = |id: Option<u8>, source: Option<&str>| FoundSource {
        id: id.map(TraceId::from_low_bits),
        bytes: 1,
        syncs: 1,
        speaks: Some(Speaks { name: "", source: source.map(str::to_owned), evidence: None }),
    };
    let fit = |packing, sources: &[FoundSource]| Fit {
        packing,
        skip: 0,
        samples_per_bit: None,
        sources: sources.to_vec(),
        lost: 0,
    };
    let (etm, other) = (source(Some(0x10), Some("etm4,TRCCONFIGR=0x11")), source(Some(0x20), None));
    assert_eq!(
        fit(Packing::CoreSight, &[etm, other.clone()]).options().as_deref(),
        Some("--packing coresight --source etm4,id=0x10,TRCCONFIGR=0x11")
    );
    let options = |text| fit(Packing::Source, &[source(None, Some(text))]).options().unwrap();
    assert_eq!(options("etm4"), "--packing source --source etm4");
    assert_eq!(options("ptm,ETMCR=0x0"), "--packing source --source ptm,id=0x10,ETMCR=0x0");
    assert_eq!(options("etrace,isa=rv32"), "--source etrace,isa=rv32");
    assert_eq!(fit(Packing::CoreSight, &[other]).options(), None);
}

#[test]
fn any_bytes_are_taken() {
    assert!(survey(&[][..]).unwrap().fits.is_empty());
    let mut bytes = Vec::new();
    let mut state = 1_u32;
    for _ in 0..20_000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        bytes.push((state >> 24) as u8);
    }
    assert!(survey(&bytes[..]).unwrap().fits.is_empty());
}

/// Memory has the patterns by chance, among runs of zeros and ones that no trace has.
#[test]
fn memory_is_no_trace() {
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    // A table of addresses, and of numbers as 0x180, which looks like an A-Sync and a Trace Info.
    for table in [&[0x40_0080, 0, 7][..], &[0, 0, 0x180, 5, 6], &[0x8000_0000_0000, 1, 2, 3]] {
        assert_eq!(looks(&words(table).repeat(200)), (Looks::Unknown, 0), "{table:x?}");
    }
    // Erased flash, with something in it.
    let flash = [&[0xff; 64][..], &[0x30, 0x12]].concat().repeat(50);
    assert_eq!(looks(&flash), (Looks::Unknown, 0));
    // One pattern in a large image.
    let code = [0x1f, 0x20, 0x03, 0xd5].repeat(1 << 16);
    assert_eq!(looks(&[&code[..], &[0, 0, 0, 0, 0, 0x80, 8]].concat()), (Looks::Unknown, 0));
    // A trace unit's packets may have a zero or two.
    let few = [&ETM[..], &[0x9d; 40], &[0; 9], &[0x95, 1]].concat();
    assert!(matches!(looks(&[&few[..], &ETM.repeat(8)].concat()), (Looks::Etm { .. }, 9)));
}
