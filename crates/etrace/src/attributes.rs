//! Table of encoder attributes by name, used for files, command lines and help text.

use core::fmt;

use crate::data::{Compression, Dialect};
use crate::{Params, SupportLayout};

/// An attribute of an encoder.
#[derive(Debug)]
pub struct Attribute {
    /// Name in the specification, without `_p`.
    pub name: &'static str,
    /// Meaning in one line.
    pub meaning: &'static str,
    place: Place,
}

/// Field of [`Params`] that holds an attribute, and the values it accepts.
#[derive(Debug)]
enum Place {
    /// Number with its lowest and highest value.
    Number(fn(&mut Params) -> &mut u8, u8, u8),
    /// Flag, written 0 or 1.
    Flag(fn(&mut Params) -> &mut bool),
    /// One of several words, with functions that get and set its index.
    Word(&'static [&'static str], fn(&Params) -> usize, fn(&mut Params, usize)),
    /// Not stored, because packets do not depend on it.
    Nowhere,
}

use Place::{Flag, Nowhere, Number, Word};

const fn row(name: &'static str, meaning: &'static str, place: Place) -> Attribute {
    Attribute { name, meaning, place }
}

macro_rules! number {
    ($field:ident, $least:literal..=$most:literal, $meaning:literal) => {
        row(stringify!($field), $meaning, Number(|p| &mut p.$field, $least, $most))
    };
}

macro_rules! flag {
    ($field:ident, $meaning:literal) => {
        row(stringify!($field), $meaning, Flag(|p| &mut p.$field))
    };
}

macro_rules! word {
    ($field:ident, $type:ident [$($word:literal: $value:ident),*], $meaning:literal) => {{
        let place = Word(&[$($word),*], |p| p.$field as usize, |p, i| p.$field = [$($type::$value),*][i]);
        row(stringify!($field), $meaning, place)
    }};
}

const TABLE: &[Attribute] = &[
    number!(iaddress_width, 8..=64, "bits of an address"),
    number!(iaddress_lsb, 0..=2, "lowest bits of an address that are not sent"),
    number!(context_width, 1..=32, "bits of a context"),
    flag!(nocontext, "1: contexts are not sent"),
    number!(time_width, 1..=64, "bits of a time"),
    flag!(notime, "1: times are not sent"),
    number!(privilege_width, 1..=4, "bits of a privilege"),
    number!(ecause_width, 1..=16, "bits of the cause of a trap"),
    number!(f0s_width, 0..=2, "bits of the subformat of format 0"),
    number!(bpred_size, 0..=16, "the branch predictor has 2^this entries; 0: there is none"),
    number!(cache_size, 0..=16, "the jump target cache has 2^this entries; 0: there is none"),
    number!(call_counter_size, 0..=16, "bits of the counter of nested calls; 0: there is none"),
    number!(return_stack_size, 0..=12, "the stack of return addresses has 2^this entries; 0: there is none"),
    flag!(sijump, "1: sequentially inferable jumps can be told apart"),
    flag!(iret_ext, "1: irets in place of irdepth (draft 2.0.5)"),
    flag!(irdepth_ones, "1: irdepth is all ones while not reported (the reference model)"),
    flag!(address_bytes, "1: only addresses are cut, to whole bytes (PULP's rv_tracer)"),
    word!(support, SupportLayout ["reference": Reference, "pulp": Pulp, "standard": Standard],
        "layout of support packets: reference, pulp or standard"),
    number!(daddress_width, 8..=64, "bits of a data address"),
    number!(data_width, 8..=64, "bits of the widest data access"),
    number!(
        dtype_width,
        1..=4,
        "bits of a data access's type; 1: loads and stores, 3: CSRs, too, 4: atomics, too"
    ),
    number!(csr_width, 32..=64, "bits of a CSR"),
    word!(data_compression, Compression ["xor": Xor, "difference": Difference, "both": Both],
        "how data values are compressed: xor, difference or both"),
    number!(data_diff_width, 1..=2, "bits of diff in data packets without an address"),
    number!(csr_diff_width, 0..=1, "bits of diff in packets of CSRs without data"),
    flag!(split_loads, "1: loads are told by two data packets"),
    number!(lrid_width, 1..=8, "bits of a split load's identifier"),
    flag!(mmacas_ext, "1: data packets of the draft 2.0.5"),
    word!(data_dialect, Dialect ["standard": Standard, "reference": Reference],
        "whose data packets they are: standard or reference"),
    row("arch", "version of the specification", Nowhere),
    row("itype_width", "bits of an instruction's type at the encoder's input", Nowhere),
    row("ctype_width", "bits of a change of context at the encoder's input", Nowhere),
    row("iretire_width", "bits of the number of half-words retired at the encoder's input", Nowhere),
    row("ilastsize_width", "bits of the last instruction's size at the encoder's input", Nowhere),
    row("retires", "instructions that can retire at once", Nowhere),
    row("taken_branches", "taken branches at once", Nowhere),
    row("blocks", "blocks at once", Nowhere),
    row("impdef_width", "bits of input that the implementation defines", Nowhere),
    row("comparators", "comparators of the filter", Nowhere),
    row("filters", "filters", Nowhere),
    row("ecause_choice", "causes that a filter can tell apart", Nowhere),
    row("filter_context", "1: filters can match a context", Nowhere),
    row("filter_time", "1: filters can match a time", Nowhere),
    row("filter_excint", "1: filters can match a cause", Nowhere),
    row("filter_privilege", "1: filters can match a privilege", Nowhere),
    row("filter_tval", "1: filters can match a trap value", Nowhere),
    row("dblock_width", "bits of a data access's block at the encoder's input", Nowhere),
    row("dsize_width", "bits of a data access's size at the encoder's input", Nowhere),
    row("iaddr_lsbs_width", "bits of a data access's instruction at the encoder's input", Nowhere),
    row("lresp_width", "bits of a split load's response at the encoder's input", Nowhere),
    row("ldata_width", "bits of a split load's data at the encoder's input", Nowhere),
    row("sdata_width", "bits of a split store's data at the encoder's input", Nowhere),
];

