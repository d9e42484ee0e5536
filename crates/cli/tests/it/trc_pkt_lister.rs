//! OpenCSD's own lister (Debian's `trc_pkt_lister`, 1.3.3) on what our emitter and framer write: kinds and values.
//!
//! Random configurations and packets, one source without frames or several in frames, with and without syncs, written as
//! snapshot folders. Its text is
//! older than the one `--style opencsd` prints, so indices, names and the values in the text are compared: numbers, atoms,
//! contexts, exceptions. It shows no bytes, no conditional keys and tokens, no event and data-sync numbers, and not what a
//! cycle count commits; those rest on `crates/etm/tests/it/spec.rs`. What 1.3.3 cannot read is left out of the streams, each
//! with its reason, in [`readable`].

use std::collections::BTreeSet;
use std::num::NonZero;
use std::path::Path;
use std::process::Command;

use crate::run::{run, text};
use crate::support::write_folder;
use tracewright_etm::packet::{Context, Kind, Packet, PacketBytes, Security, TraceInfo};
use tracewright_etm::{Architecture, CoreProfile, Params, Protocol, Registers};
use tracewright_frames::{Framer, Options};
use tracewright_input as input;
use tracewright_testkit::{Rng, Scratch, etm, lister};

const STREAMS: u64 = 600;

/// One source's stream.
struct Source {
    registers: Registers,
    packets: Vec<(Packet, PacketBytes)>,
}

impl Source {
    fn random(rng: &mut Rng, id: u8) -> Self {
        let mut registers = etm::registers(rng);
        registers.trctraceidr = id.into();
        // 1.3.3 takes a core for v8-A or v7-A by its name only; those two and M are what we name below.
        if registers.profile == CoreProfile::R {
            registers.profile = CoreProfile::A;
        }
        let params = Params::new(&registers).unwrap();
        let mut generator = etm::Generator::new(params.clone(), rng.clone());
        rng.next_u64();
        // Before the first context after a Trace Info, 1.3.3 goes by the last one, or by AArch32 (see DIFFERENCES.md).
        let context = Packet::Context(Context::new(1, true, Security::NonSecure));
        let start = [Packet::Async, Packet::TraceInfo(TraceInfo::default()), context];
        let mut packets: Vec<_> = start.into_iter().map(|packet| generator.say(packet)).collect();
        while packets.len() < 120 {
            // Packets change the compression registers, so one that is not wanted must not be made at all.
            packets.push(generator.packet_if(|packet, state| readable(packet, state.timestamp())));
            if let Some((Packet::TraceInfo(_), _)) = packets.last() {
                packets.push(generator.say(context));
            }
        }
        Self { registers, packets }
    }

    fn bytes(&self) -> Vec<u8> {
        self.packets.iter().flat_map(|(_, bytes)| bytes.to_vec()).collect()
    }

    fn core(&self) -> &'static str {
        match (self.registers.profile, self.registers.architecture) {
            (CoreProfile::M, Architecture::V7) => "Cortex-M4",
            (CoreProfile::M, _) => "ARMv8-M",
            (_, Architecture::V7) => "Cortex-A15",
            _ => "Cortex-A53",
        }
    }
}

/// Whether 1.3.3 reads and shows a packet as the architecture has it.
fn readable(packet: &Packet, last_timestamp: u64) -> bool {
    match packet {
        // Knows no instrumentation packets: takes the header for reserved.
        Packet::Instrumentation { .. } => false,
        // Does not know the WNDW section, and shows a stale threshold where none is given.
        Packet::TraceInfo(info) => {
            info.plctl & TraceInfo::WNDW == 0 && (!info.cycle_counting() || info.plctl & TraceInfo::CYCT != 0)
        }
        // Seven and eight bytes replace all 64 bits instead of 49 and 56.
        Packet::Timestamp(timestamp) => !matches!(timestamp.bytes, 7 | 8) || last_timestamp >> 49 == 0,
        // Does not know root and realm.
        Packet::Context(context) | Packet::AddressContext(_, context) => {
            matches!(context.security(), Security::Secure | Security::NonSecure)
        }
        _ => true,
    }
}

