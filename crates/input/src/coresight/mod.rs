//! The protocols of `tracewright-coresight`: how captures describe their sources.

mod etm3;

use std::str::FromStr;

use crate::registry::{SourceKind, WrongParam};

/// All kinds that are built in.
pub(crate) const KINDS: &[&dyn SourceKind] = &[&etm3::Etm3];

/// Values of parameters by name.
struct Given<'g>(&'g [(String, String)]);

impl Given<'_> {
    /// Returns the value of a parameter as text.
    fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// Returns the number that a parameter has as its value.
    fn number<T: TryFrom<u64>>(&self, name: &str) -> Result<Option<T>, WrongParam> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let number = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => u64::from_str(text).ok(),
        };
        let number = number.and_then(|number| T::try_from(number).ok());
        number.map(Some).ok_or_else(|| wrong(name, format!("{text:?} is no number that fits")))
    }
}

fn wrong(name: &str, why: impl Into<String>) -> WrongParam {
    WrongParam { name: name.into(), why: why.into() }
}
