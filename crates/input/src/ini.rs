//! Ini dialect of trace snapshots: `[section]` and `key=value` lines.
//!
//! Text from `;`, `#` or a carriage return to the end of the line is dropped. Blanks around names and values
//! are trimmed, and one pair of quotes around a value is stripped. The reader of the sections decides what
//! sections and keys mean and which may repeat.

use std::collections::HashMap;
use std::path::Path;

use crate::problem::{Log, Problem, quote};

/// `[name]` line with the entries below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Text between the brackets.
    pub name: String,
    /// Line of the header, counted from 1.
    pub line: u32,
    /// `key=value` lines, in order.
    pub entries: Vec<Entry>,
}

/// `key=value` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Text before the first `=`.
    pub key: String,
    /// Text after the first `=`, without quotes; may be empty.
    pub value: String,
    /// Line, counted from 1.
    pub line: u32,
}

/// Splits the bytes of `file` into sections, in order.
///
/// Any bytes are accepted: readable lines are returned, and the others are added to `problems`. `file` is
/// only a name for these.
pub fn parse(file: &Path, bytes: &[u8], problems: &mut Vec<Problem>) -> Vec<Section> {
    let mut log = Log::new(file, problems);
    let mut sections: Vec<Section> = Vec::new();
    for (index, raw) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let line = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let code = raw.split(|byte| b";#\r".contains(byte)).next().unwrap_or_default().trim_ascii();
        if code.is_empty() {
            continue;
        }
        let text = String::from_utf8_lossy(code);
        // Older tools wrote Latin-1; going on loses only special letters in a description.
        if str::from_utf8(code).is_err() {
            log.warning(line, "not UTF-8: what cannot be read becomes U+FFFD; save the file as UTF-8");
        }
        if let Some(rest) = text.strip_prefix('[') {
            let name = rest.split(']').next().unwrap_or_default();
            if rest.strip_suffix(']') != Some(name) {
                // Going on under this name keeps the entries below it out of the section above.
                log.warning(
                    line,
                    format!(
                        "expected [section] and nothing more, found {}: read as section {}",
                        quote(&text),
                        quote(name.trim())
                    ),
                );
            }
            sections.push(Section { name: name.trim().to_owned(), line, entries: Vec::new() });
        } else if let Some((key, value)) = text.split_once('=') {
            let (key, value) = (key.trim().to_owned(), unquote(value.trim()).to_owned());
            if key.is_empty() {
                log.error(line, format!("no key before '=' in {}: skipped", quote(&text)));
            } else if let Some(section) = sections.last_mut() {
                section.entries.push(Entry { key, value, line });
            } else {
                log.error(line, format!("key {} stands before the first [section]: skipped", quote(&key)));
            }
        } else {
            log.error(line, format!("expected [section] or key=value, found {}: skipped", quote(&text)));
        }
    }
    sections
}

/// Parses a number as C writes it: `0x` and hexadecimal digits, `0` and octal digits, or decimal digits.
///
/// OpenCSD reads octal too (`address=0100` is 64). Returns `None` for anything else, and above 64 bits.
pub fn number(text: &str) -> Option<u64> {
    let (digits, radix) = if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        (digits, 16)
    } else if text.len() > 1 && text.starts_with('0') {
        (text, 8)
    } else {
        (text, 10)
    };
    // The standard parser would accept a sign.
    digits
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric())
        .then(|| u64::from_str_radix(digits, radix).ok())?
}

/// Returns the sections called `name`; a repeated section continues the first.
pub(crate) fn named<'a>(sections: &'a [Section], name: &str) -> impl Iterator<Item = &'a Section> {
    sections.iter().filter(move |section| section.name == name)
}

/// Entries of a section in which each key may occur once. The first of a repeated key counts; the others are
/// problems.
pub(crate) struct Fields<'a> {
    section: &'a str,
    /// Line of the section's header; `None` if the file has no such section.
    pub(crate) line: Option<u32>,
    /// Entries in file order.
    pub(crate) entries: Vec<&'a Entry>,
}

impl<'a> Fields<'a> {
    pub(crate) fn of(section: &'a Section, log: &mut Log<'_>) -> Self {
        Self::new(&section.name, [section], log)
    }

    pub(crate) fn named(sections: &'a [Section], name: &'a str, log: &mut Log<'_>) -> Self {
        Self::new(name, named(sections, name), log)
    }

    fn new(name: &'a str, sections: impl IntoIterator<Item = &'a Section>, log: &mut Log<'_>) -> Self {
        let mut fields = Self { section: name, line: None, entries: Vec::new() };
        let mut seen = HashMap::new();
        for section in sections {
            fields.line = fields.line.or(Some(section.line));
            for entry in &section.entries {
                let first = *seen.entry(entry.key.as_str()).or_insert(entry.line);
                if first == entry.line {
                    fields.entries.push(entry);
                } else {
                    log.error(entry.line, format!("key {} repeats line {first}: skipped", quote(&entry.key)));
                }
            }
        }
        fields
    }

