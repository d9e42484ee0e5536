//! An error that `main` returns is printed with `Debug`: it reads like a message.

use tracewright::{PlaceError, RawSource, Trace};

#[test]
fn errors_are_printed_as_messages() {
    let missing = Trace::open("no/such/capture").unwrap_err();
    assert_eq!(format!("{missing:?}"), "no/such/capture: no such file or folder");
    let raw = "etm4,no-such-parameter=1".parse::<RawSource>().unwrap_err();
    assert_eq!(format!("{raw:?}"), raw.to_string());
    let place = PlaceError::Function("main".into());
    assert_eq!(format!("{place:?}"), "--function main: no binary that is here has such a symbol");
    let boxed: Box<dyn std::error::Error> = missing.into();
    assert!(!format!("{boxed:?}").contains(['(', '{']));
}

#[test]
fn functions_that_ran_are_named_for_one_that_is_inlined() {
    let error = |into: &[&str], more| {
        let into = into.iter().map(|&name| name.into()).collect();
        PlaceError::Inlined { name: "clamp".into(), into, more }.to_string()
    };
    assert!(error(&["sum"], 0).ends_with("it is inlined into sum, name that"));
    assert!(error(&["a", "b"], 0).ends_with("it is inlined into a, b, name one of them"));
    assert!(error(&["a", "b"], 3).ends_with("it is inlined into a, b and 3 more, name one of them"));
}
