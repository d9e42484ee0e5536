//! Timelines: calls along the run, for Perfetto, Chrome and the Firefox Profiler.

mod chrome;
mod firefox;
mod messages;
mod perfetto;
mod slices;

pub use tracewright_profile::slices::{Limits as SliceLimits, Shown};

pub use self::chrome::Chrome;
pub use self::firefox::Firefox;
pub use self::perfetto::Perfetto;
pub use self::slices::{Event, SliceState, SliceWriter, SourceSlices, Unit, Viewer};
