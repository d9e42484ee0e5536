//! The kinds of a protocol's packets.

/// Declares the kinds of a protocol's packets and their tables from one list, so that they always agree. A row has the name in the
/// specification, and the name and the description that OpenCSD prints. Errors are kinds that stand for bytes that are not a packet.
#[macro_export]
macro_rules! packet_kinds {
    (
        $(#[$about:meta])*
        packets { $($kind:ident $name:literal $ocsd:literal $desc:literal;)* }
        errors { $($bad:ident $bad_name:literal $bad_ocsd:literal $bad_desc:literal;)* }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Kind { $(#[doc = $desc] $kind,)* $(#[doc = $bad_desc] $bad,)* }

        impl Kind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$kind,)* $(Self::$bad,)*];

            /// Number of kinds.
            pub const COUNT: usize = Self::ALL.len();

            /// Returns the name in the specification, as our own output prints it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* $(Self::$bad => $bad_name,)* }
            }

            /// Returns the name that OpenCSD prints.
            pub const fn opencsd_name(self) -> &'static str {
                match self { $(Self::$kind => $ocsd,)* $(Self::$bad => $bad_ocsd,)* }
            }

            /// Returns the description that OpenCSD prints after the name.
            pub const fn opencsd_description(self) -> &'static str {
                match self { $(Self::$kind => $desc,)* $(Self::$bad => $bad_desc,)* }
            }

            /// Returns whether this stands for bytes that could not be read as a packet.
            pub const fn is_error(self) -> bool {
                match self { $(Self::$kind => false,)* $(Self::$bad => true,)* }
            }
        }
    };
}
