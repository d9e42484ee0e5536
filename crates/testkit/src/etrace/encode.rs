use tracewright_etrace::encode::{Config, Encoder};
use tracewright_etrace::ingress::{Entry, Executed};
use tracewright_etrace::packet::Packet;

use crate::riscv::walk::Event;

/// Returns the entry of an event, or `None` if the event changes only the circumstances.
pub fn entry(executed: &mut Executed, event: &Event) -> Option<Entry> {
    match event {
        Event::Block(block) => return Some(executed.block(block)),
        Event::Trap(trap) => return Some(executed.trap(trap.pc, trap.cause, trap.interrupt, trap.value)),
        Event::Privilege(privilege) => executed.privilege(*privilege),
        Event::Context { id, .. } => executed.context((*id).into()),
    }
    None
}

/// Returns all packets that an encoder emits for these entries.
pub fn encode<'a>(config: Config, entries: impl IntoIterator<Item = &'a Entry>) -> Vec<Packet> {
    let mut encoder = Encoder::new(config);
    let mut packets = Vec::new();
    let mut out = |packet: &Packet| packets.push(*packet);
    entries.into_iter().for_each(|entry| encoder.entry(entry, &mut out));
    encoder.finish(&mut out);
    packets
}
