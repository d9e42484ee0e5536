//! Fuzzes the body that the environment variable FUZZ names.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tracewright_fuzz::{BODIES, Body};

static BODY: LazyLock<Body> = LazyLock::new(|| {
    let name = std::env::var("FUZZ").unwrap_or_default();
    match BODIES.iter().find(|(body, _)| *body == name) {
        Some((_, body)) => *body,
        None => panic!("set FUZZ to one of {:?}", BODIES.iter().map(|(name, _)| name).collect::<Vec<_>>()),
    }
});

fuzz_target!(|data: &[u8]| BODY(data));
