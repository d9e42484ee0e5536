//! The kinds of packets, with our names and those of OpenCSD.

use tracewright_core::stream::packet_kinds;

packet_kinds! {
    /// The kind of a packet, for dispatch, statistics and printing.
    packets {
        Async "A-Sync" "ASYNC" "Alignment Synchronisation Packet";
        ISync "I-Sync" "ISYNC" "Instruction Synchronisation packet";
        Branch "Branch address" "BRANCH_ADDRESS" "Branch address packet";
        Atom "Atom" "ATOM" "Atom packet";
        WaypointUpdate "Waypoint update" "WP_UPDATE" "Waypoint update packet";
        Trigger "Trigger" "TRIGGER" "Trigger Event packet";
        ContextId "Context ID" "CTXTID" "Context ID packet";
        Vmid "VMID" "VMID" "VM ID packet";
        Timestamp "Timestamp" "TIMESTAMP" "Timestamp packet";
        ExceptionReturn "Exception return" "ERET" "Exception return packet";
        Ignore "Ignore" "IGNORE" "Ignore packet";
    }
    errors {
        NotSync "Not synchronised" "NOTSYNC" "PTM Not Synchronised";
        Reserved "Reserved header" "RESERVED" "Reserved Packet Header";
        Malformed "Malformed" "BAD_SEQUENCE" "Invalid sequence in packet";
        Incomplete "Incomplete" "INCOMPLETE_EOT" "Incomplete packet at end of trace";
    }
}
