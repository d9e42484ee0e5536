//! The conformance kit: what it reaches, what it finds, and what it accepts.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use tracewright::capture::etrace::Settings;
use tracewright::compare::{Compared, Packets, Rule, Step};
use tracewright::conform::{Case, Kit, KitOptions, PROTOCOLS, unreached, write};
use tracewright::{Isa, RawSource, Trace};
use tracewright_etm::packet::{Address, AddressForm, Atoms, Emitter, Packet, Parser};
use tracewright_etrace::encode::{Encoder, Quirks};
use tracewright_etrace::ingress::csv::{Reader, Retirement};
use tracewright_etrace::stream::Writer;
use tracewright_ntrace::Params as NtraceParams;
use tracewright_ntrace::packet::{self as ntrace, Packet as NtracePacket};
use tracewright_testkit::{Rng, Scratch};

fn kit(protocol: &str) -> &'static (Scratch, Kit) {
    static KITS: [OnceLock<(Scratch, Kit)>; 3] = [const { OnceLock::new() }; 3];
    let index = PROTOCOLS.iter().position(|known| *known == protocol).unwrap();
    KITS[index].get_or_init(|| {
        let scratch = Scratch::new(&format!("conform-{protocol}"));
        let kit = write(&options(&scratch.path().join("kit"), protocol, &[])).unwrap();
        (scratch, kit)
    })
}

fn options(dir: &Path, protocol: &str, options: &[&str]) -> KitOptions {
    let options = options.iter().map(ToString::to_string).collect();
    KitOptions { dir: dir.to_owned(), protocol: protocol.into(), options, force: false }
}

fn case<'a>(kit: &'a Kit, name: &str) -> &'a Case {
    kit.cases.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("no case {name}"))
}

fn bytes(kit: &Kit, case: &Case) -> Vec<u8> {
    std::fs::read(kit.dir.join("cases").join(&case.name).join("trace.bin")).unwrap()
}

/// Compares bytes with the expected ones.
fn compare(kit: &Kit, case: &Case, theirs: &[u8]) -> (Trace, Compared) {
    let file = kit.dir.with_file_name(format!("{}-{:?}.bin", case.name, std::thread::current().id()));
    std::fs::write(&file, theirs).unwrap();
    let (expected, mut compared) = kit.compare(case, &file).unwrap();
    std::fs::remove_file(&file).unwrap();
    (expected, compared.pop().unwrap())
}

#[test]
fn every_packet_and_option_is_reached() {
    for protocol in PROTOCOLS {
        let (_, kit) = kit(protocol);
        for (kind, cases) in &kit.kinds {
            assert_eq!(
                cases.is_empty(),
                !unreached(protocol, kind).is_empty(),
                "{protocol} {kind}: {cases:?}"
            );
        }
        for (option, cases) in &kit.options {
            assert_eq!(
                cases.is_empty(),
                ["params", "core"].contains(&option.as_str()),
                "{protocol} {option}"
            );
        }
    }
}

#[test]
fn a_kit_is_opened_again() {
    for protocol in PROTOCOLS {
        let (_, kit) = kit(protocol);
        let again = Kit::open(&kit.dir).unwrap();
        assert_eq!(again.json()["cases"], kit.json()["cases"]);
        for case in &again.cases {
            let (_, compared) = compare(&again, case, &bytes(&again, case));
            assert!(
                compared.is_same() && compared.packets > 0 && compared.instructions > 0,
                "{protocol} {}",
                case.name
            );
        }
    }
}

/// A bit that is flipped in any packet of any kind is found, and the packet is named in which it is.
#[test]
fn every_planted_bit_of_etrace_is_found() {
    planted(&kit("etrace").1, |_| true);
}

#[test]
fn every_planted_bit_of_ntrace_is_found() {
    planted(&kit("ntrace").1, |_| true);
}

#[test]
fn every_planted_bit_of_etm4_is_found() {
    planted(&kit("etm4").1, |_| true);
}

/// Packets of each kind in which bits are flipped, of different cases.
const EACH: usize = 3;

