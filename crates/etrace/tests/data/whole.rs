//! All of it: what programs did, traced, as bytes, and told again with the instructions that did it.

use tracewright_core::{DataAccess, Element, MemorySpace};
use tracewright_etrace::data::{Companion, Encoder, Pairing};
use tracewright_etrace::decode::Decoder;
use tracewright_etrace::encode::{self, Resync, ResyncMode};
use tracewright_etrace::ingress::Executed;
use tracewright_etrace::stream::{Config, Encapsulation, Message, Parser, Writer};
use tracewright_etrace::{Options, Params, packet};
use tracewright_testkit::Rng;

use crate::programs::{self, Event, Run};
use crate::random;

/// Both encoders and what they write.
struct Recorder {
    executed: Executed,
    encoder: encode::Encoder,
    companion: Companion,
    writer: Writer,
    bytes: Vec<u8>,
}

impl Recorder {
    fn new(config: &encode::Config, stream: &Config) -> Self {
        Self {
            executed: Executed::default(),
            encoder: encode::Encoder::new(config.clone()),
            companion: Companion::new(&config.params, config.data.unwrap()),
            writer: Writer::new(stream.clone()),
            bytes: Vec::new(),
        }
    }

    fn event(&mut self, event: &Event) {
        let entry = match event {
            Event::Block(block, accesses) => {
                accesses.iter().for_each(|(pc, access)| self.companion.access(*pc, access));
                self.executed.block(block)
            }
            Event::Trap(trap) => self.executed.trap(trap.pc, trap.cause, trap.interrupt, trap.value),
            Event::Privilege(privilege) => return self.executed.privilege(*privilege as u8),
            Event::Context(context) => return self.executed.context(*context),
        };
        let Self { encoder, companion, writer, bytes, .. } = self;
        encoder.entry(&entry, &mut |packet| instruction(packet, companion, writer, bytes));
        companion.entry(&mut |packet| writer.data(0, None, packet, bytes).unwrap());
    }

    fn finish(mut self) -> Vec<u8> {
        let Self { encoder, companion, writer, bytes, .. } = &mut self;
        encoder.finish(&mut |packet| instruction(packet, companion, writer, bytes));
        companion.finish(&mut |packet| writer.data(0, None, packet, bytes).unwrap());
        self.bytes
    }
}

fn instruction(packet: &packet::Packet, companion: &mut Companion, writer: &mut Writer, bytes: &mut Vec<u8>) {
    companion.packet(packet, &mut |packet| writer.data(0, None, packet, bytes).unwrap());
    writer.instruction(0, None, packet, bytes).unwrap();
}

/// What was told: instructions that retired, accesses, and accesses with their instruction.
#[derive(Default)]
struct Told {
    retired: u64,
    accesses: Vec<DataAccess>,
    paired: Vec<(DataAccess, Option<u64>)>,
}

fn told(run: &Run, bytes: &[u8], stream: Config) -> Told {
    let image = run.image();
    let mut decoder = Decoder::new(&stream.params, stream.options, &image, run.isa);
    let mut pairing = Pairing::new(&stream.params, stream.data);
    let mut told = Told::default();
    let mut parser = Parser::new(stream);
    let mut take = |offset, _: &[u8], message: &Message| {
        let Told { retired, accesses, paired } = &mut told;
        let mut pair = |access: &DataAccess, pc| paired.push((*access, pc));
        decoder.message(offset, message, &mut |_, element: &Element| {
            match element {
                Element::Block(block) => *retired += u64::from(block.count),
                Element::Data(access) => accesses.push(*access),
                _ => {}
            }
            pairing.element(element, &image, MemorySpace::ANY, &mut pair);
        });
        pairing.message(message, &mut pair);
    };
    parser.feed(bytes, &mut take);
    parser.finish(&mut take);
    decoder.finish(bytes.len() as u64, &mut |_, element: &Element| {
        if let Element::Block(block) = element {
            told.retired += u64::from(block.count);
        }
        let mut pair = |access: &DataAccess, pc| told.paired.push((*access, pc));
        pairing.element(element, &image, MemorySpace::ANY, &mut pair);
    });
    told
}

#[test]
fn accesses_are_told_with_their_instructions() {
    for run in programs::runs() {
        for seed in 0..12 {
            let mut rng = Rng::new(seed);
            let params = Params { csr_width: run.xlen(), bpred_size: 6, cache_size: 5, ..Params::default() };
            let doptions = random::options(&mut rng);
            let options = Options {
                implicit_exception: false,
                full_address: rng.one_in(2),
                jump_target_cache: rng.one_in(2),
                branch_prediction: rng.one_in(2),
                ..Options::default()
            };
            let mode = *rng.pick(&[ResyncMode::Off, ResyncMode::Packets, ResyncMode::HalfWords]);
            let resync = Resync { mode, max: rng.below(6) as u8, anywhere: rng.one_in(2) };
            let config = encode::Config {
                params: params.clone(),
                options,
                resync,
                data: Some(doptions),
                ..encode::Config::default()
            };
            let encapsulation = Encapsulation::Smi;
            let stream = Config { params: params.clone(), encapsulation, options, data: doptions };
            let mut recorder = Recorder::new(&config, &stream);
            run.events.iter().for_each(|event| recorder.event(event));
            let bytes = recorder.finish();
            let told = told(&run, &bytes, stream);
            let name = format!("{}, seed {seed}: {options:?} {doptions:?} {resync:?}", run.name);
            assert_eq!(told.retired, run.steps.len() as u64, "{name}");

            let traced = |access: &DataAccess| Encoder::tells(&params, &doptions, access.kind, access.size);
            let expected: Vec<_> = run.accesses().filter(|(_, access)| traced(access)).collect();
            assert_eq!(told.accesses.len(), expected.len(), "{name}");
            assert_eq!(told.paired.len(), expected.len(), "{name}");
            let mut certain = 0;
            for ((pc, access), (found, by)) in expected.iter().zip(&told.paired) {
                assert_eq!((found.kind, found.size), (access.kind, access.size), "{name}");
                assert!(
                    found.address.is_none_or(|address| access.address == Some(address)),
                    "{name}: {found}"
                );
                assert!(found.value.is_none_or(|value| access.value == Some(value)), "{name}: {found}");
                assert!(by.is_none_or(|by| by == *pc), "{name}: {found} by {pc:#x}, not {by:x?}");
                certain += usize::from(by.is_some());
            }
            // A failed store-conditional is not traced without addresses: whether it is there is not certain.
            if doptions.no_address {
                assert!(certain > 0, "{name}");
            } else {
                assert_eq!(certain, expected.len(), "{name}");
            }
        }
    }
}
