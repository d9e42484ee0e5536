//! The older CoreSight protocols as protocols of the engine.

pub mod ptm;
