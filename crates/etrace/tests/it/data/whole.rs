//! Whole pipeline: programs are traced to bytes and decoded with the instructions of each access.

use tracewright_core::{DataAccess, Element};
use tracewright_etrace::data::{Companion, Encoder};
use tracewright_etrace::decode::{self, Decoder, Paired};
use tracewright_etrace::encode::{self, Resync, ResyncMode};
use tracewright_etrace::ingress::Executed;
use tracewright_etrace::stream::{Config, Content, Encapsulation, Message, Parser, Writer};
use tracewright_etrace::{Options, Params, packet};
use tracewright_flow::Counts;
use tracewright_testkit::Rng;
use tracewright_testkit::etrace::read;

use super::programs::{self, Run};
use super::random;
use crate::support::machine::{Event, entry, image};

fn instruction(packet: &packet::Packet, companion: &mut Companion, writer: &mut Writer, bytes: &mut Vec<u8>) {
    companion.packet(packet, &mut |packet| writer.data(0, None, packet, bytes).unwrap());
    writer.instruction(0, None, packet, bytes).unwrap();
}

/// Returns all messages of the trace of a run, and its length.
fn trace(run: &Run, config: &encode::Config, stream: &Config) -> (Vec<(u64, Message)>, u64) {
    let mut executed = Executed::default();
    let mut encoder = encode::Encoder::new(config.clone());
    let mut companion = Companion::new(&config.params, config.data.unwrap());
    let (mut writer, mut bytes) = (Writer::new(stream.clone()), Vec::new());
    for event in &run.record.events {
        if let Event::Block(_, accesses) = event {
            accesses.iter().for_each(|(pc, access)| companion.access(*pc, access));
        }
        let Some(entry) = entry(&mut executed, event) else { continue };
        encoder.entry(&entry, &mut |packet| instruction(packet, &mut companion, &mut writer, &mut bytes));
        companion.entry(&mut |packet| writer.data(0, None, packet, &mut bytes).unwrap());
    }
    encoder.finish(&mut |packet| instruction(packet, &mut companion, &mut writer, &mut bytes));
    companion.finish(&mut |packet| writer.data(0, None, packet, &mut bytes).unwrap());
    let told = read(Parser::new(stream.clone()), [&bytes[..]]);
    (told.iter().map(|(offset, _, message)| (*offset, *message)).collect(), bytes.len() as u64)
}

