//! Formats of delta trace, and whether they fit what is traced.

use std::path::Path;

use tracewright_core::Block;
use tracewright_delta::Config;
use tracewright_hart::HartSink;
use tracewright_image::Image;
use tracewright_isa::riscv::Xlen;

use crate::error::LogProblem;
use crate::log::Log;
use crate::{Error, StopFlag};

/// Settings of delta trace.
#[derive(Clone, Copy, Debug)]
pub struct DeltaSettings {
    /// Its format.
    pub config: Config,
    /// Whether everything that retires is reported, so that a discontinuity means another thread. Otherwise it means a gap.
    pub is_gapless: bool,
}

/// The formats and their options, in 80 columns.
pub const HELP: &str = "\
Formats of retirement-delta trace (--delta=FORMAT[,NAME=VALUE]...)

  ac          {A,C}: cycles that retire an instruction, cycles that stall.
              Exact; for one instruction a cycle, and the default there
  de          {D,E}: how many retire in a cycle, and when the next do. Exact;
              the default where several can retire in a cycle
  abc         {A,B,C}: as ac, and how many more could have retired. Where in
              the A cycles instructions retired is not told

Options (NAME=VALUE; default; meaning)

  amortise=N  0       stalls of up to N cycles are counted in A (abc)
  code=NAME   gamma   how counts are written: Elias gamma or delta
  d=NAME      binary  how D is written: binary, or elias as the others (de)
  width=N             the most instructions that retire in a cycle, 1 to 8; if
                      not given, that of the model, or what the log has
";

/// Parses a format, where up to `width` instructions retire in a cycle. An empty `spec` stands for a lossless
/// format.
pub fn config(spec: &str, width: u64) -> Result<Config, Error> {
    let wrong = |message: &dyn std::fmt::Display| {
        let more = if width > 1 { format!(" (up to {width} retire in a cycle here)") } else { String::new() };
        Error::Delta { format: spec.into(), problem: format!("{message}{more}") }
    };
    let mut config: Config = match spec {
        "" if width > 1 => Config::de(1),
        "" => Config::ac(),
        spec => spec.parse().map_err(|error: tracewright_delta::ConfigError| wrong(&error))?,
    };
    let has_width = spec.split(',').any(|word| word.trim().starts_with("width="));
    if has_width && u64::from(config.width) < width {
        return Err(wrong(&format!("a width of {} is too small", config.width)));
    }
    if !has_width {
        config.width = u8::try_from(width).unwrap_or(u8::MAX);
    }
    config.check().map_err(|error| wrong(&error))?;
    Ok(config)
}

/// Returns the settings of delta trace for a log with cycles. Reads the whole log.
pub fn of_log(spec: &str, path: &Path, xlen: Xlen, image: &Image) -> Result<DeltaSettings, Error> {
    // A log may have gaps.
    Ok(DeltaSettings { config: config(spec, at_once(path, xlen, image)?)?, is_gapless: false })
}

/// A sink that finds the most instructions that retire in one cycle.
#[derive(Debug, Default)]
struct AtOnce {
    last: Option<u64>,
    count: u64,
    most: u64,
}

impl HartSink for AtOnce {
    const CYCLES: bool = true;

    fn block(&mut self, _: &Block) {}

    fn cycles(&mut self, cycles: &[u64]) {
        for &cycle in cycles {
            self.count = if self.last == Some(cycle) { self.count + 1 } else { 1 };
            self.last = Some(cycle);
            self.most = self.most.max(self.count);
        }
    }
}

/// Returns the most instructions that retire in one cycle of a log. Fails if the log has no cycles.
fn at_once(path: &Path, xlen: Xlen, image: &Image) -> Result<u64, Error> {
    // Problems of the log are reported when it is encoded.
    let (AtOnce { most, .. }, _) =
        Log::open(path, &StopFlag::default())?.read(xlen, image, AtOnce::default());
    match most {
        0 => Err(Error::log(path, LogProblem::NoCycles)),
        most => Ok(most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(spec: &str, width: u64) -> Result<String, String> {
        super::config(spec, width).map(|config| config.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_not_said_loses_nothing() {
        for (width, expected) in [(1, "ac"), (2, "de,width=2"), (8, "de,width=8")] {
            assert_eq!(config("", width).as_deref(), Ok(expected));
            assert!(expected.parse::<Config>().unwrap().is_exact());
        }
    }

    #[test]
    fn what_is_said_is_taken_with_the_width_of_what_runs() {
        for (spec, width, expected) in [
            ("abc", 1, "abc"),
            ("abc,amortise=4", 2, "abc,width=2,amortise=4"),
            ("de,code=delta", 4, "de,width=4,code=delta"),
            ("de,d=elias", 1, "de,d=elias"),
            ("de,width=8", 2, "de,width=8"),
        ] {
            assert_eq!(config(spec, width).as_deref(), Ok(expected), "{spec}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (spec, width, expected) in [
            ("ac", 2, "delta trace: {A,C} tells one instruction a cycle, not 2: take `abc` or `de`"),
            ("ac,amortise=1", 1, "delta trace: {A,C} cannot amortise stalls: take `abc`"),
            ("de,width=1", 2, "delta trace: a width of 1 is too small (up to 2 retire in a cycle here)"),
            ("abc,width=9", 1, "delta trace: a retire width of 9: 1 to 8 are possible"),
            ("", 9, "delta trace: a retire width of 9: 1 to 8 are possible"),
            ("", 1 << 40, "delta trace: a retire width of 255: 1 to 8 are possible"),
            ("xyz", 1, "delta trace: `xyz` in a delta format: expected `ac`, `abc` or `de` first"),
            ("ac,", 1, "delta trace: `` in a delta format"),
        ] {
            let error = config(spec, width).unwrap_err();
            assert!(error.starts_with(expected), "{spec}: {error}");
        }
    }

    #[test]
    fn the_help_fits() {
        assert!(HELP.lines().all(|line| line.len() < 80), "{HELP}");
    }
}
