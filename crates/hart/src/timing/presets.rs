//! Predefined configurations. The figures are rounded from public information about such processors; none is a claim
//! about a product.

use super::Config;
use super::config::{CacheConfig, Predictor, Retire};

/// Name and constructor of a preset.
pub(super) type Preset = (&'static str, fn() -> Config);

/// All presets by name. `default` is another name of the first.
pub(super) const PRESETS: &[Preset] = &[
    ("default", Config::rocket_like),
    ("rocket_like", Config::rocket_like),
    ("cva6_like", Config::cva6_like),
    ("dual_issue", Config::dual_issue),
    ("tiny", Config::tiny),
];

impl Config {
    /// Returns the preset with this name.
    pub fn preset(name: &str) -> Option<Self> {
        PRESETS.iter().find(|preset| preset.0 == name).map(|preset| preset.1())
    }

    /// Iterates over the names of the presets.
    pub fn preset_names() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|preset| preset.0)
    }

    /// Creates a configuration like Rocket: five stages, one instruction per cycle, early retirement, gshare, 16 KiB caches.
    pub fn rocket_like() -> Self {
        let cache = CacheConfig { size: 16 << 10, ways: 4, line: 64, hit: 1, miss: 20 };
        Self {
            issue_width: 1,
            retire_width: 1,
            retire: Retire::Early,
            hidden_latency: 2,
            window: 32,
            fetch_bytes: 4,
            fetch_queue: 4,
            predictor: Predictor::Gshare,
            predictor_entries: 512,
            predictor_history: 8,
            btb_entries: 32,
            return_stack: 6,
            mispredict_penalty: 3,
            redirect_penalty: 1,
            icache: cache,
            dcache: cache,
            outstanding_misses: 2,
            store_buffer: 2,
            load_use: 1,
            atomic: 3,
            multiply: 4,
            multiply_pipelined: true,
            divide: 65,
            divide_word: 33,
            float_add: 4,
            float_multiply: 4,
            float_fused: 4,
            float_divide: 30,
            float_divide_single: 16,
            float_sqrt: 30,
            float_sqrt_single: 16,
            float_convert: 2,
            csr: 4,
            trap_entry: 5,
        }
    }

    /// Creates a configuration like CVA6: six stages, issues one and retires up to two per cycle, in order when
    /// complete; bimodal prediction; short lines.
    pub fn cva6_like() -> Self {
        Self {
            retire_width: 2,
            retire: Retire::Complete,
            hidden_latency: 1,
            window: 8,
            fetch_queue: 8,
            predictor: Predictor::Bimodal,
            predictor_entries: 128,
            predictor_history: 0,
            return_stack: 2,
            mispredict_penalty: 5,
            redirect_penalty: 1,
            icache: CacheConfig { size: 16 << 10, ways: 4, line: 16, hit: 1, miss: 12 },
            dcache: CacheConfig { size: 32 << 10, ways: 8, line: 16, hit: 1, miss: 12 },
            outstanding_misses: 1,
            store_buffer: 8,
            load_use: 2,
            multiply: 2,
            divide: 64,
            divide_word: 32,
            float_add: 3,
            float_multiply: 3,
            float_fused: 3,
            float_divide: 20,
            float_divide_single: 12,
            float_sqrt: 20,
            float_sqrt_single: 12,
            csr: 3,
            ..Self::rocket_like()
        }
    }

    /// Creates a dual-issue configuration: eight stages, a large gshare, 32 KiB caches. For traces with two retirements
    /// per cycle.
    pub fn dual_issue() -> Self {
        let cache = CacheConfig { size: 32 << 10, ways: 8, line: 64, hit: 1, miss: 25 };
        Self {
            issue_width: 2,
            retire_width: 2,
            hidden_latency: 3,
            fetch_bytes: 8,
            fetch_queue: 8,
            predictor_entries: 4096,
            predictor_history: 10,
            btb_entries: 256,
            return_stack: 8,
            mispredict_penalty: 6,
            redirect_penalty: 2,
            icache: cache,
            dcache: cache,
            outstanding_misses: 4,
            store_buffer: 8,
            load_use: 2,
            multiply: 3,
            divide: 34,
            divide_word: 18,
            float_divide: 27,
            float_divide_single: 13,
            float_sqrt: 27,
            float_sqrt_single: 13,
            ..Self::rocket_like()
        }
    }

    /// Creates a microcontroller: three stages, static prediction, no caches, memory beside the core.
    pub fn tiny() -> Self {
        let none = CacheConfig { size: 0, ways: 1, line: 16, hit: 1, miss: 0 };
        Self {
            retire: Retire::Complete,
            hidden_latency: 0,
            window: 2,
            fetch_queue: 3,
            predictor: Predictor::Static,
            predictor_entries: 1,
            predictor_history: 0,
            btb_entries: 0,
            return_stack: 0,
            mispredict_penalty: 2,
            redirect_penalty: 1,
            icache: none,
            dcache: none,
            outstanding_misses: 0,
            store_buffer: 1,
            load_use: 1,
            atomic: 1,
            multiply: 3,
            multiply_pipelined: false,
            divide: 37,
            divide_word: 37,
            csr: 1,
            trap_entry: 3,
            ..Self::rocket_like()
        }
    }
}
