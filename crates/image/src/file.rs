use std::sync::OnceLock;

use crate::bytes::Bytes;
use crate::elf::Elf;
use crate::lines::Lines;
use crate::symbols::Table;

/// Something that was added to an image: bytes, and what is known of them.
#[derive(Debug)]
pub(crate) struct File {
    pub name: Box<str>,
    pub bytes: Bytes,
    pub elf: Option<Elf>,
    /// The path it had where it ran, if it is another one.
    pub ran_as: Option<Box<str>>,
    /// What to add to the addresses it was linked for, where it was put first.
    pub bias: Option<u64>,
    /// Whether parts of it are mapped, and not all that its headers say.
    pub in_parts: bool,
    /// The bytes before branches in them were relocated, if they were.
    pub original: Option<Bytes>,
    /// Why there are no bytes of what was mapped.
    pub absent: Option<Box<str>>,
    /// What it was stripped of: symbols and lines.
    pub debug: Option<Box<Self>>,
    /// The file that the bytes were mapped from, and where in it they begin.
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
            absent: None,
            debug: None,
            mapped: None,
            symbols: OnceLock::new(),
            lines: OnceLock::new(),
        }
    }

    /// An ELF file, with its bytes after relocation if that changed any.
    pub fn relocated(name: &str, bytes: Bytes, elf: Elf, relocated: Option<Vec<u8>>) -> Self {
        match relocated {
            Some(relocated) => Self { original: Some(bytes), ..Self::new(name, relocated.into(), Some(elf)) },
            None => Self::new(name, bytes, Some(elf)),
        }
    }

    /// The build ID, if it is an ELF file that has one.
    pub fn build_id(&self) -> Option<&[u8]> {
        let range = self.elf.as_ref()?.build_id.clone()?;
        self.bytes.as_slice().get(range)
    }

    /// Its symbols, read when they are first asked for.
    pub fn symbols(&self) -> &Table {
        self.symbols.get_or_init(|| match &self.elf {
            Some(elf) => Table::new(elf, self.bytes.as_slice(), self.debug.as_deref()),
            None => Table::default(),
        })
    }

    /// The file that has its lines.
    pub fn with_lines(&self) -> &Self {
        match &self.debug {
            Some(debug) if !self.elf.as_ref().is_some_and(Lines::has_any) => debug,
            _ => self,
        }
    }

    /// Its lines, indexed when they are first asked for.
    pub fn lines(&self) -> &Lines {
        self.lines.get_or_init(|| match &self.elf {
            Some(elf) => Lines::new(elf, self.bytes.as_slice()),
            None => Lines::default(),
        })
    }
}
