//! Messages of instrumentation sources: what software and debug hardware write into the trace.

/// A message in the trace of an instrumentation source (ITM with DWT, STM).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// A value that software, or hardware on its behalf, wrote to a channel.
    Write(Write),
    /// A report of the source about itself (STM).
    Report(Report),
    /// A change of exception that the core's debug hardware saw (DWT).
    Exception {
        /// Number of the exception, as the core counts it: 16 is the first interrupt.
        number: u16,
        /// What happened.
        change: ExceptionChange,
    },
    /// A sample of where the core is, at a regular interval.
    Sample(Sample),
    /// Event counters that wrapped, one bit each.
    Counters(u8),
    /// Counters of the performance monitor that overflowed, one bit each.
    Monitor(u8),
    /// An access that a comparator watches for.
    Watch {
        /// Number of the comparator.
        comparator: u8,
        /// What the packet says about the access.
        watched: Watched,
    },
    /// A packet of debug hardware to which the architecture gives no meaning.
    Hardware {
        /// Number that tells what made the packet.
        source: u8,
        /// Size of the value in bytes: 1, 2 or 4.
        size: u8,
        /// The value.
        value: u32,
    },
}

/// A sample of where a core is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sample {
    /// Address of the current instruction.
    At(u64),
    /// The core sleeps.
    Asleep,
    /// The core is in a state in which it must not be observed.
    Prohibited,
}

/// A value that was written to a channel of an instrumentation source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Write {
    /// Number of the bus master that wrote (STM). `None` where there is only one (ITM), or if it is not known.
    pub master: Option<u16>,
    /// Channel, or stimulus port.
    pub channel: u32,
    /// Size of the value in bits: 4, 8, 16, 32 or 64. 0 if there is only a mark.
    pub bits: u8,
    /// The value.
    pub value: u64,
    /// Whether the write is marked, as the last one of a message is by convention.
    pub marked: bool,
    /// Whether the value is that of a trigger.
    pub trigger: bool,
}

/// A report of an instrumentation source about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Report {
    /// Number of the bus master that was the current one, if there was one.
    pub master: Option<u16>,
    /// Channel that was the current one.
    pub channel: u32,
    /// What the source reports.
    pub what: Reported,
}

/// What an instrumentation source reports about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reported {
    /// Frequency of the clock that timestamps count, in hertz. 0 if the source does not know it.
    Frequency(u32),
    /// An error of the current master, such as lost writes, with a code that the source defines.
    MasterError(u8),
    /// An error of some master, with a code that the source defines.
    GlobalError(u8),
}

/// A change of the exception that a core handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExceptionChange {
    /// The core entered the handler.
    Entered,
    /// The core left the handler.
    Left,
    /// The core came back to the handler, or with number 0 to the thread, from another handler.
    Resumed,
}

/// What a packet says about a watched access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Watched {
    /// Address of the instruction.
    By(u32),
    /// Lower 16 bits of the address that was accessed.
    AddressLow(u16),
    /// A value that was read.
    Read {
        /// Size in bytes: 1, 2 or 4.
        size: u8,
        /// The value.
        value: u32,
    },
    /// A value that was written.
    Wrote {
        /// Size in bytes: 1, 2 or 4.
        size: u8,
        /// The value.
        value: u32,
    },
    /// The comparator matched, without more.
    Match,
}

/// Relation of a local timestamp to the packets before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Delay {
    /// Whether the timestamp was made later than the packets.
    pub timestamp: bool,
    /// Whether the packets were made later than what they report.
    pub packet: bool,
}
