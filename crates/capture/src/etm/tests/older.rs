//! PTM and ETMv3: what threads do, traced, is what decoders tell: ours, and OpenCSD's.

use std::any::Any;

use tracewright_coresight::shared::exception;
use tracewright_coresight::{etm3, ptm};

use super::super::older::{self, Etm3, Older, Ptm};
use super::super::unit::Unit;
use super::control::addresses;
use super::*;

/// Elements of a source, decoded.
type Decode = fn(&dyn Any, &[u8], &tracewright_image::Image) -> Option<Vec<Element>>;

fn ptm(params: &dyn Any, bytes: &[u8], image: &tracewright_image::Image) -> Option<Vec<Element>> {
    let params: &ptm::Params = params.downcast_ref()?;
    let mut elements = Vec::new();
    let mut sink = |_: u64, element: &Element| elements.push(*element);
    let mut decoder = ptm::decode::Decoder::new(params, image, ptm::decode::Options::default()).unwrap();
    let mut parser = ptm::packet::Parser::new(params.clone());
    parser.feed(bytes, &mut |offset: u64, _: &[u8], packet: &ptm::packet::Packet| {
        decoder.packet(offset, packet, &mut sink);
    });
    decoder.finish(parser.position(), &mut sink);
    Some(elements)
}

fn etm3(params: &dyn Any, bytes: &[u8], image: &tracewright_image::Image) -> Option<Vec<Element>> {
    let params: &etm3::Params = params.downcast_ref()?;
    let mut elements = Vec::new();
    let mut sink = |_: u64, element: &Element| elements.push(*element);
    let mut decoder = etm3::decode::Decoder::new(params, image, etm3::decode::Options::default());
    let mut parser = etm3::packet::Parser::new(params.clone());
    parser.feed(bytes, &mut |offset: u64, _: &[u8], packet: &etm3::packet::Packet| {
        decoder.packet(offset, packet, &mut sink);
    });
    decoder.finish(parser.position(), &mut sink);
    Some(elements)
}

/// Blocks and exceptions that a trace tells. Other than ETMv4's it needs no exception where it ends.
fn expected_of<P: Older>(events: &[Event]) -> Vec<Element> {
    // A PTM tells where the last instruction began, which is not known in T32.
    let is_left_out = |event: &Event| match event {
        Event::Undecided(block, _) => P::Unit::TELLS_LAST && block.isa == Isa::T32,
        _ => false,
    };
    let events: Vec<_> =
        events.iter().map(|event| if is_left_out(event) { Event::Lost } else { *event }).collect();
    let mut elements = Vec::new();
    for element in expected(&events) {
        match element {
            Element::Exception(Exception { number: 1, .. }) => {}
            Element::Exception(of) => {
                let number = exception::of_etmv4(of.number);
                elements.push(Element::Exception(Exception { number, at_target: false, ..of }));
            }
            _ => elements.push(element),
        }
    }
    elements
}

/// Random threads and options.
fn random<P: Older>(seed: u64, dir: &Path) -> Run {
    let mut rng = Rng::new(seed);
    let run = Run::random(&mut rng, false);
    let mut options = vec![format!("sync={}", rng.pick(&[0, 64, 200, 1024]))];
    for (name, ..) in P::SWITCHES {
        options.push(format!("{name}={}", if rng.one_in(2) { "on" } else { "off" }));
    }
    let settings = older::Settings::<P>::new().with(&options).unwrap();
    run.write_by(&settings, &mut rng, dir);
    run
}

fn check_decoded<P: Older>(decode_all: Decode) {
    for seed in seeds(100) {
        let scratch = Scratch::new("older");
        let run = random::<P>(seed, scratch.path());
        let capture = Capture::open(scratch.path()).unwrap();
        assert_eq!(capture.problems, []);
        let (image, problems) = capture.image(&[]);
        assert_eq!(problems, []);
        for (thread, events) in run.threads.iter().enumerate() {
            let source = &capture.sources[thread];
            let Protocol::Registered(params) = &source.protocol else { panic!() };
            let bytes = trace(&capture, source.id().unwrap());
            let mut told = decode_all(&**params, &bytes, &image).unwrap();
            let tid = FIRST_TID + thread as u32;
            told.retain(|element| match element {
                Element::Context(context, _) => {
                    assert_eq!(context.context_id, Some(tid), "seed {seed}");
                    false
                }
                Element::TraceOn(_) | Element::End | Element::Lost(GapReason::Start) => false,
                Element::Gap { reason: GapReason::Start, .. } => false,
                _ => true,
            });
            assert_same(&told, &expected_of::<P>(events), &format!("seed {seed}, thread {thread}"));
        }
    }
}

