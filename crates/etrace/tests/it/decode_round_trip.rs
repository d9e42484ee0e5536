//! Random executions, encoded and decoded, give the same blocks and traps.

use crate::support::program_image;

use tracewright_core::{Block, Element, GapReason, MemorySpace};
use tracewright_etrace::decode::{self, Decoder};
use tracewright_etrace::encode::{self, Resync, ResyncMode};
use tracewright_etrace::ingress::{CType, Executed, ITypeWidth};
use tracewright_etrace::packet::Packet;
use tracewright_etrace::{Options, Params, SupportLayout};
use tracewright_flow::Instructions;
use tracewright_image::Image;
use tracewright_testkit::Rng;
use tracewright_testkit::etrace::{encode, entry};
use tracewright_testkit::riscv::walk::{Event, Happenings, Program, Walk};

/// Event that a trace covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Block(Block),
    Trap(u16, bool, Option<u64>),
}

/// Random case: the execution, and the decoder's result.
struct Case {
    name: String,
    packets: Vec<Packet>,
    ran: Vec<Told>,
    decoded: Vec<Told>,
    elements: Vec<(u64, Element)>,
    image: Image,
}

fn case(seed: u64, v2_returns: bool) -> Case {
    let rng = &mut Rng::new(seed);
    let program = Program::generate(rng);
    let is_rv32 = program.isa == tracewright_core::Isa::Rv32;
    let iret_ext = !v2_returns;
    let params = Params {
        iaddress_width: if is_rv32 { 32 } else { 64 },
        iaddress_lsb: rng.below(2) as u8,
        nocontext: rng.one_in(2),
        notime: rng.one_in(2),
        bpred_size: *rng.pick(&[1, 3, 7]),
        cache_size: *rng.pick(&[1, 3, 7]),
        // With only a call counter, a return to elsewhere is undetectable, and co-routines do that.
        return_stack_size: *rng.pick(&[1, 3, 5]),
        call_counter_size: *rng.pick(&[0, 1, 3, 5]),
        sijump: true,
        iret_ext,
        support: if iret_ext { SupportLayout::Standard } else { SupportLayout::Pulp },
        ..Params::default()
    };
    let options = Options {
        implicit_return: v2_returns || rng.one_in(2),
        // Handlers are random, so no table could give them.
        implicit_exception: false,
        full_address: rng.one_in(2),
        jump_target_cache: rng.one_in(2),
        branch_prediction: rng.one_in(2),
        sijump: rng.one_in(2),
    };
    let resync = Resync {
        mode: *rng.pick(&[ResyncMode::Off, ResyncMode::Packets, ResyncMode::HalfWords]),
        max: rng.below(6) as u8,
        anywhere: false,
    };
    let switches = if params.nocontext || rng.one_in(2) { 0 } else { 200 };
    let happenings = Happenings {
        interrupts: *rng.pick(&[0, 50, 300]),
        faults: *rng.pick(&[0, 50, 300]),
        wrong_returns: *rng.pick(&[0, 10, 40]),
        // Threads are identified by their context.
        contexts: if switches > 0 { 0 } else { *rng.pick(&[0, 50]) },
        switches,
        has_vectors: false,
    };
    let ctype =
        if switches > 0 { CType::Discontinuity } else { *rng.pick(&[CType::Precise, CType::Imprecise]) };
    let name = format!("seed {seed}: {params:?} {options:?} {resync:?} {happenings:?} {ctype:?}");
    let config = encode::Config { params: params.clone(), options, resync, ..encode::Config::default() };
    let mut executed = Executed::new(ITypeWidth::Four, ctype);
    let (mut entries, mut ran) = (Vec::new(), Vec::new());
    let mut notify = rng.clone();
    Walk::new(&program, Rng::new(seed ^ 0x5555)).with(happenings).run(3_000, &mut |event| {
        match event {
            Event::Block(block) => {
                if notify.one_in(100) {
                    executed.notify();
                }
                ran.push(Told::Block(*block));
            }
            Event::Trap(trap) => ran.push(Told::Trap(trap.cause as u16, trap.interrupt, Some(trap.pc))),
            Event::Privilege(_) | Event::Context { .. } => {}
        }
        entries.extend(entry(&mut executed, event));
    });
    let packets = encode(config, &entries);
    let image = program_image(&program);
    let mut elements = Vec::new();
    let mut tell = |offset: u64, element: &Element| elements.push((offset, *element));
    let options = decode::Options {
        context_discontinuity: ctype == CType::Discontinuity,
        ..decode::Options::default()
    };
    let mut decoder = Decoder::new(&params, options, &image, program.isa);
    for (offset, packet) in (0..).zip(&packets) {
        decoder.packet(offset, packet, &mut tell);
    }
    decoder.finish(packets.len() as u64, &mut tell);
    let decoded = elements
        .iter()
        .filter_map(|(_, element)| match element {
            Element::Block(block) => Some(Told::Block(*block)),
            Element::Exception(e) => Some(Told::Trap(e.number, e.interrupt, e.return_address)),
            _ => None,
        })
        .collect();
    Case { name, packets, ran, decoded, elements, image }
}

