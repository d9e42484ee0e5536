//! Table of parameters by name, used for files, command lines and help text.

use core::fmt;

use crate::params::MOST_SRC_BITS;
use crate::{Dialect, ImplicitReturn, Mode, Params};

/// A parameter by name.
#[derive(Clone, Copy, Debug)]
pub struct Attribute {
    /// Name of the field.
    pub name: &'static str,
    /// Meaning in one line.
    pub meaning: &'static str,
    values: Values,
    get: fn(&Params) -> u8,
    set: fn(&mut Params, u8),
}

/// Values that a parameter can have.
#[derive(Clone, Copy, Debug)]
enum Values {
    /// Numbers from the first to the last.
    Numbers(u8, u8),
    /// Words that stand for numbers from 0 on.
    Words(&'static [&'static str]),
}

use Values::{Numbers, Words};

const FLAG: Values = Numbers(0, 1);
/// Number of bits that are compared if the parameter is only said to be `low`.
const LOW_BITS: u8 = 8;

const TABLE: &[Attribute] = &[
    Attribute {
        name: "src_bits",
        meaning: "bits of the source's number in each message; 0: there is one source",
        values: Numbers(0, MOST_SRC_BITS),
        get: |params| params.src_bits,
        set: |params, value| params.src_bits = value,
    },
    Attribute {
        name: "mode",
        meaning: "how branches are reported: history or branch",
        values: Words(&["history", "branch"]),
        get: |params| u8::from(params.mode == Mode::Branch),
        set: |params, value| params.mode = [Mode::History, Mode::Branch][usize::from(value)],
    },
    Attribute {
        name: "implicit_return",
        meaning: "how targets of returns are left out: off, counter, low (low bits are compared) or stack",
        values: Words(&["off", "counter", "low", "stack"]),
        get: |params| match params.implicit_return {
            ImplicitReturn::Off => 0,
            ImplicitReturn::Counter => 1,
            ImplicitReturn::LowBits(_) => 2,
            ImplicitReturn::Stack => 3,
        },
        set: |params, value| {
            use ImplicitReturn::{Counter, LowBits, Off, Stack};
            params.implicit_return = [Off, Counter, LowBits(LOW_BITS), Stack][usize::from(value)];
        },
    },
    Attribute {
        name: "sequential_jump",
        meaning: "1: jumps whose target the instruction before gives are left out",
        values: FLAG,
        get: |params| params.sequential_jump.into(),
        set: |params, value| params.sequential_jump = value == 1,
    },
    Attribute {
        name: "all_jumps",
        meaning: "1: direct jumps are reported like taken branches",
        values: FLAG,
        get: |params| params.all_jumps.into(),
        set: |params, value| params.all_jumps = value == 1,
    },
    Attribute {
        name: "extend_addr_msb",
        meaning: "1: identical top bits of addresses are left out",
        values: FLAG,
        get: |params| params.extend_addr_msb.into(),
        set: |params, value| params.extend_addr_msb = value == 1,
    },
    Attribute {
        name: "ts_width",
        meaning: "bits of a timestamp",
        values: Numbers(1, 64),
        get: |params| params.ts_width,
        set: |params, value| params.ts_width = value,
    },
    Attribute {
        name: "dialect",
        meaning: "whose messages they are: standard, spacemit, or sifive (before 1.0)",
        values: Words(&["standard", "spacemit", "sifive"]),
        get: |params| params.dialect as u8,
        set: |params, value| {
            params.dialect = [Dialect::Standard, Dialect::Spacemit, Dialect::Sifive][usize::from(value)];
        },
    },
];

/// A parameter that does not exist, or a value that it cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamsError {
    /// There is no such parameter.
    Name,
    /// The value is not from the first number to the last.
    Number(u8, u8),
    /// The value is none of these.
    Word(&'static [&'static str]),
}

impl fmt::Display for ParamsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str("there is no such parameter"),
            Self::Number(least, most) => write!(f, "not a number from {least} to {most}"),
            Self::Word(words) => {
                f.write_str("none of")?;
                let commas = [" "].into_iter().chain(core::iter::repeat(", "));
                commas.zip(*words).try_for_each(|(comma, word)| write!(f, "{comma}{word}"))
            }
        }
    }
}

impl core::error::Error for ParamsError {}

impl Attribute {
    /// Returns the value in `params`, to be printed. [`Params::set`] takes it.
    pub fn value(&self, params: &Params) -> impl fmt::Display {
        let number = (self.get)(params);
        match self.values {
            Words(words) => Shown(words.get(usize::from(number)).copied(), number),
            Numbers(..) => Shown(None, number),
        }
    }
}

/// A value: its word if it has one, else its number.
struct Shown(Option<&'static str>, u8);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(Some(word), _) => f.write_str(word),
            Self(None, number) => number.fmt(f),
        }
    }
}

impl Params {
    /// Returns all parameters.
    pub const fn fields() -> &'static [Attribute] {
        TABLE
    }

    /// Sets the parameter `name`.
    ///
    /// # Errors
    /// Fails if no parameter has this name or if it cannot have the value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ParamsError> {
        let attribute = TABLE.iter().find(|attribute| attribute.name == name).ok_or(ParamsError::Name)?;
        let number = match attribute.values {
            Numbers(least, most) => {
                let number = value.parse().ok().filter(|number| (least..=most).contains(number));
                number.ok_or(ParamsError::Number(least, most))?
            }
            Words(words) => {
                let number = words.iter().position(|word| *word == value);
                number.ok_or(ParamsError::Word(words))? as u8
            }
        };
        (attribute.set)(self, number);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn names_and_values() {
        let mut params = Params::default();
        params.set("src_bits", "12").unwrap();
        params.set("mode", "branch").unwrap();
        params.set("implicit_return", "stack").unwrap();
        params.set("dialect", "sifive").unwrap();
        assert_eq!((params.src_bits, params.mode), (12, Mode::Branch));
        assert_eq!((params.implicit_return, params.dialect), (ImplicitReturn::Stack, Dialect::Sifive));
        let error = |name, value| Params::default().set(name, value).unwrap_err().to_string();
        assert_eq!(error("src_bits", "13"), "not a number from 0 to 12");
        assert_eq!(error("mode", "both"), "none of history, branch");
        assert_eq!(error("all_jumps", "yes"), "not a number from 0 to 1");
        assert_eq!(error("jumps", "1"), "there is no such parameter");
    }

    #[test]
    fn every_value_that_is_told_can_be_set() {
        let other = Params {
            src_bits: 3,
            mode: Mode::Branch,
            implicit_return: ImplicitReturn::LowBits(LOW_BITS),
            sequential_jump: true,
            all_jumps: true,
            extend_addr_msb: true,
            ts_width: 40,
            dialect: Dialect::Sifive,
        };
        let mut params = Params::default();
        for attribute in Params::fields() {
            params.set(attribute.name, &attribute.value(&other).to_string()).unwrap();
        }
        assert_eq!(params, other);
    }
}
