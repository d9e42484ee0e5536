//! A made ITM stream of a Cortex-M: text, and exceptions that the DWT tells, each with the cycles since the last.

use tracewright_core::{Delay, Element, ExceptionChange, Message, Write};
use tracewright_coresight::itm::Params;
use tracewright_coresight::itm::encode::{Encoder, Options};
use tracewright_frames::{BitLength, Line, LineEncoder};

/// The text on stimulus port 0.
pub const TEXT: &str = "boot: clock 64 MHz\nadc: 12 channels\ntick 0\ntick 1\ntick 2\ntick 3\n";

/// Returns the bytes of the stream, with or without synchronisation packets.
pub fn trace(syncs: bool) -> Vec<u8> {
    let mut encoder =
        Encoder::new(&Params::default(), Options { sync_every: syncs.then_some(128.try_into().unwrap()) });
    let mut bytes = Vec::new();
    let mut add = |cycles, message| {
        let delay = Delay { timestamp: false, packet: false };
        for element in [Element::Message(message), Element::LocalTime { cycles, delay }] {
            assert!(encoder.element(&element, &mut bytes), "{element:?}");
        }
    };
    let exception = |number, change| Message::Exception { number, change };
    for (tick, line) in TEXT.split_inclusive('\n').enumerate() {
        for letter in line.bytes() {
            add(40, Message::Write(Write { channel: 0, bits: 8, value: letter.into(), ..Write::default() }));
        }
        add(6400, exception(15, ExceptionChange::Entered));
        add(200 + 10 * tick as u64, exception(15, ExceptionChange::Left));
        add(4, exception(0, ExceptionChange::Resumed));
    }
    // Without synchronisation, the one at the start is left out, too.
    bytes.split_off(if syncs { 0 } else { 6 })
}

/// Sends bytes over a line that is idle now and then.
pub fn sampled(line: Line, bit: f64, bytes: &[u8]) -> Vec<u8> {
    let mut encoder = LineEncoder::new(line, BitLength::from_samples(bit));
    let mut samples = Vec::new();
    encoder.idle(40, &mut samples);
    for piece in bytes.chunks(23) {
        encoder.push(piece, &mut samples);
        encoder.idle(17, &mut samples);
    }
    encoder.finish(&mut samples);
    samples
}
