//! Reports for data trace: accesses with operands, CSRs, failed store-conditionals.

use crate::support::elf;

use std::io;

use elf::elf;
use tracewright_core::{AtomicOp, Block, CsrOp, DataAccess, DataKind};
use tracewright_hart::bare::{Bare, Options};
use tracewright_hart::{Hart, HartSink};

const RAM: u64 = 0x8000_0000;

#[derive(Default)]
struct Data(Vec<(u64, DataAccess)>);

impl HartSink for Data {
    const DATA: bool = true;

    fn block(&mut self, _: &Block) {}

    fn data(&mut self, pc: u64, access: &DataAccess) {
        self.0.push((pc, *access));
    }
}

fn run(is_rv32: bool, x: &[u64], code: &[u32]) -> Vec<(u64, DataAccess)> {
    let bytes: Vec<_> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    let options = Options { entry: Some(RAM), ..Options::default() };
    let (mut core, machine) = Bare::new(&elf(is_rv32, RAM, &bytes), &options, Box::new(io::sink())).unwrap();
    core.x[5..5 + x.len()].copy_from_slice(x);
    let mut data = Data::default();
    Hart::new(core, machine).run(code.len() as u64, &mut data);
    data.0
}

/// Kind, size, address, value, operand.
type Row = (DataKind, u8, u64, Option<u64>, Option<u64>);

fn check(is_rv32: bool, x: &[u64], code: &[u32], rows: &[(u64, Row)]) {
    let expected: Vec<_> = rows
        .iter()
        .map(|&(index, (kind, size, address, value, operand))| {
            (RAM + 4 * index, DataAccess { kind, size, address: Some(address), value, operand, after: false })
        })
        .collect();
    assert_eq!(run(is_rv32, x, code), expected);
}

#[test]
fn memory() {
    use DataKind::{Atomic, Load, Store, StoreFailed};
    let place = RAM + 0x100;
    let code = [
        0x0062_a023, // sw x6, 0(x5)
        0x0062_a3af, // amoadd.w x7, x6, (x5)
        0x8062_a32f, // amomin.w x6, x6, (x5), whose result overwrites its operand
        0x1802_a3af, // sc.w x7, x0, (x5) without a reservation
        0x1002_a3af, // lr.w x7, (x5)
        0x1802_a3af, // sc.w x7, x0, (x5)
    ];
    let minus = 0xffff_fffe;
    check(
        false,
        &[place, -2i64 as u64],
        &code,
        &[
            (0, (Store, 4, place, Some(minus), None)),
            (1, (Atomic(AtomicOp::Add), 4, place, Some(minus), Some(minus))),
            (2, (Atomic(AtomicOp::Min), 4, place, Some(0xffff_fffc), Some(minus))),
            (3, (StoreFailed, 4, place, None, None)),
            (4, (Load, 4, place, Some(0xffff_fffc), None)),
            (5, (Store, 4, place, Some(0), None)),
        ],
    );
}

#[test]
fn control_registers() {
    use DataKind::Csr;
    const MSCRATCH: u64 = 0x340;
    let code = [
        0x3402_92f3, // csrrw x5, mscratch, x5
        0x340f_e373, // csrrsi x6, mscratch, 31
        0x3403_33f3, // csrrc x7, mscratch, x6
        0xf140_23f3, // csrrs x7, mhartid, x0: can only be read
        0x3402_9073, // csrrw x0, mscratch, x5: what nothing is done with is read all the same
    ];
    for (is_rv32, size, ones) in [(false, 8, u64::MAX), (true, 4, u64::from(u32::MAX))] {
        let given = 0x8000_0f00u64 as i32 as i64 as u64;
        let seen = given & ones;
        check(
            is_rv32,
            &[given],
            &code,
            &[
                (0, (Csr(CsrOp::Write), size, MSCRATCH, Some(0), Some(seen))),
                (1, (Csr(CsrOp::Set), size, MSCRATCH, Some(seen), Some(31))),
                (2, (Csr(CsrOp::Clear), size, MSCRATCH, Some(seen | 31), Some(seen))),
                (3, (Csr(CsrOp::Set), size, 0xf14, Some(0), None)),
                (4, (Csr(CsrOp::Write), size, MSCRATCH, Some(31), Some(0))),
            ],
        );
    }
}
