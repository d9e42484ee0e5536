//! The `riscv-etrace` crate follows our traces, instruction by instruction, with the options it supports.
//! Exceptions are in `DIFFERENCES.md`.

use crate::riscv_etrace::parameters;
use crate::support;

use std::collections::BTreeMap;

use riscv_etrace::config::Parameters;
use riscv_etrace::instruction::{Instruction, base};
use riscv_etrace::tracer::item;
use riscv_etrace::types::stack::StaticStack;
use riscv_etrace::{binary, packet, tracer};
use support::machine::{Event, Record, addresses, run, samples};
use support::{difference, written};
use tracewright_core::Isa;
use tracewright_etrace::encode::{Config, Quirks, Resync, ResyncMode};
use tracewright_etrace::ingress::Executed;
use tracewright_etrace::stream::{self, Writer};
use tracewright_etrace::{Options, Params};
use tracewright_testkit::etrace::encode;

const INSTRUCTIONS: u64 = 300_000;

/// Traces that it does not follow, unlike our decoder and the one written from the specification's
/// pseudo-code (`decode_twin.rs`). With implicit returns it fails after traps; with full addresses, in RV32.
const NOT_FOLLOWED: &[(&str, &str)] = &[
    ("args.elf", "implicit return"),
    ("jumps.elf", "implicit return"),
    ("semihosting-exit.elf", "implicit return"),
    ("semihosting.elf", "implicit return"),
    ("semihosting32.elf", "full address"),
    ("semihosting32.elf", "implicit return"),
    ("tasks32.elf", "full address"),
    ("timer32.elf", "base"),
    ("timer32.elf", "full address"),
    ("timer32.elf", "implicit return"),
    ("traps.elf", "implicit return"),
    ("traps32.elf", "full address"),
    ("traps32.elf", "implicit return"),
];

#[test]
fn what_we_encode_is_traced_by_riscv_etrace() {
    let mut traced = 0;
    for path in samples() {
        let program = path.file_name().unwrap().to_string_lossy().into_owned();
        let record = run(&path, INSTRUCTIONS);
        let expected: Vec<_> = record.told().flat_map(instructions).collect();
        for (mix, params, options) in encoders(record.isa()) {
            let bytes = encoded(&record, &params, options);
            let (found, error) = trace(&record.code, record.isa(), &params, &bytes);
            let difference = difference(&found, &expected);
            let is_same = error.is_none() && difference.is_none();
            let is_listed = NOT_FOLLOWED.contains(&(program.as_str(), mix));
            assert_ne!(is_same, is_listed, "{program}, {mix}: {error:?}, instruction {difference:?}");
            traced += found.len();
        }
    }
    assert!(traced > 5_000_000, "{traced}");
}

fn encoders(isa: Isa) -> Vec<(&'static str, Params, Options)> {
    let iaddress_width = if isa == Isa::Rv32 { 32 } else { 64 };
    let params = Params { iaddress_width, return_stack_size: 5, nocontext: false, ..Params::default() };
    let full = Options { full_address: true, ..Options::default() };
    let returns = Options { implicit_return: true, ..Options::default() };
    vec![
        ("base", params.clone(), Options::default()),
        ("full address", Params { iaddress_lsb: 0, ..params.clone() }, full),
        ("implicit return", params, returns),
    ]
}

/// Returns the addresses of the instructions of an event.
fn instructions<'a>((event, bits): (&'a Event, &'a [u32])) -> impl Iterator<Item = u64> + 'a {
    let block = if let Event::Block(block, _) = event { Some(block) } else { None };
    block.into_iter().flat_map(|block| addresses(block, bits)).map(|(address, _)| address)
}

/// Encodes the trace of a program.
fn encoded(record: &Record, params: &Params, options: Options) -> Vec<u8> {
    // It leaves a call on its stack when a return went elsewhere.
    let quirks = Quirks { keeps_failed_returns: true, ..Quirks::default() };
    let resync = Resync { mode: ResyncMode::Off, ..Resync::default() };
    let config = Config { params: params.clone(), options, quirks, resync, ..Config::default() };
    let stream = stream::Config { params: params.clone(), options, ..stream::Config::default() };
    written(Writer::new(stream), &encode(config, &record.entries(Executed::default())))
}

/// Returns what `riscv-etrace` decodes, up to where it fails.
fn trace(code: &BTreeMap<u64, u16>, isa: Isa, params: &Params, bytes: &[u8]) -> (Vec<u64>, Option<String>) {
    let config = Parameters { cache_size_p: 0, sijump_p: false, ..parameters(params) };
    let base = if isa == Isa::Rv32 { base::Set::Rv32I } else { base::Set::Rv64I };
    // It looks at instructions that did not run; their content does not matter.
    let code = |address: u64| {
        let halves = [code.get(&address), code.get(&(address + 2))].map(|half| half.copied().unwrap_or(0));
        let bits = (u32::from(halves[1]) << 16 | u32::from(halves[0])).to_le_bytes();
        Instruction::extract(&bits, &base).map(|(found, _)| found).ok_or(address)
    };
    let mut decoder = packet::builder()
        .with_params(&config)
        .with_hart_index_width(0)
        .with_timestamp_width(0)
        .with_trace_type_width(0)
        .decoder(bytes);
    let built = tracer::builder().with_binary(binary::from_fn(code)).with_params(&config).build();
    let mut tracer: tracer::Tracer<_, StaticStack<64>> = built.unwrap_or_else(|error| panic!("{error:?}"));
    let mut found = Vec::new();
    while decoder.bytes_left() > 0 {
        let Some(message) = decoder.decode_encap_packet().unwrap().into_normal() else { continue };
        let payload = message.decode_payload().unwrap();
        if let Err(error) = tracer.process_payload(&payload) {
            return (found, Some(format!("{error:x?}")));
        }
        for traced in tracer.by_ref() {
            match traced {
                Ok(traced) if matches!(traced.kind(), item::Kind::Regular(_)) => found.push(traced.pc()),
                Ok(_) => {}
                Err(error) => return (found, Some(format!("{error:x?}"))),
            }
        }
    }
    (found, None)
}
