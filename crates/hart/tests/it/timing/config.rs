//! Text form of configurations.

use tracewright_hart::timing::{Config, ConfigProblem, Model};

#[test]
fn what_is_written_is_read() {
    for name in Config::preset_names() {
        let config = Config::preset(name).unwrap();
        config.check().unwrap();
        Model::new(&config).unwrap();
        assert_eq!(Config::parse(&config.to_text()).unwrap(), config, "{name}");
        assert_eq!(Config::parse(&format!("preset = {name}")).unwrap(), config);
        assert!(config.to_text().lines().all(|line| line.len() <= 100));
    }
    assert_eq!(Config::parse("").unwrap(), Config::default());
    assert_eq!(Config::preset("default").unwrap(), Config::default());
}

#[test]
fn values_comments_and_units() {
    let text =
        "# first\n\n preset=tiny # comes first\r\ndcache_size = 8K\n  load_use =3#c\npredictor = bimodal";
    let config = Config::parse(text).unwrap();
    assert_eq!((config.dcache.size, config.load_use), (8192, 3));
    assert_eq!(config.multiply, Config::tiny().multiply);
}

/// Returns the message for `text`.
fn error(text: &str) -> String {
    Config::parse(text).unwrap_err().to_string()
}

#[test]
fn errors_say_where_and_what() {
    let unknown = error("csr = 2\nload_usage = 1\n");
    assert!(unknown.starts_with("line 2: unknown name `load_usage`; did you mean `load_use`?"), "{unknown}");
    assert!(unknown.contains("icache_ways") && unknown.contains("preset"));
    assert_eq!(error("\n\nload_use"), "line 3: expected `name = value`");
    assert_eq!(
        error("preset = big"),
        "line 1: unknown preset `big`; known are: default, rocket_like, cva6_like, dual_issue, tiny"
    );
    assert_eq!(error("csr = 1\npreset = tiny"), "line 2: `preset` must come before all other names");
    assert_eq!(error("csr = 1\ncsr = 1"), "line 2: `csr` is given twice");
    assert_eq!(error("issue_width = 5"), "line 1: `issue_width` cannot be `5`: 1 to 4");
    assert_eq!(error("retire = late"), "line 1: `retire` cannot be `late`: early or complete");
    assert_eq!(
        error("btb_entries = 3"),
        "line 1: `btb_entries` cannot be `3`: 0 or a power of two up to 16384"
    );
    for bad in ["csr =", "csr = -1", "csr = +1", "csr = K", "csr = 0x10", "csr = 4194304K", "csr = 1 2"] {
        assert!(error(bad).contains("`csr` cannot be"), "{bad}");
    }
    assert_eq!(
        error("icache_size = 5000"),
        "icache_size / (icache_ways * icache_line) must be a power of two"
    );
    assert!(error(&"x".repeat(1_000_000)).len() < 100);
    assert!(error(&format!("{} = 1", "x".repeat(1_000_000))).len() < 2_000);
}

#[test]
fn a_model_is_made_only_of_what_is_within_bounds() {
    let config = Config { predictor_entries: u32::MAX, ..Config::default() };
    let error = Model::new(&config).unwrap_err();
    assert!(matches!(error.problem, ConfigProblem::BadValue { name: "predictor_entries", .. }));
}
