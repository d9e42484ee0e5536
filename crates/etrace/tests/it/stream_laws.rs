//! Laws of streams, over random encoders, encapsulations, sources, messages, damage and chunks.

use crate::support::assert_same;

use tracewright_etrace::data;
use tracewright_etrace::packet::Packet;
use tracewright_etrace::stream::{
    Config, Content, Encapsulation, Message, Parser, SyncPoint, SyncPoints, Writer,
};
use tracewright_testkit::Rng;
use tracewright_testkit::etrace::{account, any_config, any_options, any_packet, any_support, read};

#[allow(dead_code, reason = "what only the tests of data trace use")]
use crate::data::random as random_data;

const SEEDS: u64 = 400;
const MESSAGES: usize = 200;

/// Stream and its content.
struct Stream {
    config: Config,
    bytes: Vec<u8>,
    messages: Vec<(u64, Message)>,
    rng: Rng,
}

impl Stream {
    /// Returns messages of a few sources. If options change, each source changes them at times and null
    /// packets come in between.
    fn random(seed: u64, changes: bool) -> Self {
        let mut rng = Rng::new(seed);
        let config = any_config(&mut rng);
        let mut writer = Writer::new(config.clone());
        let sources = sources(&mut rng, &config);
        let mut sources: Vec<_> =
            sources.into_iter().map(|source| (source, config.options, config.data)).collect();
        let (mut bytes, mut messages) = (Vec::new(), Vec::new());
        while messages.len() < if changes { MESSAGES } else { 2 * MESSAGES } {
            let source = rng.below(sources.len() as u64) as usize;
            let (source, options, data) = &mut sources[source];
            let content = match rng.below(20) {
                0 if changes => {
                    *options = any_options(&mut rng, &config.params);
                    let mut support = any_support(&mut rng, &config.params, *options);
                    // There are no packets with neither address nor value.
                    support.doptions.no_address &= !support.doptions.no_data;
                    *data = support.doptions;
                    Content::Instruction(Packet::Support(support))
                }
                1 if changes && nulls(&config) => *rng.pick(&[Content::Idle, Content::Alignment]),
                2..=5 if has_data(&config) => {
                    Content::Data(random_data::packet(&mut rng, &config.params, data))
                }
                _ => Content::Instruction(any_packet(&mut rng, &config.params, options)),
            };
            let is_null = matches!(content, Content::Idle | Content::Alignment);
            let message = Message {
                source: if is_null { 0 } else { *source },
                flow: if changes { flow(&mut rng, &config) } else { 0 },
                timestamp: if is_null { None } else { timestamp(&mut rng, &config) },
                content,
            };
            let offset = bytes.len() as u64;
            // Few are too long for the encapsulation.
            if writer.message(&message, &mut bytes).is_ok() {
                messages.push((offset, message));
            }
        }
        Self { config, bytes, messages, rng }
    }

    /// Returns the offset and the message of everything that a parser reports, which accounts for all bytes.
    fn read(&self, parser: Parser, start: u64) -> Vec<(u64, Message)> {
        let bytes = &self.bytes[start as usize..];
        let told = read(parser, [bytes]);
        account(&told, start, bytes);
        told.into_iter().map(|(offset, _, message)| (offset, message)).collect()
    }
}

fn nulls(config: &Config) -> bool {
    matches!(config.encapsulation, Encapsulation::Standard { .. })
}

fn has_data(config: &Config) -> bool {
    match config.encapsulation {
        Encapsulation::Standard { type_bits, .. } => type_bits > 0,
        Encapsulation::Smi => true,
        Encapsulation::Pulp => false,
    }
}

fn sources(rng: &mut Rng, config: &Config) -> Vec<u16> {
    match config.encapsulation {
        Encapsulation::Standard { source_bits, .. } => {
            let mut sources: Vec<u16> =
                (0..=rng.below(4)).map(|_| (rng.next_u64() & ((1 << source_bits) - 1)) as u16).collect();
            sources.sort_unstable();
            sources.dedup();
            sources
        }
        _ => vec![0],
    }
}

fn flow(rng: &mut Rng, config: &Config) -> u8 {
    if config.encapsulation == Encapsulation::Smi { 0 } else { rng.below(4) as u8 }
}

fn timestamp(rng: &mut Rng, config: &Config) -> Option<u64> {
    let bits = match config.encapsulation {
        Encapsulation::Standard { timestamp_bytes, .. } => 8 * u32::from(timestamp_bytes),
        Encapsulation::Smi => 16,
        Encapsulation::Pulp => return Some(rng.sized(64)),
    };
    rng.one_in(2).then(|| rng.sized(bits))
}

