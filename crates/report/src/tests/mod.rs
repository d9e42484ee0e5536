//! To look at the pictures: `SVG_OUT=FOLDER cargo test -p tracewright-report` writes them there.

mod histogram;
mod lanes;
mod number;
mod xml;

use std::io::Write;
use std::process::{Command, Stdio};

use self::xml::{Tag, parse};
use super::text::{cut, escaped, width};

/// A name that has everything XML minds.
const NAME: &str = "a<'b'>::operator<<&\"\u{1}\u{202e}\u{ffff}\u{0}é漢 & ]]>";

/// The elements of a picture, checked: well-formed, of the size that it says, and all of it inside.
fn check(name: &str, svg: &str) -> Vec<Tag> {
    let tags = parse(svg).unwrap_or_else(|error| panic!("{name}: {error}\n{svg}"));
    assert_eq!(tags[0].name, "svg");
    assert_eq!(tags[0].get("xmlns"), Some("http://www.w3.org/2000/svg"));
    let (width, height) = (tags[0].number("width"), tags[0].number("height"));
    assert_eq!(tags[0].get("viewBox").unwrap(), format!("0 0 {width} {height}"));
    for tag in tags.iter().filter(|tag| matches!(tag.name.as_str(), "rect" | "text" | "line")) {
        let within =
            |key: &str, end: f64| tag.get(key).is_none_or(|_| (0.0..=end).contains(&tag.number(key)));
        let x = if tag.name == "line" { ["x1", "x2"] } else { ["x", "x"] };
        let y = if tag.name == "line" { ["y1", "y2"] } else { ["y", "y"] };
        assert!(x.iter().all(|x| within(x, width)) && y.iter().all(|y| within(y, height)), "{name}: {tag:?}");
        if tag.name == "rect" {
            assert!(tag.number("width") >= 0.0 && tag.number("height") >= 0.0, "{name}: {tag:?}");
            assert!(tag.number("x") + tag.number("width") <= width + 0.02, "{name}: {tag:?}");
            assert!(tag.number("y") + tag.number("height") <= height + 0.02, "{name}: {tag:?}");
        }
    }
    if let Some(folder) = std::env::var_os("SVG_OUT") {
        std::fs::write(std::path::Path::new(&folder).join(format!("{name}.svg")), svg).unwrap();
    }
    tags
}

/// What the picture says in letters.
fn texts(tags: &[Tag]) -> Vec<&str> {
    tags.iter().filter(|tag| tag.name == "text").map(|tag| tag.text.as_str()).collect()
}

/// What it says where the mouse is.
fn told(tags: &[Tag]) -> Vec<&str> {
    tags.iter().filter(|tag| tag.name == "title" && tag.depth == 2).map(|tag| tag.text.as_str()).collect()
}

/// Whether a parser that nobody here wrote (Python's: expat) takes it, too.
fn check_by_others(svg: &str) {
    let program = "import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.stdin.buffer)";
    let python =
        Command::new("python3").args(["-c", program]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
    match python {
        Ok(mut python) => {
            python.stdin.take().unwrap().write_all(svg.as_bytes()).unwrap();
            let output = python.wait_with_output().unwrap();
            assert!(output.status.success(), "{}\n{svg}", String::from_utf8_lossy(&output.stderr));
        }
        Err(error) => skipped(&error),
    }
}

#[expect(clippy::print_stderr, reason = "tests say what they skip")]
fn skipped(error: &std::io::Error) {
    eprintln!("skipped: no python3 to read pictures ({error})");
}

#[test]
fn what_xml_cannot_say_is_replaced() {
    assert_eq!(escaped("operator<<&\"'>"), "operator&lt;&lt;&amp;&quot;&#39;&gt;");
    assert_eq!(escaped("\u{0}a\u{1b}\t\u{fffe}\u{202e}\n"), "\u{fffd}a\u{fffd}\u{fffd}\u{fffd}\u{fffd}\n");
    assert_eq!(escaped("é漢🙂"), "é漢🙂");
}

#[test]
fn long_names_keep_their_ends() {
    assert_eq!(cut("short", 100.0, 12.0), "short");
    let long = "std::vector<unsigned long, std::allocator<unsigned long>>::push_back";
    let short = cut(long, 120.0, 12.0);
    let (head, tail) = short.split_once('…').unwrap();
    assert!(long.starts_with(head) && long.ends_with(tail) && head.len() > 5 && tail.len() > 5, "{short}");
    assert!(width(&short, 12.0) <= 120.0 && width(&short, 12.0) > 105.0, "{short}");
    assert_eq!(cut("漢漢漢漢", 30.0, 12.0), "漢…");
    assert_eq!(cut("name", 0.0, 12.0), "…");
    assert_eq!(cut("", 0.0, 12.0), "");
    assert!(cut(&"l".repeat(1 << 20), 100.0, 12.0).len() < 100);
}
