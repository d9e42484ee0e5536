//! The fuzz bodies of all crates by name, for the one fuzz binary. They live beside the crates' tests, which run each
//! some thousands of times.
//!
//! At length: `FUZZ=packets cargo +nightly fuzz run any --features libfuzzer`.

#[allow(dead_code, unused_imports, reason = "what only the tests in it use")]
#[path = "../../crates/core/tests/fuzz_bodies.rs"]
mod core;
#[allow(dead_code, unused_imports, reason = "what only the tests in it use")]
#[path = "../../crates/profile/tests/fuzz_coverage.rs"]
mod coverage;
#[allow(dead_code, unused_imports, reason = "what only the tests in it use")]
#[path = "../../crates/delta/tests/fuzz_bodies.rs"]
mod delta;
#[allow(dead_code, unused_imports, reason = "what only the tests in it use")]
#[path = "../../crates/etm/tests/fuzz_bodies.rs"]
mod etm;
#[allow(dead_code, unused_imports, reason = "what only the tests in it use")]
#[path = "../../crates/etrace/tests/fuzz_data.rs"]
mod etrace_data;
#[allow(dead_code, unused_imports, reason = "what only the tests in it use")]
#[path = "../../crates/etrace/tests/fuzz_decode.rs"]
mod etrace_decode;
#[allow(dead_code, unused_imports, reason = "what only the tests in it use")]
#[path = "../../crates/etrace/tests/fuzz_encode.rs"]
mod etrace_encode;
#[allow(dead_code, unused_imports, reason = "what only the tests in it use")]
#[path = "../../crates/etrace/tests/fuzz_packets.rs"]
mod etrace_packets;
#[allow(dead_code, unused_imports, reason = "what only the tests in it use")]
#[path = "../../crates/frames/tests/fuzz_bodies.rs"]
mod frames;
#[allow(dead_code, unused_imports, reason = "what only the tests in it use")]
#[path = "../../crates/hart/tests/fuzz_bodies.rs"]
mod hart;
#[allow(dead_code, unused_imports, reason = "what only the tests in it use")]
#[path = "../../crates/hart/tests/fuzz_logs.rs"]
mod hart_logs;
#[allow(dead_code, unused_imports, reason = "what only the tests in it use")]
#[path = "../../crates/hart/tests/fuzz_programs.rs"]
mod hart_programs;
#[allow(dead_code, unused_imports, reason = "what only the tests in it use")]
#[path = "../../crates/image/tests/fuzz_bodies.rs"]
mod image;
#[allow(dead_code, unused_imports, reason = "what only the tests in it use")]
#[path = "../../crates/input/tests/fuzz_bodies.rs"]
mod input;
#[allow(dead_code, unused_imports, reason = "what only the tests in it use")]
#[path = "../../crates/isa/tests/fuzz_bodies.rs"]
mod isa;
#[allow(dead_code, unused_imports, reason = "what only the tests in it use")]
#[path = "../../crates/profile/tests/fuzz_bodies.rs"]
mod profile;
#[allow(dead_code, unused_imports, reason = "what only the tests in it use")]
#[path = "../../crates/qemu/tests/fuzz_bodies.rs"]
mod qemu;

/// A fuzz body: takes any bytes, panics if something is wrong.
pub type Body = fn(&[u8]);

/// All bodies by name.
pub const BODIES: &[(&str, Body)] = &[
    ("control", core::control),
    ("packets", etm::packets),
    ("decode", etm::decode),
    ("etrace_payloads", etrace_packets::payloads),
    ("etrace_streams", etrace_packets::streams),
    ("delta_streams", delta::streams),
    ("delta_encode", delta::encode),
    ("data", etrace_data::data),
    ("etrace_entries", etrace_encode::entries),
    ("etrace_input", etrace_encode::input),
    ("etrace_ports", etrace_encode::ports),
    ("etrace_decode", etrace_decode::decode),
    ("etrace_decode_packets", etrace_decode::packets),
    ("etrace_snapshots", etrace_decode::snapshots),
    ("coverage", coverage::coverage),
    ("deframe", frames::deframe),
    ("frame", frames::frame),
    ("timing", hart::timing),
    ("logs", hart_logs::logs),
    ("own_log", hart_logs::own_log),
    ("bare_program", hart_programs::bare_program),
    ("linux_program", hart_programs::linux_program),
    ("image", image::image),
    ("xz", image::xz),
    ("ini", input::ini_file),
    ("snapshot", input::snapshot_folder),
    ("recording", input::recording),
    ("capture", input::capture_folder),
    ("mappings", input::mappings_file),
    ("instructions", isa::instructions),
    ("profile", profile::profile),
    ("branch_list", profile::branches),
    ("retirement_words", qemu::words),
    ("retirement_log", qemu::log),
];
