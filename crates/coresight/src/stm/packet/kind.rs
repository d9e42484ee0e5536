/// A kind of packets, by its name in the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "names of the specification")]
pub enum Kind {
    Null,
    NullTs,
    M8,
    M16,
    C8,
    C16,
    D4,
    D8,
    D16,
    D32,
    D64,
    D4Ts,
    D8Ts,
    D16Ts,
    D32Ts,
    D64Ts,
    D4M,
    D8M,
    D16M,
    D32M,
    D64M,
    D4Mts,
    D8Mts,
    D16Mts,
    D32Mts,
    D64Mts,
    Flag,
    FlagTs,
    Trig,
    TrigTs,
    User,
    UserTs,
    Freq,
    FreqTs,
    Xsync,
    XsyncTs,
    Merr,
    Gerr,
    Version,
    Async,
    /// [`Packet::NotSync`](super::Packet::NotSync)
    NotSync,
    /// [`Packet::Reserved`](super::Packet::Reserved)
    Reserved,
    /// [`Packet::Malformed`](super::Packet::Malformed)
    Malformed,
    /// [`Packet::Incomplete`](super::Packet::Incomplete)
    Incomplete,
}

/// Size of a written value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "number of bits")]
pub enum Size {
    Bits4,
    Bits8,
    Bits16,
    #[default]
    Bits32,
    Bits64,
}

impl Size {
    /// All sizes, smallest first.
    pub const ALL: [Self; 5] = [Self::Bits4, Self::Bits8, Self::Bits16, Self::Bits32, Self::Bits64];

    /// Returns the number of nibbles.
    pub const fn nibbles(self) -> u8 {
        1 << self as u8
    }

    /// Returns the number of bits.
    pub const fn bits(self) -> u8 {
        4 << self as u8
    }
}

