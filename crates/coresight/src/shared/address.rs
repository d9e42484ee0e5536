//! Bytes of branch addresses, in packets of ETMv3 and PTM.
//!
//! An address is one to five bytes, lowest bits first; bit 7 of each says whether another follows. Bits that are not told stay as they
//! were. Byte 1 holds bits 6 to 1 above its lowest bit, the next three seven bits each. Byte 5 names the instruction state. Addresses of
//! A32 are shifted left by one more bit, those of Jazelle right by one. Whether exception bytes follow is said by bit 6 of byte 5, and in
//! the alternative encoding, PTM's only one, also by bit 6 of the last of bytes 2 to 4.

use core::fmt;

use tracewright_core::Isa;

/// Instruction state of an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum State {
    /// A32.
    #[default]
    Arm,
    /// T32, also with the changes of ThumbEE.
    Thumb,
    /// Jazelle: bytecodes, which have no instructions that a decoder knows.
    Jazelle,
}

/// Meaning of bit 6 in bytes 2 to 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Bit 6 is an address bit (ETMv3.0 to 3.3).
    Original,
    /// Bit 6 of the last byte tells whether exception bytes follow (ETMv3.4 and later, PTM).
    Alternative,
}

/// The bytes of a branch address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AddressBytes {
    /// Address bits that were told, in place for T32: the lowest of byte 1 is bit 1.
    pub bits: u32,
    /// Number of low bits that are told, bit 0 included: 7 for one byte, 32 for five.
    pub width: u8,
    /// Instruction state, which only five bytes tell.
    pub state: Option<State>,
    /// Whether exception bytes follow.
    pub exception: bool,
}

/// Reason why there is no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAddress {
    /// There are too few bytes.
    More,
    /// These are not the bytes of an address. The value is the number of bytes that were looked at.
    Bad(usize),
}

/// An element that no trace unit of a 32-bit core traces: code of another instruction set than A32 and T32, an address above 32 bits, or
/// one at which no instruction can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CannotEncode {
    /// The address.
    pub address: u64,
}

impl fmt::Display for CannotEncode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}: this trace unit traces A32 and T32 at 32-bit addresses", self.address)
    }
}

impl core::error::Error for CannotEncode {}

/// Returns an address as trace units have it.
///
/// # Errors
/// Fails if no instruction can be there.
pub(crate) fn place(address: u64, isa: Isa) -> Result<(u32, State), CannotEncode> {
    let unaligned = match isa {
        Isa::A32 => address & 3,
        Isa::T32 => address & 1,
        _ => return Err(CannotEncode { address }),
    };
    match u32::try_from(address) {
        Ok(at) if unaligned == 0 => Ok((at, State::of(isa))),
        _ => Err(CannotEncode { address }),
    }
}

/// Most bytes of an address.
pub const MOST_BYTES: usize = 5;

impl State {
    /// Returns the instruction set, if it is one that can be followed.
    pub const fn isa(self) -> Option<Isa> {
        match self {
            Self::Arm => Some(Isa::A32),
            Self::Thumb => Some(Isa::T32),
            Self::Jazelle => None,
        }
    }

    /// Returns the state of an instruction set.
    pub const fn of(isa: Isa) -> Self {
        if matches!(isa, Isa::T32) { Self::Thumb } else { Self::Arm }
    }

    /// Returns the address whose bits are in place for T32.
    const fn place(self, bits: u32) -> u32 {
        match self {
            Self::Arm => bits << 1,
            Self::Thumb => bits,
            Self::Jazelle => bits >> 1,
        }
    }

    /// Returns the bits of an address in place for T32, without bit 0.
    const fn bits(self, address: u32) -> u32 {
        match self {
            Self::Arm => address >> 1 & !1,
            Self::Thumb => address & !1,
            Self::Jazelle => address << 1,
        }
    }
}

