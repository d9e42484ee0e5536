//! N-Trace, as people and scripts make and read it: the reference code's traces, what was recorded and encoded, damage, and wrong
//! parameters.

use std::fs;
use std::process::Command;

use serde_json::Value;
use tracewright_core::TraceId;
use tracewright_frames::{Framer, Options, PibEncoder, Pins};
use tracewright_testkit::{Rng, Scratch, captures_for, has_programs};

use crate::run::{elf, number, ran, run, string, text, values};

const NTRACE: &str = "record -q --protocol ntrace -o";
/// What the encoder of `record` has, unless options say otherwise.
const USUAL: &str = "isa=rv64,implicit_return=stack,sequential_jump=1,extend_addr_msb=1";

/// Options that change what messages there are, and how they are written.
const MIXES: &[&str] = &[
    "",
    "mode=branch repeated_branch=on",
    "mode=branch all_jumps=1 resync_max=0 context=off",
    "implicit_return=off sequential_jump=0 extend_addr_msb=0 trap_kinds=off",
    "implicit_return=low repeated_history=off history_branches=4 icnt_bits=6",
    "all_jumps=1 resync_mode=half_words resync_max=3 timestamps=syncs",
    "src_bits=12 id=4095 timestamps=all ts_width=20",
    "dialect=sifive timestamps=all resync_max=1",
    "resync_mode=off calls=2",
];

fn options(mix: &str) -> String {
    mix.split_whitespace().map(|option| format!(" --option {option}")).collect()
}

/// Records a program with a log. Returns the capture and the log.
fn recorded(place: &Scratch, name: &str, more: &str) -> (String, String) {
    let [capture, log] = [name, "run.log"].map(|name| place.join(name));
    run!("{NTRACE} {capture} --log {log} {more}").ends(0);
    (capture, log)
}

/// The reference code's traces of programs are what Spike executed.
#[test]
fn traces_of_the_reference_code_are_what_ran() {
    let Some(riscv) = captures_for("traces_of_the_reference_code_are_what_ran", "riscv") else { return };
    let (riscv, place) = (text(&riscv).to_owned(), Scratch::new("ntrace"));
    let log = place.join("log.csv");
    for (program, count) in
        [("dhrystone", 215_011), ("median", 15_011), ("towers", 15_012), ("vvadd", 10_012)]
    {
        let packed = format!("{riscv}/etrace/spike_pc_trace/{program}.spike_pc_trace.xz");
        let csv = ran(Command::new("xz").arg("-dc").arg(packed)).good();
        // The trace begins after the boot code.
        let lines: Vec<_> = csv.lines().enumerate().filter(|(line, _)| *line == 0 || *line > 5).collect();
        fs::write(&log, lines.into_iter().map(|(_, line)| format!("{line}\n")).collect::<String>()).unwrap();
        let (hist, returns) = ("mode=history", "implicit_return=counter");
        for (how, params) in
            [("n", "mode=branch"), ("h", hist), ("hr", hist), ("hc", returns), ("hcr", returns)]
        {
            let trace = format!("{riscv}/ntrace/nexrv/{program}-{how}.nex.bin.xz");
            let source = format!("--source ntrace,isa=rv64,{params} --image {riscv}/elf/{program}.riscv");
            run!("decode {trace} {source} --check {log}").ends(0).begins(format!("equal: {count} "));
        }
    }
}

/// A trace of the reference code for RV32, address by address.
#[test]
fn the_reference_codes_example_has_its_addresses() {
    let Some(folder) = captures_for("the_reference_codes_example_has_its_addresses", "riscv/ntrace/t1")
    else {
        return;
    };
    let folder = text(&folder);
    let source = "--source ntrace,isa=rv32,implicit_return=counter";
    let listing =
        run!("decode {folder}/test-NEX.bin {source} --image {folder}/test.elf --instructions").good();
    let address = |line: &str| {
        let mut words = line.strip_prefix("            ")?.split_whitespace();
        let (address, bits) = (words.next()?, words.next()?);
        bits.chars().all(|c| c.is_ascii_hexdigit()).then(|| address.to_owned())
    };
    let found: Vec<_> = listing.lines().filter_map(address).collect();
    let expected = ran(Command::new("xz").arg("-dc").arg(format!("{folder}/test-PCONLY.txt.xz"))).good();
    assert_eq!(found.len(), 164_959);
    assert!(expected.to_lowercase().lines().eq(&found));
}

