//! Fuzz targets as plain functions. Here each runs on some thousands of random inputs.

#[path = "it/random/mod.rs"]
pub mod random;

use tracewright_core::{Isa, MemorySpace};
use tracewright_image::Image;
use tracewright_profile::branch_list::{self, Expanded};
use tracewright_profile::{Binary, Profile, store};
use tracewright_testkit::{Rng, captures};

/// Reads any bytes as a profile. They are refused with an offset inside them, or survive a round trip.
pub fn profile(data: &[u8]) {
    match store::read(data) {
        Ok(profile) => {
            assert!(profile.instructions() <= store::LARGEST_SUM);
            let bytes = store::write(&profile);
            assert_eq!(store::read(&bytes), Ok(profile));
        }
        Err(damage) => {
            assert!(damage.offset <= data.len() as u64);
            assert!(damage.to_string().len() < 200);
        }
    }
    // The same with matching checksums, or nothing behind them would ever be reached.
    let mended = mended(data);
    if mended != data {
        profile(&mended);
    }
}

/// Takes any bytes as two profiles, preceded by the length of the first in two bytes. Merged in either order they give
/// the same profile, which is their sum.
pub fn merged(data: &[u8]) {
    let Some((len, data)) = data.split_first_chunk::<2>() else { return };
    let (one, other) = data.split_at(data.len().min(u16::from_le_bytes(*len).into()));
    let (Ok(one), Ok(other)) = (store::read(&mended(one)), store::read(&mended(other))) else { return };
    let (mut sum, mut swapped) = (one.clone(), other.clone());
    sum.merge(&other);
    swapped.merge(&one);
    assert_eq!(store::write(&sum), store::write(&swapped));
    let expected = one.instructions().checked_add(other.instructions());
    assert_eq!(sum.instructions_checked(), expected);
}

/// Reads any bytes as a branch list. They are refused with a short message, or survive a round trip and can be followed
/// through any code.
pub fn branches(data: &[u8]) {
    // Compressed parts are taken as they are.
    let list = match branch_list::read(data, |part| Ok::<_, &str>(part.to_vec())) {
        Ok(list) => list,
        Err(why) => return assert!((1..200).contains(&why.to_string().len()), "{why}"),
    };
    let again = branch_list::read(&branch_list::write(&list), |_| Err("not compressed"));
    assert_eq!(again.as_ref(), Ok(&list));
    let mut builder = Image::builder();
    let code: Vec<u8> = data.iter().chain(&[0]).copied().cycle().take(4096).collect();
    builder.raw("code", code.into(), 0x1000, MemorySpace::ANY).unwrap();
    let image = builder.build();
    let (mut profile, mut expanded, mut all) = (Profile::default(), Expanded::default(), 0);
    for listed in &list.binaries {
        let name = listed.path.clone();
        let number = profile.binary(Binary {
            name,
            build_id: listed.build_id.clone(),
            is_elf: true,
            found: None,
            code: Vec::new(),
        });
        for listed in [listed.clone(), listed.moved(0x1000)] {
            let branches = listed.branches.values().flatten();
            all += branches.map(|(outcomes, count)| u64::from(outcomes.len()) * count).sum::<u64>();
            expanded.add(&mut profile, number, &listed, (&image, MemorySpace::ANY, Isa::A64));
        }
    }
    assert_eq!(expanded.followed + expanded.lost, all, "each branch is followed or not");
    let _ = branch_list::of_profile(&profile);
}

/// Adds the right checksums to the bytes, as far as they parse as a profile's sections.
fn mended(data: &[u8]) -> Vec<u8> {
    let head = store::MAGIC.len() + 1;
    let Some(sections) = data.get(head..) else { return data.to_vec() };
    let mut bytes = [&store::MAGIC[..], &[1]].concat();
    let mut rest = sections;
    // A section of up to 127 bytes, or up to 16383.
    while let [_, low, high, ..] = *rest {
        let (at, len) = match low {
            0..0x80 => (2, usize::from(low)),
            _ => (3, usize::from(low & 0x7f) | usize::from(high & 0x7f) << 7),
        };
        let Some((section, after)) = rest.split_at_checked(at + len) else { break };
        bytes.extend_from_slice(section);
        let sum = !section.iter().fold(!0_u32, |sum, &byte| {
            (0..8).fold(sum ^ u32::from(byte), |sum, _| (sum >> 1) ^ ((sum & 1) * 0xedb8_8320))
        });
        bytes.extend(sum.to_le_bytes());
        rest = after.get(4..).unwrap_or_default();
    }
    bytes.extend_from_slice(rest);
    bytes
}

#[test]
fn profile_on_random_input() {
    let mut rng = Rng::new(9);
    let mut read = 0;
    for round in 0..6_000 {
        let data = if round % 3 > 0 {
            // A good profile with a few bytes changed, perhaps cut.
            let mut data = store::write(&random::random(&mut rng));
            for _ in 0..1 + rng.below(3) {
                let at = rng.below(data.len() as u64) as usize;
                data[at] = rng.sized(8) as u8;
            }
            if rng.one_in(4) {
                data.truncate(rng.below(data.len() as u64) as usize);
            }
            data
        } else {
            [&store::MAGIC[..], &[1], &rng.bytes_below(60)].concat()
        };
        read += u32::from(store::read(&mended(&data)).is_ok());
        profile(&data);
    }
    // Not all changes end in an error at the first byte.
    assert!(read > 400, "{read}");
}

/// Joins two profiles as [`merged`] takes them.
pub fn pair(one: &Profile, other: &Profile) -> Vec<u8> {
    let (one, other) = (store::write(one), store::write(other));
    [&(one.len() as u16).to_le_bytes()[..], &one, &other].concat()
}

#[test]
fn merged_on_random_input() {
    let mut rng = Rng::new(11);
    for _ in 0..1_000 {
        let (one, other) = (random::random(&mut rng), random::random(&mut rng));
        let mut data = pair(&one, &other);
        merged(&data);
        let at = rng.below(data.len() as u64) as usize;
        data[at] = rng.sized(8) as u8;
        merged(&data);
    }
}

#[test]
fn branches_on_random_input() {
    let mut rng = Rng::new(10);
    let mut good = vec![b"simpleperf:EtmBranchList\x01\0\0\0\0".to_vec()];
    if let Some(folder) = captures().map(|captures| captures.join("perf")) {
        for name in ["oracle/perf_etm.bl", "oracle/perf_kernel.bl", "simpleperf/old_branch_list.data"] {
            good.push(std::fs::read(folder.join(name)).unwrap());
        }
    }
    good.iter().for_each(|bytes| branches(bytes));
    let (mut read, mut refused) = (0, 0);
    for round in 0..20_000 {
        let mut data = rng.pick(&good).clone();
        for _ in 0..1 + rng.below(3) {
            let at = rng.below(data.len() as u64) as usize;
            data[at] = rng.sized(8) as u8;
        }
        match round % 8 {
            0 => data.truncate(rng.below(data.len() as u64) as usize),
            1 => data.extend(rng.bytes(40)),
            _ => {}
        }
        let is_read = branch_list::read(&data, |_| Err("compressed")).is_ok();
        (read, refused) = (read + u32::from(is_read), refused + u32::from(!is_read));
        branches(&data);
    }
    assert!(read > 100 && refused > 100, "{read} {refused}");
}
