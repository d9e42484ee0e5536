//! Executed blocks and single instructions give the same packets.

use crate::support::machine::Record;
use crate::support::{Spike, assert_same, entries};

use tracewright_etrace::encode::{Config, Resync, ResyncMode};
use tracewright_etrace::ingress::{CType, Entry, Executed, ITypeWidth};
use tracewright_etrace::{Options, Params};
use tracewright_hart::{Blocks, log};
use tracewright_isa::riscv::{IType, Xlen};
use tracewright_testkit::etrace::{encode, flows};
use tracewright_testkit::{captures_for, skip};

/// Returns the blocks of a retirement trace.
fn blocks(trace: &str, xlen: Xlen, itype_width: ITypeWidth) -> Vec<Entry> {
    let mut blocks = Blocks::new(xlen, Record::default());
    let mut reader = log::Reader::new(log::Kind::Csv, xlen, trace.as_bytes(), |_| None);
    while let Some(retired) = reader.next().unwrap() {
        blocks.take(&retired);
    }
    blocks.finish().entries(Executed::new(itype_width, CType::Precise))
}

/// Returns encoders with various options; the inputs do not mark sequentially inferable jumps.
fn configs(params: &Params) -> Vec<Config> {
    let params = Params { bpred_size: 6, cache_size: 5, f0s_width: 1, sijump: true, ..params.clone() };
    let stack = Params { return_stack_size: 4, call_counter_size: 0, ..params.clone() };
    let counter = Params { return_stack_size: 0, call_counter_size: 5, ..params.clone() };
    let draft = Params { return_stack_size: 3, call_counter_size: 2, iret_ext: true, ..params.clone() };
    let all = Options {
        implicit_return: true,
        implicit_exception: true,
        jump_target_cache: true,
        branch_prediction: true,
        ..Options::default()
    };
    let resync = |mode, max| Resync { mode, max, anywhere: false };
    let base = Config { params, resync: resync(ResyncMode::Packets, 0), ..Config::default() };
    vec![
        base.clone(),
        Config { resync: resync(ResyncMode::HalfWords, 3), ..base.clone() },
        Config { options: all, params: stack, ..base.clone() },
        Config { options: all, params: counter, resync: resync(ResyncMode::Off, 0), ..base.clone() },
        Config { options: all, params: draft, resync: resync(ResyncMode::Packets, 3), ..base },
    ]
}

#[test]
fn blocks_of_retirement_traces_give_the_packets_of_single_instructions() {
    let name = "blocks_of_retirement_traces_give_the_packets_of_single_instructions";
    let Some(captures) = captures_for(name, "") else { return };
    let mut compared = 0;
    for flow in flows(&captures) {
        let Some(input) = flow.encoder_input() else { continue };
        let single = entries(&input);
        let xlen = if flow.params.iaddress_width == 32 { Xlen::Rv32 } else { Xlen::Rv64 };
        let width = if flow.set.starts_with("itype3") { ITypeWidth::Three } else { ITypeWidth::Four };
        let Some(trace) = Spike::text(&captures, &flow.program) else { continue };
        let mut blocks = blocks(&trace, xlen, width);
        // The flow that made the inputs took RV32's C.JAL for RV64's C.ADDIW, which is no call.
        if flow.program == "xrle" {
            for entry in blocks.iter_mut().filter(|entry| entry.itype == IType::InferableCall) {
                assert_eq!(entry.ilastsize, 0, "C.JAL");
                entry.itype = IType::InferableJump;
            }
        }
        // The flow that made the inputs kept eight bits of trap values.
        blocks.iter_mut().for_each(|entry| entry.tval &= 0xff);
        // No log of instructions has the outcome of a branch at the very end; the input has an arbitrary one.
        if let (Some(ours), Some(theirs)) = (blocks.last_mut(), single.last())
            && ours.taken().is_some()
        {
            ours.itype = theirs.itype;
        }
        for (at, config) in configs(&flow.params).into_iter().enumerate() {
            let what = format!("{}/{} {at}", flow.set, flow.program);
            assert_same(&what, &encode(config.clone(), &blocks), &encode(config, &single));
            compared += 1;
        }
    }
    if compared == 0 {
        return skip(name, "no xz");
    }
    assert!(compared >= 5 * 25, "{compared}");
}
