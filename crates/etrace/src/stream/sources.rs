//! Current options of each source.

use super::Config;
use crate::packet::Support;
use crate::{Options, data};

/// Options of all sources that have sent a support packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sources {
    /// Entries in order of source ID.
    known: Vec<(u16, Options, data::Options)>,
}

impl Sources {
    /// Returns the options of `source`.
    #[inline]
    pub(super) fn options(&self, source: u16, config: &Config) -> (Options, data::Options) {
        match &self.known[..] {
            [] => (config.options, config.data),
            [only] if only.0 == source => (only.1, only.2),
            known => match known.binary_search_by_key(&source, |known| known.0) {
                Ok(at) => (known[at].1, known[at].2),
                Err(_) => (config.options, config.data),
            },
        }
    }

    /// Records a support packet of `source`.
    pub(super) fn support(&mut self, source: u16, support: &Support) {
        let told = (source, support.ioptions, support.doptions);
        match self.known.binary_search_by_key(&source, |known| known.0) {
            Ok(at) => self.known[at] = told,
            Err(at) => self.known.insert(at, told),
        }
    }

    /// Discards all entries.
    pub(super) fn clear(&mut self) {
        self.known.clear();
    }
}
