//! RISC-V E-Trace sources: their parameters and options by name.

pub(crate) mod encapsulation;
mod field;
mod handler;
mod raw;

use tracewright_core::Isa;
use tracewright_etrace::decode::Handler;
use tracewright_etrace::stream::Config;

pub use encapsulation::ENCAPSULATIONS;
pub use field::{Field, Group, fields};
pub use handler::{HandlerError, handler_named, handler_text};
pub(crate) use raw::source as raw_source;
pub use raw::{params_for, read_scf};

/// E-Trace source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtraceSource {
    /// Parameters, options and encapsulation.
    pub config: Config,
    /// ID in the stream (srcID); 0 where the stream has none.
    pub source: u16,
    /// Instruction set of its hart.
    pub isa: Isa,
    /// Known trap handlers, one a privilege. Packets leave them out with implicit exceptions.
    pub handlers: Vec<Handler>,
}

/// Returns the setting in which two sources differ that share a buffer. Their packets cannot be told apart
/// before they are parsed, so there must be none.
pub(crate) fn differs(one: &Config, other: &Config) -> Option<&'static str> {
    if one.encapsulation != other.encapsulation {
        return Some("encapsulation");
    }
    if one.params != other.params {
        return Some("params");
    }
    (one.options != other.options || one.data != other.data).then_some("options")
}

pub(crate) fn isa_name(isa: Isa) -> &'static str {
    if isa == Isa::Rv32 { "rv32" } else { "rv64" }
}

pub(crate) fn isa_named(name: &str) -> Option<Isa> {
    match name {
        "rv32" => Some(Isa::Rv32),
        "rv64" => Some(Isa::Rv64),
        _ => None,
    }
}

/// Parses `0x10` or `16`.
pub(crate) fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
