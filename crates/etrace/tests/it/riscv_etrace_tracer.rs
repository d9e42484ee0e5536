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
use support::machine::{Event, Record, run, samples};
use tracewright_core::{Block, Isa};
use tracewright_etrace::encode::{Config, Encoder, Quirks, Resync, ResyncMode};
use tracewright_etrace::ingress::Executed;
use tracewright_etrace::packet::Packet;
use tracewright_etrace::stream::{self, Encapsulation, Writer};
use tracewright_etrace::{Options, Params, data};

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
    let mut instructions = 0;
    for path in samples() {
        let program = path.file_name().unwrap().to_string_lossy().into_owned();
        let record = run(&path, INSTRUCTIONS);
        let expected = record.events.iter().filter_map(|event| match event {
            Event::Block(block) => Some(addresses(&record.code, block)),
            _ => None,
        });
        let expected: Vec<_> = expected.flatten().collect();
        let isa = record.events.iter().find_map(|event| match event {
            Event::Block(block) => Some(block.isa),
            _ => None,
        });
        for (mix, params, options) in encoders(isa.unwrap()) {
            let bytes = encode(&record, &params, options);
            let (found, error) = trace(&record.code, isa.unwrap(), &params, &bytes);
            let same = expected.iter().zip(&found).take_while(|(a, b)| a == b).count();
            let is_same = error.is_none() && same == expected.len() && same == found.len();
            let is_listed = NOT_FOLLOWED.contains(&(program.as_str(), mix));
            let around =
                |all: &[u64]| all[same.saturating_sub(3).min(all.len())..(same + 4).min(all.len())].to_vec();
            assert_ne!(
                is_same,
                is_listed,
                "{program}, {mix}: {error:?}, instruction {same}: {:x?}, but {:x?}",
                around(&expected),
                around(&found)
            );
            instructions += found.len();
        }
    }
    assert!(instructions > 5_000_000, "{instructions}");
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

/// Returns the addresses of the instructions of a block.
fn addresses(code: &BTreeMap<u64, u16>, block: &Block) -> Vec<u64> {
    let mut at = block.start;
    let mut addresses = Vec::new();
    while at != block.end {
        addresses.push(at);
        at += if code[&at] & 3 == 3 { 4 } else { 2 };
    }
    addresses
}

/// Encodes the trace of a program.
fn encode(record: &Record, params: &Params, options: Options) -> Vec<u8> {
    // It leaves a call on its stack when a return went elsewhere.
    let quirks = Quirks { keeps_failed_returns: true, ..Quirks::default() };
    let resync = Resync { mode: ResyncMode::Off, ..Resync::default() };
    let mut encoder =
        Encoder::new(Config { params: params.clone(), options, quirks, resync, ..Config::default() });
    let mut executed = Executed::default();
    let encapsulation = Encapsulation::Standard { source_bits: 0, timestamp_bytes: 0, type_bits: 0 };
    let stream =
        stream::Config { params: params.clone(), encapsulation, options, data: data::Options::default() };
    let mut writer = Writer::new(stream);
    let mut bytes = Vec::new();
    let mut out = |packet: &Packet| writer.instruction(0, None, packet, &mut bytes).unwrap();
    for event in &record.events {
        match *event {
            Event::Block(ref block) => encoder.entry(&executed.block(block), &mut out),
            Event::Trap { pc, cause, interrupt, value } => {
                encoder.entry(&executed.trap(pc, cause, interrupt, value), &mut out);
            }
            Event::Privilege(privilege) => executed.privilege(privilege),
            Event::Context(context) => executed.context(context),
        }
    }
    encoder.finish(&mut out);
    bytes
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
