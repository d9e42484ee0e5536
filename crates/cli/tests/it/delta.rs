//! `--delta`: the delta trace beside an E-Trace tells the cycle of each instruction that is traced.

use std::fs;

use crate::run::{Ran, cycles_and_addresses, elf, number, run, value};
use crate::support::delta::{self as support, delta_bytes, record, starts, told};
use tracewright_delta::{Cycles, Item, Stamp, Why};
use tracewright_input::Capture;
use tracewright_testkit::Scratch;
use tracewright_testkit::qemu::{Guest, Variant, build};

/// The cycles of all instructions, if all are known.
fn cycles(items: &[Item]) -> Vec<u64> {
    let mut cycles = Vec::new();
    for item in items {
        match item {
            Item::Run(run) => {
                let each =
                    (run.cycle..run.cycle + run.cycles).flat_map(|cycle| [cycle].repeat(run.each.into()));
                cycles.extend(each);
            }
            Item::Sync { .. } | Item::Off { .. } => {}
            other => panic!("{other}"),
        }
    }
    cycles
}

/// All that is said by syncs is what the listing says.
fn check_syncs(items: &[Item], listed: &[(u64, u64)]) {
    for item in items {
        if let Item::Sync { sync, .. } = item {
            assert_eq!(listed[sync.retired as usize], (sync.cycle, sync.address), "{item}");
        }
    }
}

/// For each packet that synchronises there is a sync with its time and address.
fn check_starts(place: &Scratch, least: usize) {
    let bytes = delta_bytes(place);
    let starts = starts(&place.join("run"));
    assert!(starts.len() >= least, "{} starts", starts.len());
    let mut cycles = Cycles::new(&bytes);
    for (time, address) in starts {
        assert!(cycles.seek(time, address), "no sync of cycle {time}, address {address:#x}");
        assert_eq!(cycles.next_cycle(), Stamp::Exact(time), "{address:#x}");
    }
}

/// Programs with system calls, traps, interrupts and contexts, for Linux and without, RV64 and RV32; on models that retire one and two instructions a
/// cycle.
#[test]
fn every_instruction_has_the_cycle_of_the_listing() {
    for (program, model, format) in [
        ("args", "rocket_like", "ac"),
        ("args", "dual_issue", "de,width=2"),
        ("jumps", "tiny", "ac"),
        ("jumps", "cva6_like", "de,width=2"),
        ("atomics", "dual_issue", "de,width=2"),
        ("traps", "rocket_like", "ac"),
        ("traps32", "cva6_like", "de,width=2"),
        ("timer", "dual_issue", "de,width=2"),
        ("semihosting32", "tiny", "ac"),
        ("tasks", "cva6_like", "de,width=2"),
    ] {
        check_whole(program, model, format);
    }
}

/// Threads take turns: what the one does after the other is no gap.
#[test]
fn threads_are_one_stream() {
    let Some(program) = build("threads_are_one_stream", Guest::Riscv64, "threads", Variant::Static) else {
        return;
    };
    let summary = check_whole(program.to_str().unwrap(), "dual_issue", "de,width=2");
    assert!(number(&summary, "contexts") > 3, "{summary}");
}

/// Records a program; the delta trace has all that the listing has.
fn check_whole(program: &str, model: &str, format: &str) -> serde_json::Value {
    let place = Scratch::new("delta");
    let listing = place.join("listing");
    let summary = record(&place, program, &format!("--timing {model} --delta --listing {listing}"));
    let items = told(&delta_bytes(&place));
    let listed = cycles_and_addresses(&fs::read_to_string(&listing).unwrap());
    assert_eq!(number(&summary, "instructions"), listed.len() as u64, "{program}");
    assert!(cycles(&items).into_iter().eq(listed.iter().map(|row| row.0)), "{program} {model}");
    check_syncs(&items, &listed);
    let [.., Item::Off { off, .. }] = items[..] else { panic!("{program}: it does not end") };
    assert_eq!(off.cycle - 1, number(&summary, "cycles"), "{program} {model}");
    assert_eq!(off.retired, number(&summary, "instructions"), "{program} {model}");
    // No thread is missing: it is off at the end only.
    assert_eq!(items.iter().filter(|item| matches!(item, Item::Off { .. })).count(), 1, "{program}");
    let delta = &summary["delta"];
    assert_eq!(delta["format"], format, "{program} {model}");
    assert_eq!(number(delta, "bytes"), delta_bytes(&place).len() as u64);
    assert_eq!(number(delta, "instructions"), off.retired);
    let bits = 8.0 * number(delta, "bytes") as f64 / off.retired as f64;
    assert!((delta["bits_per_instruction"].as_f64().unwrap() - bits).abs() < 1e-9);
    check_starts(&place, 1);
    summary
}

