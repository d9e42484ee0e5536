//! Names, bounds and meanings of configuration fields: one table for reading, writing and checking.

use super::Config;
use super::config::{Predictor, Retire};

pub(super) struct Field {
    pub name: &'static str,
    /// Short description for people who edit the file.
    pub about: &'static str,
    pub values: Values,
    pub get: fn(&Config) -> u32,
    /// Sets the field to a value that `values` allows.
    pub set: fn(&mut Config, u32),
}

/// Allowed values of a field.
pub(super) enum Values {
    /// A number from, to.
    Number(u32, u32),
    /// A power of two from, to.
    Power(u32, u32),
    /// A power of two up to this, or 0.
    PowerOrNone(u32),
    /// One of these words; its index is the value.
    Words(&'static [&'static str]),
}

impl Values {
    pub fn allow(&self, value: u32) -> bool {
        match *self {
            Self::Number(from, to) => (from..=to).contains(&value),
            Self::Power(from, to) => (from..=to).contains(&value) && value.is_power_of_two(),
            Self::PowerOrNone(to) => value == 0 || value <= to && value.is_power_of_two(),
            Self::Words(words) => (value as usize) < words.len(),
        }
    }
}

/// Describes the values in words, such as "1 to 4".
impl std::fmt::Display for Values {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(from, to) => write!(f, "{from} to {to}"),
            Self::Power(from, to) => write!(f, "a power of two, {from} to {to}"),
            Self::PowerOrNone(to) => write!(f, "0 or a power of two up to {to}"),
            Self::Words(words) => write!(f, "{}", words.join(" or ")),
        }
    }
}

macro_rules! number {
    ($name:literal, $($path:ident).+, $values:expr, $about:literal) => {
        Field {
            name: $name,
            about: $about,
            values: $values,
            get: |config| config.$($path).+,
            set: |config, value| config.$($path).+ = value,
        }
    };
}

macro_rules! word {
    ($name:literal, $path:ident, [$($word:literal = $value:expr),+], $about:literal) => {
        Field {
            name: $name,
            about: $about,
            values: Words(&[$($word),+]),
            get: |config| [$($value),+].iter().position(|&value| value == config.$path).unwrap_or(0) as u32,
            set: |config, value| config.$path = [$($value),+][value as usize],
        }
    };
}

use Values::{Number, Power, PowerOrNone, Words};

/// Upper bound of latencies.
const LONGEST: u32 = 10_000;

/// All fields in the order in which they are written.
pub(super) const FIELDS: &[Field] = &[
    number!("issue_width", issue_width, Number(1, 4), "instructions begun a cycle"),
    number!("retire_width", retire_width, Number(1, 4), "instructions retired a cycle"),
    word!(
        "retire",
        retire,
        ["early" = Retire::Early, "complete" = Retire::Complete],
        "before or with the result"
    ),
    number!("hidden_latency", hidden_latency, Number(0, 16), "stages from execution to retirement"),
    number!("window", window, Number(1, 64), "instructions begun and not retired"),
    number!("fetch_bytes", fetch_bytes, Power(4, 16), "bytes fetched a cycle"),
    number!("fetch_queue", fetch_queue, Number(1, 64), "instructions fetched ahead"),
    word!(
        "predictor",
        predictor,
        ["static" = Predictor::Static, "bimodal" = Predictor::Bimodal, "gshare" = Predictor::Gshare],
        "of conditional branches"
    ),
    number!("predictor_entries", predictor_entries, Power(1, 65_536), "two-bit counters"),
    number!("predictor_history", predictor_history, Number(0, 16), "branches remembered (gshare)"),
    number!("btb_entries", btb_entries, PowerOrNone(16_384), "branch target buffer"),
    number!("return_stack", return_stack, Number(0, 64), "return addresses remembered"),
    number!("mispredict_penalty", mispredict_penalty, Number(0, LONGEST), "cycles"),
    number!("redirect_penalty", redirect_penalty, Number(0, LONGEST), "cycles: taken, not in the BTB"),
    number!("icache_size", icache.size, Number(0, 1 << 24), "bytes; 0: always hits"),
    number!("icache_ways", icache.ways, Number(1, 16), "lines in a set"),
    number!("icache_line", icache.line, Power(16, 256), "bytes"),
    number!("icache_hit", icache.hit, Number(1, 16), "cycles"),
    number!("icache_miss", icache.miss, Number(0, LONGEST), "cycles beyond a hit"),
    number!("dcache_size", dcache.size, Number(0, 1 << 24), "bytes; 0: always hits"),
    number!("dcache_ways", dcache.ways, Number(1, 16), "lines in a set"),
    number!("dcache_line", dcache.line, Power(16, 256), "bytes"),
    number!("dcache_hit", dcache.hit, Number(1, 16), "cycles"),
    number!("dcache_miss", dcache.miss, Number(0, LONGEST), "cycles beyond a hit"),
    number!("outstanding_misses", outstanding_misses, Number(0, 8), "of loads, at once; 0: blocking"),
    number!("store_buffer", store_buffer, Number(1, 64), "stores that wait"),
    number!("load_use", load_use, Number(0, LONGEST), "cycles between load and use"),
    number!("atomic", atomic, Number(0, LONGEST), "cycles beyond a load"),
    number!("multiply", multiply, Number(1, LONGEST), "cycles"),
    word!("multiply_pipelined", multiply_pipelined, ["no" = false, "yes" = true], "one begun each cycle"),
    number!("divide", divide, Number(1, LONGEST), "cycles"),
    number!("divide_word", divide_word, Number(1, LONGEST), "cycles, DIVW and its kin"),
    number!("float_add", float_add, Number(1, LONGEST), "cycles"),
    number!("float_multiply", float_multiply, Number(1, LONGEST), "cycles"),
    number!("float_fused", float_fused, Number(1, LONGEST), "cycles"),
    number!("float_divide", float_divide, Number(1, LONGEST), "cycles, double"),
    number!("float_divide_single", float_divide_single, Number(1, LONGEST), "cycles, single"),
    number!("float_sqrt", float_sqrt, Number(1, LONGEST), "cycles, double"),
    number!("float_sqrt_single", float_sqrt_single, Number(1, LONGEST), "cycles, single"),
    number!("float_convert", float_convert, Number(1, LONGEST), "cycles, also compare and move"),
    number!("csr", csr, Number(1, LONGEST), "cycles alone, also fences"),
    number!("trap_entry", trap_entry, Number(0, LONGEST), "cycles"),
];
