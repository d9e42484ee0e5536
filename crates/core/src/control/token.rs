//! Tokens of the language: words, numbers and signs.

use super::error::{Error, Expected, Problem};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    Number(u64),
    /// A name or a keyword. Quoted words are never keywords.
    Word(&'t str),
    Quoted(&'t str),
    Sign(Sign),
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    And,
    Or,
    Not,
    Open,
    Close,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    To,
    ToAndWith,
    Plus,
    Minus,
    Comma,
    Semicolon,
}

/// Signs, longest first.
const SIGNS: &[(&str, Sign)] = &[
    ("..=", Sign::ToAndWith),
    ("..", Sign::To),
    ("&&", Sign::And),
    ("||", Sign::Or),
    ("==", Sign::Equal),
    ("!=", Sign::NotEqual),
    ("<=", Sign::LessEqual),
    (">=", Sign::GreaterEqual),
    ("&", Sign::And),
    ("|", Sign::Or),
    ("!", Sign::Not),
    ("(", Sign::Open),
    (")", Sign::Close),
    ("=", Sign::Equal),
    ("<", Sign::Less),
    (">", Sign::Greater),
    ("+", Sign::Plus),
    ("-", Sign::Minus),
    (",", Sign::Comma),
    (";", Sign::Semicolon),
];

/// Words that stand for signs.
const WORDS: &[(&str, Sign)] = &[("and", Sign::And), ("or", Sign::Or), ("not", Sign::Not)];

/// A token with its start and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spanned<'t> {
    pub token: Token<'t>,
    pub at: usize,
    pub end: usize,
}

/// Returns the next token at or after `from`.
pub(super) fn next(text: &str, from: usize) -> Result<Spanned<'_>, Error<'_>> {
    let rest = text.get(from..).unwrap_or_default();
    let at = from + (rest.len() - rest.trim_start().len());
    let rest = rest.trim_start();
    let found = |token, len| Ok(Spanned { token, at, end: at + len });
    let Some(first) = rest.chars().next() else { return found(Token::End, 0) };
    if first.is_ascii_digit() {
        let len = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let digits = &rest[..len];
        return match number(digits) {
            Some(value) => found(Token::Number(value), len),
            None => Err(Error { at, len, problem: Problem::Number(digits) }),
        };
    }
    if first == '"' {
        let inside = &rest[1..];
        return match inside.find('"') {
            Some(len) => found(Token::Quoted(&inside[..len]), len + 2),
            None => Err(Error { at, len: rest.len(), problem: Problem::Quote }),
        };
    }
    if let Some((sign, token)) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
        return found(Token::Sign(*token), sign.len());
    }
    let len = word_len(rest);
    if len == 0 {
        let problem = Problem::Unexpected { found: &rest[..first.len_utf8()], expected: Expected::Any };
        return Err(Error { at, len: first.len_utf8(), problem });
    }
    let word = &rest[..len];
    match WORDS.iter().find(|(known, _)| *known == word) {
        Some((_, sign)) => found(Token::Sign(*sign), len),
        None => found(Token::Word(word), len),
    }
}

/// Returns the length of the word at the start of `text`. A dot belongs to the word if a letter follows, as in
/// `part.0`.
fn word_len(text: &str) -> usize {
    let is_inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '@' | ':');
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let is_dot = c == '.' && at > 0 && chars.peek().is_some_and(|(_, next)| is_inside(*next));
        if !is_inside(c) && !is_dot {
            return at;
        }
    }
    text.len()
}

/// Parses a decimal number, or a hexadecimal or binary one with a prefix. `_` may separate digits.
fn number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.get(..2) {
        Some("0x" | "0X") => (&text[2..], 16),
        Some("0b" | "0B") => (&text[2..], 2),
        _ => (text, 10),
    };
    let mut value = None;
    for c in digits.chars().filter(|c| *c != '_') {
        let digit = u64::from(c.to_digit(radix)?);
        value = Some(value.unwrap_or(0_u64).checked_mul(radix.into())?.checked_add(digit)?);
    }
    value
}
