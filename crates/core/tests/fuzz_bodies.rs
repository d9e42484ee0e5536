//! Fuzz bodies as plain functions, each run here on some thousands of random inputs.

use std::ops::Range;

use tracewright_core::control::{Control, Handler, Names, Plan};
use tracewright_testkit::Rng;

/// A resolver with a few names.
struct Few;

impl Names for Few {
    fn symbol(&self, name: &str) -> Option<Range<u64>> {
        match name {
            "main" => Some(0x1000..0x1100),
            "last" => Some(u64::MAX - 1..u64::MAX),
            _ => None,
        }
    }

    fn event(&self, name: &str) -> Option<u8> {
        (name == "button").then_some(63)
    }
}

/// Parses any text as a plan. The text is refused with a position and a short message, or the plan decides, and each
/// decision holds in its window.
pub fn control(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let plan = match Plan::parse(&text, &Few) {
        Ok(plan) => plan,
        Err(error) => {
            assert!(error.to_string().len() < 400 + text.len());
            assert!(text.get(error.at..error.at + error.len).is_some());
            assert!(error.shown(&text).to_string().contains('^'));
            return;
        }
    };
    let is_never = plan.is_never();
    let mut control = Control::new(plan);
    let mut rng = Rng::new(data.len() as u64);
    for _ in 0..50 {
        match rng.below(8) {
            0 => control.privilege(rng.below(4) as u8),
            1 => control.context(rng.below(3)),
            2 => control.events(1 << rng.below(64)),
            3 => {
                let handler =
                    Handler { cause: rng.below(16), tval: rng.next_u64(), interrupt: rng.one_in(2) };
                control.trap(rng.next_u64(), handler, rng.one_in(3));
            }
            4 => control.handled_back(),
            5 => control.cycle(rng.next_u64()),
            _ => {}
        }
        let pc = if rng.one_in(2) { 0x1000 + rng.below(0x200) } else { rng.next_u64() };
        let verdict = control.decide(pc);
        assert!(!(verdict.qualifies && is_never), "{text}");
        assert!(verdict.window.pc.0 <= pc && pc <= verdict.window.pc.1);
        assert!(control.seen() <= verdict.window.number);
        // The next decision is the same inside the window.
        control.advance(1, verdict.qualifies);
        let next = pc.wrapping_add(rng.below(16));
        if let Some(known) = control.known(next, next, 1, 0) {
            let mut twin = control.clone();
            assert_eq!(twin.decide(next).qualifies, known, "{text}");
        }
    }
}

#[test]
fn control_on_random_input() {
    let mut rng = Rng::new(4);
    let words: Vec<&str> = "pc priv context cause exception interrupt isr instruction cycle itype iretire event button \
                            main main_end last end ( ) & | ! = != < <= > >= .. ..= , ; + - in start stop at on when for \
                            cycles instructions u s m taken 0 1 7 0x1000 0x1080 4096 18446744073709551615 \" \u{e4} and"
        .split_whitespace()
        .collect();
    let starts =
        ["pc in main", "priv = u", "start at main", "cause = 7 | isr", "for 7 cycles", "event button"];
    let mut read = 0;
    for round in 0..20_000 {
        let mut text = String::new();
        if round % 2 == 0 {
            text += *rng.pick(&starts);
        }
        for _ in 0..rng.below(if round % 2 == 0 { 8 } else { 20 }) {
            text += " ";
            text += *rng.pick(&words);
        }
        if round % 8 == 7 {
            text = String::from_utf8_lossy(&rng.bytes(20)).into_owned();
        }
        read += u32::from(Plan::parse(&text, &Few).is_ok());
        control(text.as_bytes());
    }
    assert!(read > 500, "{read}");
}
