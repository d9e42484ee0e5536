//! Configuration of a stream: group format, retire width, codes, amortisation.

use std::fmt;
use std::str::FromStr;

/// The tokens of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Format {
    /// {A, C}: cycles that retire, cycles that stall. Exact, with at most one instruction per cycle.
    Ac,
    /// {A, B, C}: the same with missed retirement opportunities. The format does not keep in which A cycles they are.
    Abc,
    /// {D, E}: how many instructions retire in a cycle, and the distance to the next such cycle. Exact.
    De,
}

/// The formats in the order of their numbers in sync packets: tokens, and name in a configuration's text.
const FORMATS: [(Format, &str, &str); 3] =
    [(Format::Ac, "{A,C}", "ac"), (Format::Abc, "{A,B,C}", "abc"), (Format::De, "{D,E}", "de")];

/// The code of counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Code {
    /// Elias gamma, shorter for the frequent counts below 32.
    #[default]
    Gamma,
    /// Elias delta, shorter for large counts.
    Delta,
}

/// The code of D.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DCode {
    /// D - 1 in as many bits as the retire width needs.
    #[default]
    Binary,
    /// D in the code of the other tokens.
    Elias,
}

/// Greatest retire width.
pub const MAX_WIDTH: u8 = 8;

/// The configuration of a stream. Every sync packet carries it, so that a decoder needs nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Tokens of a group.
    pub format: Format,
    /// Maximum number of instructions that retire in a cycle: 1 to [`MAX_WIDTH`].
    pub width: u8,
    /// Code of counts.
    pub code: Code,
    /// Code of D.
    pub d: DCode,
    /// Longest stall that is amortised, in cycles: counted in A, its place forgotten. 0: none.
    pub amortise: u32,
}

/// An error in a [`Config`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The width is not 1 to [`MAX_WIDTH`].
    Width(u8),
    /// {A, C} allows only one instruction per cycle.
    AcWidth(u8),
    /// Only {A, B, C} can amortise.
    Amortise(Format),
    /// A word of the text form is unknown.
    Word(String),
}

impl Config {
    /// Returns {A, C} in Elias gamma.
    #[must_use]
    pub const fn ac() -> Self {
        Self { format: Format::Ac, width: 1, code: Code::Gamma, d: DCode::Binary, amortise: 0 }
    }

    /// Returns {A, B, C} in Elias gamma, with nothing amortised.
    #[must_use]
    pub const fn abc(width: u8) -> Self {
        Self { format: Format::Abc, width, ..Self::ac() }
    }

    /// Returns {D, E} in binary and Elias gamma.
    #[must_use]
    pub const fn de(width: u8) -> Self {
        Self { format: Format::De, width, ..Self::ac() }
    }

    /// Returns the configuration with stalls of up to `cycles` amortised.
    #[must_use]
    pub const fn amortising(self, cycles: u32) -> Self {
        Self { amortise: cycles, ..self }
    }

    /// Checks that the configuration is possible.
    ///
    /// # Errors
    /// Returns what is wrong.
    pub fn check(&self) -> Result<(), ConfigError> {
        if !(1..=MAX_WIDTH).contains(&self.width) {
            return Err(ConfigError::Width(self.width));
        }
        match self.format {
            Format::Ac if self.width > 1 => Err(ConfigError::AcWidth(self.width)),
            Format::Ac | Format::De if self.amortise > 0 => Err(ConfigError::Amortise(self.format)),
            _ => Ok(()),
        }
    }

    /// Returns whether the cycle of every instruction is always exact.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.format != Format::Abc || (self.width == 1 && self.amortise == 0)
    }

    /// Returns the number of bits of a binary D.
    #[must_use]
    pub(crate) fn d_bits(&self) -> u32 {
        u32::from(self.width.max(1)).next_power_of_two().trailing_zeros()
    }

    /// Returns the byte in sync packets. The threshold follows it there.
    pub(crate) fn to_byte(self) -> u8 {
        let width = self.width.wrapping_sub(1) & 7;
        self.format as u8
            | width << 2
            | u8::from(self.code == Code::Delta) << 5
            | u8::from(self.d == DCode::Elias) << 6
    }

    /// Parses the byte of a sync packet. Returns `None` if no encoder emits it.
    pub(crate) fn from_byte(byte: u8, amortise: u32) -> Option<Self> {
        let config = Self {
            format: FORMATS.get(usize::from(byte & 3))?.0,
            width: (byte >> 2 & 7) + 1,
            code: if byte & 0x20 == 0 { Code::Gamma } else { Code::Delta },
            d: if byte & 0x40 == 0 { DCode::Binary } else { DCode::Elias },
            amortise,
        };
        (byte & 0x80 == 0 && config.check().is_ok()).then_some(config)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::ac()
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FORMATS[*self as usize].1)
    }
}

/// Writes the text form: `ac`, `abc,width=4,amortise=1`, `de,width=2,d=elias`, `ac,code=delta`.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FORMATS[self.format as usize].2)?;
        if self.width != 1 {
            write!(f, ",width={}", self.width)?;
        }
        if self.amortise != 0 {
            write!(f, ",amortise={}", self.amortise)?;
        }
        if self.code == Code::Delta {
            f.write_str(",code=delta")?;
        }
        if self.d == DCode::Elias {
            f.write_str(",d=elias")?;
        }
        Ok(())
    }
}

impl FromStr for Config {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let mut config = Self::ac();
        for (at, word) in text.split(',').map(str::trim).enumerate() {
            let wrong = || ConfigError::Word(word.to_owned());
            if at == 0 {
                config.format = FORMATS.iter().find(|format| format.2 == word).ok_or_else(wrong)?.0;
                continue;
            }
            let (name, value) = word.split_once('=').ok_or_else(wrong)?;
            match (name, value) {
                ("width", _) => config.width = value.parse().map_err(|_| wrong())?,
                ("amortise", _) => config.amortise = value.parse().map_err(|_| wrong())?,
                ("code", "gamma") => config.code = Code::Gamma,
                ("code", "delta") => config.code = Code::Delta,
                ("d", "binary") => config.d = DCode::Binary,
                ("d", "elias") => config.d = DCode::Elias,
                _ => return Err(wrong()),
            }
        }
        config.check()?;
        Ok(config)
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Width(width) => write!(f, "a retire width of {width}: 1 to {MAX_WIDTH} are possible"),
            Self::AcWidth(width) => {
                write!(f, "{{A,C}} tells one instruction a cycle, not {width}: take `abc` or `de`")
            }
            Self::Amortise(format) => write!(f, "{format} cannot amortise stalls: take `abc`"),
            Self::Word(word) => write!(
                f,
                "`{word}` in a delta format: expected `ac`, `abc` or `de` first, then `width=N`, `amortise=N`, \
                 `code=gamma`, `code=delta`, `d=binary` or `d=elias`"
            ),
        }
    }
}

impl std::error::Error for ConfigError {}