/// Flips, overwrites, drops, inserts and doubles some bytes. (Records have a fixed length: they can be wrong,
/// not missing.)
fn damage(rng: &mut Rng, config: &Config, bytes: &mut Vec<u8>) {
    for _ in 0..1 + rng.below(4) {
        let at = rng.below(bytes.len() as u64) as usize;
        match rng.below(if config.encapsulation == Encapsulation::Pulp { 2 } else { 5 }) {
            0 => bytes[at] ^= 1 << rng.below(8),
            1 => bytes[at..].iter_mut().take(8).for_each(|byte| *byte = rng.next_u64() as u8),
            2 => drop(bytes.drain(at..bytes.len().min(at + 1 + rng.below(20) as usize))),
            3 => {
                let len = 1 + rng.below(20) as usize;
                let new = rng.bytes(len);
                drop(bytes.splice(at..at, new));
            }
            _ => {
                let end = bytes.len().min(at + 1 + rng.below(20) as usize);
                let copy = bytes[at..end].to_vec();
                drop(bytes.splice(at..at, copy));
            }
        }
    }
}

fn is_error(content: &Content) -> bool {
    matches!(content, Content::Malformed(_) | Content::NotSync { .. } | Content::Incomplete)
}

#[test]
fn reading_what_was_written_gives_the_messages_back() {
    for seed in 0..SEEDS {
        let stream = Stream::random(seed, true);
        let told = stream.read(Parser::new(stream.config.clone()), 0);
        assert_same(&format!("seed {seed} {:?}: message", stream.config), &told, &stream.messages);
    }
}

#[test]
fn chunks_change_nothing() {
    for seed in 0..SEEDS {
        let mut stream = Stream::random(seed, true);
        if seed % 2 == 0 {
            damage(&mut stream.rng, &stream.config, &mut stream.bytes);
        }
        let chunks = stream.rng.chunks(&stream.bytes);
        let start = if seed % 3 == 0 {
            Parser::new(stream.config.clone())
        } else {
            Parser::starting_at(stream.config.clone(), stream.rng.below(1000))
        };
        assert_eq!(read(start.clone(), chunks), read(start, [&stream.bytes[..]]), "seed {seed}");
    }
}

#[test]
fn every_byte_is_accounted_for_once() {
    for seed in 0..SEEDS {
        let mut rng = Rng::new(seed);
        let config = any_config(&mut rng);
        let mut bytes = rng.bytes_below(3000);
        // Random bytes seldom hold null packets in a row, so some are put in.
        for _ in 0..rng.below(4) {
            let at = rng.below(bytes.len() as u64 + 1) as usize;
            let nulls = rng.below(60) as usize;
            bytes.splice(at..at, core::iter::repeat_n(0, nulls).chain([0x80]));
        }
        let start = rng.below(1 << 40);
        account(&read(Parser::starting_at(config.clone(), start), [&bytes[..]]), start, &bytes);
        account(&read(Parser::new(config), [&bytes[..]]), 0, &bytes);
    }
}

/// Checks that after damage everything from some message on is reported as it was written.
#[test]
fn reading_goes_on_after_damage() {
    const DAMAGED: usize = 100;
    const LATER: usize = 250;
    let (mut damaged, mut never) = (0, 0);
    for seed in 0..SEEDS {
        let mut stream = Stream::random(seed, false);
        let first = stream.messages[DAMAGED].0;
        let tail = stream.bytes.split_off(first as usize);
        damage(&mut stream.rng, &stream.config, &mut stream.bytes);
        let moved = stream.bytes.len() as u64;
        stream.bytes.extend_from_slice(&tail);
        let told = stream.read(Parser::new(stream.config.clone()), 0);
        damaged += u32::from(told.iter().any(|(_, message)| is_error(&message.content)));
        let expected = |(offset, message): &(u64, Message)| (offset - first + moved, *message);
        let expected: Vec<_> = stream.messages[LATER..].iter().map(expected).collect();
        let later: Vec<_> = told.into_iter().skip_while(|(offset, _)| *offset < expected[0].0).collect();
        never += u32::from(later != expected);
    }
    // A synchronisation packet that follows enough messages may come later still.
    assert!(damaged > SEEDS as u32 / 3 && never <= 4, "{damaged} damaged, {never} not read on");
}