/// Unknown attribute, or a value that no encoder can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamsError {
    /// Name of the attribute.
    pub name: String,
    /// Reason why the attribute was rejected.
    pub why: String,
}

impl ParamsError {
    pub(crate) fn new(name: &str, why: impl Into<String>) -> Self {
        Self { name: name.to_owned(), why: why.into() }
    }
}

impl fmt::Display for ParamsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.why)
    }
}

impl core::error::Error for ParamsError {}

impl Attribute {
    /// Returns the value in `params`, or `None` if the attribute is not stored because packets do not depend
    /// on it.
    pub fn value(&self, params: &Params) -> Option<String> {
        let mut params = params.clone();
        match self.place {
            Number(place, ..) => Some(place(&mut params).to_string()),
            Flag(place) => Some(u8::from(*place(&mut params)).to_string()),
            Word(words, get, _) => Some(words[get(&params)].to_owned()),
            Nowhere => None,
        }
    }

    /// Returns whether the attribute is a flag (0 or 1).
    pub const fn is_flag(&self) -> bool {
        matches!(self.place, Flag(_))
    }

    fn set(&self, params: &mut Params, value: &str) -> Result<(), String> {
        match self.place {
            Number(place, least, most) => {
                let number = number(value).ok_or_else(|| format!("`{value}` is not a number"))?;
                let fits = u8::try_from(number).ok().filter(|number| (least..=most).contains(number));
                *place(params) = fits.ok_or_else(|| format!("{number} is not from {least} to {most}"))?;
            }
            Flag(place) => {
                *place(params) = match value {
                    "1" | "true" | "on" | "yes" => true,
                    "0" | "false" | "off" | "no" => false,
                    _ => return Err(format!("`{value}` is neither 0 nor 1")),
                }
            }
            Word(words, _, set) => {
                let word = words.iter().position(|word| *word == value);
                set(params, word.ok_or_else(|| format!("`{value}` is none of {}", words.join(", ")))?);
            }
            Nowhere => {
                number(value).ok_or_else(|| format!("`{value}` is not a number"))?;
            }
        }
        Ok(())
    }
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

impl Params {
    /// Returns all attributes: those of the specification and those of this crate.
    pub const fn fields() -> &'static [Attribute] {
        TABLE
    }

