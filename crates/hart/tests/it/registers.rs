//! Registers that instructions write, compared with the state of the hart after each step.

use std::path::Path;

use tracewright_core::Block;
use tracewright_hart::bare::{self, Bare};
use tracewright_hart::linux::{Linux, Options};
use tracewright_hart::{Core, Hart, HartSink, Machine, RegisterWrite, Stop, Trap};
use tracewright_isa::riscv::Register;

/// The last step: registers that were written, and whether there was a trap, in which the machine may write any.
#[derive(Default)]
struct Step {
    writes: Vec<RegisterWrite>,
    is_trap: bool,
}

impl HartSink for Step {
    const REGISTERS: bool = true;

    fn block(&mut self, _: &Block) {}

    fn register(&mut self, write: &RegisterWrite) {
        self.writes.push(*write);
    }

    fn trap(&mut self, _: &Trap) {
        self.is_trap = true;
    }
}

/// Returns all registers but x0, with the values that are reported.
fn registers(core: &Core) -> Vec<(Register, u64)> {
    let mask = if core.is_rv32 { u64::from(u32::MAX) } else { u64::MAX };
    let integer = (1..32).map(|number| (Register::X(number), core.x[usize::from(number)] & mask));
    integer.chain((0..32).map(|number| (Register::F(number), core.f[usize::from(number)]))).collect()
}

/// Runs a program instruction by instruction: what changes is what is reported. Returns how many integer and floating-point
/// registers were written.
fn stepped<M: Machine>(name: &str, mut hart: Hart<M>) -> (u64, u64) {
    let (mut integer, mut float) = (0, 0);
    let mut before = registers(&hart.core);
    for limit in 1..=60_000 {
        let mut step = Step::default();
        let (pc, stop) = (hart.core.pc, hart.run(limit, &mut step));
        let after = registers(&hart.core);
        assert!(step.writes.len() <= 1, "{name} {pc:#x}: {:?}", step.writes);
        for write in &step.writes {
            assert!(
                step.is_trap || after.contains(&(write.register, write.value)),
                "{name} {pc:#x}: {write:?}"
            );
            match write.register {
                Register::X(_) => integer += 1,
                Register::F(_) => float += 1,
            }
        }
        let changed = after.iter().zip(&before).filter(|(after, before)| after != before);
        for ((register, value), _) in changed {
            let is_told =
                step.writes.iter().any(|write| (write.register, write.value) == (*register, *value));
            assert!(step.is_trap || is_told, "{name} {pc:#x}: {register}={value:x} is not reported");
        }
        before = after;
        if stop != Stop::Limit {
            break;
        }
    }
    (integer, float)
}

#[test]
fn what_changes_is_reported() {
    let place = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/bin").join(name);
    for name in ["floats.elf", "atomics.elf", "bits.elf", "divides.elf", "fft.elf"] {
        let options = Options { arguments: vec![name.into()], ..Options::default() };
        let (core, linux) = Linux::load(&place(name), options).unwrap();
        let (integer, float) = stepped(name, Hart::new(core, linux));
        assert!(integer > 10_000 && (float > 100 || !["floats.elf", "fft.elf"].contains(&name)), "{name}");
    }
    for name in ["tasks32.elf", "traps32.elf", "timer.elf"] {
        let elf = std::fs::read(place(name)).unwrap();
        let (core, machine) = Bare::new(&elf, &bare::Options::default(), Box::new(std::io::sink())).unwrap();
        assert!(stepped(name, Hart::new(core, machine)).0 > 10_000, "{name}");
    }
}
