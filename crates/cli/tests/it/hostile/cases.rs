//! Which verbs take an input, and with which options.

use tracewright_testkit::Rng;
use tracewright_testkit::hostile::WORDS;

use super::corpus::{Input, Kind};

/// What is done with a capture. `OUT` is a file to write.
const OF_CAPTURES: &[&str] = &[
    "info IN",
    "info IN --json",
    "packets IN",
    "packets IN --json",
    "packets IN --against IN",
    "conform --compare IN --kit IN",
    "packets IN --style opencsd",
    "packets IN --text 0,1",
    "packets IN --text 1 --json",
    "stats IN",
    "stats IN --json",
    "decode IN",
    "decode IN --json",
    "decode IN --instructions",
    "decode IN --instructions --json",
    "decode IN --elements",
    "decode IN --elements --json",
    "decode IN --elements --style opencsd",
    "decode IN --summary",
    "decode IN --summary --json",
    "decode IN --last 5",
    "decode IN --last 5 --by-time",
    "decode IN --around 0x40 --count 3",
    "decode IN --calls",
    "decode IN --calls --json",
    "decode IN --by-time --timestamps",
    "decode IN --no-image",
    "decode IN --no-image --json --event 0=X",
    "profile IN",
    "profile IN --json",
    "profile IN --calls",
    "profile IN --calls --json",
    "profile IN --paths=4 --json",
    "profile IN --format csv --rows blocks",
    "profile IN --format csv --rows edges -o OUT",
    "profile IN --format csv --rows function-events --calls",
    "profile IN --format folded",
    "profile IN --format folded --no-inline",
    "profile IN --format tree",
    "profile IN --format tree --json",
    "profile IN --format csv --rows call-edges",
    "profile IN --format folded --weight cycles",
    "profile IN --format flamegraph -o OUT",
    "profile IN --format pprof -o OUT",
    "profile IN --format callgrind -o OUT",
    "profile IN --format llvm",
    "profile IN --format llvm-binary -o OUT",
    "profile IN --format profgen",
    "profile IN --format bolt",
    "profile IN --format fdata",
    "profile IN --format gcov -o OUT",
    "profile IN --format gcov-16 -o OUT",
    "profile IN --format autofdo",
    "profile IN --format bolt-simpleperf",
    "profile IN --format branch-list -o OUT",
    "profile IN --format tracewright -o OUT",
    "coverage IN",
    "coverage IN IN --json",
    "coverage IN --format csv",
    "coverage IN --missing",
    "coverage IN --format lcov -o OUT",
    "annotate IN main",
    "annotate IN main --json",
    "annotate IN main --format csv",
    "annotate IN _start --no-source",
    "stalls IN",
    "stalls IN --json",
    "stalls IN --by lines --format csv",
    "stalls IN --by instructions --histogram OUT --timeline OUT.svg",
    "isr IN",
    "isr IN --json",
    "isr IN --threads",
    "isr IN --thread-comparator 1 --json",
    "isr IN --format csv",
    "isr IN --exception 15 --histogram OUT.svg",
    "timeline IN -o OUT",
    "timeline IN -o OUT --format perfetto --instructions",
    "timeline IN -o OUT --format firefox --min 3",
    "merge IN IN -o OUT",
    "merge IN -o OUT --json",
    "diff IN IN",
    "diff IN IN --json",
    "diff IN IN --format csv",
];

/// Options that most of them take.
const FILTERS: &[&str] = &[
    "--id 0x10",
    "--id 0",
    "--buffer all",
    "--from 0x20",
    "--to 0x80",
    "--from 40 --to 60",
    "--function main",
    "--range 0x0..0xffffffffffffffff",
    "--range main..main",
    "--binary hello.elf",
    "--from-cycle 10",
    "--to-cycle 100",
    "--from-time 1",
    "--to-time 18446744073709551615",
    "--handler M:0x100",
    "--top 3",
    "--jobs 3",
];

