//! Fuzz targets as plain functions. Here each runs on some thousands of random inputs.

use tracewright_hart::timing::{Config, Model};
use tracewright_testkit::Rng;

/// Parses any text as a timing configuration. It is refused with a short message, or is valid for a model and survives
/// a round trip.
pub fn timing(data: &[u8]) {
    match Config::parse(&String::from_utf8_lossy(data)) {
        Ok(config) => {
            assert_eq!(Config::parse(&config.to_text()), Ok(config));
            assert!(Model::new(&config).is_ok());
        }
        Err(error) => assert!(error.to_string().len() < 2_000),
    }
}

#[test]
fn timing_on_random_input() {
    let mut rng = Rng::new(8);
    let text = Config::cva6_like().to_text().into_bytes();
    let mut read = 0;
    for round in 0..4_000 {
        let data = if round % 2 == 0 {
            // A good one with a few bytes changed, and cut somewhere.
            let mut data = text.clone();
            for _ in 0..rng.below(3) {
                let at = rng.below(data.len() as u64) as usize;
                data[at] = *rng.pick(b"0123456789KM=#\n _abcdef\xff");
            }
            data.truncate(rng.below(2 * text.len() as u64) as usize);
            data
        } else {
            rng.bytes_below(60)
        };
        read += u32::from(Config::parse(&String::from_utf8_lossy(&data)).is_ok());
        timing(&data);
    }
    assert!(read > 100);
}
