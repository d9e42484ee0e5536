//! Packets as values, with the names of the specification.

use super::Security;

use super::{Address, AddressForm, Atoms, Exception, Kind};

/// One packet of the instruction stream, decompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// Alignment synchronisation: twelve bytes that occur nowhere else.
    Async,
    /// A stop of tracing. Uncommitted elements are discarded.
    Discard,
    /// An overflow of the trace unit's buffer. Trace is missing here.
    Overflow,
    /// The start of a synchronisation period. Compression registers are reset.
    TraceInfo(TraceInfo),
    /// Global timestamp.
    Timestamp(Timestamp),
    /// The start or restart of tracing.
    TraceOn,
    /// Armv8-M function return.
    FunctionReturn,
    /// An exception that was taken.
    Exception(Exception),
    /// ETE: a reset of the core.
    PeReset,
    /// ETE: a failed transaction.
    TransactionFailure,
    /// A return from an exception (ETMv4).
    ExceptionReturn,
    /// ETE 1.3: a value that the program wrote into the trace.
    Instrumentation {
        /// Exception level of the instruction that wrote the value.
        el: u8,
        /// Value.
        value: u64,
    },
    /// ETE: the start of a transaction.
    TransactionStart,
    /// ETE: the commit of a transaction.
    TransactionCommit,
    /// Cycle count, with or without a commit.
    CycleCount(CycleCount),
    /// Numbered data synchronisation mark, 0 to 7.
    NumberedDataSync(u8),
    /// Unnumbered data synchronisation mark, 0 to 4 atoms back.
    UnnumberedDataSync(u8),
    /// A commit of the oldest `n` P0 elements.
    Commit(u32),
    /// A cancellation of the newest `count` P0 elements (format 1).
    CancelF1 {
        /// Number of cancelled elements.
        count: u32,
        /// Whether the newest remaining atom was mispredicted.
        mispredict: bool,
    },
    /// Atoms (none, E, EE or N), and a misprediction of the newest atom.
    Mispredict(Atoms),
    /// Atoms (none, E, EE or N), a cancellation of one, and a misprediction.
    CancelF2(Atoms),
    /// Optionally an E atom, a cancellation of 2 to 5, and a misprediction.
    CancelF3 {
        /// Whether an E atom comes first.
        atom: bool,
        /// Number of cancelled elements: 2 to 5.
        count: u8,
    },
    /// Conditional non-branch instructions that were executed.
    ConditionalInstruction(ConditionalInstruction),
    /// A restart of conditional keys.
    ConditionalFlush,
    /// Results of conditional instructions.
    ConditionalResult(ConditionalResult),
    /// Padding.
    Ignore,
    /// Trace events: one bit for each of events 0 to 3.
    Event(u8),
    /// The unchanged context.
    ContextSame,
    /// Execution context.
    Context(Context),
    /// Target address and execution context (long address forms only).
    AddressContext(Address, Context),
    /// The point that a later timestamp refers to.
    TimestampMarker,
    /// Target address.
    Address(Address),
    /// Instructions that ran on an unknown path.
    Q(Q),
    /// ETE: the address of an executed P0 instruction.
    SourceAddress(Address),
    /// Atoms.
    Atom(Atoms),
    /// Not a packet: `len` bytes that were skipped in search of an A-Sync.
    NotSync {
        /// Number of bytes.
        len: u64,
    },
    /// Not a packet: a header that no version defines.
    Reserved {
        /// The header.
        header: u8,
    },
    /// Not a packet: a header that does not exist in the configuration of this source.
    ReservedForConfig {
        /// Kind of the header in other configurations.
        kind: Kind,
    },
    /// Not a packet: a header with bytes that cannot follow it.
    Malformed {
        /// Kind of the header.
        kind: Kind,
    },
    /// Not a packet: the end of the trace inside one.
    Incomplete {
        /// Kind of the unfinished packet.
        kind: Kind,
    },
}

/// A Trace Info packet: the sections that are present (`plctl`) and their values. The values of other sections are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceInfo {
    /// Sections that are present: bit 0 INFO, 1 KEY, 2 SPEC, 3 CYCT, 4 WNDW.
    pub plctl: u8,
    /// INFO: bit 0 cycle counting, 3:1 conditional tracing, 4 loads are P0, 5 stores are P0, 6 in a transaction.
    pub info: u32,
    /// KEY: right-hand P0 key.
    pub key: u32,
    /// SPEC: uncommitted P0 elements at this point.
    pub spec: u32,
    /// CYCT: cycle count threshold.
    pub cyct: u32,
    /// WNDW: commit window.
    pub wndw: u32,
}

