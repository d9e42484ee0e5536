//! The kinds of packets, with our names and those of OpenCSD.

tracewright_core::packet_kinds! {
    /// The kind of a packet, for dispatch, statistics and printing.
    packets {
        Async "Synchronisation" "ITM_ASYNC" "Alignment synchronisation packet";
        Padding "Padding" "ITM_INCOMPLETE_EOT" "Incomplete packet flushed at end of trace";
        Overflow "Overflow" "ITM_OVERFLOW" "ITM overflow packet";
        Stimulus "Stimulus" "ITM_SWIT" "Software Stimulus write packet";
        Counters "Event Counters" "ITM_DWT" "DWT hardware stimulus write";
        Exception "Exception" "ITM_DWT" "DWT hardware stimulus write";
        Sample "PC Sample" "ITM_DWT" "DWT hardware stimulus write";
        Monitor "Performance Monitor" "ITM_DWT" "DWT hardware stimulus write";
        DataTrace "Data Trace" "ITM_DWT" "DWT hardware stimulus write";
        Hardware "Unknown Hardware" "ITM_DWT" "DWT hardware stimulus write";
        LocalTimestamp "Local Timestamp" "ITM_TS_LOCAL" "Local Timestamp";
        GlobalLow "Global Timestamp 1" "ITM_GTS_1" "Global Timestamp [25:0]";
        GlobalHigh "Global Timestamp 2" "ITM_GTS_2" "Global Timestamp [{63|42}:26]";
        Extension "Extension" "ITM_EXTENSION" "Extension packet";
    }
    errors {
        NotSync "Not Synchronised" "ITM_NOTSYNC" "ITM data stream not synchronised";
        Reserved "Reserved" "ITM_RESERVED" "Reserved Packet Header";
        Malformed "Malformed" "ITM_BAD_SEQUENCE" "Invalid sequence in packet";
        Incomplete "Incomplete" "ITM_INCOMPLETE_EOT" "Incomplete packet flushed at end of trace";
    }
}

impl Kind {
    /// Returns the kind of a packet of the DWT, by what made it.
    #[inline]
    pub(crate) const fn of_hardware(source: u8) -> Self {
        match source {
            0 => Self::Counters,
            1 => Self::Exception,
            2 => Self::Sample,
            3 => Self::Monitor,
            8..24 => Self::DataTrace,
            _ => Self::Hardware,
        }
    }

    /// Returns the kind of the packets with this header.
    pub const fn of(header: u8) -> Self {
        match header {
            0x00 => Self::Async,
            0x70 => Self::Overflow,
            0x94 => Self::GlobalLow,
            0xb4 => Self::GlobalHigh,
            _ if header & 7 > 4 => Self::of_hardware(header >> 3),
            _ if header & 3 != 0 => Self::Stimulus,
            _ if header & 0xb == 8 => Self::Extension,
            _ if header & 0xf == 0 && header >> 6 != 2 => Self::LocalTimestamp,
            _ => Self::Reserved,
        }
    }
}