/// What was recorded is what ran, whatever the options: a Linux program, and a bare one for RV32.
#[test]
fn every_mix_of_options_tells_what_ran() {
    let place = Scratch::new("ntrace");
    for program in ["args", "semihosting32"] {
        for mix in MIXES {
            let (capture, log) = recorded(&place, "run", &format!("{} {}", options(mix), elf(program)));
            run!("decode {capture} --check {log}").ends(0).begins("equal: ");
            run!("decode {capture} --jobs 4 --check {log}").ends(0).begins("equal: ");
        }
    }
}

/// The verbs count what ran.
#[test]
fn verbs_read_what_was_recorded() {
    let place = Scratch::new("ntrace");
    let (capture, log) = recorded(&place, "run", &format!("{} 300", elf("sort")));
    let equal = run!("decode {capture} --check {log}").good();
    let count = equal.strip_prefix("equal: ").unwrap().split(' ').next().unwrap();
    let profile = run!("profile {capture} --json").ends(0);
    assert!(profile.out.contains(&format!("\"instructions\":{count}")), "{}", profile.out);
    run!("coverage {capture} --file sort.c").ends(0).prints("sort.c");
    run!("timeline {capture} -o {}", place.join("timeline.json")).ends(0);
    let info = run!("info {capture}").ends(0).prints("N-Trace messages").prints("implicit_return");
    assert!(info.out.contains("stack"), "{}", info.out);
    // Every byte belongs to a message.
    let size = fs::metadata(format!("{capture}/trace.bin")).unwrap().len();
    let stats = run!("stats {capture}").ends(0);
    stats.prints(format!("{size} bytes, 100.0%")).prints("1 synchronisation message (TCODEs");
    let packets = run!("packets {capture} --json").good();
    let bytes: usize =
        values(&packets).filter_map(|packet| packet["hex"].as_str().map(|hex| hex.len() / 2)).sum();
    assert_eq!(bytes as u64, size);
    for (verb, option) in
        [("decode", "--no-image"), ("decode", "--style opencsd"), ("packets", "--style opencsd")]
    {
        run!("{verb} {capture} {option}").ends(2).says("N-Trace");
    }
    run!("{NTRACE} {capture} --option x=1 {}", elf("sort"))
        .ends(2)
        .says("there is no option \"x\" for N-Trace");
    run!("{NTRACE} {capture} --timing default --delta {}", elf("sort")).ends(2).says("N-Trace");
}

/// What was recorded and what a log of it gives is the same trace, byte by byte.
#[test]
fn a_log_gives_the_trace_of_its_program() {
    let place = Scratch::new("ntrace");
    let program = elf("semihosting");
    let (capture, log) = recorded(&place, "run", &program);
    let encoded = place.join("encoded");
    run!("encode -q --protocol ntrace {log} -o {encoded} --image {program}").ends(0);
    let [expected, found] = [&capture, &encoded].map(|dir| fs::read(format!("{dir}/trace.bin")).unwrap());
    assert!(expected.len() > 1000 && expected == found);
}

/// Threads under QEMU are sources.
#[test]
fn programs_under_qemu_are_traced() {
    if !has_programs("programs_under_qemu_are_traced", &["qemu-riscv64"]) {
        return;
    }
    let place = Scratch::new("ntrace");
    let (capture, log) = recorded(&place, "run", &format!("--qemu {} 50", elf("sort")));
    run!("decode {capture} --check {log}").ends(0).begins("thread0: equal: ");
}

/// The messages of a stream: their bytes, and what they are.
fn messages(capture: &str) -> Vec<(Vec<u8>, Value)> {
    let packets = run!("packets {capture} --json").good();
    let bytes = |packet: &Value| -> Option<Vec<u8>> {
        let hex = packet["hex"].as_str()?;
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).ok()).collect()
    };
    values(&packets).filter_map(|packet| Some((bytes(&packet)?, packet))).collect()
}

