use tracewright_core::MemorySpace;
use tracewright_image::Bytes;

use super::*;

fn image() -> Image {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/bin/sort.elf");
    let mut builder = Image::builder();
    builder.elf("sort.elf", Bytes::new(std::fs::read(path).unwrap()), None, MemorySpace::ANY).unwrap();
    builder.build()
}

fn asked(when: &str, events: &[&str]) -> Result<ControlRequest, String> {
    let events: Vec<_> = events.iter().map(ToString::to_string).collect();
    let asked =
        EventList::new(&events, None).and_then(|events| ControlRequest::new(Condition::When, when, events));
    asked.map_err(|error| error.to_string())
}

fn plan(when: &str) -> Result<Plan, String> {
    asked(when, &["go@cycle=7"])?.plan(&image(), &mut Vec::new()).map_err(|error| error.to_string())
}

#[test]
fn symbols_are_those_of_the_program() {
    let image = image();
    let main = image.symbols().resolve("main").unwrap();
    let numbers = format!("pc in {}..{}", main.start, main.end);
    for text in ["pc in main", "pc in main..main_end", "pc in main..end(main)"] {
        assert_eq!(plan(text).unwrap(), plan(&numbers).unwrap(), "{text}");
    }
}

#[test]
fn errors_are_marked() {
    for (text, expected) in [
        ("pc in mian", "there is no symbol `mian`; did you mean `main`?\n  pc in mian\n        ^^^^"),
        ("pc = qqqqqqqq", "there is no symbol `qqqqqqqq`\n  pc = qqqqqqqq\n       ^^^^^^^^"),
        ("event og", "there is no event `og`; there is go\n  event og\n        ^^"),
        ("priv = ", "expected u, s, m or a number, found the end\n  priv = \n         ^"),
    ] {
        assert_eq!(plan(text).unwrap_err(), expected);
    }
    let none = asked("event go", &[]).unwrap_err();
    assert!(none.starts_with("there is no event `go`: say when it happens, with NAME@"), "{none}");
    // Before the program is known, only what is wrong anyway is told.
    assert!(asked("pc in somewhere..elsewhere - 5", &[]).is_ok());
}

#[test]
fn events_are_read() {
    let expected = "expected NAME@instruction=N or NAME@cycle=N";
    for (event, why) in [
        ("x", expected),
        ("@cycle=1", expected),
        ("x@cycle", expected),
        ("x@day=1", expected),
        ("x@cycle=one", "\"one\" is no number"),
    ] {
        assert_eq!(asked("isr", &[event]).unwrap_err(), format!("event {event:?}: {why}"));
    }
    let many: Vec<_> = (0..65).map(|number| format!("e{number}@cycle=1")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    assert!(asked("event e63", &many[..64]).is_ok());
    assert_eq!(asked("isr", &many).unwrap_err(), "event \"e64@cycle=1\": there are more than 64 events");
}

#[test]
fn what_nobody_wants_is_said() {
    let of = |seen, qualified, starts| {
        let mut remarks = Vec::new();
        Qualified { seen, qualified, starts, left_out: 0 }.remark(&ControlRequest::all(), &mut remarks);
        remarks.pop().map(|remark| remark.to_string())
    };
    assert_eq!(of(1000, 1, 1), None);
    assert_eq!(of(0, 0, 0), None);
    let never = "\"\": tracing never started: nothing of 1 000 instructions is traced";
    assert_eq!(of(1000, 0, 0).as_deref(), Some(never));
    let nothing = "\"\": nothing qualified: none of 1 000 instructions is traced";
    assert_eq!(of(1000, 0, 1).as_deref(), Some(nothing));
}
