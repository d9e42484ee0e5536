//! Trace units whose TRCIDR1 says that TRCDEVARCH has their architecture (TRCARCHMAJ = 0xf) are ETEs, also where they were
//! recorded as ETMv4. What is read of them is the same, and one line says so.

use std::fs;

use crate::run::{Ran, copy_folder, replace, run, text};
use tracewright_testkit::{Scratch, captures_for};

const SAID: &str = "recorded as ETMv4, but TRCIDR1.TRCARCHMAJ is 0xf: read as ETE";

/// Decodes both; they must come to the same, and only the second say what it was taken for, once.
fn same(ete: &str, etm4: &str) {
    let [ete, etm4] = [ete, etm4].map(|line| run!("decode {line}"));
    let said = |ran: &Ran| ran.err.matches(SAID).count();
    assert_eq!((said(&ete), said(&etm4)), (0, 1), "{}", etm4.err);
    assert!(!ete.out.is_empty());
    assert_eq!((ete.status, ete.out), (etm4.status, etm4.out));
}

#[test]
fn in_recordings() {
    let Some(perf) = captures_for("an ETE recorded as ETMv4", "perf/simpleperf") else { return };
    let ete = perf.join("perf_with_unformatted_trace.data");
    let here = Scratch::new("ete-as-etm4");
    let mut bytes = fs::read(&ete).unwrap();
    // The kind of the unit. What follows are the same registers; ETMv4 has none called TRCDEVARCH among them.
    let at = bytes.windows(8).position(|part| part == [0x50; 8]).unwrap();
    bytes[at..at + 8].fill(0x40);
    let etm4 = here.write("etm4.data", &bytes);
    let [ete, etm4] = [ete, etm4].map(|path| format!("{} --symfs {}", text(&path), text(&perf)));
    same(&ete, &etm4);
}

#[test]
fn in_snapshots() {
    let Some(from) = captures_for("an ETE recorded as ETMv4", "coresight/tme_simple") else { return };
    let here = Scratch::new("ete-as-etm4");
    copy_folder(&from, here.path());
    replace(here.path().join("ETE_0_s1.ini"), "type=ETE", "type=ETM4");
    same(text(&from), text(here.path()));
}

#[test]
fn on_the_command_line() {
    let Some(from) = captures_for("an ETE recorded as ETMv4", "coresight/tme_simple/session1.bin") else {
        return;
    };
    let registers =
        "id=1,TRCCONFIGR=0x0,TRCIDR0=0x2801cea1,TRCIDR1=0x4100fff0,TRCIDR2=0xd0001088,TRCIDR8=0x0";
    let [ete, etm4] = ["ete", "etm4"].map(|protocol| {
        format!("{} --packing source --elements --source {protocol},{registers}", text(&from))
    });
    same(&ete, &etm4);
}
