//! The `riscv-etrace` crate, with its fastest program table: instructions decoded beforehand, found by their address.

use std::num::NonZeroU8;

use riscv_etrace::config::Parameters;
use riscv_etrace::instruction::{Instruction, Kind, base};
use riscv_etrace::packet::encap::Packet;
use riscv_etrace::tracer::item;
use riscv_etrace::types::stack::StaticStack;
use riscv_etrace::{binary, packet, tracer};
use tracewright_core::Isa;
use tracewright_etrace::Params;

use super::Answer;

/// All code of a program.
pub struct Table {
    start: u64,
    /// For each half-word.
    instructions: Vec<Option<Instruction<Option<Kind>>>>,
}

impl Table {
    /// Decodes code that lies at `start`.
    pub fn new(start: u64, code: &[u8], isa: Isa) -> Self {
        let set = if isa == Isa::Rv32 { base::Set::Rv32I } else { base::Set::Rv64I };
        let at = |at: usize| Instruction::extract(&code[at..], &set).map(|(found, _)| found);
        Self { start, instructions: (0..code.len()).step_by(2).map(at).collect() }
    }
}

/// Decodes a trace in the standard encapsulation, without source IDs or types.
pub fn decode(bytes: &[u8], params: &Params, table: &Table) -> Result<Answer, String> {
    let config = config(params)?;
    let code = |address: u64| {
        let index = (address.wrapping_sub(table.start) / 2) as usize;
        table.instructions.get(index).copied().flatten().ok_or(address)
    };
    let mut decoder = packet::builder()
        .with_params(&config)
        .with_hart_index_width(0)
        .with_timestamp_width(0)
        .with_trace_type_width(0)
        .decoder(bytes);
    let mut tracer: tracer::Tracer<_, StaticStack<32>> = tracer::builder()
        .with_binary(binary::from_fn(code))
        .with_params(&config)
        .build()
        .map_err(|error| format!("riscv-etrace: {error:?}"))?;
    let mut answer = Answer::default();
    while decoder.bytes_left() > 0 {
        let at = decoder.byte_pos();
        let wrong = |error: &dyn std::fmt::Debug| format!("riscv-etrace at {at:#x}: {error:?}");
        let Packet::Normal(found) = decoder.decode_encap_packet().map_err(|error| wrong(&error))? else {
            continue;
        };
        let payload = found.decode_payload().map_err(|error| wrong(&error))?;
        tracer.process_payload(&payload).map_err(|error| wrong(&error))?;
        for found in tracer.by_ref() {
            let found = found.map_err(|error| wrong(&error))?;
            if let item::Kind::Regular(instruction) = found.kind() {
                let end = found.pc().wrapping_add(instruction.size as u64);
                answer.add(found.pc(), end, 1);
            }
        }
    }
    Ok(answer)
}

fn config(params: &Params) -> Result<Parameters, String> {
    let wide = |value: u8| NonZeroU8::new(value).ok_or("riscv-etrace: a width of 0".to_owned());
    Ok(Parameters {
        cache_size_p: params.cache_size,
        call_counter_size_p: params.call_counter_size,
        context_width_p: wide(params.context_width)?,
        time_width_p: wide(params.time_width)?,
        ecause_width_p: wide(params.ecause_width)?,
        f0s_width_p: params.f0s_width,
        iaddress_lsb_p: params.iaddress_lsb,
        iaddress_width_p: wide(params.iaddress_width)?,
        nocontext_p: params.nocontext,
        notime_p: params.notime,
        privilege_width_p: wide(params.privilege_width)?,
        return_stack_size_p: params.return_stack_size,
        sijump_p: params.sijump,
    })
}
