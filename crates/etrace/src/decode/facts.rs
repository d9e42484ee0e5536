use core::fmt;

/// What a decoder saw that says whether it was told the right parameters, and the right program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Synchronisation packets (format 3, subformats 0 and 1) with an address.
    pub syncs: u64,
    /// Those whose address no image knows.
    pub outside: u64,
    /// The first of them: stream position and address.
    pub first_outside: Option<(u64, u64)>,
    /// Whether the very first synchronisation packet was among them.
    pub first_is_outside: bool,
    /// How often the program could not have run as the trace says, or led to where there is no code.
    pub mismatches: u64,
    /// How often decoding went on at an address in an image after code was missing: a boot ROM, perhaps.
    pub resumed: u64,
    /// Packets that cannot come where they came.
    pub contradictions: u64,
    /// Messages that are no packets.
    pub malformed: u64,
    /// Packets passed over since no synchronisation packet had come.
    pub unsynchronised: u64,
}

impl Facts {
    pub(super) fn sync(&mut self, offset: u64, address: u64, known: bool) {
        if !known {
            self.outside += 1;
            self.first_is_outside |= self.syncs == 0;
            self.first_outside = self.first_outside.or(Some((offset, address)));
        }
        self.syncs += 1;
    }

    /// Whether most of this cannot be: a parameter, or the program, is not what it should be.
    pub fn is_suspicious(&self) -> bool {
        self.is_outside()
            || 2 * (self.mismatches + self.contradictions) > self.syncs.max(1)
            || self.syncs == 0 && self.malformed + self.unsynchronised > 0
    }

    fn is_outside(&self) -> bool {
        2 * self.outside > self.syncs && self.resumed == 0
    }
}

/// What is wrong, in a sentence; nothing if nothing is.
impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_suspicious() {
            return Ok(());
        }
        match self.first_outside {
            Some((offset, address)) if self.is_outside() => {
                let which = if self.first_is_outside { "the first" } else { "a" };
                write!(
                    f,
                    "{which} format-3 packet gives an address outside every image ({address:#x}): is a program missing? If not, \
                     check context_width, privilege_width, iaddress_width and iaddress_lsb (at offset {offset:#x})"
                )
            }
            _ if self.syncs == 0 => f.write_str(
                "no format-3 packet with an address: check the encapsulation, and whether this is E-Trace at all",
            ),
            _ => write!(
                f,
                "the program could not be followed {} times: check that it is the one that ran, \
                 and the encoder's options",
                self.mismatches + self.contradictions
            ),
        }
    }
}
