//! Addresses as function names, file names and source lines.

use std::fmt::Write as _;

use tracewright_core::MemorySpace;
use tracewright_core::text::{Printable, is_printable};
use tracewright_image::Image;

/// Returns the place of an address: `main+0x10`; without symbols, that in its file, `cc1+0x1a24`: the linked address in an ELF file, the
/// offset in a dump, or in the file that was mapped there; otherwise an empty string. Cuts the name to fit into `width` columns.
pub fn place(image: &Image, address: u64, space: MemorySpace, width: usize) -> String {
    let mut offset = String::new();
    let name = match image.symbols().symbol(address, space) {
        Some(symbol) => {
            let _ = write!(offset, "+{:#x}", address.wrapping_sub(symbol.start));
            symbol.name.to_string()
        }
        None => match image.region(address, space) {
            Some(region) => {
                let (name, within) = region.offset(address);
                let _ = write!(offset, "+{within:#x}");
                file_name(name).to_owned()
            }
            None => return String::new(),
        },
    };
    cut(&name, width.saturating_sub(offset.len())) + &offset
}

/// Returns the function that an address belongs to: `main`; without symbols, the file as `[libc.so]`; otherwise `?`.
pub fn function(image: &Image, address: u64, space: MemorySpace) -> String {
    if let Some(symbol) = image.symbols().symbol(address, space) {
        return symbol.name.to_owned();
    }
    match image.region(address, space) {
        Some(region) => {
            let path = region.mapped().map_or(region.name(), |(name, _)| name);
            format!("[{}]", Printable(file_name(path)))
        }
        None => "?".into(),
    }
}

/// Returns the function whose source an address comes from: the innermost one inlined there, or else the [`function`]
/// that has the address.
pub fn source_function(image: &Image, address: u64, space: MemorySpace) -> String {
    let inlined = tracewright_profile::inlined_at(image, address, space);
    inlined.last().map_or_else(|| function(image, address, space), |name| (*name).to_owned())
}

/// Returns what is inlined at an address: `middle > inner`, the outermost first; an empty string if nothing is.
pub fn inlined(image: &Image, address: u64, space: MemorySpace) -> String {
    tracewright_profile::inlined_at(image, address, space).join(" > ")
}

/// Returns the source line of an address: `main.c:12`.
pub fn source(image: &Image, address: u64, space: MemorySpace) -> Option<String> {
    let found = image.symbols().source(address, space)?;
    Some(format!("{}:{}", Printable(file_name(found.file)), found.line))
}

/// Returns the last part of a path.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Stands for what is left out of a name or a line.
const CUT: char = '…';

/// Returns at most `width` characters of a name. If it is longer, the middle is left out: `std::very…::name`. Escapes unprintable
/// characters.
pub fn cut(name: &str, width: usize) -> String {
    let (head, tail) = (width.saturating_sub(1) / 2, width / 2);
    shorten(name, width, head, tail)
}

/// Returns the begin of a line in the same way: at most `width` characters.
pub fn head(line: &str, width: usize) -> String {
    shorten(line, width, width.saturating_sub(1), 0)
}

/// Returns the end of a path in the same way: at most `width` characters.
pub fn tail(path: &str, width: usize) -> String {
    shorten(path, width, 0, width.saturating_sub(1))
}

fn shorten(text: &str, width: usize, head: usize, tail: usize) -> String {
    if !is_printable(text) {
        return shorten(&Printable(text).to_string(), width, head, tail);
    }
    let len = match text.char_indices().nth(width) {
        None => return text.to_owned(),
        Some(_) => text.chars().count(),
    };
    text.chars()
        .take(head)
        .chain([CUT].into_iter().take(width))
        .chain(text.chars().skip(len - tail))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut() {
        let all = |name, width| [cut(name, width), head(name, width), tail(name, width)];
        assert_eq!(all("abcdef", 6), ["abcdef"; 3]);
        assert_eq!(all("abcdef", 5), ["ab…ef", "abcd…", "…cdef"]);
        assert_eq!(all("abcdef", 4), ["a…ef", "abc…", "…def"]);
        assert_eq!(all("abcdef", 1), ["…"; 3]);
        assert_eq!(all("abcdef", 0), [""; 3]);
        assert_eq!(all("a\x1bb", 9), ["a\\x1bb"; 3]);
        assert_eq!(all("a\x1bb", 5), ["a\\…bb".to_owned(), "a\\x1…".into(), "…x1bb".into()]);
    }
}
