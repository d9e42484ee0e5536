//! Reports for data trace: accesses with operands, CSRs, failed store-conditionals.

use crate::support::elf::elf;
use crate::support::{RAM, Record, Told, bare, bytes};
use tracewright_core::{AtomicOp, CsrOp, DataAccess, DataKind};
use tracewright_hart::bare::Options;

fn run(is_rv32: bool, x: &[u64], code: &[u32]) -> Vec<Told> {
    let options = Options { entry: Some(RAM), ..Options::default() };
    let mut record = Record::default();
    bare(&elf(is_rv32, RAM, &bytes(code)), &options, x).run(code.len() as u64, &mut record);
    record.0.retain(|told| matches!(told, Told::Data(..)));
    record.0
}

/// Kind, size, address, value, operand.
type Row = (DataKind, u8, u64, Option<u64>, Option<u64>);

fn check(is_rv32: bool, x: &[u64], code: &[u32], rows: &[(u64, Row)]) {
    let expected: Vec<_> = rows
        .iter()
        .map(|&(index, (kind, size, address, value, operand))| {
            let access = DataAccess { kind, size, address: Some(address), value, operand, after: false };
            Told::Data(RAM + 4 * index, access)
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
