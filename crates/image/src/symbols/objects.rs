//! Variables: symbols of data.

use std::ops::Range;

use object::elf;

use super::Symbols;
use super::name;
use crate::file::File;

impl<'a> Symbols<'a> {
    /// Returns the addresses of the variable called `name`, in the first file that has it. A static variable of a C++ namespace or class may
    /// be named as in its source.
    pub fn variable(self, name: &str) -> Option<Range<u64>> {
        let is_called = |(raw, _): &(&[u8], Range<u64>)| {
            *raw == name.as_bytes()
                || name::is_mangled(raw) && name::demangle_without_parameters(raw).as_deref() == Some(name)
        };
        self.files().find_map(|file| Some(variables(file).find(is_called)?.1))
    }

    /// Returns name and first address of the variable that contains `address`.
    pub fn variable_at(self, address: u64) -> Option<(Box<str>, u64)> {
        let contains = |(_, range): &(&[u8], Range<u64>)| range.contains(&address);
        let (raw, range) = self.files().find_map(|file| variables(file).find(contains))?;
        Some((name::demangle(raw), range.start))
    }

    fn files(self) -> impl Iterator<Item = &'a File> {
        self.image.files.iter().map(|file| &**file)
    }
}

/// Returns names and addresses of a file's variables where it was loaded.
fn variables(file: &File) -> impl Iterator<Item = (&[u8], Range<u64>)> {
    let found = file.elf.as_ref().filter(|elf| !elf.relocatable).zip(file.bias);
    found.into_iter().flat_map(|(elf, bias)| {
        let tables = elf.sections.iter().filter(|section| section.kind == elf::SHT_SYMTAB).take(1);
        let symbols = tables.flat_map(|table| elf.symbols(table, file.bytes.as_slice()));
        let is_variable = |kind, section| kind == elf::STT_OBJECT && section != elf::SHN_UNDEF;
        symbols.filter(move |symbol| is_variable(symbol.kind, symbol.section)).map(move |symbol| {
            let start = symbol.value.wrapping_add(bias);
            (symbol.name, start..start.saturating_add(symbol.size.max(1)))
        })
    })
}
