//! Output for terminals and files: [`Escaping`] is a writer that lets no control character through, whatever names are in the text.

use std::io::{self, Write};

use tracewright_core::text::{Printable, is_plain, is_unprintable};

/// Kind of a text, which decides what in it is escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text for people and for tools that read lines. Newlines and tabs stay: names are made printable where they are formatted.
    Text,
    /// Text for people, in which some control characters stand for styles.
    Table,
    /// XML, such as a picture (SVG): as text.
    Xml,
    /// JSON: escapes are those of JSON, so that parsers get the values as they are.
    Json,
    /// Neither: nothing is escaped.
    Binary,
}

impl Form {
    /// Returns `Json` if `json` is set, else `Table`.
    pub fn json_if(json: bool) -> Self {
        if json { Self::Json } else { Self::Table }
    }
}

/// Returns a word as a shell takes it: in quotes if the shell would cut it, or see more in it than text.
pub fn shell_word(word: &str) -> String {
    let is_plain = |char: char| char.is_alphanumeric() || "/._-+,:=@%".contains(char);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Returns what a character switches, if it stands for a style.
pub type Style = fn(char) -> Option<&'static str>;

/// Writer that escapes what must not be printed. Bytes that are no UTF-8 become U+FFFD.
#[derive(Debug)]
pub struct Escaping<W> {
    inner: W,
    form: Form,
    style: Style,
    /// The start of a character of which the rest is still to come.
    held: Vec<u8>,
}

impl<W: Write> Escaping<W> {
    /// Creates a writer to `inner`. In a [`Table`](Form::Table), `style` tells what is written for a character that stands for a style.
    pub fn new(inner: W, form: Form, style: Style) -> Self {
        Self { inner, form, style, held: Vec::new() }
    }

    /// Writes bytes of which some may have to be escaped; holds back a character that is not complete.
    #[cold]
    fn slowly(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        loop {
            let (text, bad) = match std::str::from_utf8(bytes) {
                Ok(text) => (text, None),
                Err(error) => {
                    let (good, _) = bytes.split_at(error.valid_up_to());
                    (std::str::from_utf8(good).unwrap_or_default(), Some(error.error_len()))
                }
            };
            self.text(text)?;
            bytes = &bytes[text.len()..];
            match bad {
                None => return Ok(()),
                Some(None) => {
                    self.held = bytes.to_vec();
                    return Ok(());
                }
                Some(Some(len)) => {
                    self.inner.write_all("\u{fffd}".as_bytes())?;
                    bytes = &bytes[len..];
                }
            }
        }
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some(at) = rest.find(|letter| is_unprintable(letter) && letter != '\n' && letter != '\t') {
            let (before, from) = rest.split_at(at);
            let letter = from.chars().next().map_or(0, char::len_utf8);
            let (letter, after) = from.split_at(letter);
            self.inner.write_all(before.as_bytes())?;
            rest = after;
            let style = letter.chars().next().and_then(self.style);
            if let Some(style) = style.filter(|_| self.form == Form::Table) {
                self.inner.write_all(style.as_bytes())?;
                continue;
            }
            match self.form {
                Form::Json => {
                    for unit in letter.encode_utf16() {
                        write!(self.inner, "\\u{unit:04x}")?;
                    }
                }
                Form::Text | Form::Table | Form::Xml | Form::Binary => {
                    write!(self.inner, "{}", Printable(letter))?;
                }
            }
        }
        self.inner.write_all(rest.as_bytes())
    }
}

impl<W> Escaping<W> {
    /// Returns what is written to.
    pub fn inner(&self) -> &W {
        &self.inner
    }

    /// Returns what is written to. What is written there directly is not escaped.
    pub fn inner_mut(&mut self) -> &mut W {
        &mut self.inner
    }
}

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.form == Form::Binary || self.held.is_empty() && is_plain(bytes) {
            self.inner.write_all(bytes)?;
        } else if self.held.is_empty() {
            self.slowly(bytes)?;
        } else {
            let mut all = std::mem::take(&mut self.held);
            all.extend_from_slice(bytes);
            self.slowly(&all)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADING: char = '\u{91}';
    const END: char = '\u{9c}';

    fn style(letter: char) -> Option<&'static str> {
        match letter {
            HEADING => Some("\x1b[1m"),
            END => Some("\x1b[0m"),
            _ => None,
        }
    }

    fn escaped(form: Form, pieces: &[&[u8]]) -> String {
        let mut out = Escaping::new(Vec::new(), form, style);
        pieces.iter().for_each(|piece| out.write_all(piece).unwrap());
        String::from_utf8(out.inner).unwrap()
    }

    #[test]
    fn lines_stay_and_all_else_that_steers_a_terminal_is_escaped() {
        let text = "a\tb\n\x1b[31m\u{9b}2J\u{202e}\u{2026}\x7f\n";
        assert_eq!(
            escaped(Form::Text, &[text.as_bytes()]),
            "a\tb\n\\x1b[31m\\u{9b}2J\\u{202e}\u{2026}\\x7f\n"
        );
    }

    #[test]
    fn json_keeps_its_values() {
        let value = serde_json::json!({ "name": "\x1b\x7f\u{9b}\u{202e}\u{2028}\u{ffff}\u{1f600}\"" });
        let text = escaped(Form::Json, &[value.to_string().as_bytes()]);
        assert_eq!(text, "{\"name\":\"\\u001b\\u007f\\u009b\\u202e\\u2028\\uffff\u{1f600}\\\"\"}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }

    #[test]
    fn styles_are_for_tables_with_colours() {
        let text = format!("{HEADING}name{END}\x1b");
        assert_eq!(escaped(Form::Table, &[text.as_bytes()]), "\x1b[1mname\x1b[0m\\x1b");
        assert_eq!(escaped(Form::Text, &[text.as_bytes()]), "\\u{91}name\\u{9c}\\x1b");
        let mut out = Escaping::new(Vec::new(), Form::Table, |letter| style(letter).map(|_| ""));
        out.write_all(text.as_bytes()).unwrap();
        assert_eq!(out.inner, b"name\\x1b");
    }

    #[test]
    fn characters_may_come_in_pieces() {
        let text = "x\u{202e}\u{1f600}\u{9b}\u{2026}y".as_bytes();
        let whole = escaped(Form::Text, &[text]);
        for size in 1..text.len() {
            let pieces: Vec<_> = text.chunks(size).collect();
            assert_eq!(escaped(Form::Text, &pieces), whole, "in pieces of {size}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(escaped(Form::Text, &[b"a\x9bb\xff"]), "a\u{fffd}b\u{fffd}");
        assert_eq!(Escaping::new(Vec::new(), Form::Binary, style).write(b"\x9b\0").unwrap(), 2);
    }
}
