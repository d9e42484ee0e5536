//! Programs on the hart, encoded and decoded: all samples, and the programs of the captures.

use crate::support;

#[path = "../../../hart/tests/it/support/elf.rs"]
mod elf;

use std::path::PathBuf;

use support::happened::{Found, difference};
use support::machine::{Record, files, image, run, samples};
use support::{feed, written};
use tracewright_core::Isa;
use tracewright_etrace::decode::{self, Decoder};
use tracewright_etrace::encode::{Config, Resync, ResyncMode};
use tracewright_etrace::ingress::{CType, Executed, ITypeWidth};
use tracewright_etrace::stream::{self, Writer};
use tracewright_etrace::{Options, Params, SupportLayout};
use tracewright_hart::Hart;
use tracewright_hart::bare::{self, Bare};
use tracewright_testkit::captures_for;
use tracewright_testkit::etrace::encode;

/// Number of instructions of each program; traps, system calls and loops come long before.
const INSTRUCTIONS: u64 = 1_000_000;

/// Returns parameters of an encoder that has all options.
pub fn all_params(isa: Isa) -> Params {
    Params {
        iaddress_width: if isa == Isa::Rv32 { 32 } else { 64 },
        nocontext: false,
        bpred_size: 7,
        cache_size: 7,
        return_stack_size: 4,
        call_counter_size: 3,
        sijump: true,
        iret_ext: true,
        support: SupportLayout::Standard,
        ..Params::default()
    }
}

/// Returns encoders with different options. None uses `irdepth`, which is ambiguous.
fn encoders(isa: Isa) -> Vec<(&'static str, Config)> {
    let params = all_params(isa);
    let config = |name, options, resync| {
        (name, Config { params: params.clone(), options, resync, ..Config::default() })
    };
    let off = Options::default();
    let often = Resync { mode: ResyncMode::Packets, max: 1, anywhere: false };
    let never = Resync { mode: ResyncMode::Off, ..often };
    let all = Options {
        implicit_return: true,
        implicit_exception: false,
        full_address: false,
        jump_target_cache: true,
        branch_prediction: true,
        sijump: true,
    };
    vec![
        config("base", off, Resync::default()),
        config("full address", Options { full_address: true, ..off }, often),
        config("implicit return", Options { implicit_return: true, ..off }, never),
        config("prediction", Options { branch_prediction: true, implicit_return: true, ..off }, never),
        config("all", all, often),
    ]
}

/// Encodes, decodes and compares. Returns the number of places where the path is unknown.
fn check(name: &str, record: &Record, config: &Config) -> usize {
    let stream = stream::Config { params: config.params.clone(), ..stream::Config::default() };
    // A change of context may be a switch of threads.
    let entries = record.entries(Executed::new(ITypeWidth::Four, CType::Discontinuity));
    let writer = Writer::new(stream.clone()).with_alignment(500);
    let bytes = written(writer, &encode(config.clone(), &entries));
    let image = image(&record.code);
    let mut decoder = Decoder::new(&config.params, decode::Options::default(), &image, record.isa());
    let mut found = Found::default();
    feed(&mut decoder, &stream, [&bytes[..]], true, &mut found);
    assert!(found.others.is_empty(), "{name}: {:x?}", found.others[0]);
    if let Some(difference) = difference(&record.happened(), &found.happened) {
        panic!("{name}: {difference}");
    }
    found.unknown()
}

fn round_trip(paths: &[PathBuf]) {
    for path in paths {
        let record = run(path, INSTRUCTIONS);
        assert!(!record.changed, "{}: changes its own code", path.display());
        for (mix, config) in encoders(record.isa()) {
            let name = format!("{}, {mix}", path.file_name().unwrap().to_string_lossy());
            let unknown = check(&name, &record, &config);
            assert!(unknown == 0 || record.has_uncounted_loop(), "{name}: {unknown} that are not known");
        }
    }
}

#[test]
fn sample_programs_come_back() {
    round_trip(&samples());
}

#[test]
fn programs_of_the_captures_come_back() {
    let Some(captures) = captures_for("programs_of_the_captures_come_back", "") else { return };
    let paths = files(&captures.join("riscv/elf"));
    assert_eq!(paths.len(), 31);
    // It runs only under the proxy kernel.
    let paths: Vec<_> = paths.into_iter().filter(|path| !path.ends_with("hello_world.pk")).collect();
    round_trip(&paths);
}

/// Loops through calls without any branch: only the number of returns gives the number of rounds.
#[test]
fn loops_of_calls_without_branches_come_back() {
    let jal = |offset: i32, rd: u32| {
        let bits = offset as u32;
        (bits >> 20 & 1) << 31
            | (bits >> 1 & 0x3ff) << 21
            | (bits >> 11 & 1) << 20
            | (bits >> 12 & 0xff) << 12
            | rd << 7
            | 0x6f
    };
    const RET: u32 = 0x8067;
    const ADD: u32 = 0x0015_8593;
    // again: jal f; j again; f: addi a1, a1, 1; ret
    let one = vec![jal(8, 1), jal(-4, 0), ADD, RET];
    // again: jal f; jal g; j again; f: addi a1, a1, 1; ret; g: addi t0, ra, 0; jal f; jr t0
    let nested = vec![jal(12, 1), jal(16, 1), jal(-8, 0), ADD, RET, 0x0000_8293, jal(-12, 1), 0x0002_8067];
    for (name, words) in [("one", one), ("nested", nested)] {
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let elf = elf::elf(false, 0x8000_0000, &code);
        for instructions in (1..200).chain([500, 1000, 5000, 20_000]) {
            let options = bare::Options { entry: Some(0x8000_0000), ..bare::Options::default() };
            let (core, machine) = Bare::new(&elf, &options, Box::new(std::io::sink())).unwrap();
            let mut record = Record::default();
            Hart::new(core, machine).run(instructions, &mut record);
            for (mix, config) in encoders(Isa::Rv64) {
                let name = format!("{name}, {instructions} instructions, {mix}");
                let unknown = check(&name, &record, &config);
                // The last instruction may be reached again without a report if it is in no function.
                assert!(unknown <= 1, "{name}: {unknown}");
                let params =
                    Params { iret_ext: false, support: SupportLayout::Pulp, ..config.params.clone() };
                check(&format!("{name}, irdepth"), &record, &Config { params, ..config });
            }
        }
    }
}