fn planted(kit: &Kit, wanted: impl Fn(&Case) -> bool) {
    let mut done: BTreeMap<&'static str, usize> = BTreeMap::new();
    let (mut flips, mut elsewhere, mut legal) = (0, 0, Vec::new());
    for (number, case) in kit.cases.iter().enumerate().filter(|(_, case)| wanted(case)) {
        let expected = bytes(kit, case);
        let packets: Vec<_> = Packets::new(&kit.expected(case).unwrap()).collect();
        let mut seen: BTreeMap<&str, Vec<&_>> = BTreeMap::new();
        packets
            .iter()
            .filter(|packet| !packet.bytes.is_empty())
            .for_each(|packet| seen.entry(packet.kind).or_default().push(packet));
        for (kind, of_kind) in seen {
            let times = done.entry(kind_of(&packets, kind)).or_default();
            if *times >= EACH {
                continue;
            }
            *times += 1;
            // Not always the first.
            let packet = of_kind[number * 7 % of_kind.len()];
            for bit in 0..8 * packet.bytes.len() {
                let mut theirs = expected.clone();
                let at = packet.offset as usize + bit / 8;
                theirs[at] ^= 1 << (bit % 8);
                let (trace, compared) = compare(kit, case, &theirs);
                flips += 1;
                match &compared.difference {
                    Some(difference) => {
                        let named =
                            difference.theirs.as_ref().or(difference.ours.as_ref()).map(|step| step.offset);
                        let is_here = named.is_some_and(|offset| offset.abs_diff(packet.offset) == 0);
                        elsewhere += usize::from(!is_here);
                        assert!(!difference.text(&trace).is_empty());
                    }
                    // An alignment byte that becomes idle is padding, too.
                    None if kind == "Alignment" && compared.rules.contains_key(&Rule::Padding) => {}
                    None => legal.push(format!(
                        "{} {kind} {:#x} bit {bit}: {:?}",
                        case.name, packet.offset, compared.rules
                    )),
                }
            }
        }
    }
    // The first difference is named where it is, but for bits that a rule may explain.
    assert!(elsewhere * 5 < flips, "{}: {elsewhere} of {flips} are named elsewhere", kit.protocol);
    assert!(legal.is_empty(), "{} of {flips}:\n{}", legal.len(), legal.join("\n"));
}

fn kind_of(packets: &[Step], kind: &str) -> &'static str {
    packets.iter().find(|packet| packet.kind == kind).unwrap().kind
}

/// What our encoder makes when it chooses otherwise is accepted, by the rule that allows it.
#[test]
fn what_is_free_is_accepted() {
    for (protocol, reference, other, rule) in [
        ("etrace", "plain", "sync-packets", Rule::Synchronisation),
        ("etrace", "plain", "sync-cycles", Rule::Synchronisation),
        ("etrace", "plain", "sync-half-words", Rule::Synchronisation),
        ("etrace", "sync-packets", "sync-half-words", Rule::Synchronisation),
        ("etrace", "plain", "align", Rule::Padding),
        ("ntrace", "sync-packets", "sync-half-words", Rule::Synchronisation),
        ("ntrace", "plain", "sync-packets", Rule::Synchronisation),
        ("ntrace", "plain", "sync-cycles", Rule::Synchronisation),
        ("ntrace", "branch", "branch-sync", Rule::Synchronisation),
        ("ntrace", "plain", "short-history", Rule::Resource),
        ("ntrace", "plain", "short-counter", Rule::Resource),
        ("ntrace", "repeat", "plain", Rule::Repeat),
        ("ntrace", "branch", "branch-repeat", Rule::Repeat),
        ("ntrace", "return-stack", "plain", Rule::Return),
        ("etm4", "plain", "sync", Rule::Synchronisation),
        ("etm4", "sync", "plain", Rule::Synchronisation),
        ("etm4", "return-stack", "plain", Rule::Return),
    ] {
        let (_, kit) = kit(protocol);
        let (trace, compared) = compare(kit, case(kit, reference), &bytes(kit, case(kit, other)));
        assert_eq!(compared.verdict(), "legal", "{protocol} {reference} {other}: {}", compared.text(&trace));
        assert!(compared.rules.contains_key(&rule), "{protocol} {reference} {other}: {:?}", compared.rules);
    }
}

