//! Input that an encoder refuses, and its state afterwards.

use crate::support;

use support::decoded;
use tracewright_delta::{Config, ConfigError, Encoder, Format, Item, Packing, Refused, Run};

fn encoder(config: Config) -> Encoder {
    Encoder::new(config, Packing::default()).unwrap()
}

#[test]
fn configurations_that_cannot_be() {
    let check = |text: &str, error: ConfigError| assert_eq!(text.parse::<Config>(), Err(error));
    check("ac,width=2", ConfigError::AcWidth(2));
    check("abc,width=0", ConfigError::Width(0));
    check("de,width=9", ConfigError::Width(9));
    check("de,amortise=1", ConfigError::Amortise(Format::De));
    check("ac,amortise=1", ConfigError::Amortise(Format::Ac));
    check("ab", ConfigError::Word("ab".to_owned()));
    check("", ConfigError::Word(String::new()));
    check("abc,wide=4", ConfigError::Word("wide=4".to_owned()));
    check("abc,width=x", ConfigError::Word("width=x".to_owned()));
    assert!(Encoder::new(Config { width: 2, ..Config::ac() }, Packing::default()).is_err());
    for error in ["ac,width=2", "x", "de,amortise=1", "de,width=9"] {
        let text = error.parse::<Config>().unwrap_err().to_string();
        assert!(text.len() < 200 && !text.ends_with('.'), "{text}");
    }
}

#[test]
fn configurations_have_a_text() {
    for text in ["ac", "ac,code=delta", "abc", "abc,width=4,amortise=1", "de,width=8,d=elias", "de,width=2"] {
        assert_eq!(text.parse::<Config>().unwrap().to_string(), text);
    }
    assert_eq!("abc, width=1, code=gamma, d=binary".parse(), Ok(Config::abc(1)));
}

#[test]
fn what_goes_back_or_is_too_wide() {
    let mut bytes = Vec::new();
    let mut one = encoder(Config::ac());
    assert_eq!(one.block(0, &[5, 6, 6], &mut bytes), Err(Refused::TooWide { cycle: 6 }));
    assert_eq!(one.block(0, &[3], &mut bytes), Err(Refused::Backwards { cycle: 3 }));
    assert_eq!(one.block(0, &[u64::MAX], &mut bytes), Err(Refused::Endless));
    // What was accepted before is encoded, and encoding continues.
    assert_eq!(one.block(0, &[7], &mut bytes), Ok(()));
    one.finish(&mut bytes);
    assert_eq!(decoded(&bytes)[1], Item::Run(Run { cycle: 5, cycles: 3, each: 1 }));
    assert_eq!(one.retired(), 3);

    for config in
        [Config::de(2), Config::abc(2), Config { code: tracewright_delta::Code::Delta, ..Config::ac() }]
    {
        let mut bytes = Vec::new();
        let mut two = encoder(config);
        let wide = 5 + u64::from(config.width);
        let cycles: Vec<_> = std::iter::repeat_n(5, wide as usize).collect();
        assert_eq!(two.block(0, &cycles, &mut bytes), Err(Refused::TooWide { cycle: 5 }));
        assert_eq!(two.retire(5, u64::MAX, &mut bytes), Err(Refused::TooWide { cycle: 5 }));
        assert_eq!(two.retire(4, 1, &mut bytes), Err(Refused::Backwards { cycle: 4 }));
        assert_eq!(two.sync(3, 0, &mut bytes), Err(Refused::Backwards { cycle: 3 }));
        assert_eq!(two.retired(), u64::from(config.width));
        two.finish(&mut bytes);
        assert_eq!(decoded(&bytes)[1], Item::Run(Run { cycle: 5, cycles: 1, each: config.width }));
    }
}

#[test]
fn instructions_without_an_address() {
    let mut bytes = Vec::new();
    let mut encoder = encoder(Config::abc(2));
    assert_eq!(encoder.retire(5, 1, &mut bytes), Err(Refused::NoSync));
    assert_eq!(encoder.cycles(&[5], &mut bytes), Err(Refused::NoSync));
    encoder.block(0, &[5], &mut bytes).unwrap();
    encoder.off(9, &mut bytes);
    assert_eq!(encoder.cycles(&[10], &mut bytes), Err(Refused::NoSync));
    // Everything up to cycle 9 was encoded.
    assert_eq!(encoder.block(0, &[8], &mut bytes), Err(Refused::Backwards { cycle: 8 }));
    assert_eq!(encoder.block(0, &[9], &mut bytes), Ok(()));
}

/// A sync while nothing retires: A is 0 then. {D, E} cannot express that.
#[test]
fn a_sync_in_a_stall() {
    for config in [Config::ac(), Config::abc(1), Config::abc(4).amortising(9)] {
        let mut bytes = Vec::new();
        let mut encoder = encoder(config);
        encoder.sync(100, 0x1000, &mut bytes).unwrap();
        encoder.cycles(&[103, 104], &mut bytes).unwrap();
        encoder.finish(&mut bytes);
        let items = decoded(&bytes);
        let runs: Vec<_> = items.iter().filter(|item| matches!(item, Item::Run(_) | Item::Span(_))).collect();
        assert_eq!(runs.len(), 1, "{config}: {items:?}");
        assert!(runs[0].to_string().starts_with("cycle 103: 2 "));
        assert!(matches!(items[2], Item::Off { off, .. } if off.cycle == 105));
    }
    let mut encoder = encoder(Config::de(1));
    encoder.sync(100, 0x1000, &mut Vec::new()).unwrap();
    assert_eq!(encoder.cycles(&[103], &mut Vec::new()), Err(Refused::Late { cycle: 103 }));
    assert_eq!(encoder.cycles(&[100], &mut Vec::new()), Ok(()));
}
