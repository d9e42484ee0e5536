//! Search for the start of packets in bytes of unknown alignment.

use super::frame::{Body, MAX_MESSAGE, RECORD};
use super::sources::Sources;
use super::{Config, Encapsulation};
use crate::packet::{self, Packet};
use crate::{Options, data};

/// Number of consecutive messages before a packet that reading can start at which rule out coincidence. In
/// random bytes at most one position in three looks like a message, and a wrong alignment soon meets the
/// right one.
const ENOUGH: u8 = 12;

/// Ring size: a power of two above the longest message.
const PLACES: usize = 64;

/// Progress of a search.
///
/// Two things show where packets begin: more null packets in a row than a message is long, the last of them
/// for alignment; or a synchronisation or support packet after [`ENOUGH`] messages. Messages before such a
/// packet are useless anyway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Search {
    /// Position where the unreadable bytes begin.
    pub(super) from: u64,
    /// Whether a packet that reading can start at may be right at the beginning.
    may_begin: bool,
    /// Number of null packets seen in a row.
    nulls: u32,
    /// Length of the chain of messages that ends at each of the next positions.
    chains: [u8; PLACES],
}

/// Verdict of a search about one position.
pub(super) enum Found {
    /// Packets begin here.
    Here,
    /// Packets do not begin here.
    Not,
    /// More bytes are needed to decide.
    More,
}

impl Search {
    /// Creates a search from stream position `from` on; `before` are the bytes before it.
    pub(super) fn new(from: u64, before: &[u8]) -> Self {
        const { assert!(PLACES > MAX_MESSAGE) };
        let nulls = before.iter().rev().take_while(|&&byte| is_null(byte)).count() as u32;
        Self { from, may_begin: false, nulls, chains: [0; PLACES] }
    }

    /// Creates a search from stream position `from` on, where tracing was switched on, unless the memory that the bytes come from has
    /// wrapped.
    pub(super) fn slice(from: u64) -> Self {
        Self { may_begin: true, ..Self::new(from, &[]) }
    }

    /// Examines stream position `at`, where `bytes` begin.
    pub(super) fn look(&mut self, at: u64, bytes: &[u8], config: &Config, sources: &Sources) -> Found {
        let encapsulation = &config.encapsulation;
        let Some(&first) = bytes.first() else { return Found::More };
        if *encapsulation == Encapsulation::Pulp {
            return if at.is_multiple_of(RECORD as u64) { Found::Here } else { Found::Not };
        }
        let needed = encapsulation.nulls();
        if needed > 0 && is_alignment(first) && self.nulls + 1 >= needed {
            return Found::Here;
        }
        let place = at as usize % PLACES;
        let chain = self.chains[place];
        if let Some(len) = encapsulation.message_len(first) {
            let Some(message) = bytes.get(..len) else { return Found::More };
            match likely(message, config, sources) {
                Some(Likely::Start) if chain >= ENOUGH || self.may_begin && at == self.from => {
                    return Found::Here;
                }
                Some(likely) => {
                    let next = &mut self.chains[(at as usize + len) % PLACES];
                    *next = (*next).max(chain.saturating_add(u8::from(likely != Likely::Null)));
                }
                None => {}
            }
        }
        self.chains[place] = 0;
        self.nulls = if needed > 0 && is_null(first) { self.nulls.saturating_add(1) } else { 0 };
        Found::Not
    }
}

fn is_null(byte: u8) -> bool {
    byte & 0x1f == 0
}

fn is_alignment(byte: u8) -> bool {
    byte & 0x9f == 0x80
}

/// What the bytes at a position look like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Likely {
    /// Null packet; single bytes often look like one.
    Null,
    /// Any message.
    Message,
    /// Message that reading can start at.
    Start,
}

/// Classifies `message`. Its source may have changed options in bytes that could not be read.
fn likely(message: &[u8], config: &Config, sources: &Sources) -> Option<Likely> {
    let frame = config.encapsulation.frame(message).ok()?;
    let (options, data) = sources.options(frame.source, config);
    let reader = match frame.body {
        Body::Idle | Body::Alignment => return Some(Likely::Null),
        Body::Other(_) => return None,
        Body::Data(reader) => {
            let both = data::Options::default();
            let no_address = data::Options { no_address: true, ..both };
            let any = [data, both, no_address, data::Options { no_data: true, ..both }];
            let read = |options| data::read(reader, &config.params, options).is_ok();
            return any.iter().any(read).then_some(Likely::Message);
        }
        Body::Instruction(reader) => reader,
    };
    let options = Options { branch_prediction: true, jump_target_cache: true, ..options };
    let other = Options { implicit_exception: !options.implicit_exception, ..options };
    let packet = packet::read(&mut reader.clone(), &config.params, &options)
        .or_else(|_| packet::read(&mut reader.clone(), &config.params, &other))
        .ok()?;
    Some(match packet {
        Packet::Start(_) | Packet::Trap(_) | Packet::Support(_) => Likely::Start,
        _ => Likely::Message,
    })
}
