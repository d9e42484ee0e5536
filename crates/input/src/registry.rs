//! Kinds of sources that others describe: protocols that are registered.

use std::any::Any;
use std::error;
use std::fmt::{self, Debug};
use std::sync::{Arc, PoisonError, RwLock};

use tracewright_core::Isa;

use crate::ring::{Ring, TooShort};
use crate::{coresight, ntrace, snapshot, tacit};

/// A kind of trace sources: how captures and people describe one.
pub trait SourceKind: Debug + Sync {
    /// Returns its name, in lower case: the first word of `--source`, and `protocol` in `capture.toml`.
    fn name(&self) -> &'static str;
    /// Returns what `--source` takes for one, as a sentence, for help.
    fn takes(&self) -> &'static str {
        ""
    }
    /// Returns the type of such a device in trace snapshots, without the version after a dot.
    fn device(&self) -> Option<&'static str> {
        None
    }
    /// Returns whether its parameters depend on the traced core. If so, the core's type is given as `core`, where it is known.
    fn wants_core(&self) -> bool {
        false
    }
    /// Returns the parameters of a source from names and values: parts of `--source`, keys in `capture.toml`, registers in a
    /// snapshot. Names are in lower case.
    ///
    /// # Errors
    /// Fails if a name is unknown, or a value is wrong or missing.
    fn params(&self, given: &[(String, String)]) -> Result<Arc<dyn SourceParams>, WrongParam>;
}

/// Parameters of a source of a registered kind.
pub trait SourceParams: Any + Debug + Send + Sync {
    /// Returns the source's number in its buffer; in frames, its trace ID.
    fn id(&self) -> u16;
    /// Returns whether a RISC-V hart is traced.
    fn is_riscv(&self) -> bool {
        false
    }
    /// Returns the instruction set of its hart, if a RISC-V hart is traced and it is known.
    fn isa(&self) -> Option<Isa> {
        None
    }
    /// Returns whether packets name their source, so that several sources share a stream.
    fn names_sources(&self) -> bool {
        false
    }
    /// Returns the parameter in which another source differs. Sources that share a stream must not: their packets cannot be told apart
    /// before they are parsed.
    fn differs(&self, _other: &dyn SourceParams) -> Option<&'static str> {
        None
    }
    /// Returns whether instructions are traced, and not only messages.
    fn traces_instructions(&self) -> bool {
        true
    }
    /// Returns why the trace lacks targets of branches that were taken, if it lacks any.
    fn lacks_targets(&self) -> Option<&'static str> {
        None
    }
    /// Returns whether reading begins at a synchronisation point. If not, the trace begins with a packet, and has no such points.
    fn needs_synchronisation(&self) -> bool {
        true
    }
    /// Returns where the ring of the source is in a file of `len` bytes, if its buffer is a ring in memory. Such a source has a file of
    /// its own, without frames.
    fn ring(&self, _len: u64) -> Option<Result<Ring, TooShort>> {
        None
    }
    /// Returns what the source speaks, in words.
    fn title(&self) -> String;
    /// Returns what is to be known of the source: names and values.
    fn facts(&self) -> Vec<(&'static str, String)>;
    /// Returns the entries that describe it in `capture.toml`, `protocol` first; none if our own captures have no such sources.
    fn entries(&self) -> Vec<Entry> {
        Vec::new()
    }
    /// Returns whether its trace has cycle counts.
    fn has_cycles(&self) -> bool {
        false
    }
    /// Returns whether its contexts tell the level of privilege. If not, level 1 stands for any of a program and its system.
    fn tells_level(&self) -> bool {
        true
    }
    /// Returns what turns numbers of exceptions in logs (those of ETMv4, or causes of RISC-V) into those of the trace.
    fn of_log(&self) -> fn(u16) -> u16 {
        |number| number
    }
    /// Returns whether its trace has timestamps.
    fn has_timestamps(&self) -> bool {
        false
    }
}

/// An entry of a source's description in `capture.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// Its meaning in one line.
    pub meaning: &'static str,
}

/// A parameter that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongParam {
    /// Its name.
    pub name: String,
    /// What is wrong.
    pub why: String,
}

impl fmt::Display for WrongParam {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.why)
    }
}

impl error::Error for WrongParam {}

static REGISTERED: RwLock<Vec<&'static dyn SourceKind>> = RwLock::new(Vec::new());

/// Adds a kind of sources to those that captures can have.
pub fn register(kind: &'static dyn SourceKind) {
    REGISTERED.write().unwrap_or_else(PoisonError::into_inner).push(kind);
}

/// Kinds that need not be registered.
const BUILT_IN: &[&dyn SourceKind] = &[
    &coresight::Etm3,
    &coresight::Ptm,
    &coresight::Itm,
    &coresight::Stm,
    &coresight::Mtb,
    &ntrace::Ntrace,
    &tacit::Tacit,
];

fn find(is_it: impl Fn(&dyn SourceKind) -> bool) -> Option<&'static dyn SourceKind> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    BUILT_IN.iter().chain(&*registered).copied().find(|kind| is_it(*kind))
}

/// Returns the kinds that need not be registered.
pub(crate) fn built_in() -> &'static [&'static dyn SourceKind] {
    BUILT_IN
}

pub(crate) fn named(name: &str) -> Option<&'static dyn SourceKind> {
    find(|kind| kind.name() == name)
}

/// Returns the kind of a device of this type in a snapshot. Some protocols have two names there.
pub(crate) fn of_device(kind: &str) -> Option<&'static dyn SourceKind> {
    let protocol = snapshot::Protocol::of(kind);
    let is_it = |device| {
        kind.split('.').next() == Some(device)
            || protocol.is_some() && protocol == snapshot::Protocol::of(device)
    };
    find(|known| known.device().is_some_and(is_it))
}
