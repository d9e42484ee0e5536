//! Walks through A64 code: edges of returns, and where source addresses lead.

use tracewright_core::{Block, Isa, MemorySpace};
use tracewright_flow::{Graph, NodeId, Rules, Stuck, Trail, Walker};
use tracewright_image::{Bytes, Image};

struct Nothing;

impl Trail for Nothing {
    fn node(&mut self, _: &Graph<'_>, _: NodeId, _: bool) {}
    fn block(&mut self, _: &Block) {}
}

fn image(words: &[u32]) -> Image {
    let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut builder = Image::builder();
    builder.raw("code.bin", Bytes::from(code), 0x1000, MemorySpace::ANY).unwrap();
    builder.build()
}

/// After a flush of the return stack, the next address is the target of a return. Without one, the stack gave it.
#[test]
fn a_return_before_a_flush_has_one_target() {
    let [bl_8, ret, b_self] = [0x9400_0002, 0xd65f_03c0, 0x1400_0000];
    let image = image(&[bl_8, b_self, ret, b_self]);
    for (address, target) in [(None, 0x1004), (Some(0x1004), 0x1004), (Some(0x100c), 0x100c)] {
        let mut walker = Walker::new(&image, Rules { return_stack: true, ..Rules::default() });
        walker.set_address(0x1000, Isa::A64);
        walker.branch(true, &mut Nothing).unwrap();
        walker.branch(true, &mut Nothing).unwrap();
        walker.flush_returns();
        assert_eq!(walker.address(), Some((0x1004, Isa::A64)));
        if let Some(address) = address {
            walker.set_address(address, Isa::A64);
        }
        walker.branch(true, &mut Nothing).unwrap();
        let graph = walker.graph();
        let edges: Vec<_> = graph
            .edges()
            .map(|edge| (graph.node(edge.from).start(), graph.node(edge.to).start(), edge.count))
            .collect();
        assert_eq!(edges, [(0x1008, target, 1)], "{address:x?}");
    }
}

/// A source address is never that of a wait that the trace unit does not trace.
#[test]
fn source_addresses_are_of_what_is_traced() {
    let [nop, wfi, b_eq] = [0xd503_201f, 0xd503_207f, 0x5400_0040];
    let image = image(&[nop, wfi, nop, b_eq, nop, b_eq]);
    for waits_are_traced in [false, true] {
        let rules = Rules { waits_are_traced, ..Rules::default() };
        for (source, expected) in [
            (0x1004, if waits_are_traced { Ok(()) } else { Err(Stuck::Missed(0x1000)) }),
            (0x100c, Ok(())),
            (0x1014, Ok(())),
        ] {
            let mut walker = Walker::new(&image, rules);
            walker.set_address(0x1000, Isa::A64);
            assert_eq!(walker.run_over(source, &mut Nothing), expected, "{source:#x}");
        }
    }
}

/// Up to an address that the trace names, no branch is taken, and an unconditional one is in the way.
#[test]
fn walks_up_to_an_address() {
    let [nop, wfi, b_eq, b] = [0xd503_201f, 0xd503_207f, 0x5400_0040, 0x1400_0002];
    let image = image(&[nop, wfi, nop, b_eq, nop, b, nop]);
    for (address, expected) in [
        (0x1000, Ok(())),
        (0x1008, Ok(())),
        (0x1010, Ok(())),
        (0x1014, Ok(())),
        (0x1018, Err(Stuck::NotTaken(0x1014))),
        (0x0ffc, Err(Stuck::NoCode(0x0ffc))),
    ] {
        let mut walker = Walker::new(&image, Rules { waits_are_traced: true, ..Rules::default() });
        walker.set_address(0x1000, Isa::A64);
        assert_eq!(walker.run_up_to(address, &mut Nothing), expected, "{address:#x}");
        let here = expected.is_ok().then_some((address, Isa::A64));
        assert_eq!(walker.address(), here, "{address:#x}");
    }
}
