//! Sources of the older CoreSight protocols: how captures describe them.

mod etm3;
mod itm;
mod mtb;
mod ptm;
mod stm;

use std::collections::BTreeMap;

use crate::registry::WrongParam;

pub(crate) use etm3::Etm3;
pub(crate) use itm::Itm;
pub(crate) use mtb::Mtb;
pub(crate) use ptm::Ptm;
pub(crate) use stm::Stm;

/// What a PTM or an ETMv3 tells without branch broadcast.
const NO_BROADCAST: &str =
    "no branch broadcast (bit 8 of ETMCR): only targets of indirect branches are known";

/// Names and values of a source's description: registers with numbers, and `id` where there is a trace ID.
pub(crate) struct Given(BTreeMap<String, u32>);

impl Given {
    /// Takes the names that a protocol has. Others in captures are left out if they look like
    /// registers of the same trace unit: snapshots list many more than are needed.
    pub(crate) fn new(
        given: &[(String, String)],
        known: &[&str],
        others_begin_with: &str,
    ) -> Result<Self, WrongParam> {
        let mut numbers = BTreeMap::new();
        for (name, text) in given {
            let is_known = known.contains(&name.as_str());
            if !is_known && name.starts_with(others_begin_with) {
                continue;
            }
            let wrong = |why: String| WrongParam { name: name.clone(), why };
            if !is_known {
                return Err(wrong(format!("expected one of {}", known.join(", "))));
            }
            let number = number(text).ok_or_else(|| wrong(format!("{text:?}: expected a 32-bit number")))?;
            if numbers.insert(name.clone(), number).is_some() {
                return Err(wrong("it is given twice".into()));
            }
        }
        Ok(Self(numbers))
    }

    /// Returns a register.
    pub(crate) fn get(&self, name: &str) -> Option<u32> {
        self.0.get(name).copied()
    }

    /// Returns a register that must be there.
    pub(crate) fn need(&self, name: &str) -> Result<u32, WrongParam> {
        self.get(name).ok_or_else(|| WrongParam { name: name.to_owned(), why: "it is missing".into() })
    }

    /// Returns the trace ID: `id`, or the low seven bits of a register.
    pub(crate) fn id(&self, register: &str) -> Result<u32, WrongParam> {
        match self.get("id") {
            Some(id @ 0..=0x7f) => Ok(id),
            Some(id) => Err(WrongParam { name: "id".into(), why: format!("{id:#x}: expected 0x01 to 0x6f") }),
            None => {
                self.need(register).map_err(|wrong| WrongParam { name: format!("id or {register}"), ..wrong })
            }
        }
    }
}

fn number(text: &str) -> Option<u32> {
    let text = text.trim();
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
