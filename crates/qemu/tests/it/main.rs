//! Integration tests, in one binary so that they are linked once.

mod debian;
mod events;
mod hart;
mod oracle;
mod reading;
mod support;
