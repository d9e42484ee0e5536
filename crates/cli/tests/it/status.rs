//! The exit status of every verb, over all captures, against a criterion of its own: what `--json` prints.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde_json::Value;

use crate::run::{Ran, hex, number, root, rows, run, string, sum, text, values};
use tracewright_testkit::{Rng, Scratch, captures_for};

/// The samples, and the snapshots among the shared captures.
fn captures(test: &str) -> Vec<PathBuf> {
    let mut all: Vec<_> =
        ["hello", "two-cores", "etrace", "threads"].map(|name| root().join("samples").join(name)).into();
    if let Some(shared) = captures_for(test, "coresight") {
        let folders = shared.read_dir().unwrap().map(|entry| entry.unwrap().path());
        all.extend(folders.filter(|path| path.join("snapshot.ini").is_file()));
        assert!(all.len() > 30, "{all:?}");
    }
    all.sort();
    all
}

/// What is wrong or missing, by what the JSON output of several verbs says.
#[derive(Debug, Default)]
struct Facts {
    /// Files of the capture that cannot be read: also those of its memory.
    problems: Vec<String>,
    /// Packets that report lost trace, bytes that are no packet, damage of frames, bytes of sources that cannot be read.
    packets: BTreeMap<String, u64>,
    /// Elements that tell that something is missing.
    elements: BTreeMap<String, u64>,
    blocks: usize,
    /// Set if no source traces instructions: all send messages.
    only_messages: bool,
    /// Packets of all sources.
    read: u64,
    /// The status of decode.
    status: i32,
}