const OF_LISTS: &[&str] = &[
    "profile IN",
    "profile IN --json",
    "profile IN --format autofdo",
    "profile IN --format bolt-simpleperf -o OUT",
];

const OF_LOGS: &[&str] = &[
    "encode IN --image in/program.elf -o OUT",
    "encode IN --image in/program.elf -o OUT --delta",
    "encode IN --image in/program.elf -o OUT --option data=address,value -q",
    "encode IN --image in/program.elf -o OUT --rv32",
    "encode IN --image in/program.elf -o OUT --port 1/2 --port-buffer 64B --when-full drop",
    "record --from-log IN in/program.elf",
    "record --from-log IN --timing cva6_like in/program.elf",
    "record --from-log IN --listing OUT in/program.elf",
    "record --from-log IN --protocol etrace -o OUT in/program.elf",
];

const OF_PLUGIN_LOGS: &[&str] = &[
    "info IN",
    "info IN --json",
    "stats IN",
    "stats IN --json",
    "stats IN --thread 0",
    "encode IN -o OUT",
    "encode IN -o OUT --option data=address --thread 0",
    "record --from-log IN --thread 0",
];

const OF_PROGRAMS: &[&str] = &[
    "record -q --max-instructions 5000 --memory 64 IN",
    "record --max-instructions 5000 --memory 64 --listing OUT IN",
    "record -q --max-instructions 5000 --memory 64 --machine bare IN",
    "record -q --max-instructions 5000 --memory 64 --timing rocket_like IN",
    "record --max-instructions 5000 --memory 64 --protocol etrace -o OUT IN",
    "record --max-instructions 5000 --memory 64 --protocol etrace --delta -o OUT IN",
    "record --max-instructions 5000 --memory 64 --protocol etrace --when 'pc in main' -o OUT IN",
];

const OF_TIMING: &[&str] = &["record -q --max-instructions 2000 --timing IN in/program.elf"];

const OF_EVENTS: &[&str] = &[
    "record -q --max-instructions 2000 --protocol etrace -o OUT --when-events IN --when 'event button' in/program.elf",
    "record -q --max-instructions 2000 --protocol etrace -o OUT --when-events IN --when 'start on button' in/program.elf",
];

const OF_PARAMETERS: &[&str] = &[
    "info in/program.elf --json --source etrace,isa=rv64,encapsulation=standard,params=IN",
    "packets in/program.elf --source etrace,isa=rv64,encapsulation=standard,params=IN",
    "decode in/program.elf --summary --source etrace,isa=rv64,encapsulation=standard,params=IN",
];

/// A command line for an input.
pub fn command(rng: &mut Rng, input: &Input) -> Vec<String> {
    let is_read_as_capture = matches!(input.kind, Kind::Log | Kind::PluginLog) && rng.one_in(2);
    let lines = match input.kind {
        _ if is_read_as_capture => OF_CAPTURES,
        Kind::Capture | Kind::Raw | Kind::Profile => OF_CAPTURES,
        Kind::BranchList => OF_LISTS,
        Kind::Log => OF_LOGS,
        Kind::PluginLog => OF_PLUGIN_LOGS,
        Kind::Program => OF_PROGRAMS,
        Kind::Timing => OF_TIMING,
        Kind::Events => OF_EVENTS,
        Kind::Parameters => OF_PARAMETERS,
    };
    let line: &&str = rng.pick(lines);
    let mut args = words(line, &input.path);
    let takes_images = !matches!(args[0].as_str(), "packets" | "stats");
    let mut options = input.options.clone();
    if !takes_images {
        without_images(&mut options);
    }
    args.extend(options);
    // A few bytes of trace can stand for billions of instructions: whoever reads foreign traces sets a limit.
    let decodes = !matches!(args[0].as_str(), "info" | "packets" | "stats");
    if decodes && (is_read_as_capture || matches!(input.kind, Kind::Capture | Kind::Raw)) {
        args.extend(["--max-instructions", "5000000"].map(String::from));
    }
    if matches!(input.kind, Kind::Capture | Kind::Raw | Kind::Profile) && rng.one_in(3) {
        let filter: &&str = rng.pick(FILTERS);
        args.extend(words(filter, &input.path));
    }
    args
}

