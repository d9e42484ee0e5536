//! Owners of addresses in each memory space.

use std::collections::HashMap;

use tracewright_core::MemorySpace;
use tracewright_image::{Bytes, Image, Kind, Reason, Remark};
use tracewright_testkit::Rng;

const SPACES: [MemorySpace; 12] = [
    MemorySpace::EL1S,
    MemorySpace::EL1N,
    MemorySpace::EL2,
    MemorySpace::EL3,
    MemorySpace::EL2S,
    MemorySpace::EL1R,
    MemorySpace::EL2R,
    MemorySpace::ROOT,
    MemorySpace::S,
    MemorySpace::N,
    MemorySpace::R,
    MemorySpace::ANY,
];

/// Image as a map of single bytes: a twin that is too simple to be wrong.
#[derive(Default)]
struct ByteMap {
    /// Byte and number of the region by address and bit of the space.
    bytes: HashMap<(u64, u32), (u8, usize)>,
    regions: usize,
    overlapped: Vec<bool>,
}

impl ByteMap {
    fn add(&mut self, bytes: &[u8], address: u64, space: MemorySpace) {
        let mut overlapped = false;
        for (i, &byte) in bytes.iter().enumerate() {
            for bit in (0..8).filter(|bit| space.bits() >> bit & 1 != 0) {
                let entry = self.bytes.entry((address + i as u64, bit)).or_insert((byte, self.regions));
                overlapped |= entry.1 != self.regions;
            }
        }
        self.overlapped.push(overlapped);
        self.regions += 1;
    }

    fn get(&self, address: u64, space: MemorySpace) -> Option<(u8, usize)> {
        let bits = (0..8).filter(|bit| space.bits() >> bit & 1 != 0);
        bits.filter_map(|bit| self.bytes.get(&(address, bit)).copied()).min_by_key(|&(_, region)| region)
    }
}

#[test]
fn random_regions_are_as_in_a_map_of_bytes() {
    for seed in 0..400 {
        let mut rng = Rng::new(seed);
        let mut builder = Image::builder();
        let mut twin = ByteMap::default();
        let spaces = &SPACES[rng.below(12) as usize..];
        for number in 0..rng.below(14) {
            let len = 1 + rng.below(40) as usize;
            let (bytes, address, space) = (rng.bytes(len), rng.below(120), *rng.pick(spaces));
            twin.add(&bytes, address, space);
            builder.raw(&number.to_string(), bytes.into(), address, space).unwrap();
        }
        let image = builder.build();
        for space in SPACES {
            for address in 0..170 {
                compare(&image, &twin, address, space);
            }
        }
        for remark in image.remarks() {
            let Remark::Overlap(overlap) = remark else { panic!("{remark}") };
            let number: usize = overlap.name.parse().unwrap();
            assert!(std::mem::take(&mut twin.overlapped[number]), "{remark}");
            assert!(overlap.range.contains(&overlap.at) && overlap.by.parse::<usize>().unwrap() < number);
        }
        assert!(twin.overlapped.iter().all(|overlapped| !overlapped), "an overlap was not reported");
    }
}

fn compare(image: &Image, twin: &ByteMap, address: u64, space: MemorySpace) {
    let bytes = image.read(address, space);
    let expected: Vec<_> = (address..).map_while(|address| twin.get(address, space)).collect();
    // All bytes are right and of one region, and at least one is returned if any is known.
    assert_eq!(bytes.is_empty(), expected.is_empty(), "{address:#x} {space}");
    for (byte, expected) in bytes.iter().zip(&expected) {
        assert_eq!((*byte, expected.1), *expected, "{address:#x} {space}");
    }
    assert!(bytes.len() <= expected.iter().take_while(|(_, region)| *region == expected[0].1).count());
    // In one space they extend to the end of the range that the region owns.
    if space.bits().is_power_of_two() {
        assert_eq!(bytes.len(), expected.iter().take_while(|(_, region)| *region == expected[0].1).count());
    }
    let name = image.region(address, space).map(|region| region.name().to_owned());
    assert_eq!(name, expected.first().map(|(_, region)| region.to_string()));
    if let Some((start, whole)) = image.lookup(address, space) {
        assert_eq!(&whole[(address - start) as usize..], bytes);
        assert_eq!(image.lookup(start, space), Some((start, whole)));
    }
    let mut buffer = [0; 50];
    let len = image.read_into(address, space, &mut buffer);
    assert_eq!(len, expected.len().min(50));
    assert!(buffer[..len].iter().zip(&expected).all(|(byte, (expected, _))| byte == expected));
}

#[test]
fn an_image_can_be_shared() {
    fn shared<T: Send + Sync>() {}
    shared::<Image>();
}

#[test]
fn regions_at_the_end_of_the_address_space_are_cut() {
    let mut builder = Image::builder();
    builder.raw("top", vec![1; 16].into(), u64::MAX - 7, MemorySpace::ANY).unwrap();
    builder.raw("last", vec![1; 16].into(), u64::MAX, MemorySpace::ANY).unwrap();
    assert_eq!(
        builder.raw("none", Bytes::from(vec![]), 0, MemorySpace::ANY).unwrap_err().reason,
        Reason::Empty
    );
    let image = builder.build();
    assert_eq!(image.read(u64::MAX - 3, MemorySpace::EL3), [1; 3]);
    assert!(image.read(u64::MAX, MemorySpace::EL3).is_empty());
    assert_eq!(image.read_into(u64::MAX - 2, MemorySpace::EL3, &mut [0; 8]), 2);
    let remarks: Vec<_> = image.remarks().iter().map(ToString::to_string).collect();
    assert_eq!(
        remarks,
        [
            "top at 0xfffffffffffffff8 does not fit below the end of the address space",
            "last at 0xffffffffffffffff does not fit below the end of the address space"
        ]
    );
    let regions: Vec<_> = image.regions().map(|region| (region.name(), region.kind())).collect();
    assert_eq!(regions, [("top", Kind::Raw)]);
}

#[test]
fn many_regions_are_found_in_time() {
    let mut builder = Image::builder();
    // Small ones, then ever larger ones over all of them: no step may visit all the others.
    for i in 0..30_000 {
        builder.raw("small", vec![i as u8; 3].into(), i * 8, MemorySpace::ANY).unwrap();
    }
    let large = Bytes::from(vec![0xee; 300_000]);
    for _ in 0..30_000 {
        builder.raw("large", large.clone(), 0, MemorySpace::EL1N).unwrap();
    }
    let image = builder.build();
    assert_eq!(image.remarks().len(), 30_000);
    for i in 0..30_000 {
        assert_eq!(image.read(i * 8 + 1, MemorySpace::EL1N), [i as u8; 2]);
        assert_eq!(image.read(i * 8 + 3, MemorySpace::EL1N)[..5], [0xee; 5]);
    }
}
