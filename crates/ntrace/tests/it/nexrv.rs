//! The reference encoder's outputs.

use std::path::{Path, PathBuf};

use tracewright_core::{Block, Element, Isa, MemorySpace};
use tracewright_image::{Bytes, Image, Place};

use tracewright_ntrace::decode::{Decoder, Options};
use tracewright_ntrace::encode::{Config, Encoder, Resync, SyncMode};
use tracewright_ntrace::packet::Packet;
use tracewright_ntrace::stream::{Content, Parser};
use tracewright_ntrace::{Dialect, ImplicitReturn, Mode, Params};
use tracewright_testkit::ntrace::{any_params, read};
use tracewright_testkit::{Rng, captures_for, unpacked, unpacked_bytes};

use crate::support::{decode, emitted, instructions, is_bad};

/// A trace by the reference encoder.
struct Trace {
    name: String,
    bytes: Vec<u8>,
}

/// Returns all traces of the reference encoder, if they and `xz` are available.
fn traces(test: &str) -> Vec<Trace> {
    let Some(folder) = captures_for(test, "riscv/ntrace") else { return Vec::new() };
    let mut traces =
        vec![Trace { name: "t1".into(), bytes: std::fs::read(folder.join("t1/test-NEX.bin")).unwrap() }];
    let mut files: Vec<_> =
        std::fs::read_dir(folder.join("nexrv")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy();
        let Some(name) = name.strip_suffix(".nex.bin.xz") else { continue };
        if let Some(bytes) = unpacked_bytes(test, &path) {
            traces.push(Trace { name: name.to_owned(), bytes });
        }
    }
    traces
}

/// Messages and bytes that the reference encoder says it wrote.
fn stats(folder: &Path, name: &str) -> Option<(usize, usize)> {
    let text = std::fs::read_to_string(folder.join("nexrv/SUMMARY_measured.txt")).unwrap();
    let (program, option) = name.rsplit_once('-')?;
    let line = text.lines().find(|line| line.starts_with(&format!("{program} {option} ")))?;
    let words: Vec<_> = line.split_whitespace().collect();
    Some((words[4].parse().unwrap(), words[2].parse().unwrap()))
}

/// Every message is read and rewritten to the byte, and there are as many as the encoder counted.
#[test]
fn messages_are_rewritten_to_the_byte() {
    let traces = traces("messages_are_rewritten_to_the_byte");
    let Some(folder) = captures_for("messages_are_rewritten_to_the_byte", "riscv/ntrace") else { return };
    let (mut all, mut counted) = (0, 0);
    for Trace { name, bytes } in &traces {
        let told = read(Parser::new(Params::default()), [&bytes[..]]);
        let mut again: Vec<u8> = Vec::new();
        for (offset, _, message) in &told {
            let Content::Packet(packet) = message.content else { panic!("{name}: {offset:#x} {message:?}") };
            again.extend(&emitted(&packet, 0, None, &Params::default())[..]);
        }
        assert!(again == *bytes, "{name}");
        if let Some(stats) = stats(&folder, name) {
            assert_eq!((told.len(), bytes.len()), stats, "{name}");
            counted += 1;
        }
        all += told.len();
    }
    assert!(traces.len() == 51 && counted == 30 && all > 1_000_000, "{} {counted} {all}", traces.len());
}

/// The last message of the example: half-words and branches.
#[test]
fn the_last_message() {
    let Some(folder) = captures_for("the_last_message", "riscv/ntrace/t1") else { return };
    let told =
        read(Parser::new(Params::default()), [&std::fs::read(folder.join("test-NEX.bin")).unwrap()[..]]);
    let last = Packet::ProgTraceCorrelation { evcode: 0, cdf: 1, icnt: 0x45eea, hist: Some(0x2d) };
    assert_eq!((told.len(), told[366].2.content), (367, Content::Packet(last)));
}

/// Parameters of a trace, by the name of its option.
fn params(option: &str) -> Params {
    let implicit_return = if option.contains('c') { ImplicitReturn::Stack } else { ImplicitReturn::Off };
    let mode = if option == "n" { Mode::Branch } else { Mode::History };
    Params { mode, implicit_return, ..Params::default() }
}

fn elf(path: PathBuf) -> Image {
    let mut builder = Image::builder();
    let bytes = Bytes::from(std::fs::read(path).unwrap());
    builder.elf("program", bytes, Place::AsLinked, MemorySpace::ANY).unwrap();
    builder.build()
}

fn hex(field: &str) -> u64 {
    u64::from_str_radix(field.trim_start_matches("0x"), 16).unwrap()
}

/// Addresses of the instructions that the reference encoder was given, and the program.
fn execution(test: &str, name: &str) -> Option<(Vec<u64>, Image, Isa, Params)> {
    let folder = captures_for(test, "riscv")?;
    let Some((program, option)) = name.rsplit_once('-') else {
        let text = unpacked(test, &folder.join("ntrace/t1/test-PCONLY.txt.xz"))?;
        let addresses = text.lines().map(hex).collect();
        return Some((addresses, elf(folder.join("ntrace/t1/test.elf")), Isa::Rv32, params("hcr")));
    };
    let text = unpacked(test, &folder.join(format!("etrace/spike_pc_trace/{program}.spike_pc_trace.xz")))?;
    // A header and the boot ROM.
    let addresses = text.lines().skip(6).map(|line| hex(line.split(',').nth(1).unwrap())).collect();
    let image = elf(folder.join(format!("elf/{program}.riscv")));
    Some((addresses, image, Isa::Rv64, params(option)))
}

