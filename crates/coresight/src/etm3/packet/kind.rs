//! The kinds of packets, with our names and those of OpenCSD.

/// Declares [`Kind`] and its tables from one list. A row has the name in the specification, and the name and the description that
/// OpenCSD prints.
macro_rules! kinds {
    ($($kind:ident $name:literal $ocsd:literal $desc:literal;)*) => {
        /// The kind of a packet, for dispatch, statistics and printing.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Kind { $(#[doc = $desc] $kind,)* }

        impl Kind {
            /// All kinds.
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
    NotSync "Not Synchronised" "NOTSYNC" "Trace Stream not synchronised";
    Reserved "Reserved" "I_RESERVED" "Reserved Packet Header";
    ReservedForMode "Reserved (mode)" "BAD_TRACEMODE" "Invalid packet type for this trace mode.";
    Malformed "Malformed" "BAD_SEQUENCE" "Invalid sequence for packet type.";
    Incomplete "Incomplete" "INCOMPLETE_EOT." "Incomplete packet at end of trace data.";
}

impl Kind {
    /// Number of kinds.
    pub const COUNT: usize = Self::ALL.len();

    /// Returns whether this stands for bytes that could not be read as a packet.
    pub const fn is_error(self) -> bool {
        matches!(
            self,
            Self::NotSync | Self::Reserved | Self::ReservedForMode | Self::Malformed | Self::Incomplete
        )
    }
}
