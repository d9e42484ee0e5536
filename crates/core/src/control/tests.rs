extern crate std;

use core::ops::Range;
use std::string::{String, ToString};
use std::vec::Vec;
use std::{format, vec};

use super::expression::Operation;
use super::*;

/// Two functions, a label without an extent, and an event.
struct Known;

impl Names for Known {
    fn symbol(&self, name: &str) -> Option<Range<u64>> {
        match name {
            "main" => Some(0x1000..0x1100),
            "exit" => Some(0x2000..0x2010),
            "text_end" => Some(0x3000..0x3000),
            "foo::bar(int)" => Some(0x4000..0x4004),
            "pc" => Some(0x5000..0x5004),
            "sort.part.0" => Some(0x6000..0x6004),
            _ => None,
        }
    }

    fn event(&self, name: &str) -> Option<u8> {
        (name == "button").then_some(5)
    }
}

fn plan(text: &str) -> Plan {
    Plan::parse(text, &Known).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Returns the operations of the expression in words.
fn when(text: &str) -> String {
    let words = |operation: &Operation| match *operation {
        Operation::Test(field, Comparator::Match(value)) => format!("{}={value:x}", field.name()),
        Operation::Test(field, comparator) => {
            let (least, most) = comparator.bounds();
            format!("{}={least:x}-{most:x}", field.name())
        }
        Operation::Not => "not".into(),
        Operation::And => "and".into(),
        Operation::Or => "or".into(),
    };
    plan(text).when.operations().iter().map(words).collect::<Vec<_>>().join(" ")
}

#[test]
fn tests_are_read() {
    for (text, expected) in [
        ("pc = 0x10", "pc=10"),
        ("pc==16", "pc=10"),
        ("iaddr = 0b1_0000", "pc=10"),
        ("pc in 0x10..0x20", "pc=10-1f"),
        ("pc in 0x10..=0x20", "pc=10-20"),
        ("pc in 0x10..", "pc=10-ffffffffffffffff"),
        ("pc in ..0x10", "pc=0-f"),
        ("pc in main", "pc=1000-10ff"),
        ("pc = main", "pc=1000"),
        ("pc in main..main_end", "pc=1000-10ff"),
        ("pc in main..end(exit)", "pc=1000-200f"),
        ("pc in main+0x10..main_end-4", "pc=1010-10fb"),
        ("pc in text_end", "pc=3000"),
        ("pc in main..text_end", "pc=1000-2fff"),
        ("pc in \"foo::bar(int)\"", "pc=4000-4003"),
        ("pc in sort.part.0", "pc=6000-6003"),
        ("pc in main, exit", "pc=1000-10ff pc=2000-200f or"),
        ("pc in main | exit", "pc=1000-10ff pc=2000-200f or"),
        ("pc in main | \"pc\"", "pc=1000-10ff pc=5000-5003 or"),
        ("pc in main | pc in exit", "pc=1000-10ff pc=2000-200f or"),
        ("pc in main | priv = u", "pc=1000-10ff priv=0 or"),
        ("pc != main", "pc=1000 not"),
        ("pc < main", "pc=0-fff"),
        ("pc <= main", "pc=0-1000"),
        ("pc > main", "pc=1001-ffffffffffffffff"),
        ("pc >= main", "pc=1000-ffffffffffffffff"),
        ("priv = u | s", "priv=0 priv=1 or"),
        ("priv=m", "priv=3"),
        ("privilege in 0..=1", "priv=0-1"),
        ("itype = taken, return", "itype=5 itype=d or"),
        ("itype = exception | interrupt", "itype=1 interrupt=1 or"),
        ("itype = exception, interrupt", "itype=1 itype=2 or"),
        ("isr & !exception", "isr=1 exception=1 not and"),
        ("cause = 7 or cause = 11 and not interrupt", "cause=7 cause=b interrupt=1 not and or"),
        ("(cause = 7 | cause = 11) & tval = 0", "cause=7 cause=b or tval=0 and"),
        ("time in 5..6", "cycle=5-5"),
        ("instruction in 0..1000", "instruction=0-3e7"),
        ("event button", "event=5"),
        ("thread = 1 & context in 1..3", "thread=1 context=1-2 and"),
        ("iretire > 4 && ilastsize = 1", "iretire=5-ffffffffffffffff ilastsize=1 and"),
        ("priv=u & pc in main..main_end", "priv=0 pc=1000-10ff and"),
    ] {
        assert_eq!(when(text), expected, "{text}");
    }
}

#[test]
fn clauses_are_read() {
    let both = plan("priv = u; start at main; stop at exit, 0x20; for 100 cycles");
    assert_eq!(both.when, plan("priv = u").when);
    assert_eq!(both.start, plan("pc = main").when);
    assert_eq!(both.stop, plan("pc = exit, 0x20").when);
    assert_eq!(both.period, Some(Period::Cycles(100)));
    assert_eq!(plan("start at main stop at exit, 0x20 for 100 cycles priv = u"), both);
    let event = plan("start on button for 1 instruction stop on event button");
    assert_eq!(event.start, plan("event button").when);
    assert_eq!(event.stop, event.start);
    assert_eq!(event.period, Some(Period::Instructions(1)));
    // Several `start` clauses are alternatives.
    assert_eq!(plan("start at main; start when priv = s").start, plan("pc = main | priv = s").when);
}

#[test]
fn errors_say_where_and_what() {
    for (text, marked, message) in [
        ("", "^", "the plan asks for nothing"),
        (";", " ^", "the plan asks for nothing"),
        ("pc in", "     ^", "expected an address or a symbol, found the end"),
        ("pc in mian", "      ^^^^", "there is no symbol `mian`"),
        ("pc in end(mian)", "          ^^^^", "there is no symbol `mian`"),
        ("pc in end(5)", "          ^", "expected a symbol, found `5`"),
        ("pc 5", "   ^", "expected `in`, `=`, `!=`, `<`, `<=`, `>` or `>=` after `pc`, found `5`"),
        ("pc = 5 6", "       ^", "expected `&`, `|`, `;` or the end, found `6`"),
        ("priv = x", "       ^", "expected u, s, m or a number, found `x`"),
        ("priv = 4", "       ^", "`priv` never has this value: its maximum is 3"),
        ("ilastsize > 1", "            ^", "`ilastsize` never has this value: its maximum is 1"),
        (
            "itype = x",
            "        ^",
            "expected a type such as taken, return or uninferable_call, or a number, found `x`",
        ),
        ("cause = u", "        ^", "expected a number, found `u`"),
        ("cause = \"7\"", "        ^^^", "expected a number, found `\"7\"`"),
        ("pc = 0xg", "     ^^^", "`0xg` is not a 64-bit number (decimal, 0x..., 0b...)"),
        (
            "pc = 18446744073709551616",
            "     ^^^^^^^^^^^^^^^^^^^^",
            "`18446744073709551616` is not a 64-bit number (decimal, 0x..., 0b...)",
        ),
        ("pc = \"main", "     ^^^^^", "a quoted name has no closing \""),
        ("pc in 5..5", "      ^^^^", "the range ends before it begins (A..B is without B, A..=B with it)"),
        (
            "pc in exit..main",
            "      ^^^^^^^^^^",
            "the range ends before it begins (A..B is without B, A..=B with it)",
        ),
        ("pc < 0", "     ^", "the range ends before it begins (A..B is without B, A..=B with it)"),
        ("pc in 5..=", "          ^", "expected an address or a symbol, found the end"),
        ("pc = main - 0x2000", "     ^^^^^^^^^^^^^", "the address does not fit 64 bits"),
        ("pc = main + main", "            ^^^^", "expected a number, found `main`"),
        ("(pc = 5", "       ^", "expected `)`, `&` or `|`, found the end"),
        ("pc = 5 )", "       ^", "expected `&`, `|`, `;` or the end, found `)`"),
        ("pc = 5; priv = u", "        ^^^^", "there is a test already: join both with `&` or `|`"),
        ("event knob", "      ^^^^", "there is no event `knob`"),
        ("start on 5", "         ^", "expected the name of an event, found `5`"),
        ("start main", "      ^^^^", "expected `at` ADDRESS, `on` EVENT or `when` TEST, found `main`"),
        ("for ever", "    ^^^^", "expected a number, found `ever`"),
        ("for 0 cycles", "    ^", "the plan asks for nothing"),
        ("for 5 days", "      ^^^^", "expected `instructions` or `cycles`, found `days`"),
        ("for 5 cycles for 6 cycles", "             ^^^", "there is a `for` already"),
        ("pc = 5 # 6", "       ^", "expected a test, a number or a name, found `#`"),
        ("pc = \u{e4} 6", "     ^", "there is no symbol `\u{e4}`"),
    ] {
        let error = Plan::parse(text, &Known).expect_err(text);
        assert_eq!(error.to_string(), message, "{text}");
        assert_eq!(error.shown(text).to_string(), format!("  {text}\n  {marked}"), "{message}");
    }
    let names = "pc, priv, context, thread, cause, tval, exception, interrupt, isr, instruction, cycle, itype, \
                 iretire, ilastsize or event";
    for (text, expected) in [("foo = 5", "start, stop, for, or a test of "), ("!foo", "a test of ")] {
        let error = Plan::parse(text, &Known).unwrap_err();
        assert_eq!(error.to_string(), format!("expected {expected}{names}, found `foo`"));
    }
    let many = vec!["pc = 1"; 40].join(" & ");
    assert_eq!(Plan::parse(&many, &Known).unwrap_err().to_string(), "more than 64 tests and operators");
    let deep = format!("{}isr", "(".repeat(100_000));
    assert_eq!(Plan::parse(&deep, &Known).unwrap_err().to_string(), "parentheses are nested too deeply");
}

/// The list that errors show has all fields, and each is found by its name.
#[test]
fn all_fields_are_listed() {
    let listed: Vec<_> =
        Field::LISTED.split([',', ' ']).filter(|word| !word.is_empty() && *word != "or").collect();
    assert_eq!(listed.len(), Field::COUNT);
    for name in listed {
        assert_eq!(Field::of(name).unwrap().name(), name);
    }
}

#[test]
fn contradictions_are_seen() {
    for text in [
        "priv = u & priv = s",
        "pc in main & pc in exit",
        "pc < 5 & (pc > 5 & isr)",
        "!(priv >= 0)",
        "isr & !isr",
        "(priv = u & priv = s) | (pc < 4 & pc > 4)",
        "!(priv != u | priv = u) | cause < 3 & cause = 7",
        "start when priv = u & priv = s",
    ] {
        assert!(plan(text).is_never(), "{text}");
    }
    for text in [
        "priv = u",
        "priv = u | priv = s",
        "pc < 5 & !(pc > 2 & pc < 3)",
        "!(cause >= 0)",
        "event button & !event button",
        "for 5 cycles",
        "stop when priv = u & priv = s",
    ] {
        assert!(!plan(text).is_never(), "{text}");
    }
}

/// A decision holds up to where something changes.
#[test]
fn windows_end_where_something_changes() {
    let mut control = Control::new(plan("pc in main & instruction in 2..10 & cycle < 9 | pc = exit"));
    let Verdict { qualifies, window } = control.decide(0x1000);
    assert_eq!((qualifies, window), (false, Window { pc: (0x1000, 0x10ff), number: 1, cycle: 8 }));
    control.advance(2, false);
    let Verdict { qualifies, window } = control.decide(0x10f0);
    assert_eq!((qualifies, window), (true, Window { pc: (0x1000, 0x10ff), number: 9, cycle: 8 }));
    assert_eq!(control.known(0x1000, 0x10fe, 8, 8), Some(true));
    assert_eq!(control.known(0x1000, 0x10fe, 9, 8), None);
    assert_eq!(control.known(0x1000, 0x10fe, 8, 9), None);
    assert_eq!(control.known(0x1000, 0x1100, 8, 8), None);
    assert_eq!(control.known(0xffe, 0x1000, 8, 8), None);
    assert_eq!(control.known(0x1002, 0x1000, 8, 8), None);
    control.privilege(0);
    assert_eq!(control.known(0x1000, 0x10fe, 1, 8), None);
}

#[test]
fn handlers_are_known_up_to_a_depth() {
    let interrupt = |cause| Handler { cause, tval: 0, interrupt: true };
    let exception = |cause| Handler { cause, tval: 0, interrupt: false };
    let mut control = Control::new(plan("isr"));
    assert!(control.trap(0, interrupt(7), false));
    assert!(control.trap(0, exception(2), false));
    assert!(control.decide(0).qualifies);
    control.handled_back();
    control.handled_back();
    assert!(!control.decide(0).qualifies);
    // A return without a handler is ignored.
    control.handled_back();
    assert_eq!(control.handler(), None);
    // Beyond the maximum depth, the outermost handler is forgotten.
    control.trap(0, interrupt(7), false);
    for cause in 0..100 {
        control.trap(0, exception(cause), false);
    }
    assert!(!control.decide(0).qualifies);
    assert_eq!(control.handler(), Some(exception(99)));
    (0..100).for_each(|_| control.handled_back());
    assert_eq!(control.handler(), None);
    // A system call that is served leaves no handler.
    let mut control = Control::new(plan("cause = 8"));
    assert!(control.trap(0, exception(8), true));
    assert!(!control.decide(0).qualifies);
}
