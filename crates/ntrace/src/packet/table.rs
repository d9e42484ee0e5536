//! The messages, one row each. Reader, writer and text follow from the rows.

use super::bytes::{MessageBytes, Source};
use super::fields::{Codec, Fixed, Sent, Several, Value, Variable, VariableIf};
use super::{Address, Malformed, Values};
use crate::Dialect;

/// Makes the enum and all that follows from the rows. The version of a message says since when it exists; a field has its codec.
macro_rules! messages {
    ($(
        $(#[doc = $doc:literal])*
        $tcode:literal $name:ident $dialect:ident {
            $($(#[doc = $about:literal])* $field:ident: $type:ty = $codec:expr;)*
        }
    )*) => {
        /// A message. Fields have the names of the specification.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Packet {
            $($(#[doc = $doc])* $name { $($(#[doc = $about])* $field: $type,)* },)*
        }

        /// Number and name of each message, in the order of [`Packet::kind`].
        pub const KINDS: &[(u8, &str)] = &[$(($tcode, stringify!($name)),)*];

        #[derive(Clone, Copy)]
        enum Kind { $($name,)* }

        impl Packet {
            /// Returns the index in [`KINDS`].
            pub const fn kind(&self) -> usize {
                match self { $(Self::$name { .. } => Kind::$name as usize,)* }
            }

            /// Reads the fields of a message. Returns `None` if there is no such message.
            #[inline(always)]
            pub(super) fn read(
                tcode: u8, dialect: Dialect, fields: &mut impl Source,
            ) -> Result<Option<Self>, Malformed> {
                Ok(Some(match tcode {
                    $($tcode if Dialect::$dialect as u8 <= dialect as u8 => {
                        Self::$name { $($field: $codec.read(fields, stringify!($field))?,)* }
                    })*
                    _ => return Ok(None),
                }))
            }

            pub(super) fn write(&self, bytes: &mut MessageBytes) -> Result<(), Malformed> {
                match *self {
                    $(Self::$name { $($field,)* } => {
                        $($codec.write($field, bytes, stringify!($field))?;)*
                        Ok(())
                    })*
                }
            }

            /// Passes name and value of each field to `take`.
            pub fn fields(&self, mut take: impl FnMut(&'static str, Value)) {
                match *self {
                    $(Self::$name { $($field,)* } => {
                        $($codec.show($field, |value| take(stringify!($field), value));)*
                    })*
                }
            }
        }
    };
}

messages! {
    /// Privilege and context from here on.
    2 Ownership Standard {
        /// Format, privilege and context; see [`Process`](super::Process).
        process: u64 = Variable;
    }
    /// A taken branch (BTM).
    3 DirectBranch Standard {
        /// Half-words that retired.
        icnt: u64 = Variable;
    }
    /// An indirect jump or a trap.
    4 IndirectBranch Standard {
        /// Cause: 0 jump, 1 trap, 2 exception, 3 interrupt.
        btype: u8 = Fixed(2);
        /// Half-words that retired.
        icnt: u64 = Variable;
        /// Target, relative to the last address.
        uaddr: Address = Sent;
    }
    /// Messages were lost.
    8 Error Standard {
        /// Reason: 0 the buffer was full.
        etype: u8 = Fixed(4);
        /// Kinds of lost messages, one bit each: 2 program, 3 ownership, 7 vendor.
        ecode: u64 = Variable;
    }
    /// Synchronisation.
    9 ProgTraceSync Standard {
        /// Reason.
        sync: u8 = Fixed(4);
        /// Half-words that retired.
        icnt: u64 = Variable;
        /// Address of the next instruction.
        faddr: Address = Sent;
    }
    /// A taken branch, with synchronisation (BTM).
    11 DirectBranchSync Standard {
        /// Reason for the synchronisation.
        sync: u8 = Fixed(4);
        /// Half-words that retired.
        icnt: u64 = Variable;
        /// Address of the next instruction.
        faddr: Address = Sent;
    }
    /// An indirect jump, a trap or nothing, with synchronisation.
    12 IndirectBranchSync Standard {
        /// Reason for the synchronisation.
        sync: u8 = Fixed(4);
        /// Cause: 0 jump or none, 1 trap, 2 exception, 3 interrupt.
        btype: u8 = Fixed(2);
        /// Half-words that retired.
        icnt: u64 = Variable;
        /// Address of the next instruction.
        faddr: Address = Sent;
    }
    /// A counter or the history was full.
    27 ResourceFull Standard {
        /// Resource: 0 counter, 1 history, 2 repeated history.
        rcode: u8 = Fixed(4);
        /// Half-words, or branches below a 1.
        rdata: u64 = Variable;
        /// Number of times that the branches ran.
        hrepeat: Option<u64> = VariableIf(2);
    }
    /// An indirect jump or a trap, with branches before it (HTM).
    28 IndirectBranchHist Standard {
        /// Cause: 0 jump, 1 trap, 2 exception, 3 interrupt.
        btype: u8 = Fixed(2);
        /// Half-words that retired.
        icnt: u64 = Variable;
        /// Target, relative to the last address.
        uaddr: Address = Sent;
        /// Branches below a 1, the first one highest.
        hist: u64 = Variable;
    }
    /// An indirect jump, a trap or nothing, with synchronisation and branches before it (HTM).
    29 IndirectBranchHistSync Standard {
        /// Reason for the synchronisation.
        sync: u8 = Fixed(4);
        /// Cause: 0 jump or none, 1 trap, 2 exception, 3 interrupt.
        btype: u8 = Fixed(2);
        /// Half-words that retired.
        icnt: u64 = Variable;
        /// Address of the next instruction.
        faddr: Address = Sent;
        /// Branches below a 1, the first one highest.
        hist: u64 = Variable;
    }
    /// The last branch message happened again (BTM).
    30 RepeatBranch Standard {
        /// Number of times.
        bcnt: u64 = Variable;
    }
    /// Tracing ends.
    33 ProgTraceCorrelation Standard {
        /// Reason: 0 debug, 1 low power, 4 trace off.
        evcode: u8 = Fixed(4);
        /// 1 if there is a history.
        cdf: u8 = Fixed(2);
        /// Half-words that retired.
        icnt: u64 = Variable;
        /// Branches below a 1, the first one highest.
        hist: Option<u64> = VariableIf(1);
    }
    /// A value that software wrote.
    7 DataAcquisition Sifive {
        /// Four times the channel, and 0 for a word, 2 for a half-word, 3 for a byte.
        idtag: u64 = Variable;
        /// The value.
        data: u64 = Variable;
    }
    /// A write to a register outside of the core.
    23 AuxAccessWrite Sifive {
        /// Address.
        addr: u64 = Variable;
        /// The value.
        data: u64 = Variable;
    }
    /// An event.
    34 InCircuitTrace Sifive {
        /// Kind of the event.
        cksrc: u8 = Fixed(4);
        /// Number of values less one.
        ckdf: u8 = Fixed(2);
        /// Values. The first one is most often an address, relative to the last one.
        ckdata: Values = Several;
    }
    /// An event with a whole address.
    35 InCircuitTraceSync Sifive {
        /// Kind of the event.
        cksrc: u8 = Fixed(4);
        /// Number of values less one.
        ckdf: u8 = Fixed(2);
        /// Values. The first one is most often an address.
        ckdata: Values = Several;
    }
}
