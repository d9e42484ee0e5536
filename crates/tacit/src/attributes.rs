//! Table of parameters by name, used for files, command lines and help text.

use core::fmt;

use crate::params::ENTRIES;
use crate::{Form, Mode, Params};

/// A parameter by name.
#[derive(Clone, Copy, Debug)]
pub struct Attribute {
    /// Name of the field.
    pub name: &'static str,
    /// Meaning in one line.
    pub meaning: &'static str,
    values: Values,
    get: fn(&Params) -> u16,
    set: fn(&mut Params, u16),
}

/// Values that a parameter can have.
#[derive(Clone, Copy, Debug)]
enum Values {
    /// Numbers from the first to the last.
    Numbers(u16, u16),
    /// Powers of two from the first to the last.
    Powers(u16, u16),
    /// Words that stand for numbers from 0 on.
    Words(&'static [&'static str]),
}

use Values::{Numbers, Powers, Words};

const TABLE: &[Attribute] = &[
    Attribute {
        name: "mode",
        meaning: "how branches are reported: target (each) or predict (each that a predictor gets wrong)",
        values: Words(&["target", "predict"]),
        get: |params| (params.mode == Mode::Predict).into(),
        set: |params, value| params.mode = [Mode::Target, Mode::Predict][usize::from(value)],
    },
    Attribute {
        name: "entries",
        meaning: "counters of the predictor (mode=predict)",
        values: Powers(ENTRIES[0], ENTRIES[1]),
        get: |params| params.entries,
        set: |params, value| params.entries = value,
    },
    Attribute {
        name: "address_bits",
        meaning: "bits of an address; higher ones are copies of the highest",
        values: Numbers(32, 64),
        get: |params| params.address_bits.into(),
        set: |params, value| params.address_bits = value as u8,
    },
    Attribute {
        name: "asid_bits",
        meaning: "bits of an address space's number",
        values: Numbers(1, 32),
        get: |params| params.asid_bits.into(),
        set: |params, value| params.asid_bits = value as u8,
    },
    Attribute {
        name: "form",
        meaning: "fields of synchronisation: full (2026), rtl (configuration only at the start), plain (before 2025-10)",
        values: Words(&["full", "rtl", "plain"]),
        get: |params| params.form as u16,
        set: |params, value| params.form = [Form::Full, Form::Rtl, Form::Plain][usize::from(value)],
    },
];

/// A parameter that does not exist, or a value that it cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamsError {
    /// There is no such parameter.
    Name,
    /// The value is not from the first number to the last.
    Number(u16, u16),
    /// The value is not a power of two from the first to the last.
    Power(u16, u16),
    /// The value is none of these.
    Word(&'static [&'static str]),
}

impl fmt::Display for ParamsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str("there is no such parameter"),
            Self::Number(least, most) => write!(f, "not a number from {least} to {most}"),
            Self::Power(least, most) => write!(f, "not a power of two from {least} to {most}"),
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
            Numbers(..) | Powers(..) => Shown(None, number),
        }
    }
}

/// A value: its word if it has one, else its number.
struct Shown(Option<&'static str>, u16);

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
            Powers(least, most) => {
                let is_one = |number: &u16| number.is_power_of_two() && (least..=most).contains(number);
                value.parse().ok().filter(is_one).ok_or(ParamsError::Power(least, most))?
            }
            Words(words) => {
                let number = words.iter().position(|word| *word == value);
                number.ok_or(ParamsError::Word(words))? as u16
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
        let error = |name, value| Params::default().set(name, value).unwrap_err().to_string();
        assert_eq!(error("entries", "100"), "not a power of two from 64 to 1024");
        assert_eq!(error("mode", "history"), "none of target, predict");
        assert_eq!(error("address_bits", "65"), "not a number from 32 to 64");
        assert_eq!(error("width", "1"), "there is no such parameter");
    }

    #[test]
    fn every_value_that_is_told_can_be_set() {
        let other =
            Params { mode: Mode::Predict, entries: 64, address_bits: 32, asid_bits: 9, form: Form::Plain };
        let mut params = Params::default();
        for attribute in Params::fields() {
            params.set(attribute.name, &attribute.value(&other).to_string()).unwrap();
        }
        assert_eq!(params, other);
        assert_eq!(params.check(), Ok(()));
    }
}
