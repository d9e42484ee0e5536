//! Sources that share a stream: it is parsed once, and each source gets its packets.

use std::any::Any;

use tracewright_core::stream::PacketSink;

use crate::incoming::Coming;
use crate::protocol::Options;
use crate::syntax::{Role, Syntax};
use crate::tally::Strangers;

/// Packets of a window: a `Vec` of a protocol's [`Routed`].
pub type Packets = Box<dyn Any + Send + Sync>;

/// A packet of a stream that was parsed for several sources.
pub struct Routed<T: Syntax> {
    /// Stream position of its first byte.
    pub offset: u64,
    /// Stream position after its last byte, or after the bytes that it stands for.
    pub end: u64,
    /// Number of its bytes.
    pub len: usize,
    pub packet: T::Packet,
}

/// A parser for all sources of a stream.
pub trait Router: Send {
    /// Begins anew: the bytes that follow start at this stream position, and do not continue those before.
    fn begin(&mut self, position: u64);
    /// Parses the bytes of a window, and passes its packets to each lane; `None` ends the stream.
    fn route(&mut self, bytes: Option<&[u8]>, lanes: &mut [Coming]);
    /// Returns an empty list of packets.
    fn none(&self) -> Packets;
    /// Returns what was passed to no lane.
    fn strangers(&self) -> Strangers;
}

/// Returns a router for lanes with these numbers.
pub fn router<'a, T: Syntax>(
    params: &'a T::Params,
    options: &'a Options,
    ids: impl Iterator<Item = u16>,
) -> Box<dyn Router + 'a> {
    let mut lanes = Vec::new();
    for (lane, id) in (0..).zip(ids) {
        let id = usize::from(id);
        if lanes.len() <= id {
            lanes.resize(id + 1, None);
        }
        lanes[id] = Some(lane);
    }
    let strangers = Strangers::default();
    Box::new(Of::<T> { params, options, parser: T::first(params, options, 0), lanes, strangers })
}

/// A router of a known protocol.
struct Of<'a, T: Syntax> {
    params: &'a T::Params,
    options: &'a Options,
    parser: T::Parser,
    /// Lane of each source, by its number.
    lanes: Vec<Option<u16>>,
    strangers: Strangers,
}

impl<T: Syntax> Router for Of<'_, T> {
    fn begin(&mut self, position: u64) {
        self.parser = T::first(self.params, self.options, position);
    }

    fn route(&mut self, bytes: Option<&[u8]>, lanes: &mut [Coming]) {
        let packets =
            lanes.iter_mut().filter_map(|lane| lane.routed.as_mut()?.downcast_mut::<Vec<Routed<T>>>());
        let mut packets: Vec<_> = packets.collect();
        packets.iter_mut().for_each(|packets| packets.clear());
        T::parse(
            &mut self.parser,
            bytes,
            &mut Routing { lanes: &self.lanes, packets, strangers: &mut self.strangers },
        );
    }

    fn strangers(&self) -> Strangers {
        self.strangers
    }

    fn none(&self) -> Packets {
        Box::new(Vec::<Routed<T>>::new())
    }
}

struct Routing<'r, T: Syntax> {
    lanes: &'r [Option<u16>],
    packets: Vec<&'r mut Vec<Routed<T>>>,
    strangers: &'r mut Strangers,
}

impl<T: Syntax> PacketSink<T::Packet, T::Run> for Routing<'_, T> {
    #[inline]
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &T::Packet) {
        let len = bytes.len();
        let is_skipped = T::KINDS[T::kind(packet)].role == Role::Skipped;
        let end = offset + if is_skipped { T::skipped(packet) } else { len as u64 };
        let routed = || Routed { offset, end, len, packet: packet.clone() };
        match T::source(packet) {
            Some(id) => {
                let lane = self.lanes.get(usize::from(id)).copied().flatten();
                match lane.and_then(|lane| self.packets.get_mut(usize::from(lane))) {
                    Some(packets) => packets.push(routed()),
                    None => self.strangers.add(id, len as u64),
                }
            }
            None => self.packets.iter_mut().for_each(|packets| packets.push(routed())),
        }
    }
}