/// Instructions of all traces together.
const ALL_INSTRUCTIONS: usize = 164_959
    + 5 * (215_011 + 4_028_858 + 2_269_620 + 15_011 + 297_034 + 61_068 + 235_011 + 375_012 + 15_012 + 10_012);

/// Settings of the reference encoder, by the name of its option. It neither counts what does not fit nor has a limit for counts.
fn config(option: &str, isa: Isa) -> Config {
    Config {
        repeated_history: option.contains('r'),
        calls: 8,
        icnt_bits: 30,
        first_sync: 1,
        omits_empty_history: true,
        ..Config::new(params(option), isa)
    }
}

/// Every instruction is decoded, and from the same execution our encoder writes the same bytes.
#[test]
fn traces_are_decoded_and_encoded_again() {
    let test = "traces_are_decoded_and_encoded_again";
    let mut all = 0;
    for Trace { name, bytes } in traces(test) {
        let Some((addresses, image, isa, params)) = execution(test, &name) else { continue };
        let elements = decode(&bytes, &params, &image, isa);
        assert_eq!(elements.iter().find(|(_, element)| is_bad(element)), None, "{name}");
        assert!(matches!(elements[..], [(0, Element::TraceOn(_)), .., (_, Element::End)]));
        let decoded = instructions(&image, &elements);
        let same = decoded.iter().zip(&addresses).take_while(|(a, b)| a == b).count();
        assert_eq!((same, decoded.len()), (addresses.len(), addresses.len()), "{name}");
        all += same;

        let option = name.rsplit_once('-').map_or("hcr", |(_, option)| option);
        let mut encoder = Encoder::new(config(option, isa));
        let mut again: Vec<u8> = Vec::new();
        let mut out = |packet: &Packet, timestamp: Option<u64>| {
            again.extend(&emitted(packet, 0, timestamp, &params)[..]);
        };
        for (_, element) in elements {
            if let Element::Block(block) = element {
                encoder.block(&block, &mut out);
            }
        }
        encoder.stop(0, &mut out);
        assert!(again == bytes, "{name}");
    }
    assert_eq!(all, ALL_INSTRUCTIONS);
}

/// The shared programs are the same after encoding and decoding with any options.
#[test]
fn programs_round_trip() {
    let test = "programs_round_trip";
    let mut rng = Rng::new(1);
    for Trace { name, bytes } in
        traces(test).iter().filter(|trace| trace.name.ends_with("-h") && trace.bytes.len() < 50_000)
    {
        let Some((_, image, isa, right)) = execution(test, name) else { continue };
        let blocks = |bytes: &[u8], params: &Params| -> Vec<Block> {
            let elements = decode(bytes, params, &image, isa);
            assert_eq!(elements.iter().find(|(_, element)| is_bad(element)), None, "{name} {params:?}");
            let block = |(_, element): (u64, Element)| match element {
                Element::Block(block) => Some(block),
                _ => None,
            };
            elements.into_iter().filter_map(block).collect()
        };
        let ran = blocks(bytes, &right);
        for _ in 0..20 {
            let params = Params { src_bits: 0, dialect: Dialect::Standard, ..any_params(&mut rng) };
            let modes = [SyncMode::Off, SyncMode::Messages, SyncMode::HalfWords];
            let mut encoder = Encoder::new(Config {
                repeated_history: rng.one_in(2),
                repeated_branch: rng.one_in(2),
                icnt_bits: 8 + rng.below(20) as u8,
                calls: rng.below(33) as u8,
                resync: Resync { mode: *rng.pick(&modes), max: rng.below(9) as u8 },
                ..Config::new(params.clone(), isa)
            });
            let mut again: Vec<u8> = Vec::new();
            let mut out = |packet: &Packet, timestamp: Option<u64>| {
                again.extend(&emitted(packet, 0, timestamp, &params)[..]);
            };
            ran.iter().for_each(|block| encoder.block(block, &mut out));
            encoder.stop(4, &mut out);
            assert!(blocks(&again, &params) == ran, "{name} {:?}", encoder.config());
        }
    }
}

/// A reader with the wrong mode says so.
#[test]
fn the_wrong_mode_is_said() {
    let test = "the_wrong_mode_is_said";
    let Some((_, image, isa, _)) = execution(test, "towers-h") else { return };
    for Trace { name, bytes } in traces(test).iter().filter(|trace| trace.name.starts_with("towers-")) {
        let right = params(name.trim_start_matches("towers-"));
        let other = if right.mode == Mode::Branch { Mode::History } else { Mode::Branch };
        for (params, said) in [
            (right.clone(), ""),
            (Params { mode: other, ..right }, "messages of the other mode: check whether mode"),
        ] {
            let mut decoder = Decoder::new(&params, Options::default(), &image, isa);
            for (offset, _, message) in read(Parser::new(params.clone()), [&bytes[..]]) {
                decoder.message(offset, &message, &mut |_: u64, _: &Element| {});
            }
            assert_eq!(decoder.facts().to_string().is_empty(), said.is_empty(), "{name}");
            assert!(decoder.facts().to_string().starts_with(said), "{name}: {}", decoder.facts());
        }
    }
}