/// Whatever decides when E-Trace synchronises, and whatever its packets lie in.
#[test]
fn whoever_lost_packets_finds_the_place_again() {
    for (program, model, least, more) in [
        ("traps", "rocket_like", 90, ""),
        ("traps32", "dual_issue", 60, "--option resync_max=0"),
        ("jumps", "cva6_like", 100, "--option resync_max=2"),
        ("jumps", "cva6_like", 100, "--option resync_mode=cycles --option resync_max=8"),
        ("jumps", "dual_issue", 100, "--option resync_mode=half_words --option resync_max=8"),
        ("tasks", "tiny", 100, "--option encapsulation=pulp --option resync_max=1"),
        ("tasks", "dual_issue", 100, "--option data=address,value --option resync_max=1"),
        ("timer", "rocket_like", 10, "--option encapsulation=smi --option branch_prediction=off"),
    ] {
        let place = Scratch::new("delta");
        record(&place, program, &format!("--timing {model} --delta {more}"));
        check_starts(&place, least);
    }
    // Formats that forget something know it where they synchronise.
    for spec in ["--delta=abc,amortise=4", "--delta=abc", "--delta=de,code=delta,d=elias"] {
        let place = Scratch::new("delta");
        record(&place, "jumps", &format!("--timing dual_issue {spec} --option resync_max=2"));
        let bytes = delta_bytes(&place);
        let mut cycles = Cycles::new(&bytes);
        let starts = starts(&place.join("run"));
        assert!(starts.len() > 100);
        for (time, address) in starts {
            assert!(cycles.seek(time, address), "{spec}: cycle {time}, address {address:#x}");
            assert_eq!(cycles.next_cycle().first(), Some(time));
        }
    }
}

/// Without times in the trace, syncs have its addresses all the same.
#[test]
fn times_are_sent_unless_an_option_says_otherwise() {
    let place = Scratch::new("delta");
    record(&place, "traps32", "--timing tiny --delta --option notime=true");
    let starts = starts(&place.join("run"));
    assert!(starts.len() > 60 && starts.iter().all(|(time, _)| *time == 0));
    let items = told(&delta_bytes(&place));
    let mut syncs = items.iter().filter_map(|item| match item {
        Item::Sync { sync, .. } => Some(sync.address),
        _ => None,
    });
    assert!(starts.iter().all(|(_, address)| syncs.any(|sync| sync == *address)));
    // Who does not ask for delta trace gets no times.
    let place = Scratch::new("delta");
    record(&place, "args", "--timing tiny");
    assert!(support::starts(&place.join("run")).iter().all(|(time, _)| *time == 0));
    assert!(!fs::exists(place.join("run/delta.bin")).unwrap());
}