impl AddressBytes {
    /// Reads the address at the start of `bytes`. Returns it and the number of its bytes.
    ///
    /// # Errors
    /// Fails if there are too few bytes, or if byte 5 names no instruction state.
    pub fn read(bytes: &[u8], encoding: Encoding) -> Result<(Self, usize), NoAddress> {
        let (mut bits, mut width) = (0, 7);
        for (index, &byte) in bytes.iter().enumerate().take(MOST_BYTES) {
            let more = byte & 0x80 != 0;
            match index {
                0 => bits = u32::from(byte & 0x7e),
                1..=3 => {
                    let is_short = !more && encoding == Encoding::Alternative;
                    let mask = if is_short { 0x3f } else { 0x7f };
                    bits |= u32::from(byte & mask) << (7 * index);
                    width += if is_short { 6 } else { 7 };
                    if is_short {
                        let exception = byte & 0x40 != 0;
                        return Ok((Self { bits, width, state: None, exception }, index + 1));
                    }
                }
                _ => {
                    let (state, mask) = match byte {
                        0x80.. => return Err(NoAddress::Bad(MOST_BYTES)),
                        _ if byte & 0x20 != 0 => (State::Jazelle, 0x1f),
                        _ if byte & 0x10 != 0 => (State::Thumb, 0xf),
                        _ if byte & 0x08 != 0 => (State::Arm, 7),
                        _ => return Err(NoAddress::Bad(MOST_BYTES)),
                    };
                    // Bit 32 of Jazelle becomes bit 31.
                    let high = u64::from(byte & mask) << 28;
                    let told = u64::from(bits) | high;
                    let bits = if state == State::Jazelle { told & 0xffff_ffff } else { told } as u32;
                    let top = if state == State::Jazelle { (told >> 32) as u32 & 1 } else { 0 };
                    let exception = byte & 0x40 != 0;
                    // The lowest bit is free: there the top bit of Jazelle is kept.
                    let found = Self { bits: bits | top, width: 32, state: Some(state), exception };
                    return Ok((found, MOST_BYTES));
                }
            }
            if !more {
                return Ok((Self { bits, width, state: None, exception: false }, index + 1));
            }
        }
        Err(NoAddress::More)
    }

    /// Reads the address at the start of a little-endian word as [`read`](Self::read) does, without a branch for each byte. Returns
    /// `None` for what is rare: bytecodes, or a fifth byte that is none.
    #[inline(always)]
    pub(crate) fn in_long_word(word: u64, encoding: Encoding) -> Option<(Self, usize)> {
        let last = (!word & 0x80_8080_8080).trailing_zeros() as usize / 8;
        let low = word as u32;
        let all = low & 0x7e | low >> 1 & 0x3f80 | low >> 2 & 0x1f_c000 | low >> 3 & 0xfe0_0000;
        if last >= 4 {
            let fifth = (word >> 32) as u8;
            let (state, mask) = match fifth {
                byte if byte & 0xb0 == 0x10 => (State::Thumb, 0xf),
                byte if byte & 0xb8 == 0x08 => (State::Arm, 7),
                _ => return None,
            };
            let bits = all | u32::from(fifth & mask) << 28;
            let exception = fifth & 0x40 != 0;
            return Some((Self { bits, width: 32, state: Some(state), exception }, MOST_BYTES));
        }
        let is_short = encoding == Encoding::Alternative && last > 0;
        let width = 7 * (last as u8 + 1) - u8::from(is_short);
        let exception = is_short && all >> width & 1 == 1;
        Some((Self { bits: all & ((1 << width) - 1), width, state: None, exception }, last + 1))
    }

    /// Returns the new address, after `previous` in `state`, and its instruction state.
    #[inline]
    pub const fn apply(&self, previous: u32, state: State) -> (u32, State) {
        let state = match self.state {
            Some(state) => state,
            None => state,
        };
        if self.width >= 32 {
            let mut address = state.place(self.bits & !1);
            if matches!(state, State::Jazelle) {
                address |= (self.bits & 1) << 31;
            }
            return (address, state);
        }
        let mask = state.place((1 << self.width) - 1);
        let low = match state {
            State::Arm => mask | 1,
            _ => mask,
        };
        (previous & !low | state.place(self.bits) & mask, state)
    }

    /// Returns the number of low bits of an address in `state` that these bytes tell.
    pub const fn told(&self, state: State) -> u8 {
        let width = match state {
            State::Arm => self.width + 1,
            State::Thumb => self.width,
            State::Jazelle => self.width - 1,
        };
        if self.width >= 32 || width > 32 { 32 } else { width }
    }

