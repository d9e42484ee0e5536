use super::{Address, AddressForm, Context, InstructionSet, TraceInfo};

/// The mirrored compression registers of the trace unit, to which packets are relative.
///
/// Parser and emitter keep one each. A stream is decoded correctly as long as the two agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceState {
    /// Address history, newest first. Bit 0 of an entry is its instruction set: instructions are at least 2-byte
    /// aligned, so that bit is free.
    pub(super) history: [u64; 3],
    /// Mask of the bits above 31 that a 32-bit address keeps: all, or none in AArch32.
    pub(super) keep_upper: u64,
    timestamp: u64,
    cycle_threshold: u32,
}

impl Default for TraceState {
    fn default() -> Self {
        Self { history: [0; 3], keep_upper: !0 << 32, timestamp: 0, cycle_threshold: 0 }
    }
}

impl TraceState {
    /// Returns history entry 0 to 2 as (address, instruction set). Entry 0 is the newest.
    pub fn history(&self, entry: usize) -> (u64, InstructionSet) {
        let packed = self.history[entry];
        (packed & !1, instruction_set(packed))
    }

    /// Returns the last timestamp.
    pub fn timestamp(&self) -> u64 {
        self.timestamp
    }

    /// Returns the cycle count threshold: the smallest count in a cycle count packet.
    pub fn cycle_threshold(&self) -> u32 {
        self.cycle_threshold
    }

    /// Adds an address with its instruction set in bit 0 to the history.
    #[inline]
    pub(super) fn push(&mut self, packed: u64) {
        self.history = [packed, self.history[0], self.history[1]];
    }

    #[inline]
    pub(super) fn exact(&mut self, entry: u8) -> Address {
        let packed = self.history[usize::from(entry.min(2))];
        self.push(packed);
        Address { value: packed & !1, is: instruction_set(packed), form: AddressForm::exact(entry) }
    }

    /// Returns the address whose bits below `form.bits(is)` are `low`, with the other bits from the history.
    #[inline]
    pub(super) fn partial(&mut self, low: u64, is: InstructionSet, form: AddressForm) -> Address {
        let value = self.history[0] & self.kept_mask(is, form) | low;
        self.push(value | is as u64);
        Address { value, is, form }
    }

    #[inline]
    fn kept_mask(&self, is: InstructionSet, form: AddressForm) -> u64 {
        match form {
            AddressForm::Long32 => self.keep_upper,
            AddressForm::Long64 => 0,
            _ => !0 << form.bits(is),
        }
    }

    /// Returns whether the history and the form of `address` give its value.
    pub(super) fn can_say(&self, address: &Address) -> bool {
        let Address { value, is, form } = *address;
        if value & ((1 << is.alignment_bits()) - 1) != 0 {
            return false;
        }
        match form.exact_entry() {
            Some(entry) => self.history(entry.into()) == (value, is),
            None => {
                let upper = !low_mask(form.bits(is));
                (self.history[0] & self.kept_mask(is, form)) & upper == value & upper
            }
        }
    }

    /// Returns the shortest form of an address: an exact match, or the fewest bytes.
    #[inline]
    pub fn shortest(&self, value: u64, is: InstructionSet) -> Address {
        let packed = value | is as u64;
        // The bits that a short form, and a 32-bit form, would have to change.
        let changed = (self.history[0] & !1) ^ value;
        let upper = ((self.history[0] & self.keep_upper) ^ value) >> 32;
        let form = if self.history[0] == packed {
            AddressForm::Exact0
        } else if self.history[1] == packed {
            AddressForm::Exact1
        } else if self.history[2] == packed {
            AddressForm::Exact2
        } else if changed >> AddressForm::Short7.bits(is) == 0 {
            AddressForm::Short7
        } else if changed >> AddressForm::Short15.bits(is) == 0 {
            AddressForm::Short15
        } else if upper == 0 {
            AddressForm::Long32
        } else {
            AddressForm::Long64
        };
        Address { value, is, form }
    }

    /// Adds an address of zero, which PE reset and transaction failure of ETE leave behind.
    pub(super) fn push_zero(&mut self) {
        self.push(0);
    }

    pub(super) fn context(&mut self, context: &Context) {
        self.keep_upper = if context.is_aarch64() { !0 << 32 } else { 0 };
    }

    pub(super) fn trace_info(&mut self, info: &TraceInfo) {
        // Trace Info resets the state, so that decoding can start at any Trace Info.
        *self = Self { cycle_threshold: info.cyct, ..Self::default() };
    }

    /// Replaces the low bits of the timestamp by those bits of `value` that `bytes` payload bytes hold.
    pub(super) fn update_timestamp(&mut self, value: u64, bytes: u8) -> u64 {
        let mask = low_mask(timestamp_bits(bytes));
        self.timestamp = self.timestamp & !mask | value & mask;
        self.timestamp
    }

    /// Returns whether `bytes` payload bytes are enough for `value`.
    pub(super) fn can_say_timestamp(&self, value: u64, bytes: u8) -> bool {
        (1..=9).contains(&bytes) && (self.timestamp ^ value) & !low_mask(timestamp_bits(bytes)) == 0
    }

    /// Returns the least number of payload bytes for timestamp `value`.
    pub fn timestamp_bytes(&self, value: u64) -> u8 {
        (1..9).find(|&bytes| self.can_say_timestamp(value, bytes)).unwrap_or(9)
    }
}

/// Returns the number of bits in `bytes` payload bytes: seven per byte, but all eight of the ninth.
const fn timestamp_bits(bytes: u8) -> u32 {
    if bytes >= 9 { 64 } else { 7 * bytes as u32 }
}

pub(super) const fn low_mask(bits: u32) -> u64 {
    if bits >= 64 { !0 } else { (1 << bits) - 1 }
}

#[inline]
fn instruction_set(packed: u64) -> InstructionSet {
    if packed & 1 == 0 { InstructionSet::Is0 } else { InstructionSet::Is1 }
}
