/// Bit that marks a word of a thread's chunk as outcomes.
pub const OUTCOMES: u32 = 1 << 31;
/// Word with no outcomes yet: the lowest bit marks where they begin.
pub const LEAST_OUTCOMES: u32 = 1;
/// Value of a word, without [`OUTCOMES`], that is full: it has 30 outcomes.
pub const FULL: u32 = 1 << 30;
/// Upper bound of translation numbers.
pub const MOST_TRANSLATIONS: u32 = 1 << 28;

const LEFT: u32 = 0x4000_0000;
const FROM: u32 = 0x4100_0000;
const OFF: u32 = 0x4200_0000;
const ACCESS: u32 = 0x4300_0000;
const SIGNAL: u32 = 0x4400_0000;
const KIND: u32 = 0xff00_0000;

/// A word in a thread's chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Nothing was written from here on.
    End,
    /// Translations ran, one for each of the lowest `count` bits, the highest first. 0 is the first of the
    /// [`Successors`](super::Successors) of the previous one, 1 the second.
    Outcomes {
        /// Outcome bits.
        bits: u32,
        /// Number of outcomes, at most 30.
        count: u32,
    },
    /// The translation with this number ran.
    Translation(u32),
    /// Only this many instructions of the last translation retired.
    Left(u32),
    /// The next translation is recorded from this instruction on, counted from 0. Recording begins here.
    From(u32),
    /// Recording stops here.
    Off(Off),
    /// The instruction with this index in the last translation accessed memory. Two words of address follow, the lower
    /// first; if the log has values, then the words of the value, at least one.
    Access {
        /// Index of the instruction.
        index: u32,
        /// Log2 of the size in bytes.
        size_shift: u32,
        /// Set for a store.
        is_store: bool,
    },
    /// A signal is handled from here on: what comes next does not follow from the last instruction.
    Signal,
}

/// Reason why recording stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Off {
    /// The thread or the program ended.
    Exit = 0,
    /// The stop address was reached.
    Stop = 1,
    /// The requested number of instructions was recorded.
    Limit = 2,
    /// The program is replaced by another one (`execve`). If that fails, recording resumes.
    Exec = 3,
    /// The log could not be written.
    Failed = 4,
}

impl Word {
    /// Decodes a word. Returns `None` if it is unknown.
    pub fn parse(word: u32) -> Option<Self> {
        if word & OUTCOMES != 0 {
            let below = word & !OUTCOMES;
            let count = below.checked_ilog2()?;
            return Some(Self::Outcomes { bits: below & !(1 << count), count });
        }
        let value = word & !KIND;
        Some(match word & KIND {
            _ if word == 0 => Self::End,
            _ if word <= MOST_TRANSLATIONS => Self::Translation(word - 1),
            LEFT => Self::Left(value),
            FROM => Self::From(value),
            OFF => {
                let all = [Off::Exit, Off::Stop, Off::Limit, Off::Exec, Off::Failed];
                Self::Off(all.into_iter().find(|&off| off as u32 == value)?)
            }
            ACCESS => Self::Access {
                index: value & 0xffff,
                size_shift: value >> 16 & 0xf,
                is_store: value >> 20 & 1 != 0,
            },
            SIGNAL if value == 0 => Self::Signal,
            _ => return None,
        })
    }

    /// Encodes the word.
    pub fn value(self) -> u32 {
        match self {
            Self::End => 0,
            Self::Outcomes { bits, count } => OUTCOMES | 1 << count | bits,
            Self::Translation(number) => number + 1,
            Self::Left(count) => LEFT | count,
            Self::From(index) => FROM | index,
            Self::Off(why) => OFF | why as u32,
            Self::Access { index, size_shift, is_store } => access(index, size_shift, is_store),
            Self::Signal => SIGNAL,
        }
    }
}

/// Encodes [`Word::Access`].
#[inline]
pub const fn access(index: u32, size_shift: u32, is_store: bool) -> u32 {
    ACCESS | (is_store as u32) << 20 | (size_shift & 0xf) << 16 | (index & 0xffff)
}
