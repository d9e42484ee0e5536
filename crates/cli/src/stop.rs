//! What ends a run before its program does: Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

/// Signals reach the whole process, so there is one of it.
static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Returns what becomes true when the run is to end.
pub fn flag() -> Arc<AtomicBool> {
    Arc::clone(&STOP)
}

/// Ends the run when Ctrl-C is pressed, so that what was recorded is kept. The second time ends everything.
pub fn on_ctrl_c() {
    // Without it, Ctrl-C ends everything the first time.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
}
