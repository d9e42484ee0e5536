//! A progress bar on standard error, when a person is watching and it takes a while.

use std::io::{IsTerminal, stderr, stdout};
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tracewright::Trace;
use tracewright_core::text::Printable;
use tracewright_input::Buffer;
use tracewright_input::debuginfod::Progress;

use crate::output::remark;

use crate::output::is_quiet;

/// Below this a bar would only flash.
const WORTH_IT: u64 = 32 << 20;

/// A bar over `len` bytes; invisible when nobody would see it or it would disturb text on the same screen.
pub fn bar(len: u64, what: &str) -> ProgressBar {
    if len < WORTH_IT || is_quiet() || !stderr().is_terminal() || stdout().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec} {eta}");
    let bar = ProgressBar::with_draw_target(Some(len), ProgressDrawTarget::stderr_with_hz(5));
    bar.set_message(Printable(what).to_string());
    bar.enable_steady_tick(Duration::from_millis(200));
    style.map_or(bar.clone(), |style| bar.with_style(style))
}

/// Returns a trace whose progress through a buffer is shown, until it is dropped.
pub fn on(trace: &Trace, buffer: &Buffer) -> Trace {
    let bar =
        bar(buffer.bytes().unwrap_or(0), &buffer.path.file_name().unwrap_or_default().to_string_lossy());
    let bar = Cleared(bar);
    trace.clone().progress(move |bytes| bar.0.inc(bytes))
}

/// A bar that goes away in the end.
struct Cleared(ProgressBar);

impl Drop for Cleared {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Reports a file that was fetched from a debuginfod server, and how far it is where a person is watching.
pub fn fetched(progress: Progress<'_>) {
    static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);
    let Ok(mut shown) = BAR.lock() else { return };
    match progress {
        Progress::Received { url, bytes, total } => {
            let bar = shown.get_or_insert_with(|| bar(total.unwrap_or(0), url));
            bar.set_position(bytes);
        }
        Progress::Fetched { url, bytes } => {
            shown.take().inspect(ProgressBar::finish_and_clear);
            remark(&format!("fetched {url} ({bytes} bytes)"));
        }
        _ => {}
    }
}

/// A line for work of which nobody knows how much it is.
pub fn spinner() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
    let style = ProgressStyle::with_template("{spinner} {elapsed} {msg}");
    style.map_or(bar.clone(), |style| bar.with_style(style))
}