impl Facts {
    fn of(capture: &str) -> Self {
        let mut facts = Self::default();
        let info = run!("info {capture} --json").json();
        let protocols = rows(&info, "sources").iter().map(|source| string(source, "protocol"));
        facts.only_messages =
            protocols.into_iter().all(|name| name.starts_with("ITM") || name.starts_with("STM"));
        facts.problems =
            rows(&info, "problems").iter().map(|problem| problem.as_str().unwrap().to_owned()).collect();
        for line in values(&run!("stats {capture} --json").out) {
            facts.of_packets(&line);
        }
        // Most lines are blocks, which need not be parsed.
        let Ran { status, out: elements, .. } = run!("decode {capture} --elements --json");
        let (blocks, others): (Vec<_>, Vec<_>) =
            elements.lines().partition(|line| line.contains(r#""kind":"block""#));
        (facts.blocks, facts.status) = (blocks.len(), status.unwrap());
        values(&others.join("\n")).for_each(|element| facts.of_element(&element));
        facts
    }

    fn of_packets(&mut self, buffer: &Value) {
        let mut add = |what: &str, count: u64| {
            if count > 0 {
                *self.packets.entry(what.to_owned()).or_default() += count;
            }
        };
        add("empty", u64::from(buffer["bytes"] == 0));
        self.read += sum(rows(buffer, "sources"), "packets");
        for source in rows(buffer, "sources") {
            add("unread", source["unread_bytes"].as_u64().unwrap_or(0));
            for (kind, counts) in source["kinds"].as_object().unwrap() {
                let is_fault = ["Overflow", "Discard", "Malformed", "Reserved"]
                    .iter()
                    .any(|fault| kind.starts_with(fault));
                add(kind, if is_fault { counts["packets"].as_u64().unwrap() } else { 0 });
            }
        }
        rows(buffer, "other_ids").iter().for_each(|id| add("other IDs", id["bytes"].as_u64().unwrap()));
        for lost in buffer["lost"].as_array().into_iter().flatten() {
            let reason = lost["reason"].as_str().unwrap();
            let is_start = ["no frame sync seen yet", "before the first source ID"]
                .iter()
                .any(|start| reason.contains(start));
            add("damage", u64::from(!is_start));
        }
    }

    fn of_element(&mut self, element: &Value) {
        let kind = element["kind"].as_str().unwrap_or_default();
        let is_start = element["reason"] == "not yet synchronised";
        let is_fault = ["no code", "mismatch", "unknown path", "data lost"].contains(&kind)
            || kind == "gap" && !is_start;
        if is_fault {
            *self.elements.entry(kind.to_owned()).or_default() += 1;
        }
    }

    /// Whether a file that is missing matters: those of memory only if code is.
    fn is_damaged(&self) -> bool {
        let is_memory = |problem: &&String| problem.contains("memory dump");
        let (memory, others): (Vec<_>, Vec<_>) =
            self.problems.iter().filter(|problem| problem.contains(": error: ")).partition(is_memory);
        !others.is_empty() || !memory.is_empty() && self.elements.contains_key("no code")
    }

    /// Whether something is missing from the packets.
    fn of_reading(&self) -> bool {
        !self.packets.is_empty()
    }

    /// Whether no packet can be read.
    fn is_unreadable(&self) -> bool {
        self.read == 0
    }

    /// Whether something is missing from what is decoded.
    fn of_decoding(&self) -> bool {
        let is_of_source = |(what, _): (&String, &u64)| *what != "Overflow" && *what != "Discard";
        self.is_damaged()
            || !self.elements.is_empty()
            || self.packets.iter().any(is_of_source)
            || self.blocks == 0 && !self.only_messages
    }
}

/// Runs a verb, and checks its status, and that standard error, and JSON, say why if that is not 0.
fn check(wrong: &mut Vec<String>, verb: &str, is_missing: bool, facts: &Facts) -> Ran {
    let ran = run!("{verb}");
    let status = ran.status.unwrap();
    let is_silent = verb.contains("--json") && has_reason(&ran.out) != (status == 1);
    if status != i32::from(is_missing) || status == 1 && ran.err.is_empty() || is_silent {
        wrong.push(format!(
            "{verb}: status {status}, and {is_missing} by {:?} {:?} {:?}\n{}",
            facts.packets, facts.elements, facts.problems, ran.err
        ));
    }
    ran
}

/// Whether JSON tells why something is missing.
fn has_reason(out: &str) -> bool {
    values(out).any(|object| {
        let sides = object["funnels"].as_array().into_iter().flatten();
        let all = [&object, &object["funnel"]].into_iter().chain(sides);
        all.flat_map(|of| of["incomplete"].as_array()).any(|reasons| {
            assert!(!reasons.contains(&"other".into()), "{object}");
            !reasons.is_empty()
        })
    })
}

#[test]
fn every_verb_has_the_status_that_its_capture_deserves() {
    let scratch = Scratch::new("status");
    let wrong: Vec<_> = captures("every_verb_has_the_status_that_its_capture_deserves")
        .par_iter()
        .flat_map(|capture| {
            let mut wrong = Vec::new();
            let name = capture.file_name().unwrap().to_string_lossy().into_owned();
            let capture = text(capture);
            let facts = Facts::of(capture);
            let mut check = |verb: String, is_missing: bool| check(&mut wrong, &verb, is_missing, &facts);
            let has_errors = facts.problems.iter().any(|problem| problem.contains(": error: "));
            check(format!("info {capture}"), has_errors);
            let is_missing = facts.of_decoding();
            if facts.is_unreadable() {
                assert_eq!(facts.status, 2, "decode {capture}");
                let kept = scratch.join(&format!("{name}.none"));
                for verb in [
                    format!("packets {capture}"),
                    format!("stats {capture} --json"),
                    format!("decode {capture} --summary"),
                    format!("profile {capture}"),
                    format!("coverage {capture} --json"),
                    format!("timeline {capture} -o {kept}"),
                    format!("diff {capture} {capture}"),
                    format!("merge {capture} -o {kept}"),
                ] {
                    run!("{verb}").ends(2).says("nothing could be read: no source has a protocol");
                }
                assert!(!PathBuf::from(kept).exists());
                return wrong;
            }
            check(format!("packets {capture}"), facts.of_reading());
            check(format!("stats {capture} --json"), facts.of_reading());
            assert_eq!(facts.status, i32::from(is_missing), "decode {capture}: {facts:?}");
            // With a program that does not explain the trace, nothing is counted.
            let refused = run!("profile {capture}");
            if refused.status == Some(2) {
                assert!(facts.elements.contains_key("mismatch"), "{name}: {}", refused.err);
                refused.says("does not explain the trace").says("nothing is counted");
                run!("decode {capture} --summary").ends_within(1..=2).says("does not explain the trace");
                return wrong;
            }
            check(format!("decode {capture} --summary --json"), is_missing);
            // Verbs that count have nothing to count among messages.
            let is_missing = is_missing || facts.blocks == 0;
            // Names are missing where most of what ran has none.
            let coverage = run!("coverage {capture} --json");
            let funnel = coverage.json()["funnel"].clone();
            let is_nameless = 2 * number(&funnel, "in_function") < number(&funnel, "instructions");
            let lacks_names = is_missing || is_nameless;
            check(format!("profile {capture} --json"), lacks_names);
            // Messages need no names.
            let no_timeline = if facts.only_messages { !facts.elements.is_empty() } else { lacks_names };
            check(format!("timeline {capture} -o {}", scratch.join(&format!("{name}.json"))), no_timeline);
            check(format!("diff {capture} {capture} --json"), lacks_names);
            let kept = scratch.join(&format!("{name}.kept"));
            check(format!("merge {capture} --json -o {kept}"), is_missing);
            // What is kept says so again.
            if facts.blocks > 0 {
                check(format!("profile {kept}"), lacks_names);
            }
            // Annotations need functions, stalls need cycles.
            check(
                format!("coverage {capture} --json"),
                lacks_names || coverage.out.contains(r#""files":[]"#),
            );
            if coverage.out.contains(r#""name":"main""#) {
                check(format!("annotate {capture} main --json"), is_missing);
            }
            let stalls = run!("stalls {capture}");
            if stalls.status == Some(2) {
                stalls.says("nothing tells");
            } else {
                check(format!("stalls {capture} --json"), lacks_names);
            }
            wrong
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where nothing could be read, the status is 2 in every verb, and no verb shows an empty table or writes a file.
#[test]
fn what_cannot_be_read_is_status_2_in_every_verb() {
    let folder = Scratch::new("status-nothing");
    let mut rng = Rng::new(1);
    let noise: Vec<u8> = (0..4096).map(|_| rng.below(256) as u8).collect();
    let [empty, zeros, noise] = [("empty", &[][..]), ("zeros", &[0; 4096]), ("noise", &noise)]
        .map(|(name, bytes)| folder.write(name, bytes));
    let none = "no source has a synchronisation point";
    let cases = [
        (&empty, "--packing coresight --source etm4,id=0x10", "there is no trace"),
        (&empty, "--source etrace,isa=rv64,encapsulation=smi", "there is no trace"),
        (&zeros, "--packing coresight --source etm4,id=0x10", none),
        (&zeros, "--packing source --source etm4,id=0x10", none),
        (&zeros, "--packing source --source ptm,id=0x10,ETMCR=0", none),
        (&zeros, "--source etrace,isa=rv64,encapsulation=smi", none),
        (&noise, "--packing coresight --source etm4,id=0x10", none),
        (&noise, "--packing source --source ete,id=0x10", none),
        (&noise, "--packing source --source etm3,id=0x10,ETMCR=0,ETMIDR=0x4114f250,ETMCCER=0", none),
    ];
    let file = folder.join("written");
    for (path, source, why) in cases {
        let capture = format!("{} {source}", text(path));
        for verb in [
            "packets",
            "stats",
            "decode",
            "decode --calls",
            "decode --by-time",
            "decode --last 3",
            "decode --json",
        ] {
            run!("{verb} {capture}").ends(2).says(format!("nothing could be read: {why}"));
        }
        for verb in ["decode --summary", "profile", "profile --calls", "profile --json", "coverage", "isr"] {
            let ran = run!("{verb} {capture}").ends(2).says(format!("nothing could be read: {why}"));
            assert_eq!(ran.out, "", "{verb} {capture}");
        }
        for verb in ["profile --format fdata", "coverage --format lcov", "timeline", "merge"] {
            run!("{verb} {capture} -o {file}").ends(2).says(format!("nothing could be read: {why}"));
            assert!(!Path::new(&file).exists(), "{verb} {capture}");
        }
        run!("diff {} {capture}", text(path)).ends(2).says("nothing could be read");
        run!("annotate {} main {source}", text(path)).ends(2).says("nothing could be read");
        run!("stalls {capture}").ends(2);
    }
}

/// Cycle counts go on over gaps: what `decode` prints is what `--from-cycle` takes.
#[test]
fn cycles_are_the_same_in_every_verb() {
    let Some(captures) = captures_for("cycles_are_the_same_in_every_verb", "coresight") else { return };
    let mut gaps = 0;
    for name in ["maxspec0_commopt1", "src_addr", "texit-poe2", "TC2"] {
        let capture = captures.join(name);
        let capture = text(&capture);
        let whole = run!("decode {capture} --instructions --json").ends_within(0..=1).out;
        gaps += whole.lines().filter(|line| line.contains(r#""kind":"gap""#)).count();
        let timed = |of: &str| -> Vec<(u64, u64, u64)> {
            let of_line = |object: Value| {
                let cycle = object["cycle"].as_u64().or(object["cycle_from"].as_u64())?;
                Some((number(&object, "id"), cycle, number(&object, "offset")))
            };
            values(of).filter_map(of_line).collect()
        };
        let whole = timed(&whole);
        let mut by_source: BTreeMap<u64, u64> = BTreeMap::new();
        for (id, cycle, _) in &whole {
            let last = by_source.insert(*id, *cycle).unwrap_or(0);
            assert!(last <= *cycle, "{name}: {id:#x} goes back from {last} to {cycle}");
        }
        let middle = whole.iter().map(|(_, cycle, _)| *cycle).max().unwrap_or(0) / 2;
        let expected: Vec<_> = whole.iter().filter(|(_, cycle, _)| *cycle >= middle).copied().collect();
        assert!(!expected.is_empty(), "{name}");
        let part =
            run!("decode {capture} --instructions --json --from-cycle {middle}").ends_within(0..=1).out;
        assert!(timed(&part) == expected, "{name}: from cycle {middle}");
    }
    assert!(gaps > 0);
}

/// Who leaves out the source that lost trace, or that cannot be read, has all that was asked for.
#[test]
fn a_source_that_is_left_out_is_not_missing() {
    for verb in ["packets", "stats"] {
        run!("{verb} samples/two-cores").ends(1).says("ETB_0: 1 packet reports lost trace");
        run!("{verb} samples/two-cores --id 0x11").ends(0).says_not("lost");
    }
}

/// What is past the end of the trace cannot be read, and a file that is not there cannot be used: nothing is done then.
#[test]
fn what_is_not_there_is_told_before_any_work() {
    for verb in ["decode", "packets", "stats", "profile", "coverage", "timeline -o -"] {
        let end = "--from 0x60 is past the end of the trace: ETB_0 ends at 0x60";
        let ran = run!("{verb} samples/hello --from 0x60").ends(2).says(end);
        assert_eq!(ran.out, "", "{verb}");
        run!("{verb} samples/hello --from 0x40").ends_within(0..=1).says_not("past the end");
    }
    // The two ends in the wrong order choose nothing.
    for verb in ["decode", "packets", "stats", "stalls", "profile", "coverage", "annotate", "timeline -o -"] {
        let more = if verb == "annotate" { "main" } else { "" };
        let wrong = "--to (0x20) must be after --from (0x40)";
        let ran = run!("{verb} samples/hello {more} --from 0x40 --to 0x20").ends(2).says(wrong);
        assert_eq!(ran.out, "", "{verb}");
        let wrong = "--to (0x0) must be after the beginning";
        run!("{verb} samples/hello {more} --to 0").ends(2).says(wrong);
    }
    run!("annotate samples/hello main --from 0x5e")
        .ends(2)
        .says("main: nothing ran in the part of the trace that is asked for");
    run!("decode samples/hello --around 4096").ends(2).says("--around 0x1000 is past the end of the trace");
    for verb in ["decode", "info", "profile", "coverage", "stalls"] {
        let ran = run!("{verb} samples/hello --image samples/none.elf@400000").ends(2);
        let ran = ran.says("'samples/none.elf@400000' for '--image <FILE[@ADDR]>': no such file");
        assert_eq!(ran.out, "", "{verb}");
    }
}

/// Captures with and without something missing, and verbs that read them.
const QUIET: [&str; 4] = ["hello", "two-cores", "etrace", "threads"];
const VERBS: [&str; 9] = [
    "info {}",
    "packets {}",
    "stats {}",
    "decode {}",
    "decode {} --summary",
    "profile {}",
    "coverage {}",
    "diff {} {}",
    "merge {} -o",
];

/// With `-q`, before or after the verb: nothing on standard error but what the status is about.
#[test]
fn quiet_says_errors_and_nothing_else() {
    let scratch = Scratch::new("quiet");
    let mut captures: Vec<_> = QUIET.map(|name| text(&root().join("samples").join(name)).to_owned()).into();
    if let Some(shared) = captures_for("quiet_says_errors_and_nothing_else", "coresight") {
        let some = ["TC2", "juno-uname-002", "juno-ret-stck", "a57_single_step"];
        captures.extend(some.map(|name| text(&shared.join(name)).to_owned()));
    }
    let timeline = format!("timeline {{}} -o {}", scratch.join("timeline.json"));
    for capture in &captures {
        for verb in VERBS.into_iter().chain([&*timeline]) {
            let mut verb = verb.replace("{}", capture);
            if verb.starts_with("merge") {
                verb = format!("{verb} {}", scratch.join("merged"));
            }
            let loud = run!("{verb}");
            let quiet = run!("{verb} -q").ends(loud.status.unwrap());
            assert_eq!(quiet.out, loud.out, "{verb}");
            assert_eq!(quiet.err.is_empty(), quiet.status == Some(0), "{verb}: {}", quiet.err);
            for closing in ["bytes of trace", "in the output ", "warning:", "the first gap", "slices, times"]
            {
                assert!(!quiet.err.contains(closing), "{verb}: {}", quiet.err);
            }
        }
    }
    run!("--quiet decode samples/hello").ends(0).says_not("instructions");
    run!("record -q programs/bin/sort.elf 100").ends(0).says_not("instructions");
}

/// Each packet that `packets` shows, `stats` counts.
#[test]
fn stats_and_packets_count_the_same() {
    let captures = captures("stats_and_packets_count_the_same");
    captures.par_iter().for_each(|capture| {
        let capture = text(capture);
        let counted: u64 = values(&run!("stats {capture} --json").out)
            .flat_map(|buffer| rows(&buffer, "sources").to_vec())
            .map(|source| source["packets"].as_u64().unwrap())
            .sum();
        let listed = run!("packets {capture} --json").out;
        let is_packet = |line: &&str| line.contains(r#""id":"#) && !line.contains(r#""kind":"Lost""#);
        // Fillers in a row are one line.
        let count = |line: &str| match line.contains(r#""packets":"#) {
            true => number(&serde_json::from_str(line).unwrap(), "packets"),
            false => 1,
        };
        assert_eq!(listed.lines().filter(is_packet).map(count).sum::<u64>(), counted, "{capture}");
    });
}

/// What `info --missing-code` lists adds up to the elements that say so, source by source; and so do the sources of a summary.
#[test]
fn missing_code_and_sources_add_up() {
    let mut captures = vec![text(&root().join("samples/two-cores")).to_owned()];
    if let Some(shared) = captures_for("missing_code_and_sources_add_up", "coresight") {
        captures.extend(["juno-uname-002", "juno-ret-stck"].map(|name| text(&shared.join(name)).to_owned()));
    }
    for capture in captures {
        let mut by_id = BTreeMap::<u64, u64>::new();
        let mut addresses = Vec::new();
        let elements = run!("decode {capture} --elements --json").ends(1).out;
        for element in values(&elements).filter(|element| element["kind"] == "no code") {
            *by_id.entry(element["id"].as_u64().unwrap()).or_default() += 1;
            addresses.push(hex(element["address"].as_str().unwrap()));
        }
        let info = run!("info {capture} --missing-code --json").ends(1).json();
        let ranges: Vec<_> = rows(&info, "missing_code")
            .iter()
            .map(|range| [hex(string(range, "address")), hex(string(range, "last")), number(range, "times")])
            .collect();
        for [first, last, times] in &ranges {
            let inside = addresses.iter().filter(|address| (first..=last).contains(address)).count() as u64;
            assert_eq!(inside, *times, "{capture}: {first:#x}..{last:#x}");
        }
        assert_eq!(ranges.iter().map(|[.., times]| times).sum::<u64>(), addresses.len() as u64);
        assert!(ranges.is_sorted_by(|one, other| one[2] >= other[2]), "{ranges:x?}");
        for summary in values(&run!("decode {capture} --summary --json").ends(1).out) {
            let sources = rows(&summary, "sources");
            for total in ["instructions", "blocks", "gaps", "without_code"] {
                assert_eq!(sum(sources, total), number(&summary, total), "{capture}: {total}");
            }
            for source in sources {
                let told = by_id.get(&number(source, "id")).copied().unwrap_or(0);
                assert_eq!(number(source, "without_code"), told, "{capture}: {source}");
            }
        }
    }
}
