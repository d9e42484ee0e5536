//! Kinds of output files, and what a file is that is there already.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::file::open_plain;

/// Kind of an output file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// Lines of text.
    Text,
    /// JSON.
    Json,
    /// XML: also pictures (SVG).
    Xml,
    /// A log of what was executed.
    Log,
    /// Bytes that are not text, such as a profile.
    Data,
}

impl fmt::Display for OutputKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Json => "JSON",
            Self::Xml => "XML",
            Self::Log => "a log",
            Self::Data => "data",
        })
    }
}

/// Bytes that are read of a file to find its kind: at its start, and at its end.
const START: u64 = 4096;
const END: u64 = 256;
/// First bytes of files that no output is.
const FOREIGN: [(&[u8], &str); 12] = [
    (b"\x7fELF", "a program (ELF)"),
    (b"!<arch>", "an archive"),
    (b"PK\x03\x04", "an archive (zip)"),
    (b"\xfd7zXZ", "a compressed file (xz)"),
    (b"\x28\xb5\x2f\xfd", "a compressed file (zstd)"),
    (b"BZh", "a compressed file (bzip2)"),
    (b"PERFILE2", "a recording of perf"),
    (b"\x89PNG", "a picture (PNG)"),
    (b"\xff\xd8\xff", "a picture (JPEG)"),
    (b"%PDF", "a document (PDF)"),
    (b"MZ", "a program"),
    (b"#!", "a script"),
];
/// First bytes of logs: ours, and that of the plugin for QEMU.
const LOGS: [&[u8]; 2] = [b"twright\n", b"twretire"];
/// Endings and names of text that people write.
const WRITTEN: &str = "c h cc cpp cxx hh hpp hxx inc rs s S asm py sh bash pl rb go java kt js ts zig d swift f90 lua ld lds dts md rst \
    adoc tex toml yaml yml ini cfg conf cmake mk gn bazel patch diff nix Makefile makefile Dockerfile README LICENSE COPYING";

/// What the first line of our text begins with: tables as CSV, and formats of other tools.
const TEXTS: [&str; 15] = [
    "binary,build_id,",
    "binary,function,address,",
    "buffer,",
    "file,line,function,",
    "address,function,",
    "kind,name,count_before,",
    "thread,instructions,",
    "caller,callee,",
    "node,parent,",
    "function,event,",
    "event,",
    "# callgrind format",
    "TN:",
    "SF:",
    "A   ",
];
/// What our JSON begins with that is not an object of a verb: timelines, coverage for LLVM's tools.
const JSONS: [&str; 3] = ["{\"traceEvents\":", "{\"meta\":{\"categories\"", "{\"data\":[{\"files\":"];
/// What the start of our XML has: flame graphs, coverage, pictures.
const XMLS: [&str; 3] =
    ["http://github.com/jonhoo/inferno", "version=\"tracewright\"", "font-variant-numeric:tabular-nums"];

/// A file that is there already.
#[derive(Debug, PartialEq, Eq)]
enum Existing {
    /// It has no contents.
    Empty,
    /// It may be an output of this kind.
    Output(OutputKind),
    /// It is something else.
    Foreign(&'static str),
}

impl OutputKind {
    /// Fails if there is a file at `path` that an output of this kind must not replace.
    pub(super) fn check(self, path: &Path) -> io::Result<()> {
        let (mut start, mut end) = (Vec::new(), Vec::new());
        let mut file = open_plain(path)?;
        (&mut file).take(START).read_to_end(&mut start)?;
        file.seek(SeekFrom::Start(file.metadata()?.len().saturating_sub(END)))?;
        file.take(END).read_to_end(&mut end)?;
        let found = match Existing::of(path, &start, &end) {
            Existing::Empty => return Ok(()),
            Existing::Output(kind) if kind == self => return Ok(()),
            Existing::Output(kind) => kind.to_string(),
            Existing::Foreign(what) => what.to_owned(),
        };
        let message =
            format!("it is {found}, and {self} would replace it: name another file, or add --force");
        Err(io::Error::new(io::ErrorKind::AlreadyExists, message))
    }
}

impl Existing {
    /// Returns what a file with this start and this end is. Text, JSON and XML are outputs only if they look like ours.
    fn of(path: &Path, start: &[u8], end: &[u8]) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let ending = name.rsplit_once('.').map_or(&name[..], |(_, ending)| ending);
        if let Some((_, what)) = FOREIGN.iter().find(|(magic, _)| start.starts_with(magic)) {
            return Self::Foreign(what);
        }
        if LOGS.iter().any(|magic| start.starts_with(magic)) {
            return Self::Output(OutputKind::Log);
        }
        if name.ends_with(".tar.gz") || matches!(ending, "tgz" | "tar") {
            return Self::Foreign("an archive (tar)");
        }
        if !is_text(start) {
            return Self::Output(OutputKind::Data);
        }
        match start.trim_ascii_start() {
            [] => Self::Empty,
            _ if WRITTEN.split_whitespace().any(|written| written == ending) => Self::Foreign("source text"),
            // Stacks of a profile for LLVM.
            [b'[', ..] if has_any(start, &["]:"]) && is_our_text(start) => Self::Output(OutputKind::Text),
            [b'{', ..] if is_our_json(start, end) => Self::Output(OutputKind::Json),
            [b'{' | b'[', ..] => Self::Foreign("JSON that tracewright did not write"),
            [b'<', ..] if has_any(start, &XMLS) => Self::Output(OutputKind::Xml),
            [b'<', ..] => Self::Foreign("XML that tracewright did not write"),
            _ if is_our_text(start) => Self::Output(OutputKind::Text),
            _ => Self::Foreign("text that tracewright did not write"),
        }
    }
}

