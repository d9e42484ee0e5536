//! How small traces are: packets and their payloads, without encapsulation.

use tracewright_core::{Block, Isa};
use tracewright_etrace::encode::{Config, Resync, ResyncMode};
use tracewright_etrace::packet::{self, Packet, PayloadBytes};
use tracewright_etrace::{Options, Params};
use tracewright_hart::{HartSink, Privilege, Trap};

use super::program::{self, Traced};
use super::record::{self, BASE, Port};
use crate::head;

/// Instructions for checks.
const FEW: u64 = 20_000;
/// Entries of all tables, as an exponent of two: those of the C codec that published sizes are measured with.
const ENTRIES: u8 = 7;

/// What the C codec made of programs: how many instructions were traced, and the bytes of payloads with implicit returns and
/// prediction.
const C_CODEC: [(&str, u64, u64); 12] = [
    ("dhrystone", 215_016, 4820),
    ("embench-crc32", 4_028_863, 365),
    ("embench-nettle-sha256", 3_874_840, 2400),
    ("embench-sglib-combined", 2_269_625, 76_730),
    ("embench-statemate", 1_038_141, 16_129),
    ("median", 15_016, 581),
    ("mm", 297_039, 1231),
    ("mt-vvadd", 61_073, 597),
    ("qsort", 235_016, 7096),
    ("rsort", 375_017, 190),
    ("towers", 15_017, 168),
    ("vvadd", 10_017, 112),
];

/// The other programs whose executions are recorded beside the reference model's traces: how many instructions.
const RECORDED: [(&str, u64); 5] = [
    ("br_j_asm", 5156),
    ("hello_world", 50_000),
    ("pmp", 1_110_464),
    ("test_discon_branch_exception", 33),
    ("xrle", 164_959),
];

const RETURN: Options = Options { implicit_return: true, ..BASE };
const PREDICTION: Options = Options { branch_prediction: true, ..RETURN };
const CACHE: Options = Options { jump_target_cache: true, ..PREDICTION };
const SIJUMP: Options = Options { sijump: true, ..CACHE };

/// Options that go together.
const MIXES: [(&str, Options); 7] = [
    ("base", BASE),
    ("full address", Options { full_address: true, ..BASE }),
    ("implicit return", RETURN),
    ("+ prediction", PREDICTION),
    ("+ jump target cache", CACHE),
    ("+ sijump", SIJUMP),
    ("all", Options { implicit_exception: true, ..SIJUMP }),
];

/// Implicit returns and prediction.
const PREDICTION_MIX: usize = 3;

pub fn tables(check: bool) -> Result<usize, String> {
    let limit = if check { FEW } else { u64::MAX };
    let mut rows = Vec::new();
    for traced in program::samples().iter().chain(&program::shared()) {
        rows.push(Row::new(traced, limit)?);
        if check {
            println!("{}, {}: encoded with all options", super::SIZE, traced.name);
        }
    }
    if !check {
        packets(&rows);
        bits(&rows);
        c_codec()?;
    }
    Ok(rows.len())
}

/// The same instructions, ours beside the C codec.
fn c_codec() -> Result<(), String> {
    head(
        1,
        "implicit return + prediction | instructions | C codec bytes | our bytes | C codec bits each | ours",
    );
    let line = |name: &str, count: u64, theirs: u64, ours: u64| {
        let each = |bytes: u64| 8.0 * bytes as f64 / count.max(1) as f64;
        println!("| {name} | {count} | {theirs} | {ours} | {:.4} | {:.4} |", each(theirs), each(ours));
    };
    let mut sums = [0; 3];
    for traced in program::shared() {
        let Some(&(name, limit, theirs)) = C_CODEC.iter().find(|(name, ..)| *name == traced.name) else {
            continue;
        };
        let row = Row::new(&traced, limit)?;
        let ours = row.sizes[PREDICTION_MIX].bytes;
        line(name, row.instructions, theirs, ours);
        sums = [sums[0] + row.instructions, sums[1] + theirs, sums[2] + ours];
    }
    line("**all**", sums[0], sums[1], sums[2]);
    recorded()
}

/// All programs whose executions are recorded, as many instructions as those have.
fn recorded() -> Result<(), String> {
    let limits: Vec<_> = C_CODEC.iter().map(|&(name, limit, _)| (name, limit)).chain(RECORDED).collect();
    let mut rows = Vec::new();
    for traced in program::shared() {
        if let Some(&(_, limit)) = limits.iter().find(|(name, _)| *name == traced.name) {
            rows.push(Row::new(&traced, limit)?);
        }
    }
    bits_head();
    average_line(&format!("**recorded programs ({})**", rows.len()), &rows.iter().collect::<Vec<_>>());
    Ok(())
}

