use super::lines::Scan;
use super::{commit, csv, own, spike};

/// Kind of log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Own format, which [`own::Reader`] reads.
    Own,
    /// Spike's `-l` and `--log-commits`.
    Spike,
    /// CVA6's tracers, and others in the style of its RVFI tracer.
    Rvfi,
    /// The retirement traces in CSV of the E-Trace reference models.
    Csv,
    /// QEMU's `-d exec`, with the instructions from the program.
    Qemu,
    /// Log of tracewright's QEMU plugin, which the crate `tracewright-qemu` reads.
    Retirement,
}

impl Kind {
    /// Returns whether tracewright writes such logs.
    pub const fn is_ours(self) -> bool {
        matches!(self, Self::Own | Self::Retirement)
    }
}

/// First bytes of a retirement log.
const RETIREMENT: &[u8] = b"twretire";

/// Number of lines that [`detect`] examines. Logs often begin with messages of the simulator.
const LINES: usize = 200;

/// Guesses the kind of a log from its first bytes; some kilobytes are enough. Returns `None` if it looks like none.
///
/// Spike's and CVA6's logs have a common style. It is CVA6's if something occurs that Spike never writes. A commit
/// without its core occurs in old Spike logs and in CVA6's; both readers accept it.
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
        if spike::core(&mut Scan(line)).is_some() || commit::is_bare(line) {
            guess = Some(Kind::Spike);
        }
    }
    guess
}

/// Returns whether CVA6's tracers, but not Spike, write such a line.
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
