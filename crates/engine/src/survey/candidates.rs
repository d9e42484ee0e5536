//! Bytes of a source read as every protocol that has the synchronisation pattern found in them.

use std::collections::BTreeSet;
use std::path::Path;

use tracewright_input::{Capture, Packing, RawSource};

use super::Speaks;
use crate::limits::Range;
use crate::packets::{Found, PacketRequest, Visitor};
use crate::protocol::Options;
use crate::syntax::Role;

/// What speaks for a protocol, and against it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Synchronisation packets.
    pub syncs: u64,
    /// Bytes of packets, from the first synchronisation packet on.
    pub parsed: u64,
    /// Other bytes from there on.
    pub unparsed: u64,
    /// Packets that say where execution is, and whose fixed bits are as they should be.
    pub plausible: u64,
    /// Those whose fixed bits are not.
    pub implausible: u64,
}

/// A protocol, and a way to read it.
struct Candidate {
    name: &'static str,
    /// As `--source` takes it.
    source: String,
    sense: Sense,
}

/// How to tell whether a packet makes sense, beyond its header.
#[derive(Clone, Copy)]
enum Sense {
    /// There is no such packet.
    Any,
    /// An I-Sync of PTM.
    Ptm,
    /// An I-Sync of ETMv3 with so many bytes of context ID, and with cycles if they are counted; an exception.
    Etm3 { context: usize, cycles: bool },
}

/// Bytes that a byte that is no packet, and a packet without sense, weigh against bytes of packets.
const UNPARSED: u64 = 4;
const IMPLAUSIBLE: u64 = 32;
/// Fewest packets of ITM without synchronisation, and most kinds of them.
const LEAST: u64 = 16;
const MOST_HEADERS: usize = 12;
/// Unfinished packet at the end, before which a stream was cut: no bytes against it.
const CUT: Role = Role::Incomplete;

impl Evidence {
    /// Returns the share of bytes that are packets, in per mille.
    pub fn per_mille(&self) -> u64 {
        let all = self.parsed + self.unparsed;
        1000 * self.parsed / all.max(1)
    }

    /// Returns whether the bytes are the protocol's, without much doubt.
    pub fn is_good(&self) -> bool {
        self.syncs > 0 && self.per_mille() >= 900 && self.implausible <= self.plausible / 8
    }

    /// Returns whether most of the bytes may be the protocol's.
    fn is_likely(&self) -> bool {
        self.syncs > 0 && self.per_mille() >= 500 && self.implausible <= self.plausible
    }

    fn weight(&self) -> i64 {
        self.parsed as i64 - (UNPARSED * self.unparsed + IMPLAUSIBLE * self.implausible) as i64
    }
}

/// Returns the protocol that makes most sense of a source's bytes; `None` if none does. `cycles` is what a Trace Info of ETMv4 tells.
pub fn best(bytes: &[u8], cycles: bool) -> Option<Speaks> {
    let mut best: Option<(i64, Speaks)> = None;
    for Candidate { name, source, sense } in candidates(cycles) {
        let Some(evidence) = evidence(bytes, &source, sense) else { continue };
        let weight = evidence.weight();
        if evidence.is_likely() && best.as_ref().is_none_or(|(most, _)| weight > *most) {
            best = Some((weight, Speaks { name, source: Some(source), evidence: Some(evidence) }));
        }
    }
    best.map(|(_, speaks)| speaks)
}

/// Returns ITM without synchronisation packets, if the bytes are packets of few kinds with different values. There is no pattern to find, so
/// only what memory hardly holds is recognised.
pub fn unmarked(bytes: &[u8]) -> Option<Speaks> {
    let (name, source) = ("ITM", "itm,sync=0");
    let mut reader = Unmarked::default();
    read(bytes, source, &mut reader)?;
    let Unmarked { headers, values, packets, evidence } = reader;
    let is_likely = evidence.unparsed == 0
        && packets >= LEAST
        && headers.len() <= MOST_HEADERS
        && values.len() > headers.len();
    is_likely.then(|| Speaks { name, source: Some(source.into()), evidence: Some(evidence) })
}

/// Returns all candidates. Of those that explain bytes as well, the first wins.
fn candidates(cycles: bool) -> Vec<Candidate> {
    let mut all = Vec::new();
    let mut add = |name, source: String, sense| all.push(Candidate { name, source, sense });
    // TRCCONFIGR.CCI, and bit 0, which is always set.
    let config = if cycles { ",TRCCONFIGR=0x11" } else { "" };
    // Cycle counts that commit nothing; virtual machine IDs of 32 bits, Ignore; Q elements.
    for more in [
        "",
        ",TRCIDR0=0x28000ea1",
        ",TRCIDR0=0x28000ea1,TRCIDR1=0x4100f440,TRCIDR2=0x1088",
        ",TRCIDR0=0x2801cea1,TRCIDR1=0x4100f440,TRCIDR2=0x1088",
    ] {
        add("ETMv4 or ETE", format!("etm4{config}{more}"), Sense::Any);
    }
    // ETE 1.0 and 1.3.
    for more in
        ["", ",TRCIDR0=0x2801cea1,TRCIDR2=0x1088", ",TRCDEVARCH=0x47735a13,TRCIDR0=0x28c1cea1,TRCIDR2=0x1088"]
    {
        add("ETE", format!("ete{config}{more}"), Sense::Any);
    }
    // ETMCR: cycle counts (bit 12), bytes of context IDs (bits 15 and 14), data (bits 3 and 2).
    let controls = [0, 1 << 12]
        .into_iter()
        .flat_map(|cycles| (0..4).map(move |size| (cycles | size << 14, [0, 1, 2, 4][size as usize])));
    for (control, _) in controls.clone() {
        for more in ["", ",ETMCCER=0x14c01ac2"] {
            add("PTM", format!("ptm,ETMCR={control:#x}{more}"), Sense::Ptm);
        }
    }
    for data in [0, 4, 8, 0xc] {
        for (control, context) in controls.clone() {
            // The alternative encoding of branches, which most have, and the original.
            for version in ["0x411cf250", "0x410cf250"] {
                let control: u32 = control | data;
                let more = format!("ETMIDR={version},ETMCCER=0x344008f2");
                let cycles = control & 1 << 12 != 0;
                add("ETMv3", format!("etm3,ETMCR={control:#x},{more}"), Sense::Etm3 { context, cycles });
            }
        }
    }
    add("ITM", "itm".into(), Sense::Any);
    add("STM", "stm".into(), Sense::Any);
    all
}

