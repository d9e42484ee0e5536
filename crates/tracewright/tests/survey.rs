//! Raw buffers of real snapshots, read without their descriptions: these tell the truth.

use std::collections::BTreeMap;
use std::path::Path;

use tracewright::Trace;
use tracewright::survey::survey;
use tracewright_testkit::captures_for;

/// Buffers in which no protocol synchronises: an ITM's without a single synchronisation packet, and an empty one.
const NOTHING: [&str; 3] =
    ["juno_r1_1/cstraceitm.bin", "infrastructure/cstraceitm.bin", "ete-wfet/session2.bin"];

#[test]
fn packings_and_sources_of_real_buffers_are_found() {
    let Some(captures) = captures_for("packings_and_sources_of_real_buffers_are_found", "coresight") else {
        return;
    };
    let (mut checked, mut protocols) = (BTreeMap::<_, u32>::new(), BTreeMap::<_, u32>::new());
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
            // Every source is found with its ID and its protocol.
            for source in &fit.sources {
                let described = buffer.sources.iter().map(|&index| &capture.sources[index]);
                let mut described = described
                    .filter(|other| source.id.is_none_or(|id| other.number() == Some(id.get().into())));
                let Some(described) = described.next() else {
                    assert!(source.speaks.is_none(), "{name}: {source:?}");
                    continue;
                };
                let expected = described.protocol_name();
                let speaks = source.speaks.as_ref();
                let Some(speaks) = speaks else { panic!("{name}: {source:?} is {expected}") };
                assert!(is_right(speaks.name, &expected), "{name}: {source:?} is {expected}");
                *protocols.entry(speaks.name).or_default() += 1;
                // What is said to try reads most of it.
                let evidence = speaks.evidence.filter(|evidence| evidence.per_mille() > 700);
                assert!(evidence.is_some() || speaks.source.is_none(), "{name}: {source:?}");
            }
        }
    }
    for (name, least) in [("ETMv4 or ETE", 30), ("ETE", 5), ("ETMv3", 3), ("PTM", 4), ("STM", 2)] {
        assert!(protocols.get(name).is_some_and(|&count| count >= least), "{name}: {protocols:?}");
    }
    assert!(checked["coresight"] > 10 && checked["source"] > 25 && checked["dstream"] == 1, "{checked:?}");
}

/// Returns whether this is the name of what a description calls `ETMv4.2` or `PTM (PFT 1.1)`. ETE that uses nothing new looks like ETMv4.
fn is_right(name: &str, described: &str) -> bool {
    match described {
        _ if described.starts_with("ETMv4") => name == "ETMv4 or ETE",
        _ if described.starts_with("ETE") => name.ends_with("ETE"),
        _ => described.starts_with(name) || name.ends_with(described),
    }
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
