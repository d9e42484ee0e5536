//! Code that ran and that no image has: where, how often, and what is near it.

use tracewright_engine::{MissingCode, MissingRange, SourceTally};
use tracewright_image::Image;

use crate::names;

/// Greatest distance of what is near.
const NEAR: u64 = 1 << 32;

/// A range of missing code, who ran it, and what is near it.
#[derive(Clone, Debug)]
pub struct MissingPlace {
    /// Addresses, and how often execution came there.
    pub range: MissingRange,
    /// Names of the sources that ran it.
    pub sources: Vec<String>,
    /// What the image has near it; `None` if nothing is within 4 GiB.
    pub nearest: Option<Nearest>,
}

/// What an image has near missing code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nearest {
    /// A file was mapped there, and its bytes are missing.
    Absent {
        /// The file.
        name: String,
        /// Why its bytes are missing.
        reason: String,
    },
    /// The nearest region is before it, or after it.
    Region {
        /// Name of the region's file.
        name: String,
        /// Number of bytes between the two.
        distance: u64,
        /// Whether the region is before the missing code.
        is_before: bool,
    },
}

impl std::fmt::Display for Nearest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Absent { name, .. } => write!(f, "of {name}, which is not here"),
            Self::Region { name, distance, is_before } => {
                let where_to = if *is_before { "behind" } else { "before" };
                write!(f, "{distance:#x} {where_to} {}", names::file_name(name))
            }
        }
    }
}

/// Returns the ranges of missing code of all sources, the most frequent first, and how often code is missing elsewhere (if there are too
/// many ranges).
pub fn missing_places(sources: &[SourceTally], image: &Image) -> (Vec<MissingPlace>, u64) {
    let mut all = MissingCode::default();
    sources.iter().for_each(|source| all.merge(&source.missing));
    let place = |range: MissingRange| {
        let mut names: Vec<_> = sources
            .iter()
            .filter(|source| source.missing.has(&range))
            .map(|source| source.source.name.clone())
            .collect();
        names.dedup();
        MissingPlace { range, sources: names, nearest: nearest(&range, image) }
    };
    (all.ranges().into_iter().map(place).collect(), all.elsewhere())
}

fn nearest(range: &MissingRange, image: &Image) -> Option<Nearest> {
    if let Some((name, reason)) = image.absent(range.first, range.space) {
        return Some(Nearest::Absent { name: name.to_owned(), reason: reason.to_owned() });
    }
    let distance = |of: &std::ops::Range<u64>| match of.end <= range.first {
        true => (range.first - of.end, true),
        false => (of.start.saturating_sub(range.last), false),
    };
    let nearest = image.regions().min_by_key(|region| distance(&region.range()).0)?;
    let (distance, is_before) = distance(&nearest.range());
    (distance <= NEAR).then(|| Nearest::Region { name: nearest.name().to_owned(), distance, is_before })
}
