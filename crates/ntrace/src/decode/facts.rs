use core::fmt;

/// Counts that show whether a decoder was given the right parameters and the right program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Number of synchronisation messages.
    pub syncs: u64,
    /// Number of those whose address is in no image.
    pub outside: u64,
    /// Stream position and address of the first synchronisation outside all images.
    pub first_outside: Option<(u64, u64)>,
    /// Number of times that the program contradicted the trace or led to missing code.
    pub mismatches: u64,
    /// Number of times that decoding resumed at an address in an image after missing code, such as a boot ROM.
    pub resumed: u64,
    /// Number of messages that cannot occur where they did.
    pub contradictions: u64,
    /// Number of pieces that are not messages.
    pub malformed: u64,
    /// Number of messages skipped before the first synchronisation message.
    pub unsynchronised: u64,
    /// Number of messages that the mode does not have.
    pub other_mode: u64,
}

impl Facts {
    pub(super) fn sync(&mut self, offset: u64, address: u64, is_known: bool) {
        if !is_known {
            self.outside += 1;
            self.first_outside = self.first_outside.or(Some((offset, address)));
        }
        self.syncs += 1;
    }

    /// Returns whether the counts suggest a wrong parameter or a wrong program.
    pub fn is_suspicious(&self) -> bool {
        self.other_mode > 0
            || self.is_outside()
            || 2 * (self.mismatches + self.contradictions) > self.syncs.max(1)
            || self.syncs == 0 && self.malformed + self.unsynchronised > 0
    }

    fn is_outside(&self) -> bool {
        2 * self.outside > self.syncs && self.resumed == 0
    }
}

/// Writes one sentence about what is wrong, or nothing.
impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first_outside {
            _ if !self.is_suspicious() => Ok(()),
            _ if self.other_mode > 0 => {
                f.write_str("messages of the other mode: check whether mode is history or branch")
            }
            Some((offset, address)) if self.is_outside() => write!(
                f,
                "a synchronisation message gives an address outside every image ({address:#x}): is a program missing? If not, check \
                 src_bits and extend_addr_msb (at offset {offset:#x})"
            ),
            _ if self.syncs == 0 => f.write_str(
                "no synchronisation message: check src_bits, the source, and whether this is N-Trace at all",
            ),
            _ => {
                match self.mismatches + self.contradictions {
                    1 => f.write_str("the program could not be followed once")?,
                    count => write!(f, "the program could not be followed {count} times")?,
                }
                f.write_str(
                    ": check that it is the one that ran, and implicit_return, \
                     sequential_jump and all_jumps",
                )
            }
        }
    }
}
