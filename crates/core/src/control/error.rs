use core::fmt;

use super::Field;

/// An error in the text of a [`Plan`](super::Plan).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error<'t> {
    /// Position in the text, in bytes.
    pub at: usize,
    /// Number of wrong bytes, or 0 at the end of the text.
    pub len: usize,
    /// The problem at this position.
    pub problem: Problem<'t>,
}

/// The problem in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem<'t> {
    /// The text does not continue with anything expected.
    Unexpected {
        /// Text at this position, empty at the end.
        found: &'t str,
        /// Expected text.
        expected: Expected,
    },
    /// The digits are not a number, or the number has more than 64 bits.
    Number(&'t str),
    /// A quoted name has no closing quote.
    Quote,
    /// No symbol has this name.
    Symbol(&'t str),
    /// No event has this name.
    Event(&'t str),
    /// The value is too great for this field, or no value of the field is in the range.
    Value(Field),
    /// A range ends before it begins.
    Empty,
    /// The address has more than 64 bits.
    Overflow,
    /// The clause occurs twice: `for`, or `test`.
    Twice(&'static str),
    /// The text or a clause asks for nothing.
    Nothing,
    /// The text has more tests than there are comparators.
    TooMany,
    /// Parentheses are nested too deeply.
    TooDeep,
}

/// The kind of text that was expected at a position of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expected {
    /// A sign, a number or a name.
    Any,
    /// A test, or a clause.
    Clause,
    /// A test.
    Test,
    /// An operator between tests, or the end.
    Combination,
    /// A closing parenthesis.
    Close,
    /// An opening parenthesis.
    Open,
    /// A comparison operator after a field.
    Comparison(Field),
    /// A value of the field.
    Value(Field),
    /// A number.
    Number,
    /// A symbol.
    Symbol,
    /// The name of an event.
    Event,
    /// `at`, `on` or `when`.
    Point,
    /// A unit: instructions or cycles.
    Unit,
}

impl Error<'_> {
    /// Returns the text with the position marked below it, in two lines. The message is not part of it.
    pub fn shown<'a>(&self, text: &'a str) -> impl fmt::Display + use<'a> {
        Marked { text, at: self.at, len: self.len }
    }
}

/// A text with a position marked below it.
struct Marked<'a> {
    text: &'a str,
    at: usize,
    len: usize,
}

impl fmt::Display for Marked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, at, len } = *self;
        // Carets count characters, not bytes.
        let columns = |range: core::ops::Range<usize>| text.get(range).map_or(0, |part| part.chars().count());
        let (before, width) = (columns(0..at), columns(at..at + len).max(1));
        // A control character would move the caret.
        let line = |c: char| if c.is_control() { ' ' } else { c };
        f.write_str("  ")?;
        text.chars().try_for_each(|c| write!(f, "{}", line(c)))?;
        write!(f, "\n  {:before$}{:^<width$}", "", "^")
    }
}

impl core::error::Error for Error<'_> {}

impl fmt::Display for Error<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problem {
            Problem::Unexpected { found: "", expected } => write!(f, "expected {expected}, found the end"),
            Problem::Unexpected { found, expected } => write!(f, "expected {expected}, found `{found}`"),
            Problem::Number(digits) => {
                write!(f, "`{digits}` is not a 64-bit number (decimal, 0x..., 0b...)")
            }
            Problem::Quote => f.write_str("a quoted name has no closing \""),
            Problem::Symbol(name) => write!(f, "there is no symbol `{name}`"),
            Problem::Event(name) => write!(f, "there is no event `{name}`"),
            Problem::Value(field) => {
                write!(f, "`{}` never has this value: its maximum is {}", field.name(), field.most())
            }
            Problem::Empty => {
                f.write_str("the range ends before it begins (A..B is without B, A..=B with it)")
            }
            Problem::Overflow => f.write_str("the address does not fit 64 bits"),
            Problem::Twice("for") => f.write_str("there is a `for` already"),
            Problem::Twice(what) => write!(f, "there is a {what} already: join both with `&` or `|`"),
            Problem::Nothing => f.write_str("the plan asks for nothing"),
            Problem::TooMany => write!(f, "more than {} tests and operators", super::expression::MOST),
            Problem::TooDeep => f.write_str("parentheses are nested too deeply"),
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Any => f.write_str("a test, a number or a name"),
            Self::Clause => write!(f, "start, stop, for, or a test of {}", Field::LISTED),
            Self::Test => write!(f, "a test of {}", Field::LISTED),
            Self::Combination => f.write_str("`&`, `|`, `;` or the end"),
            Self::Close => f.write_str("`)`, `&` or `|`"),
            Self::Open => f.write_str("`(`"),
            Self::Comparison(field) => {
                write!(f, "`in`, `=`, `!=`, `<`, `<=`, `>` or `>=` after `{}`", field.name())
            }
            Self::Value(Field::Pc) => f.write_str("an address or a symbol"),
            Self::Value(Field::Privilege) => f.write_str("u, s, m or a number"),
            Self::Value(Field::Itype) => {
                f.write_str("a type such as taken, return or uninferable_call, or a number")
            }
            Self::Value(_) | Self::Number => f.write_str("a number"),
            Self::Symbol => f.write_str("a symbol"),
            Self::Event => f.write_str("the name of an event"),
            Self::Point => f.write_str("`at` ADDRESS, `on` EVENT or `when` TEST"),
            Self::Unit => f.write_str("`instructions` or `cycles`"),
        }
    }
}
