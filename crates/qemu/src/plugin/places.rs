use std::sync::OnceLock;

use tracewright_image::Image;

use super::arguments::{Arguments, Place};

/// Places where recording begins and stops.
#[derive(Debug, Default)]
pub struct Places {
    pub start: Option<Where>,
    pub stop: Option<Where>,
}

/// A place whose address may not be known yet.
#[derive(Debug)]
pub struct Where {
    name: &'static str,
    /// Empty if the address was given.
    symbol: String,
    address: OnceLock<u64>,
}

impl Places {
    /// Creates the places of the arguments.
    pub fn new(arguments: &Arguments) -> Self {
        let place = |name, place: &Option<Place>| place.as_ref().map(|place| Where::new(name, place));
        Self { start: place("start", &arguments.start), stop: place("stop", &arguments.stop) }
    }

    /// Searches a newly mapped file for the symbols.
    pub fn resolve(&self, image: &Image) {
        for place in self.start.iter().chain(&self.stop) {
            if place.address.get().is_none()
                && let Some(range) = image.symbols().resolve(&place.symbol)
            {
                // The lowest bit only marks T32.
                let _ = place.address.set(range.start & !1);
            }
        }
    }

    /// Iterates over the symbols that were never found.
    pub fn unresolved(&self) -> impl Iterator<Item = String> {
        let places = self.start.iter().chain(&self.stop).filter(|place| place.address.get().is_none());
        places.map(|Where { name, symbol, .. }| {
            format!("{name}={symbol}: no program or library that ran has a symbol with this name")
        })
    }
}

impl Where {
    fn new(name: &'static str, place: &Place) -> Self {
        let (address, symbol) = match place {
            Place::Address(address) => (OnceLock::from(*address), String::new()),
            Place::Symbol(symbol) => (OnceLock::new(), symbol.clone()),
        };
        Self { name, symbol, address }
    }

    /// Returns whether the place has this address.
    pub fn is_at(&self, address: u64) -> bool {
        self.address.get() == Some(&address)
    }
}
