//! Pictures: from plain values to SVG text, which a browser shows and a report can hold.
//!
//! A picture needs nothing else: no script, no font file, no network. Colours follow the reader's light or dark scheme, where
//! the viewer knows of it; all others get the light one. What a mouse points at is told in a `<title>`.

mod histogram;
mod lanes;
mod number;
mod stalls;
mod text;

#[cfg(test)]
mod tests;

use std::fmt::Write;

pub use self::histogram::Histogram;
pub use self::lanes::{Bin, Lane, Lanes};
pub use self::stalls::{stall_histogram, stall_timeline};
use self::text::{cut, escaped};

/// Space around a picture.
const MARGIN: f64 = 16.0;

/// Classes instead of variables: viewers other than browsers do not know these.
const STYLE: &str = "\
text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;\
font-size:12px;font-variant-numeric:tabular-nums;fill:#1f2430}\
.title{font-size:17px;font-weight:600}.quiet{fill:#5b6472}.small{font-size:10.5px}\
.page{fill:#ffffff}.track{fill:#f2f4f7}.grid{stroke:#dfe3e8}.axis{stroke:#8a93a0}\
.busy{fill:#2f6fb3}.stalled{fill:#d8571d}.lost{fill:#8a93a0}.ink{stroke:#8a93a0;stroke-width:2}\
path{shape-rendering:crispEdges}.point{fill:none;pointer-events:all}\
@media(prefers-color-scheme:dark){\
text{fill:#e6e8ec}.quiet{fill:#9aa3b0}.page{fill:#16181d}.track{fill:#1f2229}.grid{stroke:#30353f}\
.axis{stroke:#6d7683}.busy{fill:#66a5ea}.stalled{fill:#f2854a}.lost{fill:#7b8492}.ink{stroke:#7b8492}}";

/// Where a text is, seen from its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anchor {
    Start,
    Middle,
    End,
}

/// SVG text as it grows. Whatever names it is given, it stays well-formed.
#[derive(Clone, Debug)]
struct Svg {
    out: String,
}

impl Svg {
    /// A picture of this size, with its heading.
    fn new(width: f64, height: f64, title: &str, subtitle: &str) -> Self {
        let mut svg = Self { out: String::new() };
        let (w, h) = (Coord(width), Coord(height));
        svg.write(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
             role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n",
            escaped(title)
        ));
        // Slanted lines: nothing is known here.
        svg.write(format_args!(
            "<defs><pattern id=\"unknown\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
             patternTransform=\"rotate(45)\"><path class=\"ink\" d=\"M0 0V6\" \
             style=\"shape-rendering:auto\"/></pattern></defs>\n"
        ));
        svg.rect("page", (0.0, 0.0), (width, height));
        let room = width - 2.0 * MARGIN;
        // Letters of the title are bold, and wider.
        svg.text("title", Anchor::Start, (MARGIN, 30.0), &cut(title, room, 17.0 * 1.12));
        svg.text("quiet", Anchor::Start, (MARGIN, 50.0), &cut(subtitle, room, 12.0));
        svg
    }

    /// Strings take everything.
    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = self.out.write_fmt(text);
    }

    fn rect(&mut self, class: &str, (x, y): (f64, f64), (w, h): (f64, f64)) {
        let (x, y, w, h) = (Coord(x), Coord(y), Coord(w), Coord(h));
        self.write(format_args!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"/>\n"
        ));
    }

    fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let (x1, y1, x2, y2) = (Coord(x1), Coord(y1), Coord(x2), Coord(y2));
        self.write(format_args!(
            "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>\n"
        ));
    }

    fn text(&mut self, class: &str, anchor: Anchor, at: (f64, f64), text: &str) {
        self.turned_text(class, anchor, at, 0, text);
    }

    /// Text turned clockwise around its point.
    fn turned_text(&mut self, class: &str, anchor: Anchor, (x, y): (f64, f64), degrees: i32, text: &str) {
        let (x, y) = (Coord(x), Coord(y));
        self.write(format_args!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\""));
        match anchor {
            Anchor::Start => {}
            Anchor::Middle => self.out.push_str(" text-anchor=\"middle\""),
            Anchor::End => self.out.push_str(" text-anchor=\"end\""),
        }
        if degrees != 0 {
            self.write(format_args!(" transform=\"rotate({degrees} {x} {y})\""));
        }
        self.write(format_args!(">{}</text>\n", escaped(text)));
    }

    /// What is told when the mouse is over a place.
    fn tooltip(&mut self, (x, y): (f64, f64), (w, h): (f64, f64), text: &str) {
        let (x, y, w, h) = (Coord(x), Coord(y), Coord(w), Coord(h));
        let text = escaped(text);
        self.write(format_args!(
            "<rect class=\"point\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"><title>{text}</title></rect>\n"
        ));
    }

    /// Squares with what they mean; gives the place after them.
    fn legend(&mut self, entries: &[(&str, &str)], (mut x, y): (f64, f64)) -> f64 {
        for &(look, meaning) in entries {
            let place = ((x, y - 10.0), (12.0, 12.0));
            match look {
                "unknown" => self.hatched(place.0, place.1),
                _ => self.rect(look, place.0, place.1),
            }
            self.text("", Anchor::Start, (x + 18.0, y), meaning);
            x += 18.0 + text::width(meaning, 12.0) + 22.0;
        }
        x
    }

    /// Slanted lines.
    fn hatched(&mut self, (x, y): (f64, f64), (w, h): (f64, f64)) {
        let (x, y, w, h) = (Coord(x), Coord(y), Coord(w), Coord(h));
        self.write(format_args!(
            "<rect fill=\"url(#unknown)\" pointer-events=\"none\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"/>\n"
        ));
    }

    fn finish(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }
}

/// A number of a picture: at most two digits after the point, and always a number.
#[derive(Clone, Copy, Debug)]
struct Coord(f64);

impl std::fmt::Display for Coord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rounded = (self.0 * 100.0).round() / 100.0;
        // `+ 0.0` makes a zero of a negative zero.
        write!(f, "{}", if rounded.is_finite() { rounded + 0.0 } else { 0.0 })
    }
}