/// How a stream is packed, as both tools are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Source,
    Frames,
    Fsync,
    Hsync,
}

impl Packing {
    fn framer(self, rng: &mut Rng) -> Framer {
        let every = |rng: &mut Rng, most| NonZero::new(1 + rng.below(most) as u32);
        let fsync_every = if matches!(self, Self::Fsync | Self::Hsync) { every(rng, 20) } else { None };
        let hsync_every = if self == Self::Hsync { every(rng, 50) } else { None };
        Framer::new(Options { fsync_every, hsync_every })
    }

    /// OpenCSD's option.
    fn theirs(self) -> &'static [&'static str] {
        match self {
            Self::Source | Self::Frames => &[],
            Self::Fsync => &["-tpiu"],
            Self::Hsync => &["-tpiu_hsync"],
        }
    }

    /// What we are told: a snapshot cannot say that there are syncs, so then the file and its sources.
    fn ours(self, dir: &Path, sources: &[Source]) -> String {
        let format = match self {
            Self::Source | Self::Frames => return text(dir).into(),
            Self::Fsync => "fsync",
            Self::Hsync => "hsync",
        };
        let mut line = format!("{}/buffer_0.bin --packing {format}", text(dir));
        for source in sources {
            let kind = if source.registers.protocol == Protocol::Ete { "ete" } else { "etm4" };
            let registers: String =
                source.registers.named().map(|(name, value)| format!(",{name}={value}")).collect();
            line += &format!(" --source {kind},core={}{registers}", source.core());
        }
        line
    }
}

fn write_snapshot(dir: &Path, sources: &[Source], packing: Packing, rng: &mut Rng) {
    let bytes = if packing != Packing::Source {
        let mut framer = packing.framer(rng);
        let mut out = Vec::new();
        let mut streams: Vec<(u8, Vec<u8>)> =
            sources.iter().map(|source| (source.registers.trctraceidr as u8, source.bytes())).collect();
        while streams.iter().any(|(_, bytes)| !bytes.is_empty()) {
            let (id, bytes) = &mut streams[rng.below(sources.len() as u64) as usize];
            let len = bytes.len().min(rng.sized(6) as usize);
            let piece: Vec<u8> = bytes.drain(..len).collect();
            framer.push(tracewright_core::TraceId::new(*id).unwrap(), &piece, &mut out).unwrap();
        }
        framer.flush(&mut out);
        out
    } else {
        sources[0].bytes()
    };
    let unframed = packing == Packing::Source;
    let format = if unframed { input::Packing::Source } else { input::Packing::CoreSight };
    let cores = sources.iter().map(|source| (source.core(), &source.registers));
    write_folder(dir, "made by a test", (format, &bytes), [], cores);
}

/// A packet line: ID, index, name, and the values in its text, in order. (Without decoding, 1.3.3 shows no bytes; the
/// next packet's index tells how many there were.)
#[derive(Debug, PartialEq, Eq)]
struct Line {
    id: u8,
    index: u64,
    name: String,
    values: Vec<String>,
}

