//! What is odd about the program that ran.

use tracewright_image::{Image, Overlap, Remark};
use tracewright_input::ImageFile;

use crate::output::{self, Outcome, report};

/// Stable name of the reason that source lines are missing.
pub const NO_LINES: &str = "no-lines";

/// No more are reported one by one.
const MOST: usize = 5;

/// What to say of an image made of `named` files and of a capture's dumps. Dumps that overlap agree: a capture whose dumps
/// do not has a problem, which is told as such.
pub fn remarks<'a>(image: &'a Image, named: &[ImageFile]) -> Vec<&'a Remark> {
    let is_named = |name: &str| named.iter().any(|file| file.path.display().to_string() == name);
    let matters = |remark: &&Remark| !matches!(remark, Remark::Overlap(overlap) if !is_named(&overlap.by));
    image.remarks().iter().filter(matters).collect()
}

/// Reports a few of them. That a named file hides a dump of the capture is what it was named for.
pub fn report_remarks(image: &Image, named: &[ImageFile]) {
    let is_named = |name: &str| named.iter().any(|file| file.path.display().to_string() == name);
    let mut remarks = remarks(image, named);
    remarks.retain(|remark| !matches!(remark, Remark::Overlap(Overlap { name, .. }) if !is_named(name)));
    for remark in remarks.iter().take(MOST) {
        output::remark(&format!("warning: {remark}"));
    }
    if remarks.len() > MOST {
        output::remark(&format!(
            "warning: {} more like these (tracewright info lists them)",
            remarks.len() - MOST
        ));
    }
}

/// Reports files whose source lines take too much memory or are damaged, after all that was asked of them.
pub fn report_left_out(image: &Image) -> Outcome {
    for (name, units) in image.lines_left_out() {
        let plural = if units == 1 { "" } else { "s" };
        report(&format!(
            "{name}: its line tables take too much memory: no source lines of {units} compilation unit{plural}"
        ));
    }
    for (name, why) in image.damaged_lines() {
        report(&format!("{name}: {why}: its source lines are missing"));
    }
    left_out(image)
}

/// Says whether there are such files, of what was asked for so far.
pub fn left_out(image: &Image) -> Outcome {
    Outcome::lacks(
        NO_LINES,
        image.lines_left_out().next().is_some() || image.damaged_lines().next().is_some(),
    )
}
