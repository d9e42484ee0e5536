//! The header map (IHI 0064 "Instruction trace protocol, header encodings"): one row per encoding, in the order of
//! the specification. Dispatch, gating and printing follow from it.

use super::Kind;
use crate::params::{Architecture, CoreProfile, Protocol};
use crate::registers::{Registers, field};

/// A range of header values with one meaning.
#[derive(Clone, Copy, Debug)]
struct HeaderRow {
    first: u8,
    last: u8,
    kind: Kind,
    gate: Gate,
}

/// The condition for a header to exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    Always,
    /// ETMv4 only.
    Etm4,
    /// ETE only.
    Ete,
    /// ETE from this minor version on.
    EteMinor(u8),
    /// From this version on. ETE counts as 5.x.
    Version(u8),
    /// v8-M from ETMv4.2 on.
    FunctionReturn,
    /// Data trace is implemented and enabled.
    DataTrace,
    /// Conditional non-branch tracing is implemented and enabled.
    Conditional,
    /// Q elements are implemented.
    Q,
}

const fn row(first: u8, last: u8, kind: Kind, gate: Gate) -> HeaderRow {
    HeaderRow { first, last, kind, gate }
}

/// All headers of all versions. Values in no row are reserved.
const HEADERS: &[HeaderRow] = &[
    row(0x00, 0x00, Kind::Extension, Gate::Always),
    row(0x01, 0x01, Kind::TraceInfo, Gate::Always),
    row(0x02, 0x03, Kind::Timestamp, Gate::Always),
    row(0x04, 0x04, Kind::TraceOn, Gate::Always),
    row(0x05, 0x05, Kind::FunctionReturn, Gate::FunctionReturn),
    row(0x06, 0x06, Kind::Exception, Gate::Always),
    row(0x07, 0x07, Kind::ExceptionReturn, Gate::Etm4),
    row(0x09, 0x09, Kind::Instrumentation, Gate::EteMinor(3)),
    row(0x0a, 0x0a, Kind::TransactionStart, Gate::Ete),
    row(0x0b, 0x0b, Kind::TransactionCommit, Gate::Ete),
    row(0x0c, 0x0d, Kind::CycleCountF2, Gate::Always),
    row(0x0e, 0x0f, Kind::CycleCountF1, Gate::Always),
    row(0x10, 0x1f, Kind::CycleCountF3, Gate::Always),
    row(0x20, 0x27, Kind::NumberedDataSync, Gate::DataTrace),
    row(0x28, 0x2c, Kind::UnnumberedDataSync, Gate::DataTrace),
    row(0x2d, 0x2d, Kind::Commit, Gate::Always),
    row(0x2e, 0x2e, Kind::CancelF1, Gate::Always),
    row(0x2f, 0x2f, Kind::CancelF1Mispredict, Gate::Always),
    row(0x30, 0x33, Kind::Mispredict, Gate::Always),
    row(0x34, 0x37, Kind::CancelF2, Gate::Always),
    row(0x38, 0x3f, Kind::CancelF3, Gate::Always),
    row(0x40, 0x42, Kind::ConditionalInstructionF2, Gate::Conditional),
    row(0x43, 0x43, Kind::ConditionalFlush, Gate::Conditional),
    row(0x44, 0x46, Kind::ConditionalResultF4, Gate::Conditional),
    row(0x48, 0x4a, Kind::ConditionalResultF2, Gate::Conditional),
    row(0x4c, 0x4e, Kind::ConditionalResultF2, Gate::Conditional),
    row(0x50, 0x5f, Kind::ConditionalResultF3, Gate::Conditional),
    row(0x68, 0x6b, Kind::ConditionalResultF1, Gate::Conditional),
    row(0x6c, 0x6c, Kind::ConditionalInstructionF1, Gate::Conditional),
    row(0x6d, 0x6d, Kind::ConditionalInstructionF3, Gate::Conditional),
    row(0x6e, 0x6f, Kind::ConditionalResultF1, Gate::Conditional),
    row(0x70, 0x70, Kind::Ignore, Gate::Version(0x43)),
    row(0x71, 0x7f, Kind::Event, Gate::Always),
    row(0x80, 0x81, Kind::Context, Gate::Always),
    row(0x82, 0x82, Kind::AddressContext32Is0, Gate::Always),
    row(0x83, 0x83, Kind::AddressContext32Is1, Gate::Always),
    row(0x85, 0x85, Kind::AddressContext64Is0, Gate::Always),
    row(0x86, 0x86, Kind::AddressContext64Is1, Gate::Always),
    row(0x88, 0x88, Kind::TimestampMarker, Gate::Version(0x46)),
    row(0x90, 0x92, Kind::AddressExact, Gate::Always),
    row(0x95, 0x95, Kind::AddressShortIs0, Gate::Always),
    row(0x96, 0x96, Kind::AddressShortIs1, Gate::Always),
    row(0x9a, 0x9a, Kind::Address32Is0, Gate::Always),
    row(0x9b, 0x9b, Kind::Address32Is1, Gate::Always),
    row(0x9d, 0x9d, Kind::Address64Is0, Gate::Always),
    row(0x9e, 0x9e, Kind::Address64Is1, Gate::Always),
    row(0xa0, 0xa2, Kind::Q, Gate::Q),
    row(0xa5, 0xa6, Kind::Q, Gate::Q),
    row(0xaa, 0xac, Kind::Q, Gate::Q),
    row(0xaf, 0xaf, Kind::Q, Gate::Q),
    row(0xb0, 0xb2, Kind::SourceAddressExact, Gate::Ete),
    row(0xb4, 0xb4, Kind::SourceAddressShortIs0, Gate::Ete),
    row(0xb5, 0xb5, Kind::SourceAddressShortIs1, Gate::Ete),
    row(0xb6, 0xb6, Kind::SourceAddress32Is0, Gate::Ete),
    row(0xb7, 0xb7, Kind::SourceAddress32Is1, Gate::Ete),
    row(0xb8, 0xb8, Kind::SourceAddress64Is0, Gate::Ete),
    row(0xb9, 0xb9, Kind::SourceAddress64Is1, Gate::Ete),
    row(0xc0, 0xd4, Kind::AtomF6, Gate::Always),
    row(0xd5, 0xd7, Kind::AtomF5, Gate::Always),
    row(0xd8, 0xdb, Kind::AtomF2, Gate::Always),
    row(0xdc, 0xdf, Kind::AtomF4, Gate::Always),
    row(0xe0, 0xf4, Kind::AtomF6, Gate::Always),
    row(0xf5, 0xf5, Kind::AtomF5, Gate::Always),
    row(0xf6, 0xf7, Kind::AtomF1, Gate::Always),
    row(0xf8, 0xff, Kind::AtomF3, Gate::Always),
];

