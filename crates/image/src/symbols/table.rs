use std::ops::Range;
use std::sync::OnceLock;

use object::elf;

use super::plt;
use super::select::Candidate;
use super::{Linkage, name};
use crate::bytes::Bytes;
use crate::elf::{Elf, Symbol};
use crate::file::File;
use crate::pieces::Pieces;
use crate::xz::unpacked_xz;

/// Symbols of a file. Addresses are as linked.
#[derive(Debug, Default)]
pub(crate) struct Table {
    entries: Vec<Entry>,
    /// Entry shown at each address.
    pieces: Pieces,
    /// Names that are not stored in the file itself.
    mini: Mini,
}

#[derive(Debug)]
struct Entry {
    symbol: Candidate,
    end: u64,
    /// Name to show, made on first use.
    shown: OnceLock<Box<str>>,
}

impl Table {
    /// Reads all symbols of `file`, whose headers are `elf`; `debug` has those that were stripped.
    pub fn new(elf: &Elf, file: &[u8], debug: Option<&File>) -> Self {
        // A file has one table of each kind. More tables that share their names are an attempt to waste time.
        let table = |kind| elf.sections.iter().find(|section| section.kind == kind);
        let mini = Mini::new(elf, file, debug);
        let tables = [elf::SHT_SYMTAB, elf::SHT_DYNSYM].into_iter().filter_map(table);
        // Names in the other file are numbered as if it followed this one.
        let inner = mini
            .symbols()
            .map(|symbol| Symbol { name_at: symbol.name_at.saturating_add(file.len()), ..symbol });
        let all = tables.flat_map(|section| elf.symbols(section, file)).chain(inner);
        let mut name_bytes = 0;
        let mut symbols: Vec<_> = all
            .filter_map(|symbol| Candidate::new(elf, &symbol))
            .take_while(|symbol| {
                name_bytes += symbol.name_len;
                name_bytes / 4 <= file.len().saturating_add(mini.bytes().len())
            })
            .collect();
        symbols.extend(plt::stubs(elf, file, &symbols));

        let mut starts: Vec<u64> = symbols.iter().map(|symbol| symbol.start).collect();
        starts.sort_unstable();
        starts.dedup();
        symbols.sort_by_cached_key(Candidate::rank);
        let entries: Vec<_> = symbols
            .into_iter()
            .map(|symbol| Entry { symbol, end: end(elf, &symbol, &starts), shown: OnceLock::new() })
            .filter(|entry| entry.symbol.start < entry.end)
            .collect();
        let claims: Vec<_> = entries.iter().map(|entry| entry.symbol.start..entry.end).collect();
        let (pieces, _) = Pieces::new(&claims);
        Self { entries, pieces, mini }
    }

    /// Returns name and addresses of the symbol at `address`.
    pub fn find(&self, file: &[u8], address: u64) -> Option<(&str, Range<u64>)> {
        let (_, index) = self.pieces.find(address)?;
        let entry = &self.entries[index as usize];
        Some((self.shown(entry, file), entry.symbol.start..entry.end))
    }

    /// Returns the linker's view of the symbol at `address`.
    pub fn linkage<'a>(&'a self, file: &'a [u8], address: u64) -> Option<Linkage<'a>> {
        let (_, index) = self.pieces.find(address)?;
        let found = &self.entries[index as usize];
        let name = self.raw(found, file);
        let symbol = found.symbol;
        let is_before = |other: &&Entry| {
            !other.symbol.global
                && other.symbol.name_len == symbol.name_len
                && other.symbol.start < symbol.start
                && self.raw(other, file) == name
        };
        let before = if symbol.global { 0 } else { self.entries.iter().filter(is_before).count() };
        Some(Linkage {
            name,
            plt: symbol.plt,
            global: symbol.global,
            start: symbol.start,
            size: found.end - symbol.start,
            before,
        })
    }

