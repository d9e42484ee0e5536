//! Fuzzes the body that the environment variable FUZZ names. `FUZZ=list` lists all bodies with their dictionaries and the longest
//! inputs, `FUZZ=seeds` writes the seeds of all bodies into the folder that FUZZ_SEEDS names. `fuzz/run` does all of that.
#![no_main]
#![allow(clippy::print_stdout, reason = "the list is what was asked for")]

use std::path::PathBuf;
use std::process::exit;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tracewright_fuzz::{BODIES, Body, seeds};

static BODY: LazyLock<Body> = LazyLock::new(|| {
    let name = std::env::var("FUZZ").unwrap_or_default();
    match BODIES.iter().find(|body| body.name == name) {
        Some(body) => *body,
        None => panic!("set FUZZ to one of {:?}", BODIES.iter().map(|body| body.name).collect::<Vec<_>>()),
    }
});

/// Answers questions that are no fuzzing.
fn answer() {
    match std::env::var("FUZZ").as_deref() {
        Ok("list") => {
            for Body { name, dictionary, most, .. } in BODIES {
                println!("{name} {} {most}", if dictionary.is_empty() { "-" } else { dictionary });
            }
            exit(0);
        }
        Ok("seeds") => {
            let folder =
                std::env::var_os("FUZZ_SEEDS").map(PathBuf::from).expect("FUZZ_SEEDS names a folder");
            seeds::write(&folder).expect("seeds can be written");
            exit(0);
        }
        _ => {}
    }
}

fuzz_target!(init: answer(), |data: &[u8]| (BODY.run)(data));
