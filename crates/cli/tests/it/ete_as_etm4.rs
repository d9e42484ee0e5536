//! Trace units whose TRCIDR1 says that TRCDEVARCH has their architecture (TRCARCHMAJ = 0xf) are ETEs, also where they were
//! recorded as ETMv4. What is read of them is the same, and one line says so.

use std::fs;
use std::process::Output;

use crate::run::{stderr, text, tracewright};
use tracewright_testkit::{Scratch, captures_for};

const SAID: &str = "recorded as ETMv4, but TRCIDR1.TRCARCHMAJ is 0xf: read as ETE";

fn decoded(arguments: &[&str]) -> Output {
    tracewright(&[&["decode"], arguments].concat())
}

/// Decodes both; they must come to the same, and only the second say what it was taken for, once.
fn same(ete: &[&str], etm4: &[&str]) {
    let [ete, etm4] = [ete, etm4].map(decoded);
    let said = |output: &Output| stderr(output).matches(SAID).count();
    assert_eq!((said(&ete), said(&etm4)), (0, 1), "{}", stderr(&etm4));
    assert!(!ete.stdout.is_empty());
    assert_eq!((ete.status, ete.stdout), (etm4.status, etm4.stdout));
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let at = bytes.windows(from.len()).position(|part| part == from).unwrap();
    [&bytes[..at], to, &bytes[at + from.len()..]].concat()
}

#[test]
fn in_recordings() {
    let Some(perf) = captures_for("an ETE recorded as ETMv4", "perf/simpleperf") else { return };
    let ete = perf.join("perf_with_unformatted_trace.data");
    let here = Scratch::new("ete-as-etm4");
    let bytes = fs::read(&ete).unwrap();
    // The kind of the unit. What follows are the same registers; ETMv4 has none called TRCDEVARCH among them.
    let bytes = replaced(&bytes, &[0x50; 8], &[0x40; 8]);
    let etm4 = here.write("etm4.data", &bytes);
    let symfs = ["--symfs", text(&perf)];
    same(&[&[text(&ete)], &symfs[..]].concat(), &[&[text(&etm4)], &symfs[..]].concat());
}

#[test]
fn in_snapshots() {
    let Some(from) = captures_for("an ETE recorded as ETMv4", "coresight/tme_simple") else { return };
    let here = Scratch::new("ete-as-etm4");
    for name in ["cpu_0.ini", "session1.bin", "snapshot.ini", "trace.ini"] {
        here.write(name, &fs::read(from.join(name)).unwrap());
    }
    fs::create_dir(here.path().join("bindir_64")).unwrap();
    for entry in fs::read_dir(from.join("bindir_64")).unwrap().map(Result::unwrap) {
        let to = here.path().join("bindir_64").join(entry.file_name());
        fs::write(to, fs::read(entry.path()).unwrap()).unwrap();
    }
    let unit = fs::read(from.join("ETE_0_s1.ini")).unwrap();
    here.write("ETE_0_s1.ini", &replaced(&unit, b"type=ETE", b"type=ETM4"));
    same(&[text(&from)], &[text(here.path())]);
}

#[test]
fn on_the_command_line() {
    let Some(from) = captures_for("an ETE recorded as ETMv4", "coresight/tme_simple/session1.bin") else {
        return;
    };
    let registers =
        "id=1,TRCCONFIGR=0x0,TRCIDR0=0x2801cea1,TRCIDR1=0x4100fff0,TRCIDR2=0xd0001088,TRCIDR8=0x0";
    let [ete, etm4] = ["ete", "etm4"].map(|protocol| format!("{protocol},{registers}"));
    let common = [text(&from), "--packing", "source", "--elements", "--source"];
    same(&[&common[..], &[&ete]].concat(), &[&common[..], &[&etm4]].concat());
}
