//! Profile files and merging.

use std::collections::BTreeMap;

use tracewright_image::Image;
use tracewright_profile::export::autofdo;
use tracewright_profile::store::{self, LARGEST_SUM, MAGIC, Reason};
use tracewright_profile::{Binary, Code, Place, Profile, Program, Runs};
use tracewright_testkit::Rng;

use crate::random::random;

#[test]
fn what_is_written_is_read() {
    let mut rng = Rng::new(1);
    for _ in 0..500 {
        let profile = random(&mut rng);
        let bytes = store::write(&profile);
        assert_eq!(store::read(&bytes), Ok(profile.sorted()));
        assert_eq!(store::write(&profile.sorted()), bytes);
    }
}

/// Merges profiles naively: every count by the identity of its binary.
fn naive(profiles: &[&Profile]) -> (BTreeMap<String, [u64; 3]>, BTreeMap<String, u64>) {
    let (mut blocks, mut branches) = (BTreeMap::new(), BTreeMap::new());
    for profile in profiles {
        let name = |place: Place| {
            let binary = profile.binaries.get(place.binary as usize);
            let name = binary.map(|binary| match &*binary.build_id {
                [] => format!("{} {}", binary.name, binary.is_elf),
                id => format!("{id:?}"),
            });
            format!("{name:?} {:#x}", place.address)
        };
        for (code, Runs { taken, not_taken, through }) in &profile.blocks {
            let Code { start, len, count, isa, last_len, class } = code;
            let key = format!("{} {len} {count} {isa} {last_len} {class:?}", name(*start));
            let sums: &mut [u64; 3] = blocks.entry(key).or_default();
            *sums = [sums[0] + taken, sums[1] + not_taken, sums[2] + through];
        }
        for (&(from, to), count) in &profile.branches {
            *branches.entry(format!("{} {}", name(from), name(to))).or_default() += count;
        }
    }
    (blocks, branches)
}

fn merged(profiles: &[&Profile]) -> Profile {
    let mut sum = Profile::default();
    profiles.iter().for_each(|profile| sum.merge(profile));
    sum
}

#[test]
fn merging_is_exact_and_in_any_order() {
    let mut rng = Rng::new(2);
    for _ in 0..200 {
        let [a, b, c] = std::array::from_fn(|_| random(&mut rng));
        let all = merged(&[&a, &b, &c]);
        let bytes = store::write(&all);
        assert_eq!(naive(&[&all]), naive(&[&a, &b, &c]));
        assert_eq!(all.instructions(), a.instructions() + b.instructions() + c.instructions());
        assert_eq!(all.taken(), a.taken() + b.taken() + c.taken());
        assert_eq!(all.funnel.bytes, a.funnel.bytes + b.funnel.bytes + c.funnel.bytes);
        for order in [[&a, &c, &b], [&b, &a, &c], [&b, &c, &a], [&c, &a, &b], [&c, &b, &a]] {
            assert_eq!(store::write(&merged(&order)), bytes);
        }
        assert_eq!(store::write(&merged(&[&merged(&[&a, &b]), &c])), bytes);
        assert_eq!(store::write(&merged(&[&a, &merged(&[&b, &c])])), bytes);
        // By way of files, too.
        let read = |profile: &Profile| store::read(&store::write(profile)).unwrap();
        assert_eq!(store::write(&merged(&[&read(&c), &read(&merged(&[&b, &a]))])), bytes);
    }
}

#[test]
fn every_cut_and_every_changed_bit_is_an_error_that_says_where() {
    let mut rng = Rng::new(3);
    let mut profile = random(&mut rng);
    while profile.blocks.len() < 20 || profile.binaries.len() < 2 {
        profile = random(&mut rng);
    }
    let bytes = store::write(&profile);
    for len in 0..bytes.len() {
        let damage = store::read(&bytes[..len]).unwrap_err();
        assert!(damage.offset <= len as u64, "{len}: {damage}");
        let reason = if len < MAGIC.len() { Reason::NoProfile } else { Reason::Ends };
        assert_eq!(damage.reason, reason, "{len}");
    }
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            let damage = store::read(&changed).unwrap_err();
            assert!(damage.offset <= bytes.len() as u64);
        }
    }
    let longer = [&bytes[..], b"x"].concat();
    let damage = store::read(&longer).unwrap_err();
    assert_eq!((damage.offset, damage.reason), (bytes.len() as u64, Reason::Follows));
    let mut newer = bytes;
    newer[MAGIC.len()] = 2;
    assert_eq!(store::read(&newer).unwrap_err().reason, Reason::Version(2));
}

#[test]
fn counts_that_cannot_be_are_refused() {
    let mut rng = Rng::new(4);
    let mut profile = random(&mut rng);
    while profile.blocks.is_empty() {
        profile = random(&mut rng);
    }
    let reason = |profile: &Profile| store::read(&store::write(profile)).unwrap_err().reason;
    let mut large = profile.clone();
    large.blocks.values_mut().next().unwrap().taken = LARGEST_SUM;
    assert_eq!(reason(&large), Reason::TooMuch);
    // Merging them does not overflow either.
    for runs in large.blocks.values_mut() {
        runs.taken = u64::MAX;
    }
    large.merge(&large.clone());
    let mut large = profile;
    large.funnel.bytes = LARGEST_SUM + 1;
    assert_eq!(reason(&large), Reason::TooMuch);
}

#[test]
fn a_build_id_of_what_is_no_elf_file_is_refused() {
    let mut profile = Profile::default();
    profile.binary(Binary {
        name: "/bin/app".into(),
        build_id: vec![7; 20],
        is_elf: false,
        found: None,
        code: Vec::new(),
    });
    assert_eq!(store::read(&store::write(&profile)).unwrap_err().reason, Reason::Binary);
}

#[test]
fn a_file_is_small() {
    // Consecutive blocks of four instructions, as in compiled code, each with a branch.
    let mut profile = Profile::default();
    profile.binary(Binary {
        name: "/bin/app".into(),
        build_id: vec![7; 20],
        is_elf: true,
        found: None,
        code: Vec::new(),
    });
    let mut rng = Rng::new(5);
    let shape = *random(&mut Rng::new(6)).blocks.keys().next().unwrap();
    for number in 0..10_000 {
        let start = Place { binary: 0, address: 0x40_0000 + 16 * number };
        let isa = tracewright_core::Isa::A64;
        let code = Code { start, len: 16, count: 4, isa, last_len: 4, class: shape.class };
        let count = 1 + rng.sized(14);
        profile.blocks.insert(code, Runs { taken: count, ..Runs::default() });
        let to = Place { binary: 0, address: start.address + 4 * rng.below(200) - 400 };
        profile.branches.insert((code.last(), to), count);
    }
    let text = autofdo::write(&profile, &Program::new(&profile, &Image::builder().build())).len();
    let file = store::write(&profile).len();
    // The text does not even contain the targets of branches without code.
    assert!(file < 105_000 && 5 * file < 2 * text, "{file} bytes, as text {text}");
}
