//! The kinds of packets, with our names and those of OpenCSD.

use tracewright_core::stream::packet_kinds;

packet_kinds! {
    /// The kind of a packet, for dispatch, statistics and printing.
    packets {
        Async "A-Sync" "A_SYNC" "Alignment Synchronisation.";
        CycleCount "Cycle Count" "CYCLE_COUNT" "Cycle Count.";
        ISync "I-Sync" "I_SYNC" "Instruction Packet synchronisation.";
        ISyncCycles "I-Sync with Cycle Count" "I_SYNC_CYCLE" "Instruction Packet synchronisation with cycle count.";
        Trigger "Trigger" "TRIGGER" "Trace Trigger Event.";
        Atoms "P-header" "P_HDR" "Atom P-header.";
        Branch "Branch Address" "BRANCH_ADDRESS" "Branch address.";
        OutOfOrder "Out-of-order Data" "OOO_DATA" "Out of Order data value packet.";
        Placeholder "Out-of-order Placeholder" "OOO_ADDR_PLC" "Out of Order data address placeholder.";
        StoreFailed "Store Failed" "STORE_FAIL" "Data Store Failed.";
        Data "Data" "NORM_DATA" "Data trace packet.";
        DataSuppressed "Data Suppressed" "DATA_SUPPRESSED" "Data trace suppressed.";
        ValueNotTraced "Value Not Traced" "VAL_NOT_TRACED" "Data trace value not traced.";
        Vmid "VMID" "VMID" "VMID change.";
        ContextId "Context ID" "CONTEXT_ID" "Context ID change.";
        Timestamp "Timestamp" "TIMESTAMP" "Timestamp Value.";
        Ignore "Ignore" "IGNORE" "Packet ignored.";
        ExceptionEntry "Exception Entry" "EXCEPTION_ENTRY" "Exception entry data marker.";
        ExceptionReturn "Return From Exception" "EXCEPTION_EXIT" "Exception return.";
    }
    errors {
        NotSync "Not Synchronised" "NOTSYNC" "Trace Stream not synchronised";
        Reserved "Reserved" "I_RESERVED" "Reserved Packet Header";
        ReservedForMode "Reserved (mode)" "BAD_TRACEMODE" "Invalid packet type for this trace mode.";
        Malformed "Malformed" "BAD_SEQUENCE" "Invalid sequence for packet type.";
        Incomplete "Incomplete" "INCOMPLETE_EOT." "Incomplete packet at end of trace data.";
    }
}