/// Checks that a decoder that begins in the middle, at a synchronisation packet, soon reaches the state of
/// one that began earlier, and then emits the same.
fn compare_from_the_middle(
    rng: &mut Rng,
    run: &Run,
    messages: &[(u64, Message)],
    stream: &Config,
    name: &str,
) {
    let image = image(&run.record.code);
    let options = decode::Options { data: stream.data, ..stream.options.into() };
    let mut whole = Paired::new(&stream.params, options, &image, run.record.isa());
    let new = whole.clone();
    let mut other: Option<(Paired<'_>, bool)> = None;
    let mut compared = 0;
    for (offset, message) in messages {
        let is_start = matches!(
            message.content,
            Content::Instruction(
                packet::Packet::Start(_) | packet::Packet::Trap(packet::Trap { thaddr: true, .. })
            )
        );
        if is_start && other.is_none() && rng.one_in(4) {
            let mut fresh = new.clone();
            fresh.restart(*offset);
            fresh.set_options(whole.options());
            fresh.set_data_state(whole.data_state());
            other = Some((fresh, false));
        }
        let (mut told, mut also_told) = (Vec::new(), Vec::new());
        whole.message(*offset, message, &mut |_, element: &Element| told.push(*element));
        let Some((fresh, is_same)) = &mut other else { continue };
        fresh.message(*offset, message, &mut |_, element: &Element| also_told.push(*element));
        if *is_same {
            assert_eq!(told, also_told, "{name}, {offset:#x}");
            compared += 1;
            if compared % 50 == 0 {
                assert_eq!(whole.snapshot(), fresh.snapshot(), "{name}, {offset:#x}");
                other = None;
            }
        } else {
            *is_same = whole.snapshot() == fresh.snapshot();
        }
    }
    assert!(compared >= 50, "{name}: {compared}");
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
            let modes = [ResyncMode::Packets, ResyncMode::HalfWords, ResyncMode::Off];
            let mode = modes[seed as usize % 3];
            let most = if seed < 2 { 1 } else { 6 };
            let resync = Resync { mode, max: rng.below(most) as u8, anywhere: rng.one_in(2) };
            let config = encode::Config {
                params: params.clone(),
                options,
                resync,
                data: Some(doptions),
                ..encode::Config::default()
            };
            let encapsulation = Encapsulation::Smi;
            let stream = Config { params: params.clone(), encapsulation, options, data: doptions };
            let (messages, end) = trace(&run, &config, &stream);
            let name = format!("{}, seed {seed}: {options:?} {doptions:?} {resync:?}", run.name);
            if seed < 2 {
                compare_from_the_middle(&mut rng, &run, &messages, &stream, &name);
            }

            let (mut retired, mut found) = (0, Vec::new());
            let mut take = |_, element: &Element| match element {
                Element::Block(block) => retired += block.count as usize,
                Element::Data { access, by } => found.push((*access, *by)),
                _ => {}
            };
            let image = image(&run.record.code);
            let initial = decode::Options { data: doptions, ..options.into() };
            let mut decoder = Paired::new(&params, initial, &image, run.record.isa());
            messages.iter().for_each(|(offset, message)| decoder.message(*offset, message, &mut take));
            decoder.finish(end, &mut take);
            assert_eq!(retired, run.steps.len(), "{name}");

            let traced = |access: &DataAccess| Encoder::tells(&params, &doptions, access.kind, access.size);
            let expected: Vec<_> = run.accesses().filter(|(_, access)| traced(access)).collect();
            assert_eq!(found.len(), expected.len(), "{name}");
            let mut certain = 0;
            for ((pc, access), (found, by)) in expected.iter().zip(&found) {
                assert_eq!((found.kind, found.size), (access.kind, access.size), "{name}");
                assert!(
                    found.address.is_none_or(|address| access.address == Some(address)),
                    "{name}: {found}"
                );
                assert!(found.value.is_none_or(|value| access.value == Some(value)), "{name}: {found}");
                assert!(by.is_none_or(|by| by == *pc), "{name}: {found} by {pc:#x}, not {by:x?}");
                certain += usize::from(by.is_some());
            }
            // Without addresses a failed store-conditional is not traced, so that its presence is uncertain.
            if doptions.no_address {
                assert!(certain > 0, "{name}");
            } else {
                assert_eq!(certain, expected.len(), "{name}");
            }
        }
    }
}

/// Checks that data trace does not change the counts of instructions: inferred returns have targets.
#[test]
fn edges_are_those_without_data() {
    let params = Params { return_stack_size: 6, ..Params::default() };
    let options = Options { implicit_return: true, ..Options::default() };
    for run in programs::runs() {
        let params = Params { csr_width: run.xlen(), ..params.clone() };
        let data = random::options(&mut Rng::new(0));
        let config =
            encode::Config { params: params.clone(), options, data: Some(data), ..encode::Config::default() };
        let stream = Config { params: params.clone(), encapsulation: Encapsulation::Smi, options, data };
        let (messages, end) = trace(&run, &config, &stream);
        let (image, isa) = (image(&run.record.code), run.record.isa());
        let (mut paired, mut counted) = (Paired::new(&params, options, &image, isa), Counts::new());
        let (mut alone, mut expected) = (Decoder::new(&params, options, &image, isa), Counts::new());
        for (offset, message) in &messages {
            paired.message(*offset, message, &mut counted);
            alone.message(*offset, message, &mut expected);
        }
        paired.finish(end, &mut counted);
        alone.finish(end, &mut expected);
        let expected = expected.finish(alone.runner().graph());
        assert!(!expected.indirect.is_empty());
        assert_eq!(counted.finish(paired.runner().graph()), expected, "{}", run.name);
    }
}
