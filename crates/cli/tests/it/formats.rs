//! The name of an output says its format, where no option does.

use std::fs;

use crate::run::{recorded, run};
use tracewright_testkit::Scratch;

#[test]
fn names_of_outputs_say_their_formats() {
    let folder = Scratch::new("formats");
    let capture = recorded(&folder, "args", "");
    for (verb, name, option) in [
        ("profile", "a.svg", "--format flamegraph"),
        ("profile", "b.SVG", "--format flamegraph"),
        ("profile", "a.csv", "--format csv"),
        ("profile", "a.json", "--json"),
        ("profile", "a.folded", "--format folded"),
        ("profile", "a.pb.gz", "--format pprof"),
        ("profile", "a.pprof", "--format pprof"),
        ("profile", "a.fdata", "--format fdata"),
        ("profile", "a.txt", "--format table"),
        ("coverage", "c.info", "--format lcov"),
        ("coverage", "c.xml", "--format cobertura"),
        ("coverage", "c.csv", "--format csv"),
        ("coverage", "c.json", "--json"),
        ("timeline", "t.pftrace", "--format perfetto"),
        ("timeline", "t.json", "--format chrome"),
    ] {
        let (named, asked) = (folder.join(name), folder.join(&format!("asked-{name}.out")));
        run!("{verb} {capture} -o {named}").ends(0);
        run!("{verb} {capture} {option} -o {asked}").ends(0);
        let (named, asked) = (fs::read(named).unwrap(), fs::read(asked).unwrap());
        assert!(!named.is_empty() && named == asked, "{verb} {name}");
    }
    let diff = folder.join("d.svg");
    let ran = run!("diff {capture} {capture} -o {diff}").ends(0);
    assert_eq!(ran.err.matches("in the output").count(), 1, "what is the same is said once: {}", ran.err);
    assert!(fs::read_to_string(diff).unwrap().contains("<svg"));
    // What is asked for counts.
    let table = folder.join("table.svg");
    run!("profile {capture} --format csv -o {table}").ends(0);
    assert!(fs::read_to_string(&table).unwrap().starts_with("binary,"));
    for (verb, name) in [("coverage", "no.svg"), ("timeline", "no.svg"), ("profile", "no.info")] {
        let file = folder.join(name);
        run!("{verb} {capture} -o {file}").ends(2).says("this verb writes no .").says("--format");
        assert!(fs::metadata(file).is_err());
    }
}