/// Two harts in one stream, and the same in frames with a trace ID each.
#[test]
fn several_sources_share_a_stream() {
    let place = Scratch::new("ntrace");
    let program = elf("sort");
    let harts = [(0, 100), (1, 150)].map(|(id, size)| {
        let more = format!("--option src_bits=1 --option id={id} {program} {size}");
        messages(&recorded(&place, &format!("hart{id}"), &more).0)
    });
    let (mut stream, mut framer, mut frames) = (Vec::new(), Framer::new(Options::default()), Vec::new());
    for at in 0..harts[0].len().max(harts[1].len()) {
        for (id, hart) in (0x10..).zip(&harts) {
            let Some((bytes, _)) = hart.get(at) else { continue };
            stream.extend(bytes);
            framer.push(TraceId::new(id).unwrap(), bytes, &mut frames).unwrap();
        }
    }
    framer.flush(&mut frames);
    let [stream, frames] =
        [("stream", stream), ("frames", frames)].map(|(name, bytes)| place.write(name, &bytes));
    let (stream, frames) = (text(&stream), text(&frames));
    let image = format!("--image {program}@10000");
    let source = |more: &str| format!("--source ntrace,{USUAL},src_bits=1,{more}");
    let (both, framed) = (
        format!("{} {}", source("id=0"), source("id=1")),
        format!("--packing coresight {} {}", source("id=0x10,src=0"), source("id=0x11,src=1")),
    );
    // After the name of the buffer.
    let count = |out: crate::run::Ran| {
        out.err.split_once("instructions in").map(|(before, blocks)| {
            let before = before.rsplit(": ").next().unwrap().to_owned();
            (before, blocks.split_whitespace().next().unwrap().to_owned())
        })
    };
    for (id, framed_id) in [("0", "0x10"), ("1", "0x11")] {
        let expected = count(run!("decode {}", place.join(&format!("hart{id}"))).ends(0));
        assert!(expected.is_some());
        assert_eq!(count(run!("decode {stream} {both} --id {id} {image}").ends(0)), expected);
        assert_eq!(count(run!("decode {frames} {framed} --id {framed_id} {image}").ends(0)), expected);
    }
    // `info` names each.
    run!("info {stream}")
        .ends(0)
        .prints("src_bits=1,mode=history --source")
        .prints("src_bits=1,mode=history,id=1");
    let info = run!("info {frames}").ends(0).prints("--packing coresight").out;
    for source in ["ntrace,id=0x10,", "ntrace,id=0x11,"] {
        assert!(info.contains(source), "{info}");
    }
    // One that is not described is told of, and is not decoded.
    run!("decode {stream} {} {image}", source("id=0")).ends(1).says("has ID 0x01");
    run!("decode {stream} {both},mode=branch {image}").ends(2).says("these differ in mode");
}

/// A buffer that was full, and bytes that are no message: what ran there is a gap, and what comes after the next synchronisation is
/// decoded as before.
#[test]
fn lost_trace_is_a_gap() {
    let place = Scratch::new("ntrace");
    let (capture, _) = recorded(&place, "run", &format!("--option resync_max=0 {} 300", elf("sort")));
    let messages = messages(&capture);
    let is_sync = |(_, packet): &(Vec<u8>, Value)| string(packet, "kind").ends_with("Sync");
    let first = messages.len() / 3;
    let next = first + 4 + messages[first + 4..].iter().position(is_sync).unwrap();
    let bytes = |messages: &[(Vec<u8>, Value)]| -> Vec<u8> {
        messages.iter().flat_map(|(bytes, _)| bytes).copied().collect()
    };
    let all = run!("decode {capture} --jobs 1").good();
    // From the message after the one at which decoding begins again.
    let tail = |out: &str, from: &str| out.split_once(from).map(|(_, tail)| tail.lines().count());
    let resumed = format!("{:#x} 0x00", number(&messages[next + 1].1, "offset"));
    for (what, says) in [(&[0x20, 0x00, 0x07][..], "overflow"), (&[0x02, 0x02], "no packet")] {
        let lost: usize = messages[first..next].iter().map(|(bytes, _)| bytes.len()).sum();
        let filler = [what, &vec![0xff; lost - what.len()]].concat();
        let damaged = [bytes(&messages[..first]), filler, bytes(&messages[next..])].concat();
        fs::write(format!("{capture}/trace.bin"), &damaged).unwrap();
        let [one, four] = [1, 4].map(|jobs| run!("decode {capture} --jobs {jobs}").ends(1).says("1 gap"));
        assert_eq!((&one.out, &one.err), (&four.out, &four.err));
        assert!(one.out.contains(says) || one.err.contains(says), "{says}: {}", one.err);
        assert_eq!(tail(&one.out, &resumed), tail(&all, &resumed));
        assert!(one.out.lines().count() < all.lines().count());
        run!("packets {capture}").ends(1);
        run!("profile {capture}").ends(1);
    }
}