    /// Returns the shortest bytes for `address` in `state`, after `previous`, an address and its state. Without it all bytes are told.
    /// Exception bytes need at least two bytes of address in the alternative encoding, five in the original one.
    pub fn shortest(
        address: u32,
        state: State,
        previous: Option<(u32, State)>,
        exception: bool,
        encoding: Encoding,
    ) -> Self {
        let all = Self::all(address, state, exception);
        let Some((before, _)) = previous.filter(|&(_, before)| before == state && state != State::Jazelle)
        else {
            return all;
        };
        let differ = state.bits(address) ^ state.bits(before);
        let step = match encoding {
            Encoding::Original if exception => return all,
            Encoding::Original => [7_u8, 14, 21, 28],
            Encoding::Alternative => [7, 13, 20, 27],
        };
        let fits = |&width: &u8| differ >> width == 0 && !(exception && width == 7);
        // Bits above 31 of A32 are not in the first four bytes, nor are those above the last.
        match step.into_iter().find(fits) {
            Some(width) => {
                let bits = state.bits(address) & ((1 << width) - 1);
                Self { bits, width, state: None, exception }
            }
            None => all,
        }
    }

    /// Returns the five bytes of `address` in `state`.
    pub const fn all(address: u32, state: State, exception: bool) -> Self {
        let top = if matches!(state, State::Jazelle) { address >> 31 } else { 0 };
        Self { bits: state.bits(address) | top, width: 32, state: Some(state), exception }
    }

    /// Appends the bytes.
    pub fn write(&self, encoding: Encoding, bytes: &mut Vec<u8>) {
        let count = match self.width {
            0..=7 => 1,
            8..=14 => 2,
            15..=21 => 3,
            22..=28 => 4,
            _ => MOST_BYTES,
        };
        let more = |index| if index + 1 < count { 0x80 } else { 0 };
        bytes.push(1 | self.bits as u8 & 0x7e | more(0));
        for index in 1..count.min(4) {
            let byte = (self.bits >> (7 * index)) as u8 & 0x7f;
            bytes.push(match encoding {
                Encoding::Alternative if index + 1 == count => byte & 0x3f | u8::from(self.exception) << 6,
                _ => byte | more(index),
            });
        }
        if count == MOST_BYTES {
            let high = (self.bits >> 28) as u8;
            let top = match self.state {
                Some(State::Jazelle) => 0x20 | high | (self.bits as u8 & 1) << 4,
                Some(State::Thumb) => 0x10 | high,
                _ => 0x08 | high & 7,
            };
            bytes.push(top | u8::from(self.exception) << 6);
        }
    }
}

/// An address of up to four bytes without exception bytes, which are nearly all, after another one in the same state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Short {
    /// The new address.
    pub value: u32,
    /// Number of bits that are told, as in [`AddressBytes::width`].
    pub width: u8,
    /// Number of low bits of the address that are told.
    pub told: u8,
    /// Number of bytes.
    pub len: usize,
}

impl Short {
    /// Reads the address at the start of a little-endian word, as [`AddressBytes::read`] and [`AddressBytes::apply`] do, without a branch
    /// for each byte. Returns `None` for what is rare: five bytes, exception bytes that follow, or bytecodes.
    #[inline(always)]
    pub fn in_word(word: u32, encoding: Encoding, previous: u32, state: State) -> Option<Self> {
        let last = (!word & 0x8080_8080).trailing_zeros() as usize / 8;
        let form = FORMS[encoding as usize].get(last)?;
        let bits = word & 0x7e | word >> 1 & 0x3f80 | word >> 2 & 0x1f_c000 | word >> 3 & 0xfe0_0000;
        if bits & form.exception != 0 || state == State::Jazelle {
            return None;
        }
        let shift = u32::from(state == State::Arm);
        let value = (previous >> shift & !form.mask | bits & form.mask) << shift;
        Some(Self { value, width: form.width, told: form.width + shift as u8, len: last + 1 })
    }
}

/// A number of bytes.
#[derive(Clone, Copy)]
struct Form {
    /// The bits that are told.
    mask: u32,
    /// The bit that tells whether exception bytes follow.
    exception: u32,
    width: u8,
}