fn without_images(options: &mut Vec<String>) {
    while let Some(at) = options.iter().position(|option| option == "--image") {
        options.drain(at..at + 2);
    }
}

/// The words of a line, with its files.
fn words(line: &str, path: &str) -> Vec<String> {
    let words = crate::run::words(line).into_iter();
    words.map(|word| word.replace("IN", path).replace("OUT", "out/file")).collect()
}

/// Values that options trip over, beside [`WORDS`].
const VALUES: &[&str] = &[
    "0..0",
    "0xffffffffffffffff..0",
    "main..",
    "main+0xffffffffffffffff..main",
    "..main",
    "in",
    "in/nothing",
    "in/capture.toml/x",
    "out",
    "etm4",
    "etm4,id=0x10,id=0x10",
    "ete,TRCIDR0=0xffffffff,TRCCONFIGR=0xffffffff",
    "etrace",
    "etrace,isa=rv64,encapsulation=smi,iaddress_width=0",
    "etrace,isa=rv64,encapsulation=standard,source_bits=64,timestamp_bytes=255,type_bits=9",
    "etrace,isa=rv64,encapsulation=smi,bpred_size=64,cache_size=64,return_stack_size=64",
    "M:0xffffffffffffffff:vectored",
    "VS:next",
    "X:0",
    "pc in 0..18446744073709551615",
    "((((((((((pc = 1))))))))))",
    "start at main; stop at main; start at main",
    "for 18446744073709551615 cycles",
    "button@cycle=18446744073709551615",
    "1/0",
    "0/1",
    "18446744073709551615/3",
    "1e9B",
    "18446744073709551615GiB",
    "ac",
    "abc=99",
    "de,18446744073709551615",
    "0xffffffffffffffff:0xffffffffffffffff",
    "in/program.elf@0xffffffffffffffff",
    "in/program.elf@",
    "@0",
    "A=B=C",
    "11:1",
    "-0",
];

/// Numbers at the ends of what can be said.
const EXTREMES: &str = "0 1 -1 ffffffffffffffff 0xffffffffffffffff 18446744073709551615 0xfffffffffffffffe \
    9223372036854775808 0x80000000 4294967296 255";

/// Options that are never tried: they write where they say, run other programs, or give a program the host's files.
const NEVER: &str = "--output --log --listing --summary-json --histogram --timeline --qemu --qemu-path \
    --qemu-option --symfs --follow-forks --writable --root --host-files --help";

/// Options of a verb, and whether each takes a value, from its help.
pub fn options(verb: &str, help: &str) -> Vec<(String, String, bool)> {
    let mut found = Vec::new();
    for line in help.lines() {
        let line = line.trim_start();
        let Some(at) = line.find("--").filter(|&at| at == 0 || line.starts_with('-') && at == 4) else {
            continue;
        };
        let name: String =
            line[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        let has_value = line[at + name.len()..].starts_with([' ', '[']) && line.contains('<');
        if name.len() > 2 && !NEVER.split(' ').any(|never| never == name) {
            found.push((verb.into(), name, has_value));
        }
    }
    found
}

/// The option with a value for a run. Runs with numbers one after another go through all options first, then through all values.
pub fn hostile_option(run: u64, options: &[(String, String, bool)]) -> (&str, String) {
    let (verb, name, has_value) = &options[(run % options.len() as u64) as usize];
    if !has_value {
        return (verb, name.clone());
    }
    // Twice, with other inputs.
    let extremes: Vec<_> = EXTREMES.split(' ').collect();
    let values = [&extremes, &extremes, VALUES, WORDS].concat();
    let value = values[(run / options.len() as u64) as usize % values.len()];
    (verb, format!("{name}={value}"))
}