/// Where parameters are wrong, what is said has the right ones, and `info` finds them in the bytes alone.
#[test]
fn wrong_parameters_are_diagnosed() {
    let place = Scratch::new("ntrace");
    let image = format!("--image {}@10000", elf("sort"));
    for (right, wrong, says) in [
        ("src_bits=2 id=1", "", "src_bits=2 (not 0)"),
        ("", "src_bits=3", "src_bits=0 (not 3)"),
        ("mode=branch", "", "mode=branch (not history)"),
        ("", "mode=branch", "mode=history (not branch)"),
        ("", "implicit_return=off", "implicit_return, sequential_jump and all_jumps"),
    ] {
        let (capture, _) = recorded(&place, "run", &format!("{} {} 100", options(right), elf("sort")));
        let trace = format!("{capture}/trace.bin");
        let source = |params: &str| {
            // Each name has one value.
            let name = params.split('=').next().unwrap();
            let usual: Vec<_> =
                USUAL.split(',').filter(|param| params.is_empty() || !param.starts_with(name)).collect();
            let comma = if params.is_empty() { "" } else { "," };
            format!("--source ntrace,{}{comma}{params}", usual.join(","))
        };
        run!("decode {trace} {} {image}", source(&right.replace(' ', ","))).ends(0);
        run!("decode {trace} {} {image}", source(wrong)).ends_within(1..=2).says(says);
        let info = run!("info {trace}").ends(0).prints("N-Trace: ").out;
        for param in right.split_whitespace() {
            assert!(info.contains(param), "{info}");
        }
    }
}

/// Samples of a trace port's pins, with pauses of any length between messages: what ran is the same, and `info` tells the pins.
#[test]
fn captures_of_pins_are_read() {
    let place = Scratch::new("ntrace");
    let (capture, log) = recorded(&place, "run", &format!("{} 100", elf("sort")));
    let messages = messages(&capture);
    let image = format!("--image {}@10000", elf("sort"));
    let mut rng = Rng::new(81);
    for (packing, pins) in [
        ("pib1", Some(Pins::One)),
        ("pib2", Some(Pins::Two)),
        ("pib4", Some(Pins::Four)),
        ("pib8", None),
        ("pib16", None),
    ] {
        let mut samples = Vec::new();
        let mut encoder = pins.map(PibEncoder::new);
        for (bytes, _) in &messages {
            let pause = rng.below(40);
            match &mut encoder {
                Some(encoder) => {
                    encoder.idle(pause, &mut samples);
                    encoder.push(bytes, &mut samples);
                }
                None => {
                    samples.extend(vec![0xff; pause as usize]);
                    samples.extend(bytes);
                }
            }
        }
        encoder.into_iter().for_each(|mut encoder| encoder.finish(&mut samples));
        let file = place.write(packing, &samples);
        let file = text(&file);
        let source = format!("--packing {packing} --source ntrace,{USUAL}");
        run!("decode {file} {source} {image} --check {log}").ends(0).begins("equal: ");
        run!("packets {file} {source}").ends(0).prints("ProgTraceSync");
        let info = run!("info {file}").ends(0).prints("N-Trace: ").out;
        assert!(pins.is_none() || info.contains(&format!("--packing {packing} ")), "{info}");
        // What was lost at the pins is a gap.
        if pins.is_some() {
            let at = samples.len() / 2;
            samples[at..at + 20].fill(0xaa);
            let damaged = place.write(format!("{packing}-damaged"), &samples);
            run!("decode {} {source} {image}", text(&damaged)).ends(1).says("gap");
        }
    }
}