/// Returns all instructions of the blocks.
fn instructions<'a>(image: &'a Image, told: &'a [Told]) -> impl Iterator<Item = u64> + 'a {
    let block = |told: &Told| match told {
        Told::Block(block) => Some(*block),
        Told::Trap(..) => None,
    };
    let blocks = told.iter().filter_map(block);
    blocks.flat_map(|block| Instructions::new(image, MemorySpace::ANY, &block).map(|found| found.address))
}

impl Case {
    /// Returns whether everything was decoded with certainty. Fails on wrong or unreported missing items.
    fn check(&self) -> Result<bool, String> {
        let is_doubt = |(_, element): &(u64, Element)| {
            let is_ambiguous = |reason: &GapReason| *reason == GapReason::Ambiguous;
            match element {
                Element::UnknownPath { .. } => true,
                Element::Gap { reason, .. } | Element::Lost(reason) => is_ambiguous(reason),
                _ => false,
            }
        };
        let is_bad = |(_, element): &(u64, Element)| {
            matches!(
                element,
                Element::Mismatch(_) | Element::Gap { .. } | Element::Lost(_) | Element::NoCode { .. }
            )
        };
        if let Some(bad) = self.elements.iter().find(|element| is_bad(element) && !is_doubt(element)) {
            return Err(format!("{bad:x?}"));
        }
        let same = |a: &Told, b: &Told| match (*a, *b) {
            // The address is not always known.
            (Told::Trap(x, y, None), Told::Trap(z, w, _)) => (x, y) == (z, w),
            (a, b) => a == b,
        };
        let equal = self.decoded.iter().zip(&self.ran).take_while(|(a, b)| same(a, b)).count();
        if equal == self.ran.len() && equal == self.decoded.len() {
            return Ok(!self.elements.iter().any(is_doubt));
        }
        let told =
            self.elements.iter().filter(|(_, e)| matches!(e, Element::Block(_) | Element::Exception(_)));
        let at = told.map(|(offset, _)| *offset).nth(equal).unwrap_or(u64::MAX);
        if self.elements.iter().any(|element| is_doubt(element) && element.0 <= at) {
            // Where the trace is uncertain, instructions are left out, but none is invented.
            let mut ran = instructions(&self.image, &self.ran);
            let mut decoded = instructions(&self.image, &self.decoded);
            return match decoded.all(|address| ran.any(|ran| ran == address)) {
                true => Ok(false),
                false => Err("something is told that did not run".into()),
            };
        }
        let decoded = &self.decoded[equal.saturating_sub(2)..(equal + 2).min(self.decoded.len())];
        let ran = &self.ran[equal.saturating_sub(2)..(equal + 2).min(self.ran.len())];
        let at = (at as usize).min(self.packets.len());
        let packets = &self.packets[at.saturating_sub(6)..(at + 2).min(self.packets.len())];
        Err(format!("{equal} of {}: {decoded:#x?}\nexpected {ran:#x?}\n{packets:#x?}", self.ran.len()))
    }
}

/// Checks cases. Returns how many were certain.
fn certain(count: u64, with_depths: bool) -> u64 {
    let (mut failed, mut certain) = (Vec::new(), 0);
    for seed in 0..count {
        let case = case(seed, with_depths);
        match case.check() {
            Ok(is_certain) => certain += u64::from(is_certain),
            Err(why) => failed.push(format!("{}\n{why}", case.name)),
        }
    }
    assert!(failed.is_empty(), "{} failed; {}", failed.len(), failed[..failed.len().min(3)].join("\n"));
    certain
}

/// Loses nothing, whatever the encoder's options. Only what no trace can tell is missing.
#[test]
fn blocks_come_back() {
    let (certain, count) = (certain(2_000, false), 2_000);
    assert!(certain > count * 98 / 100, "{certain} of {count} certain");
}

/// Version 2.0's `irdepth` does not always suffice; the decoder reports it then.
#[test]
fn blocks_come_back_with_depths() {
    let (certain, count) = (certain(1_000, true), 1_000);
    assert!(certain > count / 2, "{certain} of {count} certain");
}
