/// A word of a thread's chunk is outcomes if this bit is set.
pub const OUTCOMES: u32 = 1 << 31;
/// Outcomes of which there are none yet: the lowest bit alone marks where they begin.
pub const LEAST_OUTCOMES: u32 = 1;
/// Outcomes, without [`OUTCOMES`], are full when they reach this: 30 of them.
pub const FULL: u32 = 1 << 30;
/// Translations are numbered below this.
pub const MOST_TRANSLATIONS: u32 = 1 << 28;

const LEFT: u32 = 0x4000_0000;
const FROM: u32 = 0x4100_0000;
const OFF: u32 = 0x4200_0000;
const ACCESS: u32 = 0x4300_0000;
const SIGNAL: u32 = 0x4400_0000;
const KIND: u32 = 0xff00_0000;

/// What a word in a thread's chunk says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Nothing was written from here on.
    End,
    /// Translations ran, one for each of the lowest `count` bits, the highest first: 0 is the first of the
    /// [`Successors`](super::Successors) of the one before, 1 the second.
    Outcomes {
        /// The bits.
        bits: u32,
        /// How many, 30 at most.
        count: u32,
    },
    /// The translation with this number ran.
    Translation(u32),
    /// Of the last translation only so many instructions retired.
    Left(u32),
    /// Of the next translation only the instructions from this one on are recorded, counted from 0. Recording begins here.
    From(u32),
    /// Recording stops here.
    Off(Off),
    /// The instruction with this index in the last translation accessed memory. Two words of address follow, the lower first; if the log
    /// has values, as many words of value as 4 and the size call for.
    Access {
        /// Index of the instruction.
        index: u32,
        /// Bytes: 2 to the power of this.
        size_shift: u32,
        /// Whether it wrote.
        is_store: bool,
    },
    /// A signal is handled from here on: what comes next is not where the last instruction led.
    Signal,
}

/// Why recording stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Off {
    /// The thread, or the program, ended.
    Exit = 0,
    /// The stop address was reached.
    Stop = 1,
    /// As many instructions were recorded as were asked for.
    Limit = 2,
    /// The program is replaced by another one (`execve`). If that fails, recording goes on.
    Exec = 3,
    /// The log could not be written.
    Failed = 4,
}

impl Word {
    /// What a word says; `None` if nothing that is known.
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

    /// Its value in a chunk.
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

/// The value of [`Word::Access`].
#[inline]
pub const fn access(index: u32, size_shift: u32, is_store: bool) -> u32 {
    ACCESS | (is_store as u32) << 20 | (size_shift & 0xf) << 16 | (index & 0xffff)
}