/// A dump of a RAM sink's memory, in which the newest bytes lie before the oldest.
#[test]
fn dumps_of_memory_are_read_in_order() {
    let place = Scratch::new("ntrace");
    let (capture, _) = recorded(&place, "run", &format!("--option resync_max=0 {} 100", elf("sort")));
    let trace = fs::read(format!("{capture}/trace.bin")).unwrap();
    let image = format!("--image {}@10000", elf("sort"));
    let size = 1024;
    assert!(trace.len() > size);
    let instructions = |args: &str| {
        let ran = run!("decode {args} {image}").ends_within(0..=1);
        let (before, _) = ran.err.split_once(" instructions in").unwrap();
        before.rsplit(": ").next().unwrap().replace(' ', "").parse::<u64>().unwrap()
    };
    // The last bytes, as a ring has them: byte N of the trace is at N modulo the size.
    let end = trace.len() / 4 * 4;
    let mut memory = vec![0; size];
    (end - size..end).for_each(|at| memory[at % size] = trace[at]);
    let [ring, straight] = [("ring", &memory[..]), ("straight", &trace[end - size..end])]
        .map(|(name, bytes)| place.write(name, bytes));
    let pointer = 0x2000_0000 + end % size + 1;
    let source = format!("--source ntrace,{USUAL},ram_wp={pointer:#x},ram_start=0x20000000");
    let found = instructions(&format!("{} {source}", text(&ring)));
    assert_eq!(found, instructions(&format!("{} --source ntrace,{USUAL}", text(&straight))));
    assert!(found > 1000);
    // Before the memory was full, what is after the pointer is old.
    let mut memory = trace[..1024].to_vec();
    memory.extend([0x55; 1024]);
    let [part, whole] =
        [("part", &memory[..]), ("whole", &trace[..1024])].map(|(name, bytes)| place.write(name, bytes));
    let source = format!("--source ntrace,{USUAL},ram_wp=0x400");
    let found = instructions(&format!("{} {source}", text(&part)));
    assert_eq!(found, instructions(&format!("{} --source ntrace,{USUAL}", text(&whole))));
    // Offsets are those of the file.
    let first = run!("packets {} {source}", text(&part)).ends(1).says("cut").out;
    assert!(first.lines().nth(1).unwrap().trim().starts_with("0x0 "), "{first}");
    let beyond = format!("--source ntrace,{USUAL},ram_wp=0x1000");
    run!("decode {} {beyond} {image}", text(&part)).ends(2).says("ram_wp and ram_start");
}

/// `info` tells how wide SRC is, whatever it is: with programs whose instructions are compressed and with those whose are not.
#[test]
fn info_tells_the_width_of_src() {
    let place = Scratch::new("ntrace");
    for (mode, widths) in [("branch", 0..=8), ("history", 0..=4)] {
        for bits in widths {
            let id = if bits == 0 { 0 } else { 1 };
            let more = format!("--option mode={mode} --option src_bits={bits} --option id={id}");
            let (capture, _) = recorded(&place, "run", &format!("{more} {} 300", elf("sort")));
            let found = if bits == 0 {
                format!("rv64,mode={mode}")
            } else {
                format!("src_bits={bits},mode={mode},id=1")
            };
            run!("info {capture}/trace.bin").ends(0).prints(&found);
        }
    }
}

/// A trap at the end of a log, after which nothing ran, is not in N-Trace: that is said. E-Trace tells it.
#[test]
fn the_last_trap_of_a_log_is_said_to_be_missing() {
    let place = Scratch::new("ntrace");
    let missing = "not compared: the log's last trap";
    let (capture, log) = recorded(&place, "run", &format!("{} 30", elf("sort")));
    run!("decode {capture} --check {log}").ends(0).begins("equal: ").prints(missing);
    let capture = place.join("etrace");
    run!("record -q -o {capture} --log {log} --force {} 30", elf("sort")).ends(0);
    let said = run!("decode {capture} --check {log}").ends(0).begins("equal: ").out;
    assert!(!said.contains(missing), "{said}");
}
