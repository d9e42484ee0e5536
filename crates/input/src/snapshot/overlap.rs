//! Overlapping memory dumps: of dumps that disagree about a byte, the first counts.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Device, Dump};
use crate::problem::{Log, Problem};

/// Dump, as device and index among its dumps.
type Place = (usize, usize);

/// Range of addresses whose bytes come from one dump, or from several that agree.
#[derive(Clone, Copy)]
struct Run {
    first: u64,
    last: u64,
    first_dump: Place,
}

/// Removes every dump that overlaps an earlier one in some memory space and takes the bytes from elsewhere.
///
/// All cores share one memory. The same file at the same address is listed by every core of a cluster and is no
/// conflict.
pub(super) fn resolve(devices: &mut [Device], problems: &mut Vec<Problem>) {
    let conflicts = conflicts(devices);
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for (&(device, index), run) in &conflicts {
        let (device, other) = (&devices[device], &devices[run.first_dump.0]);
        let (dump, other_dump) = (&device.dumps[index], &other.dumps[run.first_dump.1]);
        Log::new(&device.file, problems).memory().error(
            dump.line,
            format!(
                "{:#x}-{:#x} ({}) overlaps {:#x}-{:#x} of {} ({}:{}) and differs: skipped; \
                 give one of them another space=",
                dump.address,
                dump.last(),
                dump.space,
                run.first,
                run.last,
                name(&other_dump.path),
                name(&other.file),
                other_dump.line,
            ),
        );
    }
    for (number, device) in devices.iter_mut().enumerate() {
        let mut places = (0..).map(|index| (number, index));
        device.dumps.retain(|_| places.next().is_none_or(|place| !conflicts.contains_key(&place)));
    }
}

/// Returns each dump that must be removed, with the one it contradicts. Ordered, so that problems are too.
fn conflicts(devices: &[Device]) -> BTreeMap<Place, Run> {
    let mut conflicts = BTreeMap::new();
    // One map for each bit of a `MemorySpace`, by first address. Its runs are disjoint, so their ends are as
    // ordered as their starts.
    let mut spaces: [BTreeMap<u64, Run>; 8] = Default::default();
    let dump_at = |(device, index): Place| -> &Dump { &devices[device].dumps[index] };
    for (number, device) in devices.iter().enumerate() {
        for (index, dump) in device.dumps.iter().enumerate() {
            let place = (number, index);
            let mine = || (0..8).filter(|bit| dump.space.bits() >> bit & 1 != 0);
            let other = mine().find_map(|bit| {
                overlapping(&spaces[bit], dump).find(|run| !agree(dump, dump_at(run.first_dump)))
            });
            if let Some(other) = other {
                conflicts.insert(place, other);
                continue;
            }
            mine().for_each(|bit| add(&mut spaces[bit], dump, place));
        }
    }
    conflicts
}

/// Returns the runs that share an address with `dump`, last first.
fn overlapping(runs: &BTreeMap<u64, Run>, dump: &Dump) -> impl Iterator<Item = Run> {
    let first = dump.address;
    runs.range(..=dump.last()).rev().map(|(_, run)| *run).take_while(move |run| run.last >= first)
}

/// Returns whether the two take each shared address from the same byte of the same file.
fn agree(one: &Dump, other: &Dump) -> bool {
    let shift = |dump: &Dump| dump.address.wrapping_sub(dump.offset);
    one.path == other.path && shift(one) == shift(other)
}

/// Adds `dump`, which agrees with all it overlaps, as one run with them.
fn add(runs: &mut BTreeMap<u64, Run>, dump: &Dump, place: Place) {
    let mut whole = Run { first: dump.address, last: dump.last(), first_dump: place };
    let joined: Vec<Run> = overlapping(runs, dump).collect();
    for run in joined {
        runs.remove(&run.first);
        whole.first = whole.first.min(run.first);
        whole.last = whole.last.max(run.last);
        whole.first_dump = whole.first_dump.min(run.first_dump);
    }
    runs.insert(whole.first, whole);
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tracewright_testkit::Rng;

    use super::*;
    use crate::snapshot::{DeviceClass, MemorySpace};

    fn device(dumps: Vec<Dump>) -> Device {
        let (name, kind, file) = ("cpu".to_owned(), "ARMv8-A".to_owned(), PathBuf::from("cpu.ini"));
        Device { name, class: DeviceClass::Core, kind, file, registers: Vec::new(), dumps }
    }

    fn random_dump(rng: &mut Rng, line: u32) -> Dump {
        let spaces = [MemorySpace::ANY, MemorySpace::EL1N, MemorySpace::N, MemorySpace::S, MemorySpace::EL3];
        let start = *rng.pick(&[0, 1000, u64::MAX - 99]);
        let (address, length) = (start + rng.below(80), 1 + rng.below(20));
        // Usually the offset with which dumps of a file agree.
        let offset = if rng.one_in(4) { 0 } else { address - start };
        let path = PathBuf::from(*rng.pick(&["a.bin", "b.bin"]));
        Dump { path, address, length, offset, space: *rng.pick(&spaces), line }
    }

    /// Does the same by comparing each dump with all that were kept before it.
    fn naive(devices: &mut [Device]) {
        let mut kept: Vec<Dump> = Vec::new();
        for device in devices {
            device.dumps.retain(|dump| {
                let differs = |other: &Dump| {
                    dump.space.overlaps(other.space)
                        && dump.address <= other.last()
                        && other.address <= dump.last()
                        && !agree(dump, other)
                };
                let keep = !kept.iter().any(differs);
                kept.extend(keep.then(|| dump.clone()));
                keep
            });
        }
    }

    #[test]
    fn keeps_what_the_naive_way_keeps() {
        let mut rng = Rng::new(4);
        for _ in 0..2000 {
            let mut devices: Vec<Device> = (0..1 + rng.below(3))
                .map(|_| device((0..rng.below(12)).map(|line| random_dump(&mut rng, line as u32)).collect()))
                .collect();
            let mut expected = devices.clone();
            naive(&mut expected);
            let before: usize = devices.iter().map(|device| device.dumps.len()).sum();
            let mut problems = Vec::new();
            resolve(&mut devices, &mut problems);
            assert_eq!(devices, expected);
            let after: usize = devices.iter().map(|device| device.dumps.len()).sum();
            assert_eq!(problems.len(), before - after);
        }
    }
}
