//! Programs with instructions of two and four bytes.

use tracewright_core::{Block, Ended, Isa, MemorySpace};
use tracewright_flow::{Graph, NodeId, Rules, Stuck, Trail, Walker};
use tracewright_image::{Bytes, Image};

/// Start, end, number of instructions and length of the last one, of all blocks reported.
#[derive(Default)]
struct Told(Vec<(u64, u64, u32, u8)>);

impl Trail for Told {
    fn node(&mut self, graph: &Graph<'_>, id: NodeId, taken: bool) {
        self.block(&graph.node(id).block(if taken { Ended::Taken } else { Ended::NotTaken }));
    }

    fn block(&mut self, block: &Block) {
        self.0.push((block.start, block.end, block.count, block.last_len));
    }
}

#[test]
fn blocks_and_their_parts() {
    let mut code = Vec::new();
    code.extend(0x0001_u16.to_le_bytes()); // 1000 nop
    code.extend(0x0015_0513_u32.to_le_bytes()); // 1002 addi a0,a0,1
    code.extend(0x0001_u16.to_le_bytes()); // 1006 nop
    code.extend(0xfe05_1ce3_u32.to_le_bytes()); // 1008 bnez a0,0x1000
    code.extend(0x8082_u16.to_le_bytes()); // 100c ret
    let mut builder = Image::builder();
    builder.raw("code.bin", Bytes::from(code), 0x1000, MemorySpace::EL1N).unwrap();
    let image = builder.build();
    for isa in [Isa::Rv32, Isa::Rv64] {
        let mut walker = Walker::new(&image, Rules::default());
        let mut told = Told::default();
        walker.set_space(MemorySpace::EL1N);
        walker.set_address(0x1000, isa);
        walker.branch(true, &mut told).unwrap();
        walker.run_to(0x1006, &mut told).unwrap();
        walker.branch(false, &mut told).unwrap();
        walker.branch(true, &mut told).unwrap();
        assert_eq!(
            told.0,
            [(0x1000, 0x100c, 4, 4), (0x1000, 0x1006, 2, 4), (0x1006, 0x100c, 2, 4), (0x100c, 0x100e, 1, 2)]
        );
        // In the middle of an instruction.
        walker.set_address(0x1000, isa);
        assert_eq!(walker.run_to(0x1004, &mut told), Err(Stuck::Missed(0x1000)));
    }
}

#[test]
fn an_instruction_may_be_interrupted_halfway() {
    let mut code = Vec::new();
    code.extend(0xbf00_u16.to_le_bytes()); // 1000 nop
    code.extend([0x90, 0xe8, 0x06, 0x00]); // 1002 ldmia.w r0, {r1, r2}
    code.extend(0x4770_u16.to_le_bytes()); // 1006 bx lr
    let mut builder = Image::builder();
    builder.raw("code.bin", Bytes::from(code), 0x1000, MemorySpace::ANY).unwrap();
    let image = builder.build();
    // Where execution is, the address that the trace has, what ran before it, and where execution stopped.
    for (from, address, ran, stopped) in [
        (0x1000, 0x1004, Some((0x1000, 0x1002, 1, 2)), 0x1002),
        (0x1002, 0x1004, None, 0x1002),
        (0x1000, 0x1006, Some((0x1000, 0x1006, 2, 4)), 0x1006),
        (0x1002, 0x1002, None, 0x1002),
    ] {
        let mut walker = Walker::new(&image, Rules::default());
        let mut told = Told::default();
        walker.set_address(from, Isa::T32);
        walker.run_into(address, &mut told).unwrap();
        assert_eq!(told.0, Vec::from_iter(ran), "{from:#x} to {address:#x}");
        assert_eq!(walker.address(), Some((stopped, Isa::T32)));
    }
}