/// Reads bytes as a source; `None` if there is no such source.
fn evidence(bytes: &[u8], source: &str, sense: Sense) -> Option<Evidence> {
    let mut reader = Reader { sense, evidence: Evidence::default() };
    read(bytes, source, &mut reader)?;
    Some(reader.evidence)
}

fn read(bytes: &[u8], source: &str, reader: &mut dyn Visitor) -> Option<()> {
    let (kind, rest) = source.split_once(',').unwrap_or((source, ""));
    let described = format!("{kind},id=0x10{}{rest}", if rest.is_empty() { "" } else { "," });
    let raw: RawSource = described.parse().or_else(|_| source.parse()).ok()?;
    let capture = Capture::raw(Path::new("-"), Packing::Source, &[raw]).ok()?;
    let request = PacketRequest {
        capture: &capture,
        buffer: capture.buffers.first()?,
        bytes: Some(bytes),
        wants: &|_| true,
        options: &Options::default(),
        range: Range::ALL,
        progress: &|_| {},
    };
    request.visit(reader).ok().map(drop)
}

struct Reader {
    sense: Sense,
    evidence: Evidence,
}

impl Visitor for Reader {
    fn packet(&mut self, found: &Found<'_>) {
        let (evidence, len) = (&mut self.evidence, found.bytes.len() as u64);
        match found.kind.role {
            // Bytes before the first synchronisation say nothing.
            Role::Sync => (evidence.syncs, evidence.parsed) = (evidence.syncs + 1, evidence.parsed + len),
            _ if evidence.syncs == 0 => {}
            Role::Malformed => evidence.unparsed += len,
            Role::Plain => evidence.parsed += len,
            CUT | Role::Skipped => {}
        }
        match self.sense.of(found.bytes) {
            Some(true) => evidence.plausible += 1,
            Some(false) => evidence.implausible += 1,
            None => {}
        }
    }

    fn skipped(&mut self, _: &crate::Source<'_>, _: crate::Place, bytes: &[u8]) {
        if self.evidence.syncs > 0 {
            self.evidence.unparsed += bytes.len() as u64;
        }
    }
}

/// Bytes read as ITM from the first one on.
#[derive(Default)]
struct Unmarked {
    /// First bytes of packets, and the bytes behind them.
    headers: BTreeSet<u8>,
    values: BTreeSet<u8>,
    packets: u64,
    evidence: Evidence,
}

impl Visitor for Unmarked {
    fn packet(&mut self, found: &Found<'_>) {
        let is_packet = matches!(found.kind.role, Role::Plain | Role::Sync) && !found.is_filler;
        match (is_packet, found.bytes) {
            (true, [header, rest @ ..]) => {
                self.evidence.parsed += found.bytes.len() as u64;
                self.packets += 1;
                self.headers.insert(*header);
                self.values.extend(rest.first());
            }
            (false, bytes) if found.kind.role != CUT => self.evidence.unparsed += bytes.len() as u64,
            _ => {}
        }
    }

    fn skipped(&mut self, _: &crate::Source<'_>, _: crate::Place, bytes: &[u8]) {
        self.evidence.unparsed += bytes.len() as u64;
    }
}

impl Sense {
    /// Returns whether a packet makes sense; `None` if it says nothing about that.
    fn of(self, packet: &[u8]) -> Option<bool> {
        let (info, address) = match (self, packet) {
            (Self::Ptm, [0x08, address @ .., _] | [0x08, address @ ..]) if address.len() >= 4 => {
                (*packet.get(5)?, address)
            }
            (Self::Etm3 { cycles: false, .. }, [0x70, ..]) => return Some(false),
            (Self::Etm3 { context, .. }, [header @ (0x08 | 0x70), rest @ ..]) => {
                let is_last = |byte: &u8| byte & 0x80 == 0;
                let count = if *header == 0x70 { 1 + rest.iter().position(is_last)? } else { 0 };
                let (info, address) = rest.get(count + context..)?.split_first()?;
                (*info, address)
            }
            // Nothing follows the last byte of an exception: here headers were taken for its bytes.
            (Self::Etm3 { .. }, [first, .., last]) if first & 1 == 1 && last & 0x80 != 0 => {
                return Some(false);
            }
            _ => return None,
        };
        let word = u32::from_le_bytes(*address.first_chunk()?);
        // Bit 0 is always set. Jazelle (bit 4) is as good as never used. Instructions of A32 lie at multiples of four.
        let is_reserved = info & 0x11 != 1 || matches!(self, Self::Ptm) && info & 0x80 != 0;
        Some(!is_reserved && word & 3 != 2)
    }
}
