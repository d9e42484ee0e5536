//! The kinds of packets, with the names people and OpenCSD have for them.

/// Declares [`Kind`] and its name tables from one list, so that the three cannot drift apart.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal $ocsd:literal $desc:literal;)*) => {
        /// What a packet is: its format, finer than [`Packet`](super::Packet)'s variants (each atom and
        /// address format is a kind of its own), for dispatch, statistics and printing.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Kind { $($(#[$doc])* $kind,)* }

        impl Kind {
            /// Every kind, in the order of the header map.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// The spec's name, as our own output prints it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// The name OpenCSD prints.
            pub const fn opencsd_name(self) -> &'static str {
                match self { $(Self::$kind => $ocsd,)* }
            }

            /// The description OpenCSD prints after the name.
            pub const fn opencsd_description(self) -> &'static str {
                match self { $(Self::$kind => $desc,)* }
            }
        }
    };
}

kinds! {
    /// Header 0x00 before its second byte is known.
    Extension "Extension" "I_EXTENSION" "Extension packet header.";
    /// Alignment synchronisation.
    Async "A-Sync" "I_ASYNC" "Alignment Synchronisation.";
    /// Tracing stopped with uncommitted elements.
    Discard "Discard" "I_DISCARD" "Discard.";
    /// The trace unit's buffer overflowed: trace was lost.
    Overflow "Overflow" "I_OVERFLOW" "Overflow.";
    /// The start of a new synchronisation period.
    TraceInfo "Trace Info" "I_TRACE_INFO" "Trace Info.";
    /// Global timestamp.
    Timestamp "Timestamp" "I_TIMESTAMP" "Timestamp.";
    /// Tracing starts, after a gap.
    TraceOn "Trace On" "I_TRACE_ON" "Trace On.";
    /// Armv8-M: a function returned (for data trace).
    FunctionReturn "Function Return" "I_FUNC_RET" "V8M - function return.";
    /// An exception was taken.
    Exception "Exception" "I_EXCEPT" "Exception.";
    /// ETE: the core was reset.
    PeReset "PE Reset" "I_PE_RESET" "PE Reset.";
    /// ETE: a transaction failed.
    TransactionFailure "Transaction Failure" "I_TRANS_FAIL" "Transaction Fail.";
    /// Return from an exception.
    ExceptionReturn "Exception Return" "I_EXCEPT_RTN" "Exception Return.";
    /// ETE 1.3: a value the program wrote into the trace.
    Instrumentation "Instrumentation" "I_ITE" "Instrumentation";
    /// ETE: a transaction started.
    TransactionStart "Transaction Start" "I_TRANS_ST" "Transaction Start.";
    /// ETE: a transaction committed.
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
    /// The oldest elements are committed.
    Commit "Commit" "I_COMMIT" "Commit";
    /// The newest elements are cancelled.
    CancelF1 "Cancel F1" "I_CANCEL_F1" "Cancel Format 1.";
    /// The newest elements are cancelled and the atom before them was mispredicted.
    CancelF1Mispredict "Cancel F1 Mispredict" "I_CANCEL_F1_MISPRED" "Cancel Format 1 + Mispredict.";
    /// The newest atom was mispredicted.
    Mispredict "Mispredict" "I_MISPREDICT" "Mispredict.";
    /// Atoms, then cancel one, then mispredict.
    CancelF2 "Cancel F2" "I_CANCEL_F2" "Cancel Format 2.";
    /// An atom, then cancel two to five, then mispredict.
    CancelF3 "Cancel F3" "I_CANCEL_F3" "Cancel Format 3.";
    /// Conditional instruction, key in the header.
    ConditionalInstructionF2 "Conditional Instruction F2" "I_COND_I_F2" "Conditional Instruction, format 2.";
    /// Conditional keys restart.
    ConditionalFlush "Conditional Flush" "I_COND_FLUSH" "Conditional Flush.";
    /// Conditional result, key as before.
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
    /// Nothing: fills space.
    Ignore "Ignore" "I_IGNORE" "Ignore.";
    /// One or more of the four trace events happened.
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
    /// The point a later timestamp refers to.
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
    /// Instructions ran, path unknown.
    Q "Q" "I_Q" "Q Packet.";
    /// ETE: source address from the history.
    SourceAddressExact "Source Address Exact" "I_SRC_ADDR_MATCH" "Exact Source Address Match.";
    /// ETE: short source address, A64 or A32.
    SourceAddressShortIs0 "Source Address Short IS0" "I_SRC_ADDR_S_IS0" "Source Address, Short, IS0.";
    /// ETE: short source address, T32.
    SourceAddressShortIs1 "Source Address Short IS1" "I_SRC_ADDR_S_IS1" "Source Address, Short, IS1.";
    /// ETE: 32-bit source address, A64 or A32. OpenCSD's name for it has a slip of the pen, kept.
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
    /// Bytes passed over while searching an A-Sync.
    NotSync "Not Synchronised" "I_NOT_SYNC" "I Stream not synchronised";
    /// A header no version defines.
    Reserved "Reserved" "I_RESERVED" "Reserved Packet Header";
    /// A header that exists, but not in this source's configuration.
    ReservedForConfig "Reserved (configuration)" "I_RESERVED_CFG" "Reserved header for current configuration.";
    /// A header followed by bytes that cannot follow it.
    Malformed "Malformed" "I_BAD_SEQUENCE" "Invalid Sequence in packet.";
    /// The trace ended inside a packet.
    Incomplete "Incomplete" "I_INCOMPLETE_EOT" "Incomplete packet at end of trace.";
}

impl Kind {
    /// How many kinds there are.
    pub const COUNT: usize = Self::ALL.len();

    /// Whether this stands for bytes that could not be read as a packet.
    pub const fn is_error(self) -> bool {
        matches!(
            self,
            Self::NotSync | Self::Reserved | Self::ReservedForConfig | Self::Malformed | Self::Incomplete
        )
    }
}
