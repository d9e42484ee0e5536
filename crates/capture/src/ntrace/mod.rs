//! N-Trace captures of what harts and threads execute.

mod settings;
mod tracer;
mod writer;

pub use settings::Settings;
pub use tracer::Tracer;
pub use writer::PROTOCOL;
