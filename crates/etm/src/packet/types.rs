//! Packets as values. Names are the spec's.

use super::Security;

use super::{Address, AddressForm, Atoms, Exception, Kind};

/// One packet of the instruction stream, decompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// Alignment synchronisation: twelve bytes that occur nowhere else.
    Async,
    /// Tracing stopped; uncommitted elements are gone.
    Discard,
    /// The trace unit's buffer overflowed; trace is missing here.
    Overflow,
    /// Start of a synchronisation period: compression registers restart.
    TraceInfo(TraceInfo),
    /// Global timestamp.
    Timestamp(Timestamp),
    /// Tracing starts or restarts.
    TraceOn,
    /// Armv8-M function return.
    FunctionReturn,
    /// An exception was taken.
    Exception(Exception),
    /// ETE: the core was reset.
    PeReset,
    /// ETE: a transaction failed.
    TransactionFailure,
    /// Return from an exception (ETMv4).
    ExceptionReturn,
    /// ETE 1.3: a value written by the program.
    Instrumentation {
        /// Exception level of the instruction that wrote it.
        el: u8,
        /// The value.
        value: u64,
    },
    /// ETE: a transaction started.
    TransactionStart,
    /// ETE: a transaction committed.
    TransactionCommit,
    /// Cycle count, with or without a commit.
    CycleCount(CycleCount),
    /// Numbered data synchronisation mark, 0 to 7.
    NumberedDataSync(u8),
    /// Unnumbered data synchronisation mark, 0 to 4 atoms back.
    UnnumberedDataSync(u8),
    /// The oldest `n` P0 elements are committed.
    Commit(u32),
    /// The newest `count` P0 elements are cancelled (format 1).
    CancelF1 {
        /// How many.
        count: u32,
        /// Whether the newest atom that is left was mispredicted.
        mispredict: bool,
    },
    /// Atoms (none, E, EE or N), then: the newest atom was mispredicted.
    Mispredict(Atoms),
    /// Atoms (none, E, EE or N), then cancel one, then mispredict.
    CancelF2(Atoms),
    /// Perhaps an E atom, then cancel 2 to 5, then mispredict.
    CancelF3 {
        /// Whether an E atom comes first.
        atom: bool,
        /// How many are cancelled: 2 to 5.
        count: u8,
    },
    /// Conditional non-branch instructions were executed.
    ConditionalInstruction(ConditionalInstruction),
    /// Conditional keys restart.
    ConditionalFlush,
    /// Results of conditional instructions.
    ConditionalResult(ConditionalResult),
    /// Filler.
    Ignore,
    /// Trace events: one bit for each of events 0 to 3.
    Event(u8),
    /// The context is what it was.
    ContextSame,
    /// Execution context.
    Context(Context),
    /// Target address and execution context (long address forms only).
    AddressContext(Address, Context),
    /// The point that a later timestamp refers to.
    TimestampMarker,
    /// Target address.
    Address(Address),
    /// Instructions ran on an unknown path.
    Q(Q),
    /// ETE: the address of an executed P0 instruction.
    SourceAddress(Address),
    /// Atoms.
    Atom(Atoms),
    /// Not a packet: `len` bytes passed over while searching an A-Sync.
    NotSync {
        /// How many bytes.
        len: u64,
    },
    /// Not a packet: a header no version defines.
    Reserved {
        /// The header.
        header: u8,
    },
    /// Not a packet: a header this source's configuration does not have.
    ReservedForConfig {
        /// What it would be elsewhere.
        kind: Kind,
    },
    /// Not a packet: a header and bytes that cannot follow it.
    Malformed {
        /// What the header promised.
        kind: Kind,
    },
    /// Not a packet: the trace ended inside one.
    Incomplete {
        /// What it had begun as.
        kind: Kind,
    },
}

/// Trace Info: which sections came (`plctl`) and their values; sections that did not come are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceInfo {
    /// Bit 0 INFO, 1 KEY, 2 SPEC, 3 CYCT, 4 WNDW: which sections are present.
    pub plctl: u8,
    /// INFO: bit 0 cycle counting, 3:1 conditional tracing, 4 loads and 5 stores are P0, 6 in a transaction.
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

    /// Whether cycle counting is on.
    pub fn cycle_counting(&self) -> bool {
        self.info & 1 != 0
    }

    /// ETE: whether the core is inside a transaction.
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
    /// All 64 bits, those not sent taken from the timestamp before.
    pub value: u64,
    /// How many payload bytes (1 to 9) the packet told it in.
    pub bytes: u8,
    /// Cycles since the last cycle count, if the packet says so.
    pub cycles: Option<u32>,
}

