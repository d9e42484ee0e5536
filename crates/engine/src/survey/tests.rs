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
    let fit = |packing, sources: &[FoundSource]| Fit { packing, skip: 0, sources: sources.to_vec(), lost: 0 };
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
