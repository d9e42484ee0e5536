//! Results equal those of QEMU's hart. `oracle/hart.c` runs every operation under `qemu-riscv64`, whose arithmetic is
//! independent of ours.

use crate::operations;

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use operations::{Record, operations};
use tracewright_softfloat::{Flags, Rounding};
use tracewright_testkit::{Rng, skip};

/// Number of operands. Each runs with every operation and mode: 240 cases.
const RECORDS: usize = 20_000;

#[test]
fn qemu_agrees() {
    let program = match build() {
        Ok(program) => program,
        Err(why) => return skip("qemu_agrees", &why),
    };
    let mut rng = Rng::new(2);
    let records: Vec<Record> = (0..RECORDS).map(|_| Record::random(&mut rng)).collect();
    let started =
        Command::new("qemu-riscv64").arg(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut hart) = started else { return skip("qemu_agrees", "no qemu-riscv64") };

    // The program answers while it reads, so another thread writes.
    let mut input = hart.stdin.take().unwrap();
    let bytes: Vec<u8> = records.iter().flat_map(to_bytes).collect();
    let asking = std::thread::spawn(move || input.write_all(&bytes));

    let operations = operations();
    let mut seen = [0usize; 32];
    let mut output = std::io::BufReader::new(hart.stdout.take().unwrap());
    for record in &records {
        for rounding in Rounding::ALL {
            for operation in &operations {
                let mut answer = [0; 16];
                output.read_exact(&mut answer).expect("an answer to every question");
                let (result, flags) = answer.split_at(8);
                let expected = u64::from_le_bytes(result.try_into().unwrap());
                let expected_flags = Flags(flags[0]);
                for ours in [operation.run, operation.twin] {
                    let mut flags = Flags::default();
                    let result = ours(record, rounding, &mut flags);
                    assert!(
                        (result, flags) == (expected, expected_flags),
                        "{} {rounding:?} {record:x?}: {result:#x} {flags:?}, QEMU {expected:#x} {expected_flags:?}",
                        operation.name
                    );
                }
                seen[usize::from(expected_flags.0)] += 1;
            }
        }
    }
    asking.join().unwrap().expect("QEMU reads all");
    assert!(hart.wait().unwrap().success());
    // All of these must occur: none, NX, UF and OF with NX, DZ, NV.
    for flags in [0, 1, 3, 5, 8, 16] {
        assert!(seen[flags] > RECORDS / 10, "{flags:#x} only {} times", seen[flags]);
    }
}

fn to_bytes(record: &Record) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in record.d.into_iter().chain([record.integer]) {
        bytes.extend(value.to_le_bytes());
    }
    for value in record.s.into_iter().chain([0]) {
        bytes.extend(value.to_le_bytes());
    }
    bytes
}

/// Compiles the program. Returns the reason if no compiler can.
fn build() -> Result<PathBuf, String> {
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/hart.c");
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("hart");
    let status = Command::new("riscv64-linux-gnu-gcc")
        .args(["-static", "-nostdlib", "-ffreestanding", "-O1", "-Wall", "-Wextra", "-Werror", "-o"])
        .args([&program, &source])
        .status()
        .map_err(|_| "no riscv64-linux-gnu-gcc".to_owned())?;
    assert!(status.success(), "hart.c does not compile");
    Ok(program)
}
