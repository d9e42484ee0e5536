//! Programs that try to break the machine: addresses at the ends of the address space, overlapping segments, more files
//! than the host has descriptors.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tracewright_core::Block;
use tracewright_hart::bare::{Bare, Options};
use tracewright_hart::linux::{self, Linux};
use tracewright_hart::{Core, Exception, Hart, HartSink, Machine, Stop, Trap, cause};
use tracewright_testkit::Scratch;

use crate::support::elf::{Segment, elf, elf_of};
use crate::support::{RAM, bare, bytes};

const LINUX: u64 = 0x1_0000;

/// A folder with a program and an empty root.
struct Program(Scratch);

impl Program {
    fn new(name: &str, program: &[u8]) -> Self {
        let scratch = Scratch::new(name);
        std::fs::create_dir(scratch.path().join("root")).unwrap();
        scratch.write("program", program);
        Self(scratch)
    }

    fn load(&self, memory: usize) -> Result<(Core, Linux), linux::LoadError> {
        let folder = self.0.path();
        let options = linux::Options { root: Some(folder.join("root")), memory, ..linux::Options::default() };
        Linux::load(&folder.join("program"), options)
    }
}

/// addi rd, rs1, imm
fn addi(rd: u32, rs1: u32, imm: i32) -> u32 {
    (imm as u32) << 20 | rs1 << 15 | rd << 7 | 0x13
}

/// sd rs2, imm(sp)
fn sd(rs2: u32, imm: u32) -> u32 {
    imm >> 5 << 25 | rs2 << 20 | 2 << 15 | 3 << 12 | (imm & 0x1f) << 7 | 0x23
}

const ECALL: u32 = 0x73;

fn run_linux(name: &str, words: &[u32]) -> Stop {
    let program = Program::new(name, &elf(false, LINUX, &bytes(words)));
    let (core, linux) = program.load(16 << 20).unwrap();
    Hart::new(core, linux).run(10_000, &mut ())
}

fn is_fault(stop: &Stop, says: &str) -> bool {
    matches!(stop, Stop::Fault(why) if why.contains(says))
}

#[test]
fn a_signal_handler_at_the_last_address() {
    // sigaction(SIGSEGV, {-1, 0, 0}, 0, 8), then a load from 0.
    let stop = run_linux(
        "handler",
        &[
            addi(5, 0, -1),
            addi(2, 2, -64),
            sd(5, 0),
            sd(0, 8),
            sd(0, 16),
            addi(10, 0, 11),
            addi(11, 2, 0),
            addi(12, 0, 0),
            addi(13, 0, 8),
            addi(17, 0, 134),
            ECALL,
            0x0000_3503,
        ],
    );
    assert!(is_fault(&stop, "odd address 0xffffffffffffffff"), "{stop:?}");
}

#[test]
fn a_return_from_a_signal_to_the_last_address() {
    let mut words = vec![addi(5, 0, -1), addi(2, 2, -2032)];
    words.extend((0..1200).step_by(8).map(|at| sd(5, at)));
    words.extend([addi(17, 0, 139), ECALL]);
    let stop = run_linux("sigreturn", &words);
    assert!(is_fault(&stop, "odd address 0xffffffffffffffff"), "{stop:?}");
}

#[test]
fn any_entry_and_any_trap_register_on_a_bare_machine() {
    let ends = [0, 1, u64::MAX, u64::MAX - 1, u64::MAX - 3, 0xffff_ffff, 0xffff_fffe, 0xffff_fffc, 1 << 63];
    for is_rv32 in [false, true] {
        for entry in ends {
            let options = Options { entry: Some(entry), ..Options::default() };
            let file = elf(is_rv32, RAM, &bytes(&[ECALL]));
            let stop = bare(&file, &options, &[]).run(10_000, &mut ());
            assert!(is_fault(&stop, "no trap handler"), "{entry:#x}: {stop:?}");
        }
        // csrw CSR, t0, with any value, then mret or ecall.
        for csr in [0x305, 0x105, 0x341, 0x141, 0x180, 0x3a0, 0x3b0, 0x300, 0x302, 0x303, 0x304] {
            for (value, last) in ends.into_iter().flat_map(|end| [(end, 0x3020_0073), (end, ECALL)]) {
                let file = elf(is_rv32, RAM, &bytes(&[csr << 20 | 5 << 15 | 1 << 12 | 0x73, last]));
                let options = Options { entry: Some(RAM), ..Options::default() };
                let x = [if is_rv32 { value as i32 as i64 as u64 } else { value }];
                let stop = bare(&file, &options, &x).run(10_000, &mut ());
                assert!(matches!(stop, Stop::Fault(_) | Stop::Limit), "{csr:#x} {value:#x}: {stop:?}");
            }
        }
    }
}

/// Two segments of 192 GiB at the same place take only the memory that is touched.
#[test]
fn huge_segments_that_overlap() {
    let code = bytes(&[addi(17, 0, 93), ECALL]);
    let zeros = 0x30_0000_0000;
    let segment = || Segment { address: LINUX, bytes: &code, zeros };
    let program = Program::new("overlap", &elf_of(false, LINUX, &[segment(), segment()]));
    let (core, linux) = program.load(16 << 20).unwrap();
    assert!(core.memory.regions() < 8, "{} regions", core.memory.regions());
    assert!(core.memory.bytes().len() < 1 << 20);
    assert_eq!(Hart::new(core, linux).run(100, &mut ()), Stop::Exit { status: 0 });
    // The same on a bare machine.
    let file = elf_of(false, RAM, &[Segment { address: RAM, bytes: &code, zeros }, segment()]);
    let options = Options { limit: 16 << 20, ..Options::default() };
    let memory = bare(&file, &options, &[]).core.memory;
    assert!(memory.regions() < 8 && memory.bytes().len() < 1 << 20);
}