/// Bits that are flipped where a trace also differs in what is free are found nearly all: what is not told twice cannot be judged.
#[test]
fn planted_bits_are_found_beside_what_is_free() {
    for (protocol, reference, other) in [
        ("etrace", "plain", "sync-packets"),
        ("ntrace", "plain", "sync-packets"),
        ("ntrace", "plain", "short-history"),
        ("etm4", "plain", "sync"),
    ] {
        let (_, kit) = kit(protocol);
        let expected = bytes(kit, case(kit, other));
        let (mut flips, mut legal) = (0, Vec::new());
        for bit in (8 * 40..8 * expected.len()).step_by(11) {
            let mut theirs = expected.clone();
            theirs[bit / 8] ^= 1 << (bit % 8);
            flips += 1;
            let (_, compared) = compare(kit, case(kit, reference), &theirs);
            if compared.difference.is_none() {
                legal.push(format!("{:#x} bit {}: {:?}", bit / 8, bit % 8, compared.rules));
            }
        }
        assert!(
            legal.len() * 33 < flips,
            "{protocol} {other}: {} of {flips}:\n{}",
            legal.len(),
            legal.join("\n")
        );
    }
}

/// Returns E-Trace of a case that an encoder with other habits makes.
fn etrace_with(kit: &Kit, case: &Case, quirks: Quirks) -> Vec<u8> {
    let settings = Settings::new(Isa::Rv64).with(&case.options).unwrap();
    let mut config = settings.encoder();
    config.quirks = quirks;
    let mut encoder = Encoder::new(config);
    let mut writer = Writer::new(settings.source.config.clone()).with_alignment(settings.align);
    let text = std::fs::read(kit.dir.join("runs").join(&case.run).join("ingress.csv")).unwrap();
    let mut bytes = Vec::new();
    let mut put = |packet: &tracewright_etrace::packet::Packet| {
        writer.instruction(0, None, packet, &mut bytes).unwrap();
    };
    for entry in Reader::new(&text, Retirement::Block).unwrap() {
        encoder.entry(&entry.unwrap(), &mut put);
    }
    encoder.finish(&mut put);
    bytes
}

#[test]
fn habits_of_other_encoders_of_etrace_are_accepted() {
    let (_, kit) = kit("etrace");
    let plain = Quirks::default();
    // The inputs in the folder make the expected bytes.
    for name in ["plain", "prediction", "cache", "sync-packets", "return-stack", "sijump"] {
        assert_eq!(etrace_with(kit, case(kit, name), plain), bytes(kit, case(kit, name)), "{name}");
    }
    for (quirks, rule) in [
        (Quirks { counts_from_32: true, ..plain }, Rule::BranchCount),
        (Quirks { always_prefers_index: true, ..plain }, Rule::JumpTarget),
        (Quirks { bare_starts: true, ..plain }, Rule::BeforeSynchronisation),
    ] {
        let mut times = 0;
        for name in [
            "prediction",
            "cache",
            "cache-large",
            "full-address-all",
            "sync-packets",
            "sync-half-words",
            "return-stack",
        ] {
            let (trace, compared) = compare(kit, case(kit, name), &etrace_with(kit, case(kit, name), quirks));
            assert_ne!(compared.verdict(), "wrong", "{name} {rule}: {}", compared.text(&trace));
            times += compared.rules.get(&rule).map_or(0, |(times, _)| *times);
        }
        assert!(times > 0, "{rule}");
    }
}