fn lines(text: &str) -> Vec<Line> {
    text.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<Line> {
    let (index, rest) = line[line.find("Idx:")? + 4..].split_once("; ID:")?;
    let (id, rest) = rest.split_once(';')?;
    let (_, text) = rest.split_once('\t')?;
    let (name, text) = text.split_once(" : ")?;
    Some(Line {
        id: u8::from_str_radix(id, 16).ok()?,
        index: index.parse().ok()?,
        name: name.trim().into(),
        values: values(name.trim(), text),
    })
}

/// The values in a line's text: numbers and atoms, without the words around them.
fn values(name: &str, text: &str) -> Vec<String> {
    // After the description: its words have numbers of their own ("format 1", "32 bit").
    let text = text.split_once(';').map_or("", |(_, text)| text);
    // The value told by a short address is shown again in brackets, and what a Trace Info means to
    // the decoder is newer than 1.3.3.
    let text = text.split("Decoder Sync").next().unwrap_or_default();
    // 1.3.3 does not show what a cycle count commits.
    let text =
        if name.starts_with("I_CCNT") { text.split("Commit").next().unwrap_or_default() } else { text };
    let number = |word: &str| word.starts_with("0x") || word.chars().all(|c| c.is_ascii_digit());
    let atoms = |word: &str| word.chars().all(|c| "EN".contains(c));
    // Contexts and exceptions are told in words. 1.3.3 has none for root and realm.
    let told =
        name == "I_EXCEPT" || (name.contains("CTXT") && !text.contains("Root") && !text.contains("Realm"));
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty() && (told || number(word) || atoms(word)))
        .map(|word| match word.strip_prefix("0x") {
            Some(digits) => format!("0x{}", digits.trim_start_matches('0').to_lowercase()),
            None => word.into(),
        })
        .collect()
}

#[test]
fn opencsd_reads_what_we_write() {
    if !lister::available("opencsd_reads_what_we_write") {
        return;
    }
    let (mut streams, mut seed) = (0, 0);
    let mut kinds = BTreeSet::new();
    while streams < STREAMS {
        let mut rng = Rng::new(seed);
        let packing = *rng.pick(&[Packing::Source, Packing::Frames, Packing::Fsync, Packing::Hsync]);
        let framed = packing != Packing::Source;
        let count = if framed { 1 + rng.below(4) } else { 1 };
        let first_id = 1 + rng.below(0x60) as u8;
        let sources: Vec<_> = (0..count).map(|i| Source::random(&mut rng, first_id + i as u8)).collect();
        let scratch = Scratch::new(&format!("lister-{seed}"));
        write_snapshot(scratch.path(), &sources, packing, &mut rng);

        let theirs = Command::new("trc_pkt_lister")
            .args(["-ss_dir", text(scratch.path()), "-logstdout"])
            .args(packing.theirs())
            .current_dir(scratch.path())
            .output()
            .unwrap();
        let ours = run!("packets --style opencsd {}", packing.ours(scratch.path(), &sources));
        let reports_loss = ["I_OVERFLOW", "I_DISCARD"].iter().any(|kind| ours.out.contains(kind));
        let ours = ours.ends(reports_loss.into()).out;
        let their_text = String::from_utf8_lossy(&theirs.stdout).into_owned();
        let theirs = lines(&their_text);
        let ours = lines(&ours);
        for source in &sources {
            let id = if framed { source.registers.trctraceidr as u8 } else { 0 };
            let (mut theirs, mut ours) =
                (theirs.iter().filter(|line| line.id == id), ours.iter().filter(|line| line.id == id));
            for (i, (packet, _)) in source.packets.iter().enumerate() {
                let (their_line, our_line) = (theirs.next(), ours.next());
                let what = format!("seed {seed} {packing:?} ID {id:#x} packet {i} {packet:?}");
                let context = || format!("{what} of {:?}", source.registers);
                let our_line = our_line.unwrap_or_else(|| panic!("we end early: {}", context()));
                kinds.insert(packet.kind());
                let shown = &their_text[..their_text.len().min(1500)];
                assert_eq!(their_line, Some(our_line), "{}\n{shown}", context());
            }
            let rest = (theirs.next(), ours.next());
            assert_eq!(rest, (None, None), "seed {seed} ID {id:#x}: more packets than written");
        }
        streams += count;
        seed += 1;
    }
    let missing: Vec<_> = Kind::ALL.iter().filter(|kind| !kind.is_error() && !kinds.contains(kind)).collect();
    // An extension header is never a packet by itself; 1.3.3 does not know instrumentation.
    assert_eq!(missing, [&Kind::Extension, &Kind::Instrumentation], "kinds that never occurred");
}
