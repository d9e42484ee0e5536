//! Tests of each rule of the flow and each option.

mod flow;
mod options;
mod run;
mod tracing;
mod ways;
