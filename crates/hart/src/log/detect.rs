use super::lines::Scan;
use super::{csv, own, spike};

/// A kind of log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Our own: [`own::Reader`].
    Own,
    /// Spike's: [`spike::Reader`].
    Spike,
    /// CVA6's and such: [`rvfi::Reader`](super::rvfi::Reader).
    Rvfi,
    /// [`csv::Reader`].
    Csv,
    /// QEMU's: [`qemu::Reader`](super::qemu::Reader).
    Qemu,
    /// That of tracewright's plugin for QEMU, which the crate `tracewright-qemu` reads.
    Retirement,
}

/// How a retirement log begins.
const RETIREMENT: &[u8] = b"twretire";

/// How many lines [`detect`] looks at: logs often begin with what the simulator has to say.
const LINES: usize = 200;

/// Guesses what kind of log begins with these bytes; some kilobytes are enough. `None` if it looks like none.
///
/// Spike's and CVA6's logs share a style: it is CVA6's if something is there that Spike never writes. A commit
/// without its core is both old Spikes' and CVA6's; both readers read it.
pub fn detect(start: &[u8]) -> Option<Kind> {
    if start.starts_with(own::MAGIC) {
        return Some(Kind::Own);
    }
    if start.starts_with(RETIREMENT) {
        return Some(Kind::Retirement);
    }
    let mut guess = None;
    for (number, line) in start.split(|&byte| byte == b'\n').take(LINES).enumerate() {
        let line = line.trim_ascii_end();
        if number == 0 && line == csv::HEADER.as_bytes() {
            return Some(Kind::Csv);
        }
        let mut scan = Scan(line);
        if scan.eat("Trace ") && scan.decimal().is_some() && scan.eat(": 0x") {
            return Some(Kind::Qemu);
        }
        if is_rvfi(line) {
            return Some(Kind::Rvfi);
        }
        if spike::core(&mut Scan(line)).is_some() || matches!(line, [b'0'..=b'3', b' ', b'0', b'x', ..]) {
            guess = Some(Kind::Spike);
        }
    }
    guess
}

/// What CVA6's tracers write and Spike does not.
fn is_rvfi(line: &[u8]) -> bool {
    let has = |what: &[u8]| line.windows(what.len()).any(|window| window == what);
    let mut scan = Scan(line.trim_ascii_start());
    let is_cycle = scan.decimal().is_some() && scan.0.starts_with(b" 0x") && {
        scan.spaces();
        scan.hex().is_some() && matches!(scan.0, [b' ', b'M' | b'S' | b'U' | b'D', b' ', b'(', ..])
    };
    is_cycle
        || has(b" DASM(")
        || has(b" exception @ 0x")
        || line.starts_with(b"core   INTERRUPT")
        || line.starts_with(b"Exception Cause:")
}