    /// Sets the attribute `name`, given with or without `_p`.
    ///
    /// # Errors
    /// Fails if no attribute has this name or if the value is not allowed.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ParamsError> {
        let plain = name.strip_suffix("_p").unwrap_or(name);
        let attribute = TABLE.iter().find(|attribute| attribute.name == plain);
        let attribute = attribute.ok_or_else(|| ParamsError::new(name, "there is no such parameter"))?;
        attribute.set(self, value.trim()).map_err(|why| ParamsError::new(name, why))
    }

    /// Reads a `.scf` file of the reference flow: `name=value` lines, comments (`#`) and headings (`[…]`).
    ///
    /// # Errors
    /// Names the first attribute that is wrong.
    pub fn from_scf(text: &str) -> Result<Self, ParamsError> {
        let mut params = Self::default();
        for line in text.lines() {
            let line = line.split(['#', ';']).next().unwrap_or_default().trim();
            if line.is_empty() || line.starts_with('[') {
                continue;
            }
            let Some((name, value)) = line.split_once('=') else {
                return Err(ParamsError::new(line, "not a name and a value"));
            };
            params.set(name.trim(), value)?;
        }
        params.check()?;
        Ok(params)
    }

    /// Checks that the attributes are consistent.
    ///
    /// # Errors
    /// Names the first attribute that is wrong.
    pub fn check(&self) -> Result<(), ParamsError> {
        for attribute in TABLE {
            if let Some(value) = attribute.value(self) {
                self.clone().set(attribute.name, &value)?;
            }
        }
        if self.f0s_width == 0 && self.bpred_size > 0 && self.cache_size > 0 {
            let why = "0, though there are both a branch predictor and a jump target cache";
            return Err(ParamsError::new("f0s_width", why));
        }
        for (name, value) in [("data_width", self.data_width), ("csr_width", self.csr_width)] {
            if !value.is_power_of_two() {
                return Err(ParamsError::new(name, "not a power of two"));
            }
        }
        if self.data_diff_width == 1 && self.data_compression == Compression::Both {
            return Err(ParamsError::new("data_diff_width", "1, though values are compressed in two ways"));
        }
        let is_reference = self.data_diff_width == 2
            && self.csr_diff_width == 1
            && self.dtype_width > 1
            && !self.split_loads
            && !self.mmacas_ext;
        if self.data_dialect == Dialect::Reference && !is_reference {
            let why = "the reference model has whole loads, formats of 3 bits, and diff of 2 (CSRs without data: 1)";
            return Err(ParamsError::new("data_dialect", why));
        }
        if self.address_bytes && self.returns_bits() > 0 {
            return Err(ParamsError::new("address_bytes", "1, though packets tell of returns"));
        }
        if self.support == SupportLayout::Standard {
            // Limits of the fields of the standard support packet.
            if !self.time_bits().is_multiple_of(16) {
                let why = "not a multiple of 16, as the standard support packet has it";
                return Err(ParamsError::new("time_width", why));
            }
            let sizes = [
                ("return_stack_size", self.return_stack_size, 7),
                ("call_counter_size", self.call_counter_size, 15),
                ("bpred_size", self.bpred_size, 7),
                ("cache_size", self.cache_size, 7),
            ];
            if let Some((name, _, most)) = sizes.iter().find(|(_, size, most)| size > most) {
                let why = format!("more than {most}, which is all that the standard support packet can tell");
                return Err(ParamsError::new(name, why));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values() {
        let mut params = Params::default();
        params.set("iaddress_width_p", "32").unwrap();
        params.set("nocontext", "0").unwrap();
        params.set("support", "pulp").unwrap();
        params.set("filters_p", "1").unwrap();
        assert_eq!((params.iaddress_width, params.nocontext), (32, false));
        assert_eq!(params.support, SupportLayout::Pulp);
        let error = |name, value| Params::default().set(name, value).unwrap_err().to_string();
        assert_eq!(error("iaddress_width", "65"), "iaddress_width: 65 is not from 8 to 64");
        assert_eq!(error("iaddress_width_p", "x"), "iaddress_width_p: `x` is not a number");
        assert_eq!(error("notime", "2"), "notime: `2` is neither 0 nor 1");
        assert_eq!(error("support", "mine"), "support: `mine` is none of reference, pulp, standard");
        assert_eq!(error("width", "1"), "width: there is no such parameter");
    }

    #[test]
    fn every_value_that_is_told_can_be_set() {
        let params = Params::default();
        assert_eq!(params.check(), Ok(()));
        let mut other = Params { iaddress_width: 40, nocontext: false, ..params.clone() };
        for attribute in Params::fields() {
            if let Some(value) = attribute.value(&params) {
                other.set(attribute.name, &value).unwrap();
            }
        }
        assert_eq!(other, params);
    }

    #[test]
    fn impossible_encoders() {
        let both = Params { f0s_width: 0, bpred_size: 7, cache_size: 7, ..Params::default() };
        assert_eq!(both.check().unwrap_err().name, "f0s_width");
        let wide = Params { iaddress_width: 200, ..Params::default() };
        assert_eq!(wide.check().unwrap_err().to_string(), "iaddress_width: 200 is not from 8 to 64");
        let standard = Params { support: SupportLayout::Standard, bpred_size: 9, ..Params::default() };
        assert_eq!(standard.check().unwrap_err().name, "bpred_size");
        assert!(Params::from_scf("[Heading]\ncontext_width_p = 8 # eight\nnonsense\n").is_err());
    }
}