/// The contents of an earlier segment stay if a later one with other rights surrounds it.
#[test]
fn segments_out_of_order() {
    let (one, two) = (vec![1; 0x1000], vec![2; 0x3000]);
    let file = elf_of(
        false,
        LINUX,
        &[
            Segment { address: LINUX + 0x4000, bytes: &one, zeros: 0 },
            Segment { address: LINUX, bytes: &two, zeros: 0x8000 },
        ],
    );
    let program = Program::new("order", &file);
    let (mut core, _) = program.load(16 << 20).unwrap();
    assert_eq!(core.memory.peek::<2>(LINUX + 0x2ffe), Some([2, 2]));
    assert_eq!(core.memory.peek::<2>(LINUX + 0x4000), Some([1, 1]));
    assert_eq!(core.memory.peek::<2>(LINUX + 0xaffe), Some([0, 0]));
}

#[test]
fn more_program_headers_than_linux_takes() {
    let code = bytes(&[ECALL]);
    let many = |address: u64| -> Vec<_> {
        (0..2000).map(|i| Segment { address: address + i * 0x1000, bytes: &code, zeros: 0x10_0000 }).collect()
    };
    let program = Program::new("headers", &elf_of(false, LINUX, &many(LINUX)));
    let error = program.load(16 << 20).unwrap_err().to_string();
    assert!(error.contains("2000 program headers"), "{error}");
    let file = elf_of(false, RAM, &many(RAM));
    let error = Bare::new(&file, &Options::default(), Box::new(std::io::sink())).unwrap_err();
    assert!(error.to_string().contains("2000 program headers"), "{error}");
}

/// A program opens as many folders as it can: the tool can still open its own files.
#[test]
fn a_program_leaves_descriptors_to_the_tool() {
    const OPENAT: u64 = 56;
    let program = Program::new("descriptors", &elf(false, LINUX, &bytes(&[ECALL])));
    let deep = format!("deep{}", "/x".repeat(60));
    std::fs::create_dir_all(program.0.path().join("root").join(&deep)).unwrap();
    let (mut core, mut linux) = program.load(16 << 20).unwrap();
    let path = core.x[2] - 0x1000;
    core.memory.write(path, format!("{deep}\0").as_bytes()).unwrap();
    let mut opened = 0;
    loop {
        // openat(AT_FDCWD, path, O_DIRECTORY)
        core.x[10..14].copy_from_slice(&[-100i64 as u64, path, 0o20_0000, 0]);
        core.x[17] = OPENAT;
        linux.exception(&mut core, Exception { cause: cause::ECALL_U, value: 0 }).unwrap();
        if core.x[10] as i64 == -24 {
            break;
        }
        opened += 1;
    }
    assert!(opened > 3);
    let held: Result<Vec<_>, _> = (0..32).map(|_| std::fs::File::open("/dev/null")).collect();
    assert!(held.is_ok(), "after {opened} folders: {held:?}");
}

/// Offset of the registers in a signal frame, the pc first.
const REGISTERS: u32 = 304;

/// A signal return to the very call that makes it: nothing retires, so that the limit of instructions is not reached.
#[test]
fn exceptions_alone_do_not_go_on_for_ever() {
    let call = LINUX as u32 + 7 * 4;
    let words = [
        addi(2, 2, -2032),
        call & 0xffff_f000 | 0x2b7,
        addi(5, 5, (call & 0xfff) as i32),
        sd(5, REGISTERS),
        sd(2, REGISTERS + 2 * 8),
        addi(17, 0, 139),
        sd(17, REGISTERS + 17 * 8),
        ECALL,
    ];
    let stop = run_linux("again", &words);
    assert!(is_fault(&stop, "exceptions in a row"), "{stop:?}");

    // A requested stop comes first.
    struct Asker(Arc<AtomicBool>);
    impl HartSink for Asker {
        fn block(&mut self, _: &Block) {}
        fn trap(&mut self, _: &Trap) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let program = Program::new("asked", &elf(false, LINUX, &bytes(&words)));
    let (core, linux) = program.load(16 << 20).unwrap();
    let mut hart = Hart::new(core, linux);
    let asker = &mut Asker(Arc::default());
    hart.stop_when(Arc::clone(&asker.0));
    assert_eq!(hart.run(u64::MAX, asker), Stop::Asked);
}

/// A dynamic linker that is no program is not read completely.
#[test]
fn a_huge_file_as_dynamic_linker() {
    let code = ECALL.to_le_bytes();
    let segments = [(LINUX, &code[..]), (LINUX + 0x1000, b"/huge\0")];
    let segments = segments.map(|(address, bytes)| Segment { address, bytes, zeros: 0 });
    let mut program = elf_of(false, LINUX, &segments);
    // PT_INTERP
    program[64 + 56] = 3;
    let program = Program::new("linker", &program);
    let huge = std::fs::File::create(program.0.path().join("root/huge")).unwrap();
    huge.set_len(1 << 40).unwrap();
    let error = program.load(16 << 20).unwrap_err().to_string();
    assert!(error.contains("it is not ELF"), "{error}");
}