#[test]
fn ptm_gives_back_what_threads_did() {
    check_decoded::<Ptm>(ptm);
}

#[test]
fn etm3_gives_back_what_threads_did() {
    check_decoded::<Etm3>(etm3);
}

/// Instructions and numbers of exceptions. OpenCSD has other blocks: for an ETMv3 each instruction is one.
fn ran(program: &Program, elements: &[Element]) -> Vec<(u64, u16)> {
    let mut ran = Vec::new();
    for element in elements {
        match element {
            Element::Block(block) => {
                ran.extend(addresses(program, block).into_iter().map(|address| (address, 0)));
            }
            Element::Exception(of) => ran.push((0, of.number)),
            _ => {}
        }
    }
    ran
}

fn check_listed<P: Older>(test: &str) {
    let mut compared = 0;
    for seed in seeds(30) {
        let scratch = Scratch::new("older");
        let run = random::<P>(seed, scratch.path());
        let Some(text) = listed(scratch.path(), &["-decode_only"]) else {
            return skip(test, NO_LISTER);
        };
        let capture = Capture::open(scratch.path()).unwrap();
        for (thread, events) in run.threads.iter().enumerate() {
            let id = capture.sources[thread].id().unwrap();
            let told: Vec<_> = lister::lines(&text)
                .filter(|line| line.id == id.get())
                .map_while(|line| line.element.ok())
                .collect();
            let (told, expected) = (ran(&run.program, &told), ran(&run.program, &expected_of::<P>(events)));
            let differs = (0..told.len().max(expected.len())).find(|&i| told.get(i) != expected.get(i));
            if let Some(i) = differs {
                let (told, ran) = (told.get(i), &expected[i.saturating_sub(3)..expected.len().min(i + 1)]);
                panic!("seed {seed}, thread {thread}, item {i}: listed {told:x?}, executed {ran:x?}");
            }
            compared += told.len();
        }
    }
    assert!(compared > 20_000, "{compared}");
}

#[test]
fn opencsd_tells_what_threads_did_from_ptm() {
    check_listed::<Ptm>("opencsd_tells_what_threads_did_from_ptm");
}

#[test]
fn opencsd_tells_what_threads_did_from_etm3() {
    check_listed::<Etm3>("opencsd_tells_what_threads_did_from_etm3");
}

/// Each default in the help is one: saying it changes nothing.
#[test]
fn the_help_tells_the_defaults() {
    fn check<P: Older + PartialEq + std::fmt::Debug>() {
        let usual = older::Settings::<P>::new();
        let help = older::Settings::<P>::help();
        for line in help.lines().skip(2) {
            assert!(line.len() < 80, "{line}");
            let mut words = line.split_whitespace();
            let option = format!("{}={}", words.next().unwrap(), words.next().unwrap());
            assert_eq!(usual.clone().with(&[option]).unwrap(), usual, "{line}");
        }
        let error = |option: &str| usual.clone().with(&[option.into()]).unwrap_err().to_string();
        assert_eq!(error("cycles=on"), format!("there is no option \"cycles\" for {}", P::NAME));
        assert_eq!(error("sync=7"), "option sync=7: expected a number of bytes, 0 or from 64 on");
        assert_eq!(error("timestamps=x"), "option timestamps=x: expected on or off");
        assert_eq!(error("core=6502"), "option core=6502: expected a name like Cortex-A9 or ARMv7-A");
    }
    check::<Ptm>();
    check::<Etm3>();
}

/// Only ETMv4 and E-Trace have a model of a port.
#[test]
fn a_port_is_refused() {
    let place = Scratch::new("older-port");
    let rate = "1".parse().unwrap();
    let capture = crate::CaptureOptions {
        protocol: Some("ptm".into()),
        port: Some(crate::port::PortRequest { rate, limited: None }),
        ..crate::CaptureOptions::new(&place.path().join("out"))
    };
    let (input, stop) = (crate::protocol::InputKind::Log, crate::StopFlag::default());
    let refused = capture.create(capture.place(), Isa::A32, input, None, "", &stop).err().unwrap();
    assert_eq!(refused.to_string(), "PTM has no model of a trace port: ETMv4 and E-Trace have one");
}