/// What is not traced is in neither trace.
#[test]
fn only_what_qualifies_is_told() {
    for (when, model) in [
        ("pc in main", "rocket_like"),
        ("pc in main", "dual_issue"),
        ("start at main for 1000 instructions", "cva6_like"),
        ("cycle in 5000..5400", "dual_issue"),
        ("cycle in 5000..5400", "tiny"),
        ("pc in next_random", "tiny"),
    ] {
        let place = Scratch::new("delta");
        let listing = place.join("listing");
        let how = format!("--timing {model} --delta --listing {listing} --when '{when}'");
        let summary = record(&place, "sort", &format!("{how} --max-instructions 60000"));
        let listed = cycles_and_addresses(&fs::read_to_string(&listing).unwrap());
        let items = told(&delta_bytes(&place));
        let traced = number(&summary, "traced_instructions");
        assert!(traced > 0 && traced < listed.len() as u64, "{when}: {traced}");
        let cycles = cycles(&items);
        assert_eq!(cycles.len() as u64, traced, "{when}");
        assert_eq!(number(&summary["delta"], "instructions"), traced, "{when}");
        // Each piece from a sync after an off to the next is a piece of what ran.
        let (mut at, mut offs) = (0, 0);
        let mut is_off = true;
        for item in &items {
            match item {
                Item::Sync { sync, .. } if is_off => {
                    let here = listed[at..].iter().position(|row| *row == (sync.cycle, sync.address));
                    at += here.unwrap_or_else(|| panic!("{when}: {item}"));
                    is_off = false;
                }
                Item::Run(run) => {
                    for retired in 0..run.retired() {
                        assert_eq!(listed[at].0, run.cycle + retired / u64::from(run.each), "{when}");
                        at += 1;
                    }
                }
                Item::Off { off, .. } => {
                    assert_eq!(off.cycle, listed[at - 1].0 + 1, "{when}");
                    (is_off, offs) = (true, offs + 1);
                }
                _ => {}
            }
        }
        assert!(is_off && offs > 0, "{when}");
        check_starts(&place, offs);
    }
}

/// A ring has the newest of both traces.
#[test]
fn rings_keep_the_newest() {
    for (ring, trigger) in [("256", ""), ("4K", ""), ("2K", "--trigger 'pc in next_random'"), ("1M", "")] {
        let place = Scratch::new("delta");
        let how = format!("--timing dual_issue --delta --ring {ring} {trigger} --max-instructions 400000");
        let summary = record(&place, "sort", &how);
        let bytes = delta_bytes(&place);
        let delta = &summary["delta"];
        assert_eq!(number(delta, "kept_bytes"), bytes.len() as u64, "{ring}");
        let is_cut = number(delta, "bytes") > bytes.len() as u64;
        let size = ring.replace('K', "000").replace('M', "000000").parse::<u64>().unwrap();
        assert_eq!(is_cut, number(delta, "bytes") > size * 1049 / 1000, "{ring}: {delta}");
        let items = told(&bytes);
        let (first, rest) = match items.split_first() {
            Some((Item::Lost(lost), rest)) if is_cut => {
                assert_eq!(lost.why, Why::Begun, "{ring}");
                (&rest[0], rest)
            }
            Some((first, _)) if !is_cut => (first, &items[..]),
            other => panic!("{ring}: {other:?}"),
        };
        let Item::Sync { sync, .. } = first else { panic!("{ring}: {first}") };
        assert!(rest.iter().all(|item| !matches!(item, Item::Lost(_))), "{ring}");
        assert!(matches!(rest.last(), Some(Item::Off { .. })), "{ring}");
        let starts = starts(&place.join("run"));
        let mut cycles = Cycles::new(&bytes);
        let mut found = 0;
        for (time, address) in starts.iter().filter(|(time, _)| *time >= sync.cycle) {
            assert!(cycles.seek(*time, *address), "{ring}: {time} {address:#x}");
            found += 1;
        }
        assert!(found > 0, "{ring}: none of {} starts", starts.len());
    }
}