/// Packets of E-Trace with a byte more, which repeats the top bit.
#[test]
fn longer_packets_are_accepted() {
    let (_, kit) = kit("etrace");
    let case = case(kit, "plain");
    let mut theirs = Vec::new();
    for packet in all_packets(kit, case) {
        theirs.extend_from_slice(&packet.bytes);
        if packet.kind == "Support (3.3)" || packet.kind == "Start (3.0)" {
            let at = theirs.len() - packet.bytes.len();
            theirs[at] += 1;
            theirs.push(if packet.bytes.last().unwrap() & 0x80 == 0 { 0 } else { 0xff });
        }
    }
    let (trace, compared) = compare(kit, case, &theirs);
    assert_eq!(compared.verdict(), "legal", "{}", compared.text(&trace));
    assert!(compared.rules.contains_key(&Rule::Length), "{:?}", compared.rules);
}

/// All packets of a case, fillers and all.
fn all_packets(kit: &Kit, case: &Case) -> Vec<Step> {
    let all = bytes(kit, case);
    let (mut whole, mut end) = (Vec::new(), 0);
    for packet in Packets::new(&kit.expected(case).unwrap()) {
        let filler =
            Step { bytes: all[end..packet.offset as usize].to_vec(), kind: "Idle", ..packet.clone() };
        end = packet.offset as usize + packet.bytes.len();
        whole.extend([filler, packet]);
    }
    whole
}

#[test]
fn histories_without_branches_are_accepted() {
    let (_, kit) = kit("ntrace");
    let case = case(kit, "plain");
    let params = NtraceParams::default();
    let mut theirs = Vec::new();
    for packet in all_packets(kit, case).iter().filter(|packet| !packet.bytes.is_empty()) {
        let parsed = ntrace::parse(&packet.bytes, &params).unwrap();
        let message = match parsed.packet.unwrap() {
            NtracePacket::IndirectBranch { btype, icnt, uaddr } => {
                NtracePacket::IndirectBranchHist { btype, icnt, uaddr, hist: 1 }
            }
            other => other,
        };
        let mut bytes = ntrace::MessageBytes::default();
        ntrace::emit(&message, 0, None, &params, &mut bytes).unwrap();
        theirs.extend_from_slice(&bytes);
    }
    let (trace, compared) = compare(kit, case, &theirs);
    assert_eq!(compared.verdict(), "legal", "{}", compared.text(&trace));
    assert!(compared.rules.contains_key(&Rule::EmptyHistory), "{:?}", compared.rules);
}

/// Writes the packets of a case of ETMv4 anew, each as `change` makes it.
fn etm_with(kit: &Kit, case: &Case, change: impl Fn(Packet) -> Vec<Packet>) -> Vec<u8> {
    let (source, _) = case.source.clone().unwrap();
    let RawSource::Etm(source) = source.parse().unwrap() else { panic!("{source}") };
    let (mut parser, mut emitter) = (Parser::new(source.params.clone()), Emitter::new(source.params.clone()));
    let mut packets = Vec::new();
    parser.feed(&bytes(kit, case), &mut |_: u64, _: &[u8], packet: &Packet| packets.push(*packet));
    parser.finish(&mut |_: u64, _: &[u8], packet: &Packet| packets.push(*packet));
    let changed = packets.into_iter().flat_map(change);
    changed
        .flat_map(|packet| {
            emitter.emit(&packet).unwrap_or_else(|error| panic!("{packet:?}: {error}")).to_vec()
        })
        .collect()
}

#[test]
fn other_forms_of_etm4_are_accepted() {
    let (_, kit) = kit("etm4");
    for name in ["plain", "contexts", "sync", "times", "cycles"] {
        let case = case(kit, name);
        assert_eq!(etm_with(kit, case, |packet| vec![packet]), bytes(kit, case), "{name}");
        let one_by_one = |packet| match packet {
            Packet::Atom(atoms) => atoms.iter().map(|taken| Packet::Atom(Atoms::one(taken))).collect(),
            other => vec![other],
        };
        let long = |packet| match packet {
            Packet::Address(address) => {
                vec![Packet::Address(Address { form: AddressForm::Long64, ..address })]
            }
            other => vec![other],
        };
        let apart = |packet| match packet {
            Packet::AddressContext(address, context) => {
                vec![Packet::Context(context), Packet::Address(address)]
            }
            other => vec![other],
        };
        for (theirs, rule) in [
            (etm_with(kit, case, one_by_one), Rule::Atoms),
            (etm_with(kit, case, long), Rule::AddressForm),
            (etm_with(kit, case, apart), Rule::Context),
        ] {
            let (trace, compared) = compare(kit, case, &theirs);
            assert_eq!(compared.verdict(), "legal", "{name} {rule}: {}", compared.text(&trace));
            assert!(compared.rules.contains_key(&rule), "{name} {rule}: {:?}", compared.rules);
        }
    }
}

