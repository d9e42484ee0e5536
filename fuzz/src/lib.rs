//! The fuzz bodies of all crates by name, for the one fuzz binary. They live beside the crates' tests, which run each
//! some thousands of times.
//!
//! At length: `fuzz/run packets 60`.
#![allow(dead_code, unused_imports, reason = "tests and what only they use come with the bodies")]

#[path = "../../crates/core/tests/fuzz_bodies.rs"]
mod core;
#[path = "../../crates/coresight/tests/fuzz_etm3.rs"]
mod coresight_etm3;
#[path = "../../crates/coresight/tests/fuzz_itm.rs"]
mod coresight_itm;
#[path = "../../crates/coresight/tests/fuzz_mtb.rs"]
mod coresight_mtb;
#[path = "../../crates/coresight/tests/fuzz_ptm.rs"]
mod coresight_ptm;
#[path = "../../crates/coresight/tests/fuzz_stm.rs"]
mod coresight_stm;
#[path = "../../crates/profile/tests/fuzz_coverage.rs"]
mod coverage;
#[path = "../../crates/delta/tests/fuzz_bodies.rs"]
mod delta;
#[path = "../../crates/etm/tests/fuzz_bodies.rs"]
mod etm;
#[path = "../../crates/etrace/tests/fuzz_data.rs"]
mod etrace_data;
#[path = "../../crates/etrace/tests/fuzz_decode.rs"]
mod etrace_decode;
#[path = "../../crates/etrace/tests/fuzz_encode.rs"]
mod etrace_encode;
#[path = "../../crates/etrace/tests/fuzz_packets.rs"]
mod etrace_packets;
#[path = "../../crates/frames/tests/fuzz_bodies.rs"]
mod frames;
#[path = "../../crates/hart/tests/fuzz_bodies.rs"]
mod hart;
#[path = "../../crates/hart/tests/fuzz_logs.rs"]
mod hart_logs;
#[path = "../../crates/hart/tests/fuzz_programs.rs"]
mod hart_programs;
#[path = "../../crates/image/tests/fuzz_bodies.rs"]
mod image;
#[path = "../../crates/input/tests/fuzz_bodies.rs"]
mod input;
#[path = "../../crates/isa/tests/fuzz_bodies.rs"]
mod isa;
#[path = "../../crates/ntrace/tests/fuzz_decode.rs"]
mod ntrace_decode;
#[path = "../../crates/ntrace/tests/fuzz_messages.rs"]
mod ntrace_messages;
#[path = "../../crates/profile/tests/fuzz_bodies.rs"]
mod profile;
#[path = "../../crates/qemu/tests/fuzz_bodies.rs"]
mod qemu;
pub mod seeds;
#[path = "../../crates/tacit/tests/fuzz_decode.rs"]
mod tacit_decode;
#[path = "../../crates/tacit/tests/fuzz_packets.rs"]
mod tacit_packets;

/// A fuzz body, and what helps a fuzzer with it.
#[derive(Clone, Copy, Debug)]
pub struct Body {
    /// Its name.
    pub name: &'static str,
    /// The function. It takes any bytes and panics if something is wrong.
    pub run: fn(&[u8]),
    /// The file in `fuzz/dictionaries` with words of its format; empty if there is none.
    pub dictionary: &'static str,
    /// The longest input worth trying. Seeds are cut to it where a cut file is still of use.
    pub most: usize,
}

const fn body(name: &'static str, run: fn(&[u8]), dictionary: &'static str, most: usize) -> Body {
    Body { name, run, dictionary, most }
}

/// All bodies.
pub const BODIES: &[Body] = &[
    // What people write by hand.
    body("control", core::control, "control", 512),
    body("timing", hart::timing, "timing", 2048),
    body("compressed_file", input::compressed_file, "", 512),
    body("raw_source", input::raw_source, "source", 512),
    body("parameters", input::parameters_file, "source", 2048),
    // Captures on disk.
    body("ini", input::ini_file, "snapshot", 2048),
    body("snapshot", input::snapshot_folder, "snapshot", 4096),
    body("capture", input::capture_folder, "capture", 8192),
    body("mappings", input::mappings_file, "capture", 4096),
    body("recording", input::recording, "perf", 1 << 15),
    body("map_names", input::map_names, "perf", 1024),
    body("server_answer", input::server_answer, "", 1024),
    body("jit_dump", input::jit_dump, "perf", 4096),
    body("recorded_branches", input::recorded_branches, "perf", 1 << 15),
    // Profiles.
    body("profile", profile::profile, "profile", 4096),
    body("merged", profile::merged, "profile", 8192),
    body("branch_list", profile::branches, "profile", 1 << 15),
    // Programs.
    body("image", image::image, "elf", 1 << 15),
    body("kernel_module", image::kernel_module, "elf", 1 << 15),
    body("dwarf", image::dwarf, "dwarf", 8192),
    body("symbol_names", image::symbol_names, "names", 2048),
    body("xz", image::xz, "elf", 4096),
    body("coverage", coverage::coverage, "elf", 1 << 15),
    body("instructions", isa::instructions, "", 1024),
    body("bare_program", hart_programs::bare_program, "", 1 << 15),
    body("linux_program", hart_programs::linux_program, "", 1 << 15),
    // Logs.
    body("logs", hart_logs::logs, "logs", 4096),
    body("own_log", hart_logs::own_log, "logs", 4096),
    body("retirement_words", qemu::words, "", 4096),
    body("retirement_log", qemu::log, "logs", 1 << 15),
    body("etrace_input", etrace_encode::input, "logs", 2048),
    // Trace.
    body("deframe", frames::deframe, "etm", 4096),
    body("line", frames::line, "", 4096),
    body("pib", frames::pib, "", 4096),
    body("frame", frames::frame, "", 2048),
    body("mtb", coresight_mtb::mtb, "", 1024),
    body("itm", coresight_itm::itm, "", 2048),
    body("ptm", coresight_ptm::ptm, "", 2048),
    body("stm", coresight_stm::stm, "", 2048),
    body("packets", etm::packets, "etm", 4096),
    body("decode", etm::decode, "etm", 4096),
    body("encode", etm::encode, "", 512),
    body("etm3", coresight_etm3::etm3, "", 4096),
    body("etrace_payloads", etrace_packets::payloads, "", 64),
    body("etrace_streams", etrace_packets::streams, "", 4096),
    body("etrace_decode", etrace_decode::decode, "", 2048),
    body("etrace_decode_packets", etrace_decode::packets, "", 8),
    body("etrace_snapshots", etrace_decode::snapshots, "", 8),
    body("etrace_entries", etrace_encode::entries, "", 4096),
    body("etrace_ports", etrace_encode::ports, "", 2048),
    body("ntrace_streams", ntrace_messages::streams, "", 4096),
    body("ntrace_encode", ntrace_messages::encode, "", 2048),
    body("ntrace_decode", ntrace_decode::decode, "", 2048),
    body("ntrace_decode_packets", ntrace_decode::packets, "", 8),
    body("ntrace_snapshots", ntrace_decode::snapshots, "", 8),
    body("tacit_streams", tacit_packets::streams, "", 2048),
    body("tacit_encode", tacit_packets::encode, "", 2048),
    body("tacit_decode", tacit_decode::decode, "", 1024),
    body("tacit_decode_packets", tacit_decode::packets, "", 8),
    body("data", etrace_data::data, "", 4096),
    body("delta_streams", delta::streams, "", 4096),
    body("delta_encode", delta::encode, "", 1024),
];
