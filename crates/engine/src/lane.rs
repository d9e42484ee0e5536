//! One source's share of a buffer, a window at a time.

use tracewright_image::Moment;
use tracewright_input::{Buffer, Capture};

use crate::incoming::Incoming;
use crate::place::Places;
use crate::router::{Packets, Routed};
use crate::source::Source;
use crate::stream::Plug;
use crate::syntax::Syntax;

/// One source's stream.
pub struct Lane<'a> {
    pub source: Source<'a>,
    pub plug: &'static dyn Plug,
    /// The bytes of this window, unless their packets are routed.
    pub bytes: Vec<u8>,
    /// Number of bytes, also if their packets are routed.
    pub len: usize,
    /// Their packets, if they were parsed for all lanes that share them; at the end of the stream, the packets that end it.
    pub routed: Option<Packets>,
    /// Stream position of the first byte of this window.
    pub start: u64,
    /// Number of bytes up to the end of this window.
    pub taken: u64,
    /// Stream positions in this window before which the stream is interrupted.
    pub cuts: Vec<u64>,
    pub places: Places,
    /// When the bytes were written, and by whom.
    pub moment: Moment,
}

impl<'a> Lane<'a> {
    fn new(source: Source<'a>, plug: &'static dyn Plug, places: Places) -> Self {
        let (bytes, cuts, moment) = (Vec::new(), Vec::new(), Moment::LAST);
        Self { source, plug, bytes, len: 0, routed: None, start: 0, taken: 0, cuts, places, moment }
    }

    /// Returns the stream position after the bytes of this window.
    pub fn end(&self) -> u64 {
        self.start + self.len as u64
    }

    /// Returns whether this lane's packets can be told from those of all lanes that share its bytes.
    pub fn can_share(&self, all: &[Self]) -> bool {
        matches!(self.places, Places::Same) && all.iter().all(|lane| self.plug.reads(lane.source.of))
    }

    /// Returns the packets of this window that end after its byte `from`, and not after its byte `to`, if they are routed.
    pub fn routed<T: Syntax>(&self, from: usize, to: usize) -> Option<&[Routed<T>]> {
        let packets: &Vec<Routed<T>> = self.routed.as_ref()?.downcast_ref()?;
        let upto =
            |at: usize| packets.partition_point(|packet| packet.end <= self.start.saturating_add(at as u64));
        // The end of skipped bytes is known later, perhaps with the first bytes of this window.
        let first = if from == 0 { 0 } else { upto(from) };
        Some(&packets[first..upto(to).max(first)])
    }
}

/// Returns the sources of a buffer that a protocol reads and `wants` names, with their protocols. In frames, those are sources with a
/// trace ID: at most 128.
pub fn readable<'a>(
    capture: &'a Capture,
    buffer: &Buffer,
    wants: &dyn Fn(u16) -> bool,
) -> Vec<(Source<'a>, &'static dyn Plug)> {
    let mut found: Vec<(Source<'a>, &'static dyn Plug)> = Vec::new();
    for (number, &index) in buffer.sources.iter().enumerate() {
        let source = Source::new(capture, index);
        let Some(plug) = source.plug() else { continue };
        // Without frames, sources share bytes only if their packets say whose they are.
        let is_there =
            if buffer.format.is_framed() { source.id < 0x80 } else { plug.names_sources() || number == 0 };
        if is_there && wants(source.id) && found.iter().all(|(other, _)| other.id != source.id) {
            found.push((source, plug));
        }
    }
    found
}

/// Returns the lane of each trace ID. `numbers` are those of the lanes' sources.
pub fn by_id(numbers: &[u16]) -> [Option<u8>; 0x80] {
    std::array::from_fn(|id| numbers.iter().position(|&n| usize::from(n) == id).map(|lane| lane as u8))
}

/// Makes a lane for each source of a buffer that a protocol reads and `wants` names.
pub fn lanes<'a>(capture: &'a Capture, buffer: &Buffer, wants: &dyn Fn(u16) -> bool) -> Vec<Lane<'a>> {
    let sources = readable(capture, buffer, wants).into_iter();
    sources.map(|(source, plug)| Lane::new(source, plug, Places::new(buffer))).collect()
}

/// Ends a stream that was parsed for all lanes: gives them the packets that end it.
pub fn end(lanes: &mut [Lane<'_>], incoming: &mut Incoming<'_>) {
    let Some(router) = &mut incoming.router else { return };
    router.route(None, &mut incoming.lanes);
    for (lane, coming) in lanes.iter_mut().zip(&mut incoming.lanes) {
        std::mem::swap(&mut lane.routed, &mut coming.routed);
    }
}

/// Starts a piece of the file at `offset`, written at `moment`.
pub fn begin(lanes: &mut [Lane<'_>], offset: u64, moment: Moment, incoming: &mut Incoming<'_>) {
    for (lane, coming) in lanes.iter_mut().zip(&mut incoming.lanes) {
        lane.moment = moment;
        lane.start = if let Places::Frames { .. } = lane.places { lane.end() } else { offset };
        lane.bytes.clear();
        lane.len = 0;
        coming.start = lane.start;
    }
    if let Some(router) = &mut incoming.router {
        router.begin(offset);
    }
}

/// Advances to the next window: the bytes in `incoming`.
pub fn advance(lanes: &mut [Lane<'_>], incoming: &mut Incoming<'_>) {
    for (lane, coming) in lanes.iter_mut().zip(&mut incoming.lanes) {
        lane.start = coming.start;
        std::mem::swap(&mut lane.bytes, &mut coming.bytes);
        std::mem::swap(&mut lane.cuts, &mut coming.cuts);
        std::mem::swap(&mut lane.routed, &mut coming.routed);
        lane.len = std::mem::take(&mut coming.len);
        lane.taken += lane.len as u64;
        if let Places::Frames { map, .. } = &mut lane.places {
            map.append(&mut coming.map);
        }
        coming.start = lane.end();
        coming.bytes.clear();
        coming.cuts.clear();
    }
}
