//! Programs with Zcmp and Zcmt, as LLVM's assembler and GNU's linker make them.

use std::process::Command;

use tracewright_core::{Ended, Flow, Isa, MemorySpace, Role};
use tracewright_flow::Graph;
use tracewright_image::{Bytes, Image, Place};
use tracewright_testkit::{Scratch, has_programs};

const CODE: &str = "
    .text
    .globl _start
_start:
    cm.push {ra, s0}, -16
    cm.jalt 32
    cm.jt 1
end:
    c.nop
    c.ebreak
func:
    c.nop
    cm.popret {ra, s0}, 16
    .section .riscv.jvt,\"ax\",@progbits
    .balign 64
    .globl \"__jvt_base$\"
\"__jvt_base$\":
    .space 4
    .word end
    .zero 30*4
    .word func
";

/// The code above as a program.
fn program(with: &str) -> Image {
    let scratch = Scratch::new("zcm");
    scratch.write("code.s", CODE.as_bytes());
    let run = |program: &str, arguments: &str| {
        let output =
            Command::new(program).args(arguments.split(' ')).current_dir(scratch.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let assemble = "-triple=riscv32 -mattr=+m,+c,+zcmp,+zcmt -filetype=obj code.s -o code.o";
    run("llvm-mc-19", &format!("{assemble}{with}"));
    run("riscv64-linux-gnu-ld", "-m elf32lriscv -Ttext=0x10000 code.o -o code.elf");
    let bytes = std::fs::read(scratch.path().join("code.elf")).unwrap();
    let mut builder = Image::builder();
    builder.elf("code.elf", Bytes::from(bytes), Place::AsLinked, MemorySpace::ANY).unwrap();
    builder.build()
}

#[test]
fn jumps_through_the_table() {
    if !has_programs("zcm::jumps_through_the_table", &["llvm-mc-19", "riscv64-linux-gnu-ld"]) {
        return;
    }
    let image = program(" -riscv-add-build-attributes");
    let mut graph = Graph::new(&image, false);
    let mut block = |start: u64| {
        let id = graph.at(start, Isa::Rv32, MemorySpace::ANY);
        let node = *graph.node(id);
        let class = node.class();
        (node.block(Ended::Taken).end, class.flow, class.role, node.direct_target().map(|(to, _)| to))
    };
    assert_eq!(block(0x10000), (0x10004, Flow::Direct, Role::Call, Some(0x1000a)));
    assert_eq!(block(0x10004), (0x10006, Flow::Direct, Role::Jump, Some(0x10006)));
    assert_eq!(block(0x1000a), (0x1000e, Flow::Indirect, Role::Return, None));
    // Without the attributes, they store doubles.
    let image = program("");
    let mut graph = Graph::new(&image, false);
    let id = graph.at(0x10000, Isa::Rv32, MemorySpace::ANY);
    assert_ne!(graph.node(id).block(Ended::Taken).end, 0x10004);
}