/// Each trace has a port, both of the same rate and size, and each is told of.
#[test]
fn delta_trace_has_a_port_of_its_own() {
    let place = Scratch::new("delta");
    let run = |more: &str| record(&place, "jumps", &format!("--timing dual_issue --delta --port 2 {more}"));
    let whole = run("");
    let bytes = delta_bytes(&place);
    let port = &whole["delta"]["port"];
    assert_eq!(number(port, "bits"), 8 * bytes.len() as u64);
    assert_eq!(number(port, "cycles"), number(&whole, "cycles"));
    assert_eq!(number(port, "instructions"), number(&whole, "instructions"));
    let smallest = number(port, "smallest_buffer_bits");
    assert!(number(&whole["port"], "smallest_buffer_bits") < smallest, "E-Trace is smaller");
    let sized =
        |bits: u64, when_full: &str| run(&format!("--port-buffer {bits}bits --when-full {when_full}"));
    for when_full in ["drop", "stall"] {
        let enough = sized(smallest, when_full);
        let buffer = &enough["delta"]["port"]["buffer"];
        assert_eq!((number(buffer, "losses"), number(buffer, "stall_cycles")), (0, 0), "{when_full}");
        assert!(delta_bytes(&place) == bytes, "{when_full}");
        let less = sized(smallest - 1, when_full);
        let buffer = &less["delta"]["port"]["buffer"];
        assert!(number(buffer, "losses") + number(buffer, "stall_cycles") > 0, "{when_full}");
        assert_eq!(number(&less["delta"]["port"], "smallest_buffer_bits"), smallest, "{when_full}");
    }

    let lost = sized(1000, "drop");
    let buffer = &lost["delta"]["port"]["buffer"];
    let (mut told, mut losses) = (0, 0);
    for item in support::told(&delta_bytes(&place)) {
        match item {
            Item::Run(run) => told += run.retired(),
            Item::Lost(lost) if lost.why == Why::Overflow => losses += 1,
            Item::Sync { .. } | Item::Off { .. } => {}
            other => panic!("{other}"),
        }
    }
    assert!(losses > 10, "{losses}");
    assert_eq!(number(buffer, "losses"), losses);
    assert_eq!(number(buffer, "lost_instructions") + told, number(&lost, "instructions"));

    let waited = sized(1000, "stall");
    let stalls = number(&waited["delta"]["port"]["buffer"], "stall_cycles");
    let Some(Item::Off { off, .. }) = support::told(&delta_bytes(&place)).last().copied() else {
        panic!("no end")
    };
    assert!(stalls > 1000 && off.cycle > number(&waited, "cycles") + stalls / 2, "{off:?} {stalls}");
    check_starts(&place, 4);

    let dir = place.join("run");
    let port = "--port 1/4 --port-buffer 60B --when-full drop programs/bin/args.elf";
    let text = run!("record --protocol etrace --timing tiny --delta -o {dir} {port}").err;
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with("  ") && !line.contains(&dir)).collect();
    for name in ["  port ", "  delta ", "  delta port "] {
        let count = lines.iter().filter(|line| line.starts_with(name)).count();
        assert_eq!(count, if name == "  delta " { 2 } else { 1 });
    }
    assert!(lines.iter().all(|line| line.len() < 80), "{text}");
}

/// What is encoded from a log is what was written while the program ran.
#[test]
fn logs_give_the_same_delta_trace() {
    for (program, model) in [("args", "rocket_like"), ("traps", "dual_issue"), ("semihosting32", "cva6_like")]
    {
        let place = Scratch::new("delta");
        let (dir, log, summary) = (place.join("run"), place.join("run.log"), place.join("encoded.json"));
        record(&place, program, &format!("--timing {model} --delta --log {log} --details all"));
        let bytes = delta_bytes(&place);
        let elf = elf(program);
        for (how, last) in [
            (format!("encode {log} --image {elf} -q"), ""),
            (format!("record -q --from-log {log}"), &elf[..]),
        ] {
            let ran = run!("{how} -o {dir} --delta --summary-json {summary} {last}").ends(0);
            assert_eq!(ran.err, "", "{how}");
            assert!(delta_bytes(&place) == bytes, "{program} {model} {how}");
            assert_eq!(number(&value(&summary)["delta"], "bytes"), bytes.len() as u64);
        }
    }
}

/// A line of CVA6's tracer, which has the cycle.
fn line(cycle: u64, pc: u64, bits: u32) -> String {
    format!("{cycle:>20} {pc:#x} M ({bits:#010x}) DASM({bits:08x})\n")
}