/// Forms by encoding, and number of bytes less one.
static FORMS: [[Form; 4]; 2] = {
    let mut forms = [[Form { mask: 0, exception: 0, width: 0 }; 4]; 2];
    let mut index = 0;
    while index < 8 {
        let (encoding, last) = (index / 4, index % 4);
        let is_short = encoding == Encoding::Alternative as usize && last > 0;
        let width = 7 * (last + 1) - is_short as usize;
        let exception = if is_short { 1 << width } else { 0 };
        forms[encoding][last] = Form { mask: (1 << width) - 1, exception, width: width as u8 };
        index += 1;
    }
    forms
};

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], encoding: Encoding, before: (u32, State), expected: (u32, State, bool)) {
        let (read, len) = AddressBytes::read(bytes, encoding).unwrap();
        assert_eq!(len, bytes.len());
        let (address, state) = read.apply(before.0, before.1);
        assert_eq!((address, state, read.exception), expected, "{bytes:02x?}");
        let mut again = Vec::new();
        read.write(encoding, &mut again);
        assert_eq!(again, bytes);
    }

    #[test]
    fn addresses_of_the_captures() {
        use Encoding::Alternative;
        let arm = |address| (address, State::Arm);
        check(&[0xad, 0x05], Alternative, arm(0x8000_1ba0), (0x8000_0558, State::Arm, false));
        check(&[0x2f], Alternative, arm(0x8000_0504), (0x8000_055c, State::Arm, false));
        check(
            &[0xfd, 0x9e, 0x80, 0x80, 0x18],
            Alternative,
            arm(0x8000_08e4),
            (0x8000_0f7c, State::Thumb, false),
        );
        check(&[0x81, 0x80, 0x80, 0x80, 0x48], Alternative, arm(0x8000_0558), (0, State::Arm, true));
        check(&[0xc1, 0x2c], Alternative, arm(0xc005_2718), (0xc005_2c80, State::Arm, false));
    }

    #[test]
    fn words_are_read_like_bytes() {
        let mut rng = tracewright_testkit::Rng::new(1);
        let (mut found, mut short) = ([0; 6], 0);
        for round in 0..200_000 {
            let encoding = if round % 2 == 0 { Encoding::Original } else { Encoding::Alternative };
            // Most bytes say that another follows, so that there are long addresses.
            let mut bytes = rng.next_u64().to_le_bytes();
            bytes.iter_mut().for_each(|byte| *byte |= if rng.one_in(4) { 0 } else { 0x80 });
            bytes[4] &= if rng.one_in(4) { 0xff } else { 0x7f };
            let word = u64::from_le_bytes(bytes);
            let expected = AddressBytes::read(&bytes, encoding).ok();
            match AddressBytes::in_long_word(word, encoding) {
                None => {
                    let state = expected.and_then(|(address, _)| address.state);
                    assert!(expected.is_none() || state == Some(State::Jazelle), "{bytes:02x?}");
                    found[0] += 1;
                }
                read => {
                    assert_eq!(read, expected, "{bytes:02x?} {encoding:?}");
                    found[read.map_or(0, |(_, len)| len)] += 1;
                }
            }
            let previous = rng.next_u64() as u32;
            for state in [State::Arm, State::Thumb, State::Jazelle] {
                let told = expected.filter(|(address, _)| address.width < 32 && !address.exception);
                let expected = told.filter(|_| state != State::Jazelle).map(|(address, len)| {
                    let (value, _) = address.apply(previous, state);
                    Short { value, width: address.width, told: address.told(state), len }
                });
                let read = Short::in_word(word as u32, encoding, previous, state);
                assert_eq!(read, expected, "{bytes:02x?} {encoding:?} {state:?}");
                short += u64::from(read.is_some());
            }
        }
        assert!(found.iter().all(|&count| count > 1000) && short > 1000, "{found:?} {short}");
    }

    #[test]
    fn shortest_bytes_lead_to_the_address() {
        for encoding in [Encoding::Original, Encoding::Alternative] {
            for state in [State::Arm, State::Thumb, State::Jazelle] {
                for shift in 0..32 {
                    for exception in [false, true] {
                        let align = match state {
                            State::Arm => !3,
                            State::Thumb => !1,
                            State::Jazelle => !0,
                        };
                        let before = 0x9abc_def0_u32;
                        let address = (before ^ (0x5_u32 << shift)) & align;
                        let short = AddressBytes::shortest(
                            address,
                            state,
                            Some((before, state)),
                            exception,
                            encoding,
                        );
                        let mut bytes = Vec::new();
                        short.write(encoding, &mut bytes);
                        let (read, len) = AddressBytes::read(&bytes, encoding).unwrap();
                        assert_eq!((read, len), (short, bytes.len()), "{bytes:02x?} {state:?} {address:#x}");
                        assert_eq!(read.apply(before, state), (address, state), "{bytes:02x?}");
                        assert_eq!(read.exception, exception);
                    }
                }
            }
        }
    }
}