/// A reader that starts anywhere begins with a synchronisation packet, and reports from there what was
/// written.
#[test]
fn reading_can_start_anywhere() {
    let mut found = 0;
    for seed in 0..SEEDS {
        let mut stream = Stream::random(seed, false);
        let start = stream.rng.below(stream.bytes.len() as u64 / 2);
        let told = stream.read(Parser::starting_at(stream.config.clone(), start), start);
        let told = match &told[..] {
            [(_, Message { content: Content::NotSync { .. }, .. }), told @ ..] => told,
            told => told,
        };
        let Some((offset, first)) = told.first() else { continue };
        if stream.config.encapsulation != Encapsulation::Pulp {
            assert!(
                matches!(&first.content, Content::Instruction(packet) if packet.is_sync()),
                "seed {seed} {first:?}"
            );
        }
        let rest: Vec<_> = stream.messages.iter().skip_while(|(at, _)| at < offset).copied().collect();
        assert_eq!(told, rest, "seed {seed} {:?}", stream.config);
        found += 1;
    }
    assert!(found > SEEDS * 9 / 10, "{found}");
}

/// With alignment sequences a reader starts at the next one.
#[test]
fn null_packets_tell_where_packets_begin() {
    for seed in 0..SEEDS {
        let mut rng = Rng::new(seed);
        let config = Config {
            encapsulation: Encapsulation::Standard {
                source_bits: rng.below(17) as u8,
                timestamp_bytes: rng.below(9) as u8,
                type_bits: rng.below(3) as u8,
            },
            ..any_config(&mut rng)
        };
        let mut writer = Writer::new(config.clone()).with_alignment(8);
        let (mut bytes, mut starts) = (Vec::new(), Vec::new());
        for _ in 0..64 {
            let packet = any_packet(&mut rng, &config.params, &config.options);
            let before = bytes.len();
            if writer.instruction(0, timestamp(&mut rng, &config), &packet, &mut bytes).is_ok()
                && bytes[before] & 0x1f == 0
            {
                let nulls = bytes[before..].iter().position(|&byte| byte == 0x80).unwrap();
                starts.push((before + nulls) as u64);
            }
        }
        let start = 1 + rng.below(starts[3]);
        // Not the end of an earlier sequence.
        let next = starts.iter().position(|&at| at >= start + 60).unwrap();
        let told = read(Parser::starting_at(config, start), [&bytes[start as usize..]]);
        let alignments = told.iter().filter(|(.., message)| message.content == Content::Alignment);
        let alignments: Vec<u64> = alignments.map(|(offset, ..)| *offset).collect();
        assert!(alignments.ends_with(&starts[next..]), "seed {seed} {starts:?} {alignments:?}");
        let errors = told.iter().filter(|(.., message)| is_error(&message.content)).count();
        assert!(errors <= 1, "seed {seed}");
    }
}

#[test]
fn synchronisation_packets_are_found() {
    for seed in 0..SEEDS {
        let stream = Stream::random(seed, true);
        let mut parser = Parser::new(stream.config.clone());
        let mut expected = Vec::new();
        let mut options = std::collections::HashMap::new();
        let mut sink = |offset: u64, _: &[u8], message: &Message| {
            let Content::Instruction(packet) = &message.content else { return };
            if let Packet::Support(support) = packet {
                options.insert(message.source, (support.ioptions, support.doptions));
            }
            let default = (stream.config.options, data::Options::default());
            let (options, data) = options.get(&message.source).copied().unwrap_or(default);
            if packet.is_sync() {
                expected.push(SyncPoint { offset: offset as usize, source: message.source, options, data });
            }
        };
        parser.feed(&stream.bytes, &mut sink);
        let found: Vec<_> = SyncPoints::new(&stream.config, &stream.bytes).collect();
        assert_eq!(found, expected, "seed {seed} {:?}", stream.config.encapsulation);
    }
}

/// Messages that only a parser reports cannot be written, and leave nothing behind.
#[test]
fn what_cannot_be_written() {
    for seed in 0..SEEDS {
        let mut rng = Rng::new(seed);
        let config = any_config(&mut rng);
        let mut writer = Writer::new(config).with_alignment(1);
        let mut bytes = vec![1, 2, 3];
        for content in [Content::Incomplete, Content::NotSync { len: 3 }, Content::Other { kind: 2 }] {
            let message = Message { source: 0, flow: 0, timestamp: None, content };
            assert!(writer.message(&message, &mut bytes).is_err());
            assert_eq!(bytes, [1, 2, 3]);
        }
    }
}
