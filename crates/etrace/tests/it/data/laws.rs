//! Packets survive reading and writing.

use tracewright_etrace::data;
use tracewright_testkit::Rng;

use super::random;

#[test]
fn what_is_written_is_read() {
    for seed in 0..2_000 {
        let mut rng = Rng::new(seed);
        let params = random::params(&mut rng);
        let options = random::options(&mut rng);
        for _ in 0..50 {
            let packet = random::packet(&mut rng, &params, &options);
            let payload = data::emit(&packet, &params);
            let read = data::parse(payload.as_bytes(), &params, &options);
            assert_eq!(read, Ok(packet), "seed {seed}: {params:?} {options:?} {:02x?}", payload.as_bytes());
        }
    }
}

/// Reads bytes that are exactly one packet, and writes the same bytes.
#[test]
fn what_is_read_is_written() {
    let mut read = 0;
    for seed in 0..20_000 {
        let mut rng = Rng::new(seed);
        let params = random::params(&mut rng);
        let options = random::options(&mut rng);
        let most = *rng.pick(&[4, 8, 26]);
        let len = 1 + rng.below(most) as usize;
        let bytes = rng.bytes(len);
        let Ok(packet) = data::parse(&bytes, &params, &options) else { continue };
        read += 1;
        let payload = data::emit(&packet, &params);
        assert_eq!(data::parse(payload.as_bytes(), &params, &options), Ok(packet), "seed {seed}");
        // The written bytes differ only in meaningless bits: above the last field, and where the last bit
        // repeats.
        let sent = payload.bits().min(8 * len);
        for bit in 0..sent {
            let at = |bytes: &[u8]| bytes[bit / 8] >> (bit % 8) & 1;
            assert_eq!(at(&bytes), at(payload.as_bytes()), "seed {seed}, bit {bit}: {packet}");
        }
        assert!(payload.as_bytes().len() <= 26);
    }
    assert!(read > 5_000, "{read}");
}
