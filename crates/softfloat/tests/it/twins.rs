//! The fast path gives the same bits and flags as integers.

use crate::operations;

use operations::{Record, operations};
use tracewright_softfloat::{Flags, Rounding};
use tracewright_testkit::Rng;

/// Number of operands. Each runs with every operation and mode: 240 cases.
const RECORDS: usize = 40_000;

#[test]
fn fast_is_exact() {
    let mut rng = Rng::new(1);
    let operations = operations();
    for _ in 0..RECORDS {
        let record = Record::random(&mut rng);
        for rounding in Rounding::ALL {
            // Flags that were raised before must stay, and may enable a short cut.
            let before = Flags(*rng.pick(&[0, 0, 1, 1, 30, 31]));
            for operation in &operations {
                let (mut fast, mut exact) = (before, before);
                let result = (operation.run)(&record, rounding, &mut fast);
                let expected = (operation.twin)(&record, rounding, &mut exact);
                assert!(
                    (result, fast) == (expected, exact),
                    "{} {rounding:?} {record:x?}: {result:#x} {fast:?}, not {expected:#x} {exact:?}",
                    operation.name
                );
            }
        }
    }
}
