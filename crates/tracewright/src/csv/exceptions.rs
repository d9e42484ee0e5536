//! Exceptions and threads as comma-separated values.

use tracewright_core::Exception;
use tracewright_profile::{ExceptionStats, Spread, ThreadKey, ThreadStats};

use super::{Cell, Csv};
use crate::exceptions::{ExceptionRow, ThreadRow};

/// Returns a row for each exception of each source.
pub fn rows(exceptions: &[ExceptionRow<'_>]) -> String {
    let mut csv = Csv::<13>::new(
        "source,number,interrupt,name,unit,count,unfinished,interrupted,shortest,median,longest,total,median_interval",
    );
    for ExceptionRow { source, name, unit, key, stats } in exceptions {
        let ExceptionStats { count, unfinished, interrupted, durations, intervals, .. } = stats;
        let [shortest, median, longest, total] = spread(durations);
        csv.row([
            (*source).into(),
            Exception::known(key.number).map(u32::from).into(),
            key.interrupt.into(),
            name.as_str().into(),
            (*unit).into(),
            (*count).into(),
            (*unfinished).into(),
            (*interrupted).into(),
            shortest,
            median,
            longest,
            total,
            intervals.median().into(),
        ]);
    }
    csv.finish()
}

/// Returns a row for each thread of each source.
pub fn threads(threads: &[ThreadRow<'_>]) -> String {
    let mut csv = Csv::<12>::new(
        "source,context_id,vmid,value,name,unit,count,unfinished,shortest,median,longest,total",
    );
    for ThreadRow { source, name, unit, key, stats } in threads {
        let ThreadStats { count, unfinished, durations } = stats;
        let (context_id, vmid, value) = match *key {
            ThreadKey::Context(thread) => (thread.context_id, thread.vmid, Cell::Nothing),
            ThreadKey::Value(value) => (None, None, Cell::address(value)),
        };
        let [shortest, median, longest, total] = spread(durations);
        csv.row([
            (*source).into(),
            context_id.into(),
            vmid.into(),
            value,
            name.as_str().into(),
            (*unit).into(),
            (*count).into(),
            (*unfinished).into(),
            shortest,
            median,
            longest,
            total,
        ]);
    }
    csv.finish()
}

fn spread(spread: &Spread) -> [Cell<'static>; 4] {
    [spread.least(), spread.median(), spread.most(), u64::try_from(spread.total()).ok()].map(Cell::from)
}
