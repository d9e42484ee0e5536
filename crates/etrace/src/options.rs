use core::fmt;

use crate::data;

/// Options that are switched at run time (`ioptions` of a support packet).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Whether returns that the call stack predicts go unreported.
    pub implicit_return: bool,
    /// Whether trap packets leave out the address of the trap handler.
    pub implicit_exception: bool,
    /// Whether addresses are sent whole instead of as differences.
    pub full_address: bool,
    /// Whether a target that is in the jump target cache is sent as its index.
    pub jump_target_cache: bool,
    /// Whether correctly predicted branches are only counted.
    pub branch_prediction: bool,
    /// Whether sequentially inferable jumps go unreported: the instruction before them gives the target.
    pub sijump: bool,
}

/// Table row of an option that is on or off.
pub struct OptionField<T> {
    /// Name of the option.
    pub name: &'static str,
    /// Meaning in one line.
    pub meaning: &'static str,
    place: fn(&mut T) -> &mut bool,
}

impl<T> fmt::Debug for OptionField<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

const fn row<T>(name: &'static str, meaning: &'static str, place: fn(&mut T) -> &mut bool) -> OptionField<T> {
    OptionField { name, meaning, place }
}

const INSTRUCTION: &[OptionField<Options>] = &[
    row("implicit_return", "returns to where the call was made are not reported", |o| &mut o.implicit_return),
    row("implicit_exception", "addresses of trap handlers are not sent", |o| &mut o.implicit_exception),
    row("full_address", "addresses are sent whole, not as differences", |o| &mut o.full_address),
    row("jump_target_cache", "addresses that were sent before are sent as an index", |o| {
        &mut o.jump_target_cache
    }),
    row("branch_prediction", "branches that a predictor foretells are only counted", |o| {
        &mut o.branch_prediction
    }),
    row("sijump", "jumps whose address the instruction before tells are not reported", |o| &mut o.sijump),
];

const DATA: &[OptionField<data::Options>] = &[
    row("no_address", "data addresses are not sent", |o| &mut o.no_address),
    row("no_data", "data values are not sent", |o| &mut o.no_data),
    row("full_daddress", "data addresses are sent whole, not as differences", |o| &mut o.full_address),
    row("full_data", "data values are sent whole, not as differences", |o| &mut o.full_data),
];

/// Adds the functions that options by name need.
macro_rules! by_name {
    ($type:ty, $fields:ident) => {
        impl $type {
            /// Returns all options.
            pub const fn fields() -> &'static [OptionField<Self>] {
                $fields
            }

            /// Returns the name of each option and whether it is on.
            pub fn names(mut self) -> impl Iterator<Item = (&'static str, bool)> {
                $fields.iter().map(move |field| (field.name, *(field.place)(&mut self)))
            }

            /// Switches the option `name` on or off. Returns `false` if there is no such option.
            pub fn set(&mut self, name: &str, on: bool) -> bool {
                let field = $fields.iter().find(|field| field.name == name);
                field.inspect(|field| *(field.place)(self) = on).is_some()
            }
        }
    };
}

by_name!(Options, INSTRUCTION);
by_name!(data::Options, DATA);
