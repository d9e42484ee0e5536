//! Raw buffers of real snapshots, read without their descriptions: these tell the truth.

use std::collections::BTreeMap;
use std::path::Path;

use tracewright::survey::{Looks, survey};
use tracewright::{Packing, Trace};
use tracewright_testkit::captures_for;

/// Buffers in which no protocol synchronises: an ITM's without a single synchronisation packet, and an empty one.
const NOTHING: [&str; 3] =
    ["juno_r1_1/cstraceitm.bin", "infrastructure/cstraceitm.bin", "ete-wfet/session2.bin"];

#[test]
fn packings_and_sources_of_real_buffers_are_found() {
    let Some(captures) = captures_for("packings_and_sources_of_real_buffers_are_found", "coresight") else {
        return;
    };
    let mut checked = BTreeMap::<_, u32>::new();
    for folder in std::fs::read_dir(&captures).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(trace) = Trace::open(&folder) else { continue };
        let capture = trace.capture();
        for buffer in capture.buffers.iter().filter(|buffer| buffer.path.is_file()) {
            let name = buffer.path.strip_prefix(&captures).unwrap().to_str().unwrap();
            let survey = survey(&buffer.path).unwrap();
            let Some(fit) = survey.fits.first() else {
                assert!(NOTHING.contains(&name), "{name}: nothing found");
                continue;
            };
            assert_eq!(fit.packing, buffer.format, "{name}");
            *checked.entry(fit.packing.name()).or_default() += 1;
            // Every ETMv4 and ETE is found with its ID; no other is taken for one.
            let is_etm = |id: u16| {
                let source = buffer.sources.iter().map(|&index| &capture.sources[index]);
                let mut source = source.filter(|source| source.number() == Some(id));
                source.any(|source| {
                    ["ETMv4", "ETE"].iter().any(|name| source.protocol_name().starts_with(name))
                })
            };
            for source in &fit.sources {
                match source.id {
                    Some(id) => {
                        let looks_etm = matches!(source.looks, Looks::Etm { .. });
                        assert_eq!(looks_etm, is_etm(id.get().into()), "{name}: {source:?}");
                    }
                    None => assert_eq!(buffer.format, Packing::Source),
                }
            }
        }
    }
    assert!(checked["coresight"] > 10 && checked["source"] > 25 && checked["dstream"] == 1, "{checked:?}");
}

#[test]
fn our_own_samples_are_found() {
    let sample = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples").join(name);
    let first = |name: &str| survey(&sample(name)).unwrap().fits.remove(0).options().unwrap();
    assert!(first("hello/buffer_0.bin").starts_with("--packing coresight --source etm4,id=0x10"));
    assert!(first("etrace/trace.bin").starts_with("--source etrace,isa=rv64,encapsulation=standard"));
    let log = survey(&sample("retirement.log")).unwrap();
    assert!(log.fits.is_empty(), "{:?}", log.fits);
    assert!(survey(Path::new("no/such/file")).is_err());
}
