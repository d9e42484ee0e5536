//! The kinds of packets, with our names and those of OpenCSD.

/// Declares [`Kind`] and its name tables from one list, so that they always agree.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal $ocsd:literal $desc:literal;)*) => {
        /// The kind of a packet, for dispatch, statistics and printing. It is finer than the variants of
        /// [`Packet`](super::Packet): each atom and address format is a kind of its own.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Kind { $($(#[$doc])* $kind,)* }

        impl Kind {
            /// All kinds, in the order of the header map.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// Returns the name in the specification, as our own output prints it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// Returns the name that OpenCSD prints.
            pub const fn opencsd_name(self) -> &'static str {
                match self { $(Self::$kind => $ocsd,)* }
            }

            /// Returns the description that OpenCSD prints after the name.
            pub const fn opencsd_description(self) -> &'static str {
                match self { $(Self::$kind => $desc,)* }
            }
        }
    };
}

kinds! {
    /// Header 0x00, before its second byte is known.
    Extension "Extension" "I_EXTENSION" "Extension packet header.";
    /// Alignment synchronisation.
    Async "A-Sync" "I_ASYNC" "Alignment Synchronisation.";
    /// A stop of tracing with uncommitted elements.
    Discard "Discard" "I_DISCARD" "Discard.";
    /// An overflow of the trace unit's buffer: trace was lost.
    Overflow "Overflow" "I_OVERFLOW" "Overflow.";
    /// The start of a new synchronisation period.
    TraceInfo "Trace Info" "I_TRACE_INFO" "Trace Info.";
    /// Global timestamp.
    Timestamp "Timestamp" "I_TIMESTAMP" "Timestamp.";
    /// The start of tracing, after a gap.
    TraceOn "Trace On" "I_TRACE_ON" "Trace On.";
    /// Armv8-M: a function return (for data trace).
    FunctionReturn "Function Return" "I_FUNC_RET" "V8M - function return.";
    /// An exception that was taken.
    Exception "Exception" "I_EXCEPT" "Exception.";
    /// ETE: a reset of the core.
    PeReset "PE Reset" "I_PE_RESET" "PE Reset.";
    /// ETE: a failed transaction.
    TransactionFailure "Transaction Failure" "I_TRANS_FAIL" "Transaction Fail.";
    /// A return from an exception.
    ExceptionReturn "Exception Return" "I_EXCEPT_RTN" "Exception Return.";
    /// ETE 1.3: a value that the program wrote into the trace.
    Instrumentation "Instrumentation" "I_ITE" "Instrumentation";
    /// ETE: the start of a transaction.
    TransactionStart "Transaction Start" "I_TRANS_ST" "Transaction Start.";
    /// ETE: the commit of a transaction.
    TransactionCommit "Transaction Commit" "I_TRANS_COMMIT" "Transaction Commit.";
    /// Cycle count, commit and count in a nibble each.
    CycleCountF2 "Cycle Count F2" "I_CCNT_F2" "Cycle Count format 2.";
    /// Cycle count, long.
    CycleCountF1 "Cycle Count F1" "I_CCNT_F1" "Cycle Count format 1.";
    /// Cycle count, all in the header.
    CycleCountF3 "Cycle Count F3" "I_CCNT_F3" "Cycle Count format 3.";
    /// Data synchronisation mark with a number.
    NumberedDataSync "Data Sync Mark" "I_NUM_DS_MKR" "Data Synchronisation Marker - Numbered.";
    /// Data synchronisation mark without a number.
    UnnumberedDataSync "Data Sync Mark (unnumbered)" "I_UNNUM_DS_MKR" "Data Synchronisation Marker - Unnumbered.";
    /// A commit of the oldest elements.
    Commit "Commit" "I_COMMIT" "Commit";
    /// A cancellation of the newest elements.
    CancelF1 "Cancel F1" "I_CANCEL_F1" "Cancel Format 1.";
    /// A cancellation of the newest elements. The atom before them was mispredicted.
    CancelF1Mispredict "Cancel F1 Mispredict" "I_CANCEL_F1_MISPRED" "Cancel Format 1 + Mispredict.";
    /// A misprediction of the newest atom.
    Mispredict "Mispredict" "I_MISPREDICT" "Mispredict.";
    /// Atoms, then cancel one, then mispredict.
    CancelF2 "Cancel F2" "I_CANCEL_F2" "Cancel Format 2.";
    /// An atom, then cancel two to five, then mispredict.
    CancelF3 "Cancel F3" "I_CANCEL_F3" "Cancel Format 3.";
    /// Conditional instruction, key in the header.
    ConditionalInstructionF2 "Conditional Instruction F2" "I_COND_I_F2" "Conditional Instruction, format 2.";
    /// A restart of conditional keys.
    ConditionalFlush "Conditional Flush" "I_COND_FLUSH" "Conditional Flush.";
    /// Conditional result, same key.
    ConditionalResultF4 "Conditional Result F4" "I_COND_RES_F4" "Conditional Result, format 4.";
    /// Conditional result, key incremented.
    ConditionalResultF2 "Conditional Result F2" "I_COND_RES_F2" "Conditional Result, format 2.";
    /// Up to six conditional results.
    ConditionalResultF3 "Conditional Result F3" "I_COND_RES_F3" "Conditional Result, format 3.";
    /// One or two conditional results with keys.
    ConditionalResultF1 "Conditional Result F1" "I_COND_RES_F1" "Conditional Result, format 1.";
    /// Conditional instruction with a key.
    ConditionalInstructionF1 "Conditional Instruction F1" "I_COND_I_F1" "Conditional Instruction, format 1.";
    /// Several conditional instructions.
    ConditionalInstructionF3 "Conditional Instruction F3" "I_COND_I_F3" "Conditional Instruction, format 3.";
    /// Padding.
    Ignore "Ignore" "I_IGNORE" "Ignore.";
    /// One or more of the four trace events.
    Event "Event" "I_EVENT" "Trace Event.";
    /// Execution context.
    Context "Context" "I_CTXT" "Context Packet.";
    /// 32-bit address, A64 or A32, and context.
    AddressContext32Is0 "Address+Context 32 IS0" "I_ADDR_CTXT_L_32IS0" "Address & Context, Long, 32 bit, IS0.";
    /// 32-bit address, T32, and context.
    AddressContext32Is1 "Address+Context 32 IS1" "I_ADDR_CTXT_L_32IS1" "Address & Context, Long, 32 bit, IS1.";
    /// 64-bit address, A64 or A32, and context.
    AddressContext64Is0 "Address+Context 64 IS0" "I_ADDR_CTXT_L_64IS0" "Address & Context, Long, 64 bit, IS0.";
    /// 64-bit address, T32, and context.
    AddressContext64Is1 "Address+Context 64 IS1" "I_ADDR_CTXT_L_64IS1" "Address & Context, Long, 64 bit, IS1.";
    /// The point that a later timestamp refers to.
    TimestampMarker "Timestamp Marker" "I_TS_MARKER" "Timestamp Marker";
    /// An address from the history.
    AddressExact "Address Exact" "I_ADDR_MATCH" "Exact Address Match.";
    /// Short address, A64 or A32.
    AddressShortIs0 "Address Short IS0" "I_ADDR_S_IS0" "Address, Short, IS0.";
    /// Short address, T32.
    AddressShortIs1 "Address Short IS1" "I_ADDR_S_IS1" "Address, Short, IS1.";
    /// 32-bit address, A64 or A32.
    Address32Is0 "Address 32 IS0" "I_ADDR_L_32IS0" "Address, Long, 32 bit, IS0.";
    /// 32-bit address, T32.
    Address32Is1 "Address 32 IS1" "I_ADDR_L_32IS1" "Address, Long, 32 bit, IS1.";
    /// 64-bit address, A64 or A32.
    Address64Is0 "Address 64 IS0" "I_ADDR_L_64IS0" "Address, Long, 64 bit, IS0.";
    /// 64-bit address, T32.
    Address64Is1 "Address 64 IS1" "I_ADDR_L_64IS1" "Address, Long, 64 bit, IS1.";
    /// Instructions that ran on an unknown path.
    Q "Q" "I_Q" "Q Packet.";
    /// ETE: source address from the history.
    SourceAddressExact "Source Address Exact" "I_SRC_ADDR_MATCH" "Exact Source Address Match.";
    /// ETE: short source address, A64 or A32.
    SourceAddressShortIs0 "Source Address Short IS0" "I_SRC_ADDR_S_IS0" "Source Address, Short, IS0.";
    /// ETE: short source address, T32.
    SourceAddressShortIs1 "Source Address Short IS1" "I_SRC_ADDR_S_IS1" "Source Address, Short, IS1.";
    /// ETE: 32-bit source address, A64 or A32. The typo in OpenCSD's name is kept.
    SourceAddress32Is0 "Source Address 32 IS0" "I_SCR_ADDR_L_32IS0" "Source Address, Long, 32 bit, IS0.";
    /// ETE: 32-bit source address, T32.
    SourceAddress32Is1 "Source Address 32 IS1" "I_SRC_ADDR_L_32IS1" "Source Address, Long, 32 bit, IS1.";
    /// ETE: 64-bit source address, A64 or A32.
    SourceAddress64Is0 "Source Address 64 IS0" "I_SRC_ADDR_L_64IS0" "Source Address, Long, 64 bit, IS0.";
    /// ETE: 64-bit source address, T32.
    SourceAddress64Is1 "Source Address 64 IS1" "I_SRC_ADDR_L_64IS1" "Source Address, Long, 64 bit, IS1.";
    /// 4 to 24 atoms: E's and a last E or N.
    AtomF6 "Atom F6" "I_ATOM_F6" "Atom format 6.";
    /// Five atoms in one of four patterns.
    AtomF5 "Atom F5" "I_ATOM_F5" "Atom format 5.";
    /// Two atoms.
    AtomF2 "Atom F2" "I_ATOM_F2" "Atom format 2.";
    /// Four atoms in one of four patterns.
    AtomF4 "Atom F4" "I_ATOM_F4" "Atom format 4.";
    /// One atom.
    AtomF1 "Atom F1" "I_ATOM_F1" "Atom format 1.";
    /// Three atoms.
    AtomF3 "Atom F3" "I_ATOM_F3" "Atom format 3.";
    /// Bytes that were skipped in search of an A-Sync.
    NotSync "Not Synchronised" "I_NOT_SYNC" "I Stream not synchronised";
    /// A header that no version defines.
    Reserved "Reserved" "I_RESERVED" "Reserved Packet Header";
    /// A header that exists, but not in the configuration of this source.
    ReservedForConfig "Reserved (configuration)" "I_RESERVED_CFG" "Reserved header for current configuration.";
    /// A header with bytes that cannot follow it.
    Malformed "Malformed" "I_BAD_SEQUENCE" "Invalid Sequence in packet.";
    /// The end of the trace inside a packet.
    Incomplete "Incomplete" "I_INCOMPLETE_EOT" "Incomplete packet at end of trace.";
}

impl Kind {
    /// Number of kinds.
    pub const COUNT: usize = Self::ALL.len();

    /// Returns whether this stands for bytes that could not be read as a packet.
    pub const fn is_error(self) -> bool {
        matches!(
            self,
            Self::NotSync | Self::Reserved | Self::ReservedForConfig | Self::Malformed | Self::Incomplete
        )
    }
}
