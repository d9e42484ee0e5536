//! What packets of the DWT mean.

use tracewright_core::{ExceptionChange, Message, Sample, Watched};

/// A packet that the debug hardware of a core made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hardware {
    /// Number that tells what made it (the discriminator): 0 to 31.
    pub source: u8,
    /// Size of the value in bytes: 1, 2 or 4.
    pub size: u8,
    /// The value.
    pub value: u32,
}

/// Numbers of what makes packets.
const COUNTERS: u8 = 0;
const EXCEPTIONS: u8 = 1;
const SAMPLES: u8 = 2;
const MONITOR: u8 = 3;
/// Data trace: two numbers for each of four comparators, for address and for value.
const ADDRESSES: u8 = 8;
const VALUES: u8 = 16;

/// Values of a sample of one byte.
const ASLEEP: u32 = 0;
const PROHIBITED: u32 = 0xff;

impl Hardware {
    /// Returns what the packet says. It is [`Message::Hardware`] if the architecture gives it no meaning.
    pub const fn message(self) -> Message {
        let Self { source, size, value } = self;
        let comparator = source >> 1 & 3;
        let is_second = source & 1 == 1;
        match (source, size) {
            (COUNTERS, 1) => Message::Counters(value as u8),
            (EXCEPTIONS, 2) => {
                let number = (value & 0x1ff) as u16;
                match value >> 12 & 3 {
                    1 => Message::Exception { number, change: ExceptionChange::Entered },
                    2 => Message::Exception { number, change: ExceptionChange::Left },
                    3 => Message::Exception { number, change: ExceptionChange::Resumed },
                    _ => self.unknown(),
                }
            }
            (SAMPLES, 4) => Message::Sample(Sample::At(value as u64)),
            (SAMPLES, 1) if value == ASLEEP => Message::Sample(Sample::Asleep),
            (SAMPLES, 1) if value == PROHIBITED => Message::Sample(Sample::Prohibited),
            (MONITOR, 1) => Message::Monitor(value as u8),
            (ADDRESSES..VALUES, 1) if !is_second && value == 1 => {
                Message::Watch { comparator, watched: Watched::Match }
            }
            (ADDRESSES..VALUES, 4) if !is_second => {
                Message::Watch { comparator, watched: Watched::By(value) }
            }
            (ADDRESSES..VALUES, 2) if is_second => {
                Message::Watch { comparator, watched: Watched::AddressLow(value as u16) }
            }
            (VALUES..24, _) if is_second => {
                Message::Watch { comparator, watched: Watched::Wrote { size, value } }
            }
            (VALUES..24, _) => Message::Watch { comparator, watched: Watched::Read { size, value } },
            _ => self.unknown(),
        }
    }

    const fn unknown(self) -> Message {
        let Self { source, size, value } = self;
        Message::Hardware { source, size, value }
    }

    /// Returns the packet that says this, or `None` if hardware does not send such a message, or no packet has room for it.
    pub fn of(message: &Message) -> Option<Self> {
        let packet = |source, size, value| Some(Self { source, size, value });
        match *message {
            Message::Write(_) | Message::Report(_) => None,
            Message::Counters(bits) => packet(COUNTERS, 1, bits.into()),
            Message::Exception { number, change } => {
                let change = match change {
                    ExceptionChange::Entered => 1,
                    ExceptionChange::Left => 2,
                    ExceptionChange::Resumed => 3,
                };
                (number < 0x200).then_some(())?;
                packet(EXCEPTIONS, 2, u32::from(number) | change << 12)
            }
            Message::Sample(Sample::At(address)) => packet(SAMPLES, 4, address.try_into().ok()?),
            Message::Sample(Sample::Asleep) => packet(SAMPLES, 1, ASLEEP),
            Message::Sample(Sample::Prohibited) => packet(SAMPLES, 1, PROHIBITED),
            Message::Monitor(bits) => packet(MONITOR, 1, bits.into()),
            Message::Watch { comparator: comparator @ 0..4, watched } => {
                let (first, second) = (ADDRESSES + 2 * comparator, VALUES + 2 * comparator);
                match watched {
                    Watched::Match => packet(first, 1, 1),
                    Watched::By(address) => packet(first, 4, address),
                    Watched::AddressLow(low) => packet(first + 1, 2, low.into()),
                    Watched::Read { size, value } => sized(second, size, value),
                    Watched::Wrote { size, value } => sized(second + 1, size, value),
                }
            }
            Message::Watch { .. } => None,
            Message::Hardware { source: source @ 0..32, size, value } => sized(source, size, value),
            Message::Hardware { .. } => None,
        }
    }
}

fn sized(source: u8, size: u8, value: u32) -> Option<Hardware> {
    let fits = matches!(size, 1 | 2 | 4) && u64::from(value) >> (8 * size) == 0;
    fits.then_some(Hardware { source, size, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_packet_and_back() {
        for source in 0..32 {
            for (size, values) in [(1, 0..=0xff), (2, 0..=0xffff), (4, 0x2000_0000..=0x2000_00ff)] {
                for value in values {
                    let packet = Hardware { source, size, value };
                    let message = packet.message();
                    let back = Hardware::of(&message).unwrap();
                    // Bits that mean nothing are lost.
                    let mask = if (source, size) == (EXCEPTIONS, 2) && value >> 12 & 3 != 0 {
                        0x31ff
                    } else {
                        u32::MAX
                    };
                    assert_eq!(back, Hardware { value: value & mask, ..packet }, "{message:?}");
                }
            }
        }
    }

    #[test]
    fn what_the_architecture_says() {
        let watch = |comparator, watched| Message::Watch { comparator, watched };
        for (source, size, value, message) in [
            (0, 1, 0x15, Message::Counters(0x15)),
            (1, 2, 0x100f, Message::Exception { number: 15, change: ExceptionChange::Entered }),
            (1, 2, 0x2123, Message::Exception { number: 0x123, change: ExceptionChange::Left }),
            (1, 2, 0x3000, Message::Exception { number: 0, change: ExceptionChange::Resumed }),
            (2, 4, 0x1080, Message::Sample(Sample::At(0x1080))),
            (2, 1, 0, Message::Sample(Sample::Asleep)),
            (2, 1, 0xff, Message::Sample(Sample::Prohibited)),
            (3, 1, 0x81, Message::Monitor(0x81)),
            (8, 4, 0x0800_0100, watch(0, Watched::By(0x0800_0100))),
            (10, 1, 1, watch(1, Watched::Match)),
            (13, 2, 0x1234, watch(2, Watched::AddressLow(0x1234))),
            (22, 1, 7, watch(3, Watched::Read { size: 1, value: 7 })),
            (17, 4, 7, watch(0, Watched::Wrote { size: 4, value: 7 })),
            (6, 4, 0x2000, Message::Hardware { source: 6, size: 4, value: 0x2000 }),
            (1, 2, 0x0004, Message::Hardware { source: 1, size: 2, value: 4 }),
        ] {
            assert_eq!(Hardware { source, size, value }.message(), message);
        }
    }

    #[test]
    fn what_no_packet_has_room_for() {
        let wrote = |size, value| Message::Watch { comparator: 0, watched: Watched::Wrote { size, value } };
        for message in [
            Message::Write(tracewright_core::Write::default()),
            Message::Sample(Sample::At(1 << 32)),
            Message::Exception { number: 512, change: ExceptionChange::Entered },
            Message::Watch { comparator: 4, watched: Watched::Match },
            wrote(1, 0x100),
            wrote(3, 0),
        ] {
            assert_eq!(Hardware::of(&message), None, "{message:?}");
        }
    }
}