    /// Returns the entry of `key`, if it has a value.
    pub(crate) fn find(&self, key: &str) -> Option<&'a Entry> {
        self.entries.iter().copied().find(|entry| entry.key == key && !entry.value.is_empty())
    }

    /// Returns the entry of `key`, or reports a problem; `or_else` says what follows from its absence.
    pub(crate) fn require(
        &self,
        key: &str,
        example: &str,
        or_else: &str,
        log: &mut Log<'_>,
    ) -> Option<&'a Entry> {
        let entry = self.find(key);
        if entry.is_none() {
            let section = quote(self.section);
            let message =
                format!("no {key} in section {section}: expected a line like {key}={example}; {or_else}");
            log.error(self.line, message);
        }
        entry
    }
}

/// Returns `text` without the pair of quotes around it, if there is one.
pub(crate) fn unquote(text: &str) -> &str {
    ['"', '\''].iter().find_map(|&mark| text.strip_prefix(mark)?.strip_suffix(mark)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares sections, written `[name@line key=value@line ...]`, and the problems.
    fn check(bytes: &[u8], expected: &str) {
        let mut problems = Vec::new();
        let mut lines = Vec::new();
        for section in parse(Path::new("t.ini"), bytes, &mut problems) {
            let entries: String =
                section.entries.iter().map(|e| format!(" {}={}@{}", e.key, e.value, e.line)).collect();
            lines.push(format!("[{}@{}{entries}]", section.name, section.line));
        }
        lines.extend(problems.iter().map(Problem::to_string));
        assert_eq!(lines.join("\n"), expected);
    }

    #[test]
    fn sections_and_keys_are_trimmed_and_numbered() {
        check(b"\n [ a ] \n x = 1 \n\ty=2\n[b]\nlast=3", "[a@2 x=1@3 y=2@4]\n[b@5 last=3@6]");
        check(b"[device_list]\nCluster 0=cpu_1,cpu_2", "[device_list@1 Cluster 0=cpu_1,cpu_2@2]");
    }

    #[test]
    fn comments_and_carriage_returns_are_dropped() {
        check(b"; DS-5 snapshot\r\n[a];b\r\nx=1 # one\r\n#y=2\r\nz=3\rq=4", "[a@2 x=1@3 z=3@5]");
    }

    #[test]
    fn one_pair_of_quotes_is_stripped() {
        check(
            b"[a]\nf=\"my file.bin\"\ng='x'\nh=\"\"q\"\"\ni=\"\nj=a=b\nk=\"open",
            "[a@1 f=my file.bin@2 g=x@3 h=\"q\"@4 i=\"@5 j=a=b@6 k=\"open@7]",
        );
    }

    #[test]
    fn bad_lines_are_problems_and_the_rest_is_read() {
        check(
            b"early=1\n[a]\nnonsense\n=5\nx=1",
            "[a@2 x=1@5]\n\
             t.ini:1: error: key \"early\" stands before the first [section]: skipped\n\
             t.ini:3: error: expected [section] or key=value, found \"nonsense\": skipped\n\
             t.ini:4: error: no key before '=' in \"=5\": skipped",
        );
        check(
            b"[dump1\nx=1\n[b] c",
            "[dump1@1 x=1@2]\n[b@3]\n\
             t.ini:1: warning: expected [section] and nothing more, found \"[dump1\": read as section \"dump1\"\n\
             t.ini:3: warning: expected [section] and nothing more, found \"[b] c\": read as section \"b\"",
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        check(
            b"; \xe9 in a comment is fine\n[a]\nd=caf\xe9",
            "[a@2 d=caf\u{fffd}@3]\n\
             t.ini:3: warning: not UTF-8: what cannot be read becomes U+FFFD; save the file as UTF-8",
        );
    }

    #[test]
    fn repeated_keys_and_sections() {
        let sections = parse(Path::new("t.ini"), b"[a]\nx=1\n[b]\nx=2\n[a]\nx=3\ny=4", &mut Vec::new());
        let mut problems = Vec::new();
        let fields = Fields::named(&sections, "a", &mut Log::new(Path::new("t.ini"), &mut problems));
        let values: Vec<_> = fields.entries.iter().map(|entry| entry.value.as_str()).collect();
        assert_eq!((values, fields.line), (vec!["1", "4"], Some(1)));
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].to_string(), "t.ini:6: error: key \"x\" repeats line 2: skipped");
    }

    #[test]
    fn numbers_are_c_numbers() {
        let good =
            [("0", 0), ("10", 10), ("010", 8), ("0x1F", 31), ("0X1f", 31), ("0xFFFFFFFFFFFFFFFF", u64::MAX)];
        good.iter().for_each(|&(text, value)| assert_eq!(number(text), Some(value), "{text}"));
        let bad = ["", "0x", "-1", "+1", "0x+1", "08", "1 2", "0x10zz", "1_0", "0x1FFFFFFFFFFFFFFFF", "é"];
        bad.iter().for_each(|text| assert_eq!(number(text), None, "{text}"));
    }
}