#[test]
fn an_encoders_own_options_leave_cases_out() {
    let scratch = Scratch::new("conform-options");
    let file = scratch.write("hw.scf", b"[Parameters]\nbpred_size_p=0 # none\ncache_size_p=3\n");
    let file = file.to_str().unwrap();
    for option in [file.to_owned(), format!("params={file}")] {
        let kit = write(&options(&scratch.path().join("kit"), "etrace", &[&option])).unwrap();
        let left_out: Vec<_> = kit.left_out.iter().map(|(name, _)| name.as_str()).collect();
        assert!(left_out.contains(&"prediction") && left_out.contains(&"no-tables"), "{left_out:?}");
        assert!(kit.cases.iter().all(|case| case.options.contains(&"bpred_size=0".into())));
    }
    let error = |protocol, given: &[&str]| {
        write(&options(&scratch.path().join("x"), protocol, given)).unwrap_err().to_string()
    };
    assert_eq!(error("etm3", &[]), "there is no kit of \"etm3\"; there are etrace, ntrace, etm4");
    assert!(error("etm4", &["x=1"]).contains("there is no option"));
    assert!(!scratch.path().join("x").exists() && !scratch.path().join("x.part").exists());
    std::fs::create_dir(scratch.path().join("other")).unwrap();
    std::fs::write(scratch.path().join("other/file"), "x").unwrap();
    let error = write(&options(&scratch.path().join("other"), "etm4", &[])).unwrap_err().to_string();
    assert!(error.contains("something else than a kit"), "{error}");
}

#[test]
fn the_program_is_that_of_the_folder_programs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (_, kit) = kit("etrace");
    for (run, name) in [("rv64", "conform.elf"), ("rv32", "conform32.elf")] {
        let committed = std::fs::read(root.join("programs/bin").join(name)).unwrap();
        let written = std::fs::read(kit.dir.join("runs").join(run).join("program.elf")).unwrap();
        assert!(committed == written, "programs/build, and copy {name} to crates/tracewright/src/conform");
    }
}

/// Any file in the place of a kit's description, and any text in the place of hexadecimal, is an error or a kit, and nothing worse.
#[test]
fn damaged_kits_and_traces_are_told() {
    let (_, kit) = kit("ntrace");
    let scratch = Scratch::new("conform-damaged");
    let (text, hex) = (kit.json().to_string(), std::fs::read(kit.dir.join("cases/plain/trace.hex")).unwrap());
    let mut rng = Rng::new(7);
    for _ in 0..300 {
        let mut damaged = text.clone().into_bytes();
        for _ in 0..=rng.below(4) {
            let at = rng.below(damaged.len() as u64) as usize;
            damaged[at] = rng.next_u64() as u8;
        }
        std::fs::write(scratch.path().join("kit.json"), &damaged).unwrap();
        if let Ok(kit) = Kit::open(scratch.path()) {
            assert!(kit.cases.iter().all(|case| !case.name.contains(['/', '.'])));
        }
        let mut theirs = hex.clone();
        let at = rng.below(theirs.len() as u64) as usize;
        theirs[at] = rng.next_u64() as u8;
        std::fs::write(scratch.path().join("plain.hex"), &theirs).unwrap();
        if let Err(error) = kit.check(scratch.path(), &["plain".into()]) {
            assert!(error.to_string().contains("plain.hex"), "{error}");
        }
    }
}
