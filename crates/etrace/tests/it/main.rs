//! Integration tests, linked as one program.

mod control;
mod data;
mod decode_reference;
mod decode_twin;
mod encode_blocks;
mod encode_ports;
mod encode_reference;
mod encode_riscv_etrace;
mod hardware_vectors;
mod missing_code;
mod packet_laws;
mod programs;
mod reference;
mod riscv_etrace;
mod riscv_etrace_tracer;
mod round_trip;
mod spec;
mod stream_laws;
mod support;
