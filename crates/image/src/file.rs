use std::sync::OnceLock;

use crate::bytes::Bytes;
use crate::elf::Elf;
use crate::lines::Lines;
use crate::symbols::Table;

/// File of an image: its bytes and what is known about them.
#[derive(Debug)]
pub(crate) struct File {
    pub name: Box<str>,
    pub bytes: Bytes,
    pub elf: Option<Elf>,
    /// Path that the file had where it ran, if it differs.
    pub ran_as: Option<Box<str>>,
    /// Offset from linked addresses to those where the file was loaded first.
    pub bias: Option<u64>,
    /// Whether parts of the file are mapped one by one instead of as its headers say.
    pub in_parts: bool,
    /// Bytes before their branches were relocated, if they were.
    pub original: Option<Bytes>,
    /// Whether the bytes replace single instructions of other files, which still have the names.
    pub is_patch: bool,
    /// Reason why the bytes are missing.
    pub absent: Option<Box<str>>,
    /// Debug file with the symbols and lines that were stripped.
    pub debug: Option<Box<Self>>,
    /// File that the bytes were mapped from, and the offset where they begin in it.
    pub mapped: Option<(Box<str>, u64)>,
    symbols: OnceLock<Table>,
    lines: OnceLock<Lines>,
}

impl File {
    pub fn new(name: &str, bytes: Bytes, elf: Option<Elf>) -> Self {
        Self {
            name: name.into(),
            bytes,
            elf,
            ran_as: None,
            bias: None,
            in_parts: false,
            original: None,
            is_patch: false,
            absent: None,
            debug: None,
            mapped: None,
            symbols: OnceLock::new(),
            lines: OnceLock::new(),
        }
    }

    /// Creates an ELF file, with its relocated bytes if relocation changed any.
    pub fn relocated(name: &str, bytes: Bytes, elf: Elf, relocated: Option<Vec<u8>>) -> Self {
        match relocated {
            Some(relocated) => Self { original: Some(bytes), ..Self::new(name, relocated.into(), Some(elf)) },
            None => Self::new(name, bytes, Some(elf)),
        }
    }

    /// Returns the build ID, if this is an ELF file that has one.
    pub fn build_id(&self) -> Option<&[u8]> {
        let range = self.elf.as_ref()?.build_id.clone()?;
        self.bytes.as_slice().get(range)
    }

    /// Returns the symbols, which are read on the first call.
    pub fn symbols(&self) -> &Table {
        self.symbols.get_or_init(|| match &self.elf {
            Some(elf) => Table::new(elf, self.bytes.as_slice(), self.debug.as_deref()),
            None => Table::default(),
        })
    }

    /// Returns the file that has the lines: this one or its debug file.
    pub fn with_lines(&self) -> &Self {
        match &self.debug {
            Some(debug) if !self.elf.as_ref().is_some_and(Lines::has_any) => debug,
            _ => self,
        }
    }

    /// Returns the number of units whose lines were requested but left out.
    pub fn lines_left_out(&self) -> usize {
        self.with_lines().lines.get().map_or(0, Lines::left_out)
    }

    /// Returns the debug section that could not be unpacked when lines were requested, with the reason.
    pub fn lines_fault(&self) -> Option<&str> {
        self.with_lines().lines.get().and_then(Lines::fault)
    }

    /// Returns the lines, which are indexed on the first call.
    pub fn lines(&self) -> &Lines {
        self.lines.get_or_init(|| match &self.elf {
            Some(elf) => Lines::new(elf, self.bytes.as_slice()),
            None => Lines::default(),
        })
    }
}
