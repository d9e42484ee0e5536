//! How fields are read, written and shown.

use core::fmt;

use super::bytes::{MessageBytes, Source};
use super::{Address, Malformed, Values};

/// A field's value, to be printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number with few values.
    Code(u8),
    /// Any other number.
    Number(u64),
}

/// Writes codes in decimal and other numbers in hexadecimal.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "{code}"),
            Self::Number(number) => write!(f, "{number:#x}"),
        }
    }
}

/// A kind of field.
pub(super) trait Codec {
    type Value;
    fn read(self, fields: &mut impl Source, name: &'static str) -> Result<Self::Value, Malformed>;
    fn write(self, value: Self::Value, bytes: &mut MessageBytes, name: &'static str)
    -> Result<(), Malformed>;
    fn show(self, value: Self::Value, take: impl FnMut(Value));
}

/// A field of this many bits.
pub(super) struct Fixed(pub u32);

/// A number in as many bits as it needs.
pub(super) struct Variable;

/// The same, only there if the last fixed field has this value.
pub(super) struct VariableIf(pub u64);

/// An address, or the difference of two.
pub(super) struct Sent;

/// One number more than the last fixed field says.
pub(super) struct Several;

impl Codec for Fixed {
    type Value = u8;

    #[inline(always)]
    fn read(self, fields: &mut impl Source, name: &'static str) -> Result<u8, Malformed> {
        Ok(fields.fixed(self.0, name)? as u8)
    }

    fn write(self, value: u8, bytes: &mut MessageBytes, name: &'static str) -> Result<(), Malformed> {
        bytes.fixed(value.into(), self.0, name)
    }

    fn show(self, value: u8, mut take: impl FnMut(Value)) {
        take(Value::Code(value));
    }
}

impl Codec for Variable {
    type Value = u64;

    #[inline(always)]
    fn read(self, fields: &mut impl Source, name: &'static str) -> Result<u64, Malformed> {
        Ok(fields.variable(name)?.0)
    }

    fn write(self, value: u64, bytes: &mut MessageBytes, _: &'static str) -> Result<(), Malformed> {
        bytes.variable(value)
    }

    fn show(self, value: u64, mut take: impl FnMut(Value)) {
        take(Value::Number(value));
    }
}

impl Codec for VariableIf {
    type Value = Option<u64>;

    #[inline(always)]
    fn read(self, fields: &mut impl Source, name: &'static str) -> Result<Option<u64>, Malformed> {
        (fields.last() == self.0).then(|| Variable.read(fields, name)).transpose()
    }

    fn write(
        self,
        value: Option<u64>,
        bytes: &mut MessageBytes,
        name: &'static str,
    ) -> Result<(), Malformed> {
        match value {
            Some(value) if bytes.last == self.0 => Variable.write(value, bytes, name),
            None if bytes.last != self.0 => Ok(()),
            _ => Err(Malformed::Short(name)),
        }
    }

    fn show(self, value: Option<u64>, take: impl FnMut(Value)) {
        value.into_iter().map(Value::Number).for_each(take);
    }
}

impl Codec for Sent {
    type Value = Address;

    #[inline(always)]
    fn read(self, fields: &mut impl Source, name: &'static str) -> Result<Address, Malformed> {
        let (value, bits) = fields.variable(name)?;
        Ok(Address { value, bits: bits as u16 })
    }

    fn write(self, value: Address, bytes: &mut MessageBytes, _: &'static str) -> Result<(), Malformed> {
        bytes.sized(value.value, value.bits.into())
    }

    fn show(self, value: Address, mut take: impl FnMut(Value)) {
        take(Value::Number(value.value));
    }
}

impl Codec for Several {
    type Value = Values;

    #[inline(always)]
    fn read(self, fields: &mut impl Source, name: &'static str) -> Result<Values, Malformed> {
        let mut values = Values::default();
        for _ in 0..=fields.last() {
            values.push(Variable.read(fields, name)?);
        }
        Ok(values)
    }

    fn write(self, values: Values, bytes: &mut MessageBytes, name: &'static str) -> Result<(), Malformed> {
        if values.len() as u64 != bytes.last + 1 {
            return Err(Malformed::Short(name));
        }
        values.iter().try_for_each(|&value| Variable.write(value, bytes, name))
    }

    fn show(self, values: Values, take: impl FnMut(Value)) {
        values.iter().copied().map(Value::Number).for_each(take);
    }
}