impl TraceInfo {
    /// PLCTL bit of the INFO section.
    pub const INFO: u8 = 1 << 0;
    /// PLCTL bit of the KEY section.
    pub const KEY: u8 = 1 << 1;
    /// PLCTL bit of the SPEC section.
    pub const SPEC: u8 = 1 << 2;
    /// PLCTL bit of the CYCT section.
    pub const CYCT: u8 = 1 << 3;
    /// PLCTL bit of the WNDW section.
    pub const WNDW: u8 = 1 << 4;

    /// Returns whether cycle counting is on.
    pub fn cycle_counting(&self) -> bool {
        self.info & 1 != 0
    }

    /// Returns whether the core is inside a transaction (ETE).
    pub fn in_transaction(&self) -> bool {
        self.info & 1 << 6 != 0
    }

    pub(super) fn sections_mut(&mut self) -> [(u8, &mut u32); 5] {
        [
            (Self::INFO, &mut self.info),
            (Self::KEY, &mut self.key),
            (Self::SPEC, &mut self.spec),
            (Self::CYCT, &mut self.cyct),
            (Self::WNDW, &mut self.wndw),
        ]
    }
}

/// A timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    /// Value with all 64 bits. Bits that were not sent are those of the timestamp before.
    pub value: u64,
    /// Number of payload bytes in the packet: 1 to 9.
    pub bytes: u8,
    /// Cycles since the last cycle count, if the packet has them.
    pub cycles: Option<u32>,
}

/// A cycle count packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CycleCount {
    /// Format 1, 2 or 3.
    pub format: u8,
    /// Number of committed P0 elements, or `None` if cycle counts do not commit (TRCIDR0.COMMOPT = 1). Below zero if
    /// a format 2 packet counts back from a MAXSPEC that is too small, because TRCIDR8 is wrong or missing.
    pub commit: Option<i64>,
    /// Cycles since the last cycle count, or `None` if the trace unit does not know.
    pub cycles: Option<u32>,
}

/// A Conditional Instruction packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionalInstruction {
    /// One C element with this key.
    F1 {
        /// Conditional key.
        key: u32,
    },
    /// CI field: 0 one element, key + 1; 1 one, same key; 2 two: key + 1, then same key.
    F2(u8),
    /// `increments` elements with key + 1 each, then one with the same key if `same_key`.
    F3 {
        /// Number of elements that each increment the key (6 bits).
        increments: u8,
        /// Whether one more element follows without increment.
        same_key: bool,
    },
}

/// One keyed result of a Conditional Result format 1 packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyedResult {
    /// Conditional key.
    pub key: u32,
    /// Result of four bits, with the meaning of TRCIDR0.CONDTYPE.
    pub result: u8,
    /// CI: whether the instruction itself was conditional.
    pub ci: bool,
}

/// A Conditional Result packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionalResult {
    /// One or two results with their keys.
    F1(KeyedResult, Option<KeyedResult>),
    /// One result, key incremented by 1 or 2.
    F2 {
        /// Key increment, 1 or 2.
        increment: u8,
        /// Result token, 0 to 2.
        token: u8,
    },
    /// Up to six tokens of two bits, oldest lowest.
    F3 {
        /// Twelve bits of tokens.
        tokens: u16,
    },
    /// One result, same key.
    F4 {
        /// Result token, 0 to 2.
        token: u8,
    },
}

/// An execution context (section "Context instruction trace packet").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// Information byte as sent.
    pub(super) info: u8,
    pub(super) vmid: u32,
    pub(super) context_id: u32,
}

impl Context {
    pub(super) const VMID: u8 = 1 << 6;
    pub(super) const CONTEXT_ID: u8 = 1 << 7;

    /// Creates a context without IDs. `el` is 0 to 3.
    pub fn new(el: u8, aarch64: bool, security: Security) -> Self {
        let security = match security {
            Security::Secure => 0,
            Security::NonSecure => 1 << 5,
            Security::Root => 1 << 3,
            Security::Realm => 1 << 3 | 1 << 5,
        };
        Self { info: el & 3 | u8::from(aarch64) << 4 | security, vmid: 0, context_id: 0 }
    }

    /// Returns the context with a VMID.
    #[must_use]
    pub fn with_vmid(self, vmid: u32) -> Self {
        Self { info: self.info | Self::VMID, vmid, ..self }
    }

    /// Returns the context with a context ID.
    #[must_use]
    pub fn with_context_id(self, context_id: u32) -> Self {
        Self { info: self.info | Self::CONTEXT_ID, context_id, ..self }
    }

    /// Returns the exception level, 0 to 3.
    pub fn el(&self) -> u8 {
        self.info & 3
    }

    /// Returns whether the core is in AArch64 state.
    pub fn is_aarch64(&self) -> bool {
        self.info & 1 << 4 != 0
    }