/// What each mix takes, over all of these.
fn average_line(name: &str, rows: &[&Row]) {
    let instructions: u64 = rows.iter().map(|row| row.instructions).sum();
    let bits = |mix: usize| 8 * rows.iter().map(|row| row.sizes[mix].bytes).sum::<u64>();
    let each = |mix: usize| format!("{:.4}", bits(mix) as f64 / instructions.max(1) as f64);
    println!("| {name} | {} |", (0..MIXES.len()).map(each).collect::<Vec<_>>().join(" | "));
}

/// As in the description of the CVA6 encoder: the rate is what trace takes less than the instructions, 32 bits each.
fn packets(rows: &[Row]) {
    head(1, "program | committed instructions | packets | payload bytes | compression rate %");
    for row in rows {
        let [base, ..] = row.sizes;
        let rate = 100.0 * (1.0 - base.bytes as f64 / (4.0 * row.instructions as f64));
        println!("| {} | {} | {} | {} | {rate:.2} |", row.name, row.instructions, base.packets, base.bytes);
    }
}

fn bits_head() {
    head(1, &format!("bits per instruction | {}", MIXES.map(|(name, _)| name).join(" | ")));
}

fn bits(rows: &[Row]) {
    bits_head();
    rows.iter().for_each(|row| average_line(&row.name, &[row]));
    let average = |name: &str, is_in: &dyn Fn(&Row) -> bool| {
        let rows: Vec<_> = rows.iter().filter(|row| is_in(row)).collect();
        if !rows.is_empty() {
            average_line(&format!("**{name} ({})**", rows.len()), &rows);
        }
    };
    average("our programs", &|row| !row.is_shared);
    average("shared programs", &|row| row.is_shared);
    average("shared programs but CoreMark", &|row| row.is_shared && row.name != "coremark");
}

struct Row {
    name: String,
    is_shared: bool,
    instructions: u64,
    sizes: [Sizes; MIXES.len()],
}

/// How many packets, and the bytes of their payloads.
#[derive(Clone, Copy, Debug, Default)]
struct Sizes {
    packets: u64,
    bytes: u64,
}

impl Row {
    fn new(traced: &Traced, limit: u64) -> Result<Self, String> {
        let (_, isa) = traced.image()?;
        let mut found = [(Sizes::default(), None); MIXES.len()];
        let mut encoders = Encoders { instructions: 0, ports: Vec::new() };
        for ((_, options), (sizes, wrong)) in MIXES.iter().zip(&mut found) {
            let config = config(isa, *options);
            let params = config.params.clone();
            encoders.ports.push(Port::new(config, move |packet: &Packet| sizes.add(packet, &params, wrong)));
        }
        traced.run(limit, &mut encoders)?;
        let Encoders { instructions, ports } = encoders;
        ports.into_iter().for_each(Port::finish);
        if let Some(packet) = found.iter().find_map(|(_, wrong)| *wrong) {
            return Err(format!("{}: {packet:x?} has no payload", traced.name));
        }
        let (name, is_shared) = (traced.name.clone(), traced.is_shared);
        Ok(Self { name, is_shared, instructions, sizes: found.map(|(sizes, _)| sizes) })
    }
}

/// Encoders behind a hart, one for each mix of options.
struct Encoders<F> {
    instructions: u64,
    ports: Vec<Port<F>>,
}

impl<F: FnMut(&Packet)> HartSink for Encoders<F> {
    fn block(&mut self, block: &Block) {
        self.instructions += u64::from(block.count);
        self.ports.iter_mut().for_each(|port| port.block(block));
    }

    fn trap(&mut self, trap: &Trap) {
        self.ports.iter_mut().for_each(|port| port.trap(trap));
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.ports.iter_mut().for_each(|port| port.privilege(privilege));
    }
}

fn config(isa: Isa, options: Options) -> Config {
    let params = Params {
        bpred_size: ENTRIES,
        cache_size: ENTRIES,
        return_stack_size: ENTRIES,
        sijump: options.sijump,
        ..record::params(isa)
    };
    let resync = Resync { mode: ResyncMode::Off, ..Resync::default() };
    Config { params, options, resync, ..Config::default() }
}

impl Sizes {
    /// Adds a packet, or sets `wrong` if it cannot be sent.
    fn add(&mut self, packet: &Packet, params: &Params, wrong: &mut Option<Packet>) {
        let mut payload = PayloadBytes::default();
        match packet::emit(packet, params, &mut payload) {
            Ok(()) => *self = Self { packets: self.packets + 1, bytes: self.bytes + payload.len() as u64 },
            Err(_) => *wrong = Some(*packet),
        }
    }
}