#[test]
fn logs_of_others_have_cycles_too() {
    let (nop, jump) = (0x0000_0013, 0x0000_0067);
    let place = Scratch::new("delta");
    let log = place.join("cva6.log");
    let encode = |text: &str, spec: &str| {
        fs::write(&log, text).unwrap();
        run!("encode {log} -o {} {spec}", place.join("run"))
    };
    // Two retire in cycle 12; then something is missing: what was told ends there.
    let steps = [(10, 0x1000), (11, 0x1004), (12, 0x1008), (12, 0x100c), (20, 0x2000), (22, 0x2004)];
    let text: String = steps.iter().map(|&(cycle, pc)| line(cycle, pc, nop)).collect();
    encode(&text, "--delta").ends(1).says("line 5: does not follow from line 4");
    let items = told(&delta_bytes(&place));
    assert_eq!(cycles(&items), [10, 11, 12, 12, 20, 22]);
    let offs = items.iter().filter_map(|item| match item {
        Item::Off { off, .. } => Some((off.cycle, off.retired)),
        _ => None,
    });
    assert_eq!(offs.collect::<Vec<_>>(), [(13, 4), (23, 6)]);
    check_starts(&place, 2);
    // A format that has one a cycle does not fit.
    let refused = encode(&text, "--delta=ac").ends(2);
    refused.says("--delta=ac: {A,C} tells one instruction a cycle, not 2: take `abc` or `de`");

    // Time goes back: what came before is kept.
    let text = [line(10, 0x1000, nop), line(9, 0x1004, jump), line(11, 0, nop)].concat();
    let cut = encode(&text, "--delta").ends(1);
    cut.says("delta.bin: ends there: an instruction retired in cycle 9, before the last one");
    assert_eq!(cycles(&told(&delta_bytes(&place))), [10]);

    // Without cycles there is no delta trace.
    let none = encode("core   0: 0x0000000080000000 (0x00000013) nop\n", "--delta").ends(2);
    none.says(
        "cva6.log: --delta: the log does not tell in which cycles instructions retire: logs of CVA6 do",
    );
}

/// Without the file, or with a part of it, all else is there.
#[test]
fn a_capture_without_its_delta_trace_opens() {
    let place = Scratch::new("delta");
    record(&place, "args", "--timing tiny --delta");
    let (dir, file) = (place.join("run"), place.join("run/delta.bin"));
    let delta = |info: &Ran| info.json()["sources"][0]["delta"].clone();
    let info = |status: i32| run!("info {dir} --json").ends(status);
    let bytes = delta_bytes(&place);
    let told_of = delta(&info(0));
    assert_eq!((number(&told_of, "bytes"), &told_of["format"]), (bytes.len() as u64, &"ac".into()));
    let lines = format!(
        "  delta trace: the cycle of each instruction, {} bytes\n    format   ac, exact\n    file     {file}\n",
        bytes.len()
    );
    run!("info {dir}").prints(lines);

    for len in [0, 1, 10, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&file, &bytes[..len]).unwrap();
        let delta = delta(&info(1).says("it was cut short since"));
        assert_eq!(number(&delta, "bytes"), len as u64);
        assert_eq!(delta["format"].is_null(), len < 30, "{len}");
        let items = told(&bytes[..len]);
        let is_truncated = |item: &Item| matches!(item, Item::Lost(lost) if lost.why == Why::Truncated);
        assert!(len == 0 || items.last().is_some_and(is_truncated), "{len}: {items:?}");
    }

    fs::remove_file(&file).unwrap();
    let expected =
        "capture.toml:11: error: delta \"delta.bin\": no such file: cycles of instructions will not be known";
    assert!(delta(&info(1).says(expected)).is_null());
    let capture = Capture::open(dir.as_ref()).unwrap();
    assert_eq!((capture.sources.len(), capture.buffers.len(), capture.problems.len()), (1, 1, 1));
    let summary = run!("decode {dir} --summary --json").json();
    assert!(number(&summary, "instructions") > 3000, "{summary}");
}
