//! Kinds of output files, and what a file is that is there already.

use std::fmt;
use std::io::{self, Read};
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

/// Bytes that are read of a file to find its kind.
const START: u64 = 4096;
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
        let mut start = Vec::new();
        open_plain(path)?.take(START).read_to_end(&mut start)?;
        let found = match Existing::of(path, &start) {
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
    fn of(path: &Path, start: &[u8]) -> Self {
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
            [b'{' | b'[', ..] => Self::Output(OutputKind::Json),
            [b'<', ..] => Self::Output(OutputKind::Xml),
            _ => Self::Output(OutputKind::Text),
        }
    }
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
            ("x.csv", "\u{e9}".as_bytes(), Output(Text)),
            ("x", &"\u{e9}".as_bytes()[..1], Output(Text)),
            ("x.json", b"\n {\"a\":1}", Output(Json)),
            ("x.svg", b"<?xml version", Output(Xml)),
            ("x", b"twright\n\x01", Output(Log)),
            ("x", b"twretire\x01", Output(Log)),
            ("x", b"\x0a\x00\x01", Output(Data)),
            ("x.gz", b"\x1f\x8b\x08", Output(Data)),
            ("x.tar.gz", b"\x1f\x8b\x08", Foreign("an archive (tar)")),
        ] {
            assert_eq!(Existing::of(Path::new(name), start), expected, "{name} {start:?}");
        }
    }
}