impl Gate {
    fn open(self, r: &Registers, version: u8) -> bool {
        let ete = r.protocol == Protocol::Ete;
        match self {
            Self::Always => true,
            Self::Etm4 => !ete,
            Self::Ete => ete,
            Self::EteMinor(minor) => ete && version & 0xf >= minor,
            Self::Version(least) => version >= least,
            Self::FunctionReturn => {
                r.profile == CoreProfile::M && r.architecture >= Architecture::V8 && version >= 0x42
            }
            Self::DataTrace => !ete && field(r.trcidr0, 4, 3) == 0b11 && field(r.trcconfigr, 17, 16) != 0,
            // COND modes 4 to 6 are reserved: nothing is traced.
            Self::Conditional => {
                !ete && field(r.trcidr0, 6, 6) == 1 && matches!(field(r.trcconfigr, 10, 8), 1..=3 | 7)
            }
            Self::Q => field(r.trcidr0, 16, 15) != 0,
        }
    }
}

/// The header map of one configuration: the kind of each of the 256 header values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeaderTable([Kind; 256]);

impl HeaderTable {
    pub(crate) fn new(registers: &Registers, version: u8) -> Self {
        let mut table = [Kind::Reserved; 256];
        for row in HEADERS {
            let kind = if row.gate.open(registers, version) { row.kind } else { Kind::ReservedForConfig };
            for header in row.first..=row.last {
                table[usize::from(header)] = kind;
            }
        }
        Self(table)
    }

    #[inline]
    pub(crate) fn kind(&self, header: u8) -> Kind {
        self.0[usize::from(header)]
    }
}

/// Returns the kind of `header` if every condition is met.
pub(crate) fn ungated_kind(header: u8) -> Kind {
    let row = HEADERS.iter().find(|row| (row.first..=row.last).contains(&header));
    row.map_or(Kind::Reserved, |row| row.kind)
}