/// How packets of a kind are built: name, header with its first nibble highest, its number of nibbles, number of payload nibbles, and
/// whether a timestamp follows.
type Row = (Kind, &'static str, u16, u8, u8, bool);

const ROWS: [Row; Kind::COUNT] = {
    use Kind::*;
    [
        (Null, "NULL", 0x0, 1, 0, false),
        (NullTs, "NULL_TS", 0xf01, 3, 0, true),
        (M8, "M8", 0x1, 1, 2, false),
        (M16, "M16", 0xf1, 2, 4, false),
        (C8, "C8", 0x3, 1, 2, false),
        (C16, "C16", 0xf3, 2, 4, false),
        (D4, "D4", 0xc, 1, 1, false),
        (D8, "D8", 0x4, 1, 2, false),
        (D16, "D16", 0x5, 1, 4, false),
        (D32, "D32", 0x6, 1, 8, false),
        (D64, "D64", 0x7, 1, 16, false),
        (D4Ts, "D4TS", 0xfc, 2, 1, true),
        (D8Ts, "D8TS", 0xf4, 2, 2, true),
        (D16Ts, "D16TS", 0xf5, 2, 4, true),
        (D32Ts, "D32TS", 0xf6, 2, 8, true),
        (D64Ts, "D64TS", 0xf7, 2, 16, true),
        (D4M, "D4M", 0xfd, 2, 1, false),
        (D8M, "D8M", 0xf8, 2, 2, false),
        (D16M, "D16M", 0xf9, 2, 4, false),
        (D32M, "D32M", 0xfa, 2, 8, false),
        (D64M, "D64M", 0xfb, 2, 16, false),
        (D4Mts, "D4MTS", 0xd, 1, 1, true),
        (D8Mts, "D8MTS", 0x8, 1, 2, true),
        (D16Mts, "D16MTS", 0x9, 1, 4, true),
        (D32Mts, "D32MTS", 0xa, 1, 8, true),
        (D64Mts, "D64MTS", 0xb, 1, 16, true),
        (Flag, "FLAG", 0xfe, 2, 0, false),
        (FlagTs, "FLAG_TS", 0xe, 1, 0, true),
        (Trig, "TRIG", 0xf06, 3, 2, false),
        (TrigTs, "TRIG_TS", 0xf07, 3, 2, true),
        // The payload of USER begins with its number of nibbles less one.
        (User, "USER", 0xf02, 3, 1, false),
        (UserTs, "USER_TS", 0xf03, 3, 1, true),
        (Freq, "FREQ", 0xf08, 3, 8, false),
        (FreqTs, "FREQ_TS", 0xf09, 3, 8, true),
        (Xsync, "XSYNC", 0xf0a, 3, 2, false),
        (XsyncTs, "XSYNC_TS", 0xf0b, 3, 2, true),
        (Merr, "MERR", 0x2, 1, 2, false),
        (Gerr, "GERR", 0xf2, 2, 2, false),
        (Version, "VERSION", 0xf00, 3, 1, false),
        // Its payload is the rest of the ones, and a zero.
        (Async, "ASYNC", 0xff, 2, 0, false),
        (NotSync, "Not synchronised", 0, 0, 0, false),
        (Reserved, "Reserved header", 0, 0, 0, false),
        (Malformed, "Malformed", 0, 0, 0, false),
        (Incomplete, "Incomplete", 0, 0, 0, false),
    ]
};

/// What follows a header, for the reader.
#[derive(Clone, Copy)]
pub(super) struct Header {
    pub kind: Kind,
    /// Nibbles of the header.
    pub len: u8,
    /// Nibbles of the payload.
    pub payload: u8,
    pub has_timestamp: bool,
    /// Size of the value, and whether it is marked, of kinds that have one.
    pub data: Option<(Size, bool)>,
}

impl Header {
    const fn of((kind, _, _, len, payload, has_timestamp): Row) -> Self {
        Self { kind, len, payload, has_timestamp, data: kind.data() }
    }
}

const fn reserved(len: u8) -> Header {
    Header { kind: Kind::Reserved, len, payload: 0, has_timestamp: false, data: None }
}

/// Headers by their first two nibbles, as a byte has them: the first is the low one.
static HEADERS: [Header; 0x100] = {
    let mut headers = [reserved(2); 0x100];
    let mut row = 0;
    while row < Kind::NotSync as usize {
        let header = Header::of(ROWS[row]);
        let digits = ROWS[row].2;
        if header.len == 1 {
            let mut second = 0;
            while second < 0x10 {
                headers[(second << 4 | digits) as usize] = header;
                second += 1;
            }
        } else if header.len == 2 {
            headers[(digits << 4 & 0xf0 | 0xf) as usize] = header;
        }
        row += 1;
    }
    headers
};

/// Headers that begin with 0xf and 0, by their third nibble.
static LONG_HEADERS: [Header; 0x10] = {
    let mut headers = [reserved(3); 0x10];
    let mut row = 0;
    while row < Kind::NotSync as usize {
        if ROWS[row].3 == 3 {
            headers[ROWS[row].2 as usize & 0xf] = Header::of(ROWS[row]);
        }
        row += 1;
    }
    headers
};

impl Kind {
    /// Number of kinds.
    pub const COUNT: usize = Self::Incomplete as usize + 1;

    /// All kinds, by number.
    pub const ALL: [Self; Self::COUNT] = {
        let mut all = [Self::Null; Self::COUNT];
        let mut row = 0;
        while row < Self::COUNT {
            assert!(ROWS[row].0 as usize == row, "rows are in the order of the kinds");
            all[row] = ROWS[row].0;
            row += 1;
        }
        all
    };

    /// Returns whether this stands for nibbles that could not be read as a packet.
    pub const fn is_error(self) -> bool {
        self as usize >= Self::NotSync as usize
    }

    /// Returns the name in the specification.
    pub const fn name(self) -> &'static str {
        ROWS[self as usize].1
    }

    /// Returns the kind of a packet with a value.
    #[inline]
    pub const fn of_data(size: Size, marked: bool, has_timestamp: bool) -> Self {
        let forms = marked as usize * 2 + has_timestamp as usize;
        Self::ALL[Self::D4 as usize + forms * Size::ALL.len() + size as usize]
    }

    /// Returns the kind with a timestamp, which is the next one, or the kind itself.
    #[inline]
    pub(super) const fn timed(self, has_timestamp: bool) -> Self {
        Self::ALL[self as usize + has_timestamp as usize]
    }

    /// Returns the size of the value, and whether it is marked, of kinds that have one.
    pub(super) const fn data(self) -> Option<(Size, bool)> {
        let number = (self as usize).wrapping_sub(Self::D4 as usize);
        if number < 4 * Size::ALL.len() {
            return Some((Size::ALL[number % Size::ALL.len()], number >= 2 * Size::ALL.len()));
        }
        None
    }

    /// Returns whether packets of the kind have a timestamp.
    pub const fn has_timestamp(self) -> bool {
        ROWS[self as usize].5
    }

    /// Returns the nibbles of the header, the first one highest, and their number.
    pub(super) const fn header(self) -> (u16, u8) {
        (ROWS[self as usize].2, ROWS[self as usize].3)
    }

    /// Returns the number of payload nibbles.
    pub(super) const fn payload(self) -> u8 {
        ROWS[self as usize].4
    }

    /// Returns the kind of the packets that begin with these nibbles, of which the first is the low one of `nibbles`; `None` if it
    /// takes more than `count` nibbles to know it.
    pub(super) fn of(nibbles: u64, count: u64) -> Option<Self> {
        let header = header(nibbles);
        (u64::from(header.len) <= count).then_some(header.kind)
    }
}

/// Returns the header at the start of these nibbles, of which the first is the low one of `nibbles`.
#[inline(always)]
pub(super) fn header(nibbles: u64) -> Header {
    let two = nibbles as u8;
    if two == 0x0f { LONG_HEADERS[nibbles as usize >> 8 & 0xf] } else { HEADERS[usize::from(two)] }
}
