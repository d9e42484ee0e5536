//! The kinds of packets, with our names and those of OpenCSD.

use tracewright_core::stream::packet_kinds;

packet_kinds! {
    /// The kind of a packet, for dispatch, statistics and printing, in the order of the header map. It is finer than the variants of
    /// [`Packet`](super::Packet): each atom and address format is a kind of its own.
    packets {
        // Header 0x00, before its second byte is known.
        Extension "Extension" "I_EXTENSION" "Extension packet header.";
        Async "A-Sync" "I_ASYNC" "Alignment Synchronisation.";
        Discard "Discard" "I_DISCARD" "Discard.";
        Overflow "Overflow" "I_OVERFLOW" "Overflow.";
        TraceInfo "Trace Info" "I_TRACE_INFO" "Trace Info.";
        Timestamp "Timestamp" "I_TIMESTAMP" "Timestamp.";
        TraceOn "Trace On" "I_TRACE_ON" "Trace On.";
        FunctionReturn "Function Return" "I_FUNC_RET" "V8M - function return.";
        Exception "Exception" "I_EXCEPT" "Exception.";
        PeReset "PE Reset" "I_PE_RESET" "PE Reset.";
        TransactionFailure "Transaction Failure" "I_TRANS_FAIL" "Transaction Fail.";
        ExceptionReturn "Exception Return" "I_EXCEPT_RTN" "Exception Return.";
        Instrumentation "Instrumentation" "I_ITE" "Instrumentation";
        TransactionStart "Transaction Start" "I_TRANS_ST" "Transaction Start.";
        TransactionCommit "Transaction Commit" "I_TRANS_COMMIT" "Transaction Commit.";
        CycleCountF2 "Cycle Count F2" "I_CCNT_F2" "Cycle Count format 2.";
        CycleCountF1 "Cycle Count F1" "I_CCNT_F1" "Cycle Count format 1.";
        CycleCountF3 "Cycle Count F3" "I_CCNT_F3" "Cycle Count format 3.";
        NumberedDataSync "Data Sync Mark" "I_NUM_DS_MKR" "Data Synchronisation Marker - Numbered.";
        UnnumberedDataSync "Data Sync Mark (unnumbered)" "I_UNNUM_DS_MKR" "Data Synchronisation Marker - Unnumbered.";
        Commit "Commit" "I_COMMIT" "Commit";
        CancelF1 "Cancel F1" "I_CANCEL_F1" "Cancel Format 1.";
        CancelF1Mispredict "Cancel F1 Mispredict" "I_CANCEL_F1_MISPRED" "Cancel Format 1 + Mispredict.";
        Mispredict "Mispredict" "I_MISPREDICT" "Mispredict.";
        CancelF2 "Cancel F2" "I_CANCEL_F2" "Cancel Format 2.";
        CancelF3 "Cancel F3" "I_CANCEL_F3" "Cancel Format 3.";
        ConditionalInstructionF2 "Conditional Instruction F2" "I_COND_I_F2" "Conditional Instruction, format 2.";
        ConditionalFlush "Conditional Flush" "I_COND_FLUSH" "Conditional Flush.";
        ConditionalResultF4 "Conditional Result F4" "I_COND_RES_F4" "Conditional Result, format 4.";
        ConditionalResultF2 "Conditional Result F2" "I_COND_RES_F2" "Conditional Result, format 2.";
        ConditionalResultF3 "Conditional Result F3" "I_COND_RES_F3" "Conditional Result, format 3.";
        ConditionalResultF1 "Conditional Result F1" "I_COND_RES_F1" "Conditional Result, format 1.";
        ConditionalInstructionF1 "Conditional Instruction F1" "I_COND_I_F1" "Conditional Instruction, format 1.";
        ConditionalInstructionF3 "Conditional Instruction F3" "I_COND_I_F3" "Conditional Instruction, format 3.";
        Ignore "Ignore" "I_IGNORE" "Ignore.";
        Event "Event" "I_EVENT" "Trace Event.";
        Context "Context" "I_CTXT" "Context Packet.";
        AddressContext32Is0 "Address+Context 32 IS0" "I_ADDR_CTXT_L_32IS0" "Address & Context, Long, 32 bit, IS0.";
        AddressContext32Is1 "Address+Context 32 IS1" "I_ADDR_CTXT_L_32IS1" "Address & Context, Long, 32 bit, IS1.";
        AddressContext64Is0 "Address+Context 64 IS0" "I_ADDR_CTXT_L_64IS0" "Address & Context, Long, 64 bit, IS0.";
        AddressContext64Is1 "Address+Context 64 IS1" "I_ADDR_CTXT_L_64IS1" "Address & Context, Long, 64 bit, IS1.";
        TimestampMarker "Timestamp Marker" "I_TS_MARKER" "Timestamp Marker";
        AddressExact "Address Exact" "I_ADDR_MATCH" "Exact Address Match.";
        AddressShortIs0 "Address Short IS0" "I_ADDR_S_IS0" "Address, Short, IS0.";
        AddressShortIs1 "Address Short IS1" "I_ADDR_S_IS1" "Address, Short, IS1.";
        Address32Is0 "Address 32 IS0" "I_ADDR_L_32IS0" "Address, Long, 32 bit, IS0.";
        Address32Is1 "Address 32 IS1" "I_ADDR_L_32IS1" "Address, Long, 32 bit, IS1.";
        Address64Is0 "Address 64 IS0" "I_ADDR_L_64IS0" "Address, Long, 64 bit, IS0.";
        Address64Is1 "Address 64 IS1" "I_ADDR_L_64IS1" "Address, Long, 64 bit, IS1.";
        Q "Q" "I_Q" "Q Packet.";
        SourceAddressExact "Source Address Exact" "I_SRC_ADDR_MATCH" "Exact Source Address Match.";
        SourceAddressShortIs0 "Source Address Short IS0" "I_SRC_ADDR_S_IS0" "Source Address, Short, IS0.";
        SourceAddressShortIs1 "Source Address Short IS1" "I_SRC_ADDR_S_IS1" "Source Address, Short, IS1.";
        // The typo in OpenCSD's name is kept.
        SourceAddress32Is0 "Source Address 32 IS0" "I_SCR_ADDR_L_32IS0" "Source Address, Long, 32 bit, IS0.";
        SourceAddress32Is1 "Source Address 32 IS1" "I_SRC_ADDR_L_32IS1" "Source Address, Long, 32 bit, IS1.";
        SourceAddress64Is0 "Source Address 64 IS0" "I_SRC_ADDR_L_64IS0" "Source Address, Long, 64 bit, IS0.";
        SourceAddress64Is1 "Source Address 64 IS1" "I_SRC_ADDR_L_64IS1" "Source Address, Long, 64 bit, IS1.";
        AtomF6 "Atom F6" "I_ATOM_F6" "Atom format 6.";
        AtomF5 "Atom F5" "I_ATOM_F5" "Atom format 5.";
        AtomF2 "Atom F2" "I_ATOM_F2" "Atom format 2.";
        AtomF4 "Atom F4" "I_ATOM_F4" "Atom format 4.";
        AtomF1 "Atom F1" "I_ATOM_F1" "Atom format 1.";
        AtomF3 "Atom F3" "I_ATOM_F3" "Atom format 3.";
    }
    errors {
        NotSync "Not Synchronised" "I_NOT_SYNC" "I Stream not synchronised";
        Reserved "Reserved" "I_RESERVED" "Reserved Packet Header";
        ReservedForConfig "Reserved (configuration)" "I_RESERVED_CFG" "Reserved header for current configuration.";
        Malformed "Malformed" "I_BAD_SEQUENCE" "Invalid Sequence in packet.";
        Incomplete "Incomplete" "I_INCOMPLETE_EOT" "Incomplete packet at end of trace.";
    }
}
