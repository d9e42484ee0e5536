//! `--delta[=SPEC]`: which format, and whether it fits what is traced.

use std::path::Path;

use clap::Args;
use tracewright_core::Block;
use tracewright_delta::Config;
use tracewright_hart::Sink;
use tracewright_image::Image;
use tracewright_isa::riscv::Xlen;

use crate::log::Log;
use crate::output::Error;

/// How delta trace is made.
#[derive(Clone, Copy, Debug)]
pub struct DeltaSettings {
    /// Its format.
    pub config: Config,
    /// All that retires is told: where something does not follow, it is another thread's. Otherwise something is missing there.
    pub is_gapless: bool,
}

/// Of delta trace.
#[derive(Args, Clone, Debug)]
pub struct DeltaArgs {
    /// Also write retirement-delta trace, the cycle of each instruction, to delta.bin in the capture. SPEC is its format; if not given, one that
    /// loses nothing (`--delta=help` lists all).
    #[arg(long, value_name = "SPEC", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    delta: Option<String>,
}

/// What is said of formats, in 80 columns.
const HELP: &str = "\
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

impl DeltaArgs {
    /// Whether it is asked for.
    pub fn is_given(&self) -> bool {
        self.delta.is_some()
    }

    /// What is said of formats, if that is asked for: also by `--delta help`, where `help` is taken for the first file.
    pub fn help(&self, first: Option<&Path>) -> Option<&'static str> {
        let is_word = || first == Some(Path::new("help")) && !Path::new("help").exists();
        match self.delta.as_deref() {
            Some("help") => Some(HELP),
            Some("") if is_word() => Some(HELP),
            _ => None,
        }
    }

    /// The format, if it is asked for, where up to `width` instructions retire in a cycle.
    pub fn config(&self, width: u64) -> Result<Option<Config>, Error> {
        let Some(spec) = &self.delta else { return Ok(None) };
        let wrong = |message: &dyn std::fmt::Display| {
            let option = if spec.is_empty() { "--delta".into() } else { format!("--delta={spec}") };
            let more =
                if width > 1 { format!(" (up to {width} retire in a cycle here)") } else { String::new() };
            Error::Message(format!("{option}: {message}{more}; `--delta=help` lists all"))
        };
        let mut config: Config = match spec.as_str() {
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
        Ok(Some(config))
    }

    /// Delta trace of the cycles that a log tells, if it is asked for. All of the log is read for that.
    pub fn of_log(&self, path: &Path, xlen: Xlen, image: &Image) -> Result<Option<DeltaSettings>, Error> {
        if !self.is_given() {
            return Ok(None);
        }
        let config = self.config(at_once(path, xlen, image)?)?;
        // A log may leave something out.
        Ok(config.map(|config| DeltaSettings { config, is_gapless: false }))
    }
}

/// How many instructions retire in one cycle.
#[derive(Debug, Default)]
struct AtOnce {
    last: Option<u64>,
    count: u64,
    most: u64,
}

impl Sink for AtOnce {
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

/// How many instructions retire at most in one cycle of a log. Fails if it tells no cycles.
fn at_once(path: &Path, xlen: Xlen, image: &Image) -> Result<u64, Error> {
    // What is wrong with it is told when it is encoded.
    let (AtOnce { most, .. }, _) = Log::open(path)?.read(xlen, image, AtOnce::default());
    match most {
        0 => Err(Error::Message(format!(
            "{}: --delta: the log does not tell in which cycles instructions retire: logs of CVA6 do, and those that \
             `record --timing MODEL --details all --log FILE` writes",
            path.display()
        ))),
        most => Ok(most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(spec: &str, width: u64) -> Result<String, String> {
        let args = DeltaArgs { delta: Some(spec.into()) };
        let config = args.config(width).map_err(|error| error.to_string())?;
        Ok(config.unwrap().to_string())
    }

    #[test]
    fn what_is_not_said_loses_nothing() {
        for (width, expected) in [(1, "ac"), (2, "de,width=2"), (8, "de,width=8")] {
            assert_eq!(config("", width).as_deref(), Ok(expected));
            assert!(expected.parse::<Config>().unwrap().is_exact());
        }
        assert_eq!(DeltaArgs { delta: None }.config(2).unwrap(), None);
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
            ("ac", 2, "--delta=ac: {A,C} tells one instruction a cycle, not 2: take `abc` or `de`"),
            ("ac,amortise=1", 1, "--delta=ac,amortise=1: {A,C} cannot amortise stalls: take `abc`"),
            (
                "de,width=1",
                2,
                "--delta=de,width=1: a width of 1 is too small (up to 2 retire in a cycle here)",
            ),
            ("abc,width=9", 1, "--delta=abc,width=9: a retire width of 9: 1 to 8 are possible"),
            ("", 9, "--delta: a retire width of 9: 1 to 8 are possible"),
            ("", 1 << 40, "--delta: a retire width of 255: 1 to 8 are possible"),
            ("xyz", 1, "--delta=xyz: `xyz` in a delta format: expected `ac`, `abc` or `de` first"),
            ("ac,", 1, "--delta=ac,: `` in a delta format"),
        ] {
            let error = config(spec, width).unwrap_err();
            assert!(error.starts_with(expected), "{spec}: {error}");
            assert!(error.ends_with("; `--delta=help` lists all"), "{error}");
        }
    }

    #[test]
    fn the_help_fits() {
        assert!(HELP.lines().all(|line| line.len() < 80), "{HELP}");
    }
}