/// A cycle count packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CycleCount {
    /// Format 1, 2 or 3.
    pub format: u8,
    /// P0 elements committed; `None` where cycle counts do not commit (TRCIDR0.COMMOPT = 1). Below zero when a
    /// format 2 packet counts back from a MAXSPEC that is too small: TRCIDR8 is wrong or missing.
    pub commit: Option<i64>,
    /// Cycles since the last cycle count; `None` when the trace unit does not know.
    pub cycles: Option<u32>,
}

/// Conditional Instruction packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionalInstruction {
    /// One C element with this key.
    F1 {
        /// The conditional key.
        key: u32,
    },
    /// CI field: 0 one element, key + 1; 1 one, same key; 2 two: key + 1, then same key.
    F2(u8),
    /// `increments` elements with key + 1 each, then one with the same key if `same_key`.
    F3 {
        /// Elements that each increment the key (6 bits).
        increments: u8,
        /// Whether one more follows without increment.
        same_key: bool,
    },
}

/// One keyed result of a Conditional Result format 1 packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyedResult {
    /// The conditional key.
    pub key: u32,
    /// Result: four bits, meaning by TRCIDR0.CONDTYPE.
    pub result: u8,
    /// CI: whether the instruction itself was conditional.
    pub ci: bool,
}

/// Conditional Result packets.
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
    /// One result, key as before.
    F4 {
        /// Result token, 0 to 2.
        token: u8,
    },
}

/// Execution context (section "Context instruction trace packet").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// The information byte as sent.
    pub(super) info: u8,
    pub(super) vmid: u32,
    pub(super) context_id: u32,
}

impl Context {
    pub(super) const VMID: u8 = 1 << 6;
    pub(super) const CONTEXT_ID: u8 = 1 << 7;

    /// A context without IDs. `el` is 0 to 3.
    pub fn new(el: u8, aarch64: bool, security: Security) -> Self {
        let security = match security {
            Security::Secure => 0,
            Security::NonSecure => 1 << 5,
            Security::Root => 1 << 3,
            Security::Realm => 1 << 3 | 1 << 5,
        };
        Self { info: el & 3 | u8::from(aarch64) << 4 | security, vmid: 0, context_id: 0 }
    }

    /// The same context with a VMID.
    #[must_use]
    pub fn with_vmid(self, vmid: u32) -> Self {
        Self { info: self.info | Self::VMID, vmid, ..self }
    }

    /// The same context with a context ID.
    #[must_use]
    pub fn with_context_id(self, context_id: u32) -> Self {
        Self { info: self.info | Self::CONTEXT_ID, context_id, ..self }
    }

    /// Exception level, 0 to 3.
    pub fn el(&self) -> u8 {
        self.info & 3
    }

    /// Whether the core is in AArch64 state.
    pub fn is_aarch64(&self) -> bool {
        self.info & 1 << 4 != 0
    }

    /// Security state.
    pub fn security(&self) -> Security {
        match (self.info >> 3 & 1, self.info >> 5 & 1) {
            (0, 0) => Security::Secure,
            (0, _) => Security::NonSecure,
            (_, 0) => Security::Root,
            _ => Security::Realm,
        }
    }

    /// Virtual machine ID, if the packet says one.
    pub fn vmid(&self) -> Option<u32> {
        (self.info & Self::VMID != 0).then_some(self.vmid)
    }

    /// Context ID, if the packet says one.
    pub fn context_id(&self) -> Option<u32> {
        (self.info & Self::CONTEXT_ID != 0).then_some(self.context_id)
    }
}

/// A Q packet: some instructions ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Q {
    /// Where execution goes on; `None`: an Address packet follows.
    pub address: Option<Address>,
    /// How many instructions ran; `None`: unknown.
    pub count: Option<u32>,
}

impl Packet {
    /// The packet's kind.
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

    /// The address the packet tells, whatever its form.
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