fn has_any(bytes: &[u8], marks: &[&str]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    marks.iter().any(|mark| text.contains(mark))
}

/// Returns whether JSON is an object of a verb, whose last fields say so, or of a format that we write.
fn is_our_json(start: &[u8], end: &[u8]) -> bool {
    let begins = |mark: &&str| start.starts_with(mark.as_bytes());
    JSONS.iter().any(begins) || has_any(end, &["\"verb\":"]) && has_any(end, &["\"version\":"])
}

/// Returns whether text may be ours: it begins as we do, its first line ends with a count, or it is a table, whose columns are aligned
/// to the right.
fn is_our_text(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start);
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let is_count = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let ends_with_count = first.rsplit([' ', ':']).next().is_some_and(is_count);
    let is_table = first.starts_with(' ') || lines.next().is_some_and(|second| second.starts_with("  "));
    is_table || ends_with_count || TEXTS.iter().any(|mark| first.starts_with(mark))
}

/// Returns whether the start of a file is text. Its last character may be cut.
fn is_text(start: &[u8]) -> bool {
    let is_utf8 = std::str::from_utf8(start).map_or_else(|error| error.error_len().is_none(), |_| true);
    is_utf8 && !start.iter().any(|byte| matches!(byte, 0..=8 | 14..=26 | 28..=31))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_bytes_and_names() {
        use Existing::{Empty, Foreign, Output};
        use OutputKind::{Data, Json, Log, Text, Xml};
        for (name, start, expected) in [
            ("x", &b""[..], Empty),
            ("x.c", b" \n", Empty),
            ("x.txt", b"\x7fELF\x02", Foreign("a program (ELF)")),
            ("x.c", b"int main;", Foreign("source text")),
            ("Makefile", b"all:", Foreign("source text")),
            ("run", b"#!/bin/sh\n", Foreign("a script")),
            ("x", b"main 12\n", Output(Text)),
            ("x.csv", b"buffer,offset\nETB_0,12\n", Output(Text)),
            ("x.csv", b"date,price\n2026-01-01,12\n", Foreign("text that tracewright did not write")),
            ("x", "\u{e9}".as_bytes(), Foreign("text that tracewright did not write")),
            ("x", &"\u{e9}".as_bytes()[..1], Foreign("text that tracewright did not write")),
            ("x.txt", b"    offset id\n", Output(Text)),
            ("x.json", b"\n {\"a\":1}", Foreign("JSON that tracewright did not write")),
            ("x.json", b"{\"a\":1,\"verb\":\"stats\",\"version\":2}\n", Output(Json)),
            ("x.json", b"{\"traceEvents\":[\n", Output(Json)),
            ("x.svg", b"<?xml version", Foreign("XML that tracewright did not write")),
            ("x.svg", b"<svg xmlns:fg=\"http://github.com/jonhoo/inferno\">", Output(Xml)),
            ("x", b"twright\n\x01", Output(Log)),
            ("x", b"twretire\x01", Output(Log)),
            ("x", b"\x0a\x00\x01", Output(Data)),
            ("x.gz", b"\x1f\x8b\x08", Output(Data)),
            ("x.tar.gz", b"\x1f\x8b\x08", Foreign("an archive (tar)")),
        ] {
            assert_eq!(Existing::of(Path::new(name), start, start), expected, "{name} {start:?}");
        }
    }
}
