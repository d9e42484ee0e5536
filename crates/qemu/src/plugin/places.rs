use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

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
    symbol: Option<String>,
    is_known: AtomicBool,
    address: AtomicU64,
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
            if let Some(symbol) = &place.symbol
                && !place.is_known.load(Ordering::Relaxed)
                && let Some(range) = image.symbols().resolve(symbol)
            {
                // The lowest bit only marks T32.
                place.address.store(range.start & !1, Ordering::Relaxed);
                place.is_known.store(true, Ordering::Release);
            }
        }
    }

    /// Iterates over the symbols that were never found.
    pub fn unresolved(&self) -> impl Iterator<Item = String> {
        self.start.iter().chain(&self.stop).filter(|place| !place.is_known.load(Ordering::Relaxed)).map(
            |place| {
                let symbol = place.symbol.as_deref().unwrap_or_default();
                format!("{}={symbol}: no program or library that ran has a symbol with this name", place.name)
            },
        )
    }
}

impl Where {
    fn new(name: &'static str, place: &Place) -> Self {
        let (address, symbol) = match place {
            Place::Address(address) => (Some(*address), None),
            Place::Symbol(symbol) => (None, Some(symbol.clone())),
        };
        Self {
            name,
            symbol,
            is_known: AtomicBool::new(address.is_some()),
            address: AtomicU64::new(address.unwrap_or_default()),
        }
    }

    /// Returns whether the place has this address.
    pub fn is_at(&self, address: u64) -> bool {
        self.is_known.load(Ordering::Acquire) && self.address.load(Ordering::Relaxed) == address
    }
}
