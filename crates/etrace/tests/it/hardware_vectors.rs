//! Test vectors of the parts of a hardware encoder (PULP's `rv_tracer`): the inputs and outputs of each
//! cycle.

use std::fs;

use tracewright_etrace::ingress::{ITypeWidth, Operation};
use tracewright_etrace::packet::BranchMap;
use tracewright_isa::riscv::{IType, Xlen, decode};
use tracewright_testkit::{captures, skip};

/// Returns the lines of a file of vectors: inputs and outputs as digits.
fn vectors(name: &str) -> Option<Vec<(String, String)>> {
    let path = captures()?.join("riscv/rv_tracer/tb_testvectors").join(name);
    let text = fs::read_to_string(path).ok()?;
    let line =
        |line: &str| line.trim().split_once('_').map(|(one, other)| (one.to_owned(), other.to_owned()));
    Some(text.lines().filter_map(line).collect())
}

fn number(digits: &str) -> u32 {
    u32::from_str_radix(digits, 2).unwrap()
}

/// Inputs: three valid bits; the addresses before, of and after the instruction; its bits; whether it is compressed; whether an
/// exception comes with it. Outputs: whether it is a branch, was taken, is an uninferable discontinuity.
#[test]
fn type_detector() {
    let Some(vectors) = vectors("tv_te_itype_detector.txt") else {
        return skip("type_detector", "no captures");
    };
    let mut compared = 0;
    for (inputs, outputs) in vectors {
        let field = |at: usize| number(&inputs[3 + 32 * at..][..32]);
        let (address, next, bits) = (field(1), field(2), field(3));
        let (is_compressed, is_trap) = (&inputs[131..132] == "1", &inputs[132..] == "1");
        // The hardware waits for the next instruction; ours is not asked before.
        if next == address && !is_trap {
            assert_eq!(outputs, "000");
            continue;
        }
        let taken = next != address + if is_compressed { 2 } else { 4 };
        let itype = match is_trap {
            true => IType::Exception,
            false => ITypeWidth::Three.narrow(Operation::of(&decode(Xlen::Rv32, bits), taken).itype()),
        };
        let told = match itype {
            IType::TakenBranch => "110",
            IType::NotTakenBranch => "100",
            IType::UninferableJump3 | IType::Exception => "001",
            _ => "000",
        };
        assert_eq!(told, outputs, "{bits:#x}");
        compared += 1;
    }
    assert_eq!(compared, 7);
}

/// Inputs: whether there is a branch, its bit in the map, whether the map is emptied after this cycle. Outputs: the map, the number
/// of branches, whether it is full, whether it is empty.
#[test]
fn branch_map() {
    let Some(vectors) = vectors("tv_te_branch_map.txt") else { return skip("branch_map", "no captures") };
    assert_eq!(vectors.len(), 39);
    let mut map = BranchMap::default();
    for (inputs, outputs) in vectors {
        if &inputs[..1] == "1" {
            map.push(&inputs[1..2] == "0");
        }
        assert_eq!((map.bits(), map.count()), (number(&outputs[..31]), number(&outputs[31..36])));
        assert_eq!(map.is_full(), &outputs[36..37] == "1");
        assert_eq!(map.is_empty(), &outputs[37..] == "1");
        if &inputs[2..] == "1" {
            map = BranchMap::default();
        }
    }
}