    /// Returns name, first address and addresses of all symbols. A symbol that contains others comes in
    /// parts.
    pub fn functions<'a>(&'a self, file: &'a [u8]) -> impl Iterator<Item = (&'a str, u64, Range<u64>)> {
        self.pieces.iter().map(move |(range, index)| {
            let entry = &self.entries[index as usize];
            (self.shown(entry, file), entry.symbol.start, range)
        })
    }

    /// Returns the names of all symbols.
    pub fn names<'a>(&'a self, file: &'a [u8]) -> impl Iterator<Item = &'a str> {
        self.entries.iter().map(|entry| self.shown(entry, file))
    }

    /// Returns the addresses of the symbol called `name`. Of several, the first function visible to other
    /// files wins.
    pub fn resolve(&self, file: &[u8], name: &str) -> Option<Range<u64>> {
        let is_called: [&dyn Fn(&Entry) -> bool; 3] = [
            &|entry| !entry.symbol.plt && name::without_version(self.raw(entry, file)) == name.as_bytes(),
            &|entry| {
                (entry.symbol.plt || name::is_shown_otherwise(self.raw(entry, file)))
                    && self.shown(entry, file) == name
            },
            &|entry| {
                let raw = self.raw(entry, file);
                !entry.symbol.plt
                    && name::is_mangled(raw)
                    && name::demangle_without_parameters(raw).as_deref() == Some(name)
            },
        ];
        let found = is_called.into_iter().find_map(|is_called| {
            let called = self.entries.iter().filter(|entry| is_called(entry));
            called.min_by_key(|entry| (!entry.symbol.function, !entry.symbol.global, entry.symbol.start))
        })?;
        Some(found.symbol.start..found.end)
    }

    /// Returns the name of an entry, as the file has it.
    fn raw<'a>(&'a self, entry: &Entry, file: &'a [u8]) -> &'a [u8] {
        let at = entry.symbol.name_at;
        let rest = match at.checked_sub(file.len()) {
            None => file.get(at..),
            Some(at) => self.mini.bytes().get(at..),
        };
        rest.and_then(|rest| rest.get(..entry.symbol.name_len)).unwrap_or_default()
    }

    fn shown<'a>(&self, entry: &'a Entry, file: &[u8]) -> &'a str {
        entry.shown.get_or_init(|| {
            let name = name::demangle(self.raw(entry, file));
            if entry.symbol.plt { format!("{name}@plt").into() } else { name }
        })
    }
}

/// Returns the end of `symbol`: its stated end, or the next symbol, but never beyond its section. Some
/// linkers write sizes that go beyond; these are ignored.
fn end(elf: &Elf, symbol: &Candidate, starts: &[u64]) -> u64 {
    let section_end = elf.section_at(symbol.start).map(|section| section.addresses().end);
    let says = symbol.start.checked_add(symbol.size).filter(|_| symbol.size > 0);
    if let Some(end) = says.filter(|&end| section_end.is_none_or(|last| end <= last)) {
        return end;
    }
    let last = section_end.unwrap_or(symbol.start.saturating_add(1));
    let next = starts.partition_point(|&start| start <= symbol.start);
    starts.get(next).map_or(last, |&next| next.min(section_end.unwrap_or(next)))
}

/// Largest unpacked size of compressed names.
const MOST_NAMES: usize = 256 << 20;

/// Symbols outside the program's own tables: compressed in the program (`.gnu_debugdata`, an ELF file with nothing
/// but names, the only names in Android's and Fedora's programs), or in a debug file.
#[derive(Debug, Default)]
struct Mini {
    bytes: Option<Bytes>,
    elf: Option<Elf>,
}

impl Mini {
    /// Reads the names of a program that has no full symbol table. Damaged data counts as none.
    fn new(elf: &Elf, file: &[u8], debug: Option<&File>) -> Self {
        // Symbols of relocatable files are relative to sections, which may be numbered differently there.
        if elf.is_full() || elf.relocatable {
            return Self::default();
        }
        let bytes = match debug {
            Some(debug) => Some(debug.bytes.clone()),
            None => elf
                .section_bytes(file, ".gnu_debugdata")
                .and_then(|packed| Some(unpacked_xz(packed, MOST_NAMES).ok()?.into())),
        };
        Self { elf: bytes.as_ref().and_then(|bytes| Elf::names_only(bytes.as_slice())), bytes }
    }

    /// Returns the symbols. Their names are ranges of [`bytes`](Self::bytes).
    fn symbols(&self) -> impl Iterator<Item = Symbol<'_>> {
        let tables = self.elf.iter().flat_map(|elf| {
            let table = elf.sections.iter().find(|section| section.kind == elf::SHT_SYMTAB);
            table.map(|section| elf.symbols(section, self.bytes()))
        });
        tables.flatten()
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.as_ref().map_or(&[], Bytes::as_slice)
    }
}
