use core::fmt;

use crate::data;

/// What is switched on at run time (`ioptions` of a support packet).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Returns whose address a stack of calls predicts are not reported.
    pub implicit_return: bool,
    /// Trap packets leave out the address of the trap handler.
    pub implicit_exception: bool,
    /// Addresses are sent whole, not as differences.
    pub full_address: bool,
    /// Targets that were sent before are sent as an index.
    pub jump_target_cache: bool,
    /// Branches that a predictor foretells are only counted.
    pub branch_prediction: bool,
    /// Jumps whose address the instruction before tells are not reported.
    pub sijump: bool,
}

/// An option: something that is on or off.
pub struct OptionField<T> {
    /// Its name.
    pub name: &'static str,
    /// What it means, in one line.
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

impl Options {
    /// All options there are.
    pub const fn fields() -> &'static [OptionField<Self>] {
        INSTRUCTION
    }

    /// All options by name, and whether they are on.
    pub fn names(self) -> impl Iterator<Item = (&'static str, bool)> {
        let mut options = self;
        INSTRUCTION.iter().map(move |field| (field.name, *(field.place)(&mut options)))
    }

    /// Switches the option `name` on or off, and tells whether there is one.
    pub fn set(&mut self, name: &str, on: bool) -> bool {
        set(INSTRUCTION, self, name, on)
    }
}

impl data::Options {
    /// All options there are.
    pub const fn fields() -> &'static [OptionField<Self>] {
        DATA
    }

    /// All options by name, and whether they are on.
    pub fn names(self) -> impl Iterator<Item = (&'static str, bool)> {
        let mut options = self;
        DATA.iter().map(move |field| (field.name, *(field.place)(&mut options)))
    }

    /// Switches the option `name` on or off, and tells whether there is one.
    pub fn set(&mut self, name: &str, on: bool) -> bool {
        set(DATA, self, name, on)
    }
}

fn set<T>(fields: &[OptionField<T>], options: &mut T, name: &str, on: bool) -> bool {
    let field = fields.iter().find(|field| field.name == name);
    field.inspect(|field| *(field.place)(options) = on).is_some()
}