    /// Returns the security state.
    pub fn security(&self) -> Security {
        match (self.info >> 3 & 1, self.info >> 5 & 1) {
            (0, 0) => Security::Secure,
            (0, _) => Security::NonSecure,
            (_, 0) => Security::Root,
            _ => Security::Realm,
        }
    }

    /// Returns the virtual machine ID, if the packet has one.
    pub fn vmid(&self) -> Option<u32> {
        (self.info & Self::VMID != 0).then_some(self.vmid)
    }

    /// Returns the context ID, if the packet has one.
    pub fn context_id(&self) -> Option<u32> {
        (self.info & Self::CONTEXT_ID != 0).then_some(self.context_id)
    }
}

/// A Q packet: instructions that ran on an unknown path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Q {
    /// Address at which execution goes on, or `None` if an Address packet follows.
    pub address: Option<Address>,
    /// Number of instructions that ran, or `None` if unknown.
    pub count: Option<u32>,
}

impl Packet {
    /// Returns the kind of the packet.
    #[inline(always)]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Async => Kind::Async,
            Self::Discard => Kind::Discard,
            Self::Overflow => Kind::Overflow,
            Self::TraceInfo(_) => Kind::TraceInfo,
            Self::Timestamp(_) => Kind::Timestamp,
            Self::TraceOn => Kind::TraceOn,
            Self::FunctionReturn => Kind::FunctionReturn,
            Self::Exception(_) => Kind::Exception,
            Self::PeReset => Kind::PeReset,
            Self::TransactionFailure => Kind::TransactionFailure,
            Self::ExceptionReturn => Kind::ExceptionReturn,
            Self::Instrumentation { .. } => Kind::Instrumentation,
            Self::TransactionStart => Kind::TransactionStart,
            Self::TransactionCommit => Kind::TransactionCommit,
            Self::CycleCount(CycleCount { format: 1, .. }) => Kind::CycleCountF1,
            Self::CycleCount(CycleCount { format: 2, .. }) => Kind::CycleCountF2,
            Self::CycleCount(_) => Kind::CycleCountF3,
            Self::NumberedDataSync(_) => Kind::NumberedDataSync,
            Self::UnnumberedDataSync(_) => Kind::UnnumberedDataSync,
            Self::Commit(_) => Kind::Commit,
            Self::CancelF1 { mispredict: false, .. } => Kind::CancelF1,
            Self::CancelF1 { mispredict: true, .. } => Kind::CancelF1Mispredict,
            Self::Mispredict(_) => Kind::Mispredict,
            Self::CancelF2(_) => Kind::CancelF2,
            Self::CancelF3 { .. } => Kind::CancelF3,
            Self::ConditionalInstruction(ConditionalInstruction::F1 { .. }) => Kind::ConditionalInstructionF1,
            Self::ConditionalInstruction(ConditionalInstruction::F2(_)) => Kind::ConditionalInstructionF2,
            Self::ConditionalInstruction(ConditionalInstruction::F3 { .. }) => Kind::ConditionalInstructionF3,
            Self::ConditionalFlush => Kind::ConditionalFlush,
            Self::ConditionalResult(ConditionalResult::F1(..)) => Kind::ConditionalResultF1,
            Self::ConditionalResult(ConditionalResult::F2 { .. }) => Kind::ConditionalResultF2,
            Self::ConditionalResult(ConditionalResult::F3 { .. }) => Kind::ConditionalResultF3,
            Self::ConditionalResult(ConditionalResult::F4 { .. }) => Kind::ConditionalResultF4,
            Self::Ignore => Kind::Ignore,
            Self::Event(_) => Kind::Event,
            Self::ContextSame | Self::Context(_) => Kind::Context,
            Self::AddressContext(address, _) => address.context_kind(),
            Self::TimestampMarker => Kind::TimestampMarker,
            Self::Address(address) => address.kind(),
            Self::Q(_) => Kind::Q,
            Self::SourceAddress(address) => address.source_kind(),
            Self::Atom(atoms) => atoms.kind(),
            Self::NotSync { .. } => Kind::NotSync,
            Self::Reserved { .. } => Kind::Reserved,
            Self::ReservedForConfig { .. } => Kind::ReservedForConfig,
            Self::Malformed { .. } => Kind::Malformed,
            Self::Incomplete { .. } => Kind::Incomplete,
        }
    }

    /// Returns the address in the packet, whatever its form.
    pub fn address(&self) -> Option<Address> {
        match *self {
            Self::Address(address) | Self::SourceAddress(address) | Self::AddressContext(address, _) => {
                Some(address)
            }
            Self::Q(q) => q.address,
            _ => None,
        }
    }
}

const _: () = assert!(size_of::<Packet>() <= 40, "packets are passed by value, keep them small");
const _: () = assert!(size_of::<Option<AddressForm>>() == 1);
