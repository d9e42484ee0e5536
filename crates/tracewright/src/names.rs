//! Addresses as function names, file names and source lines.

use std::fmt::Write as _;

use tracewright_core::MemorySpace;
use tracewright_core::text::{Printable, is_printable};
use tracewright_image::Image;

/// Returns the place of an address: `main+0x10`; without symbols, the file's name and the offset in its region, or in the file that
/// was mapped there; otherwise an empty string. Cuts the name to fit into `width` columns.
pub fn place(image: &Image, address: u64, space: MemorySpace, width: usize) -> String {
    let mut offset = String::new();
    let name = match image.symbols().symbol(address, space) {
        Some(symbol) => {
            let _ = write!(offset, "+{:#x}", address.wrapping_sub(symbol.start));
            symbol.name.to_string()
        }
        None => match image.region(address, space) {
            Some(region) => {
                // A dump of a file is known by the file's name.
                let (name, start) = region.mapped().unwrap_or((region.name(), 0));
                let within = address.wrapping_sub(region.range().start);
                let _ = write!(offset, "[{:#x}]", start.wrapping_add(within));
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

/// Returns the source line of an address: `main.c:12`.
pub fn source(image: &Image, address: u64, space: MemorySpace) -> Option<String> {
    let found = image.symbols().source(address, space)?;
    Some(format!("{}:{}", Printable(file_name(found.file)), found.line))
}

/// Returns the last part of a path.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns at most `width` characters of `name`, the last two of them dots if it was longer. Escapes unprintable characters.
pub fn cut(name: &str, width: usize) -> String {
    if !is_printable(name) {
        return cut(&Printable(name).to_string(), width);
    }
    match name.char_indices().nth(width) {
        None => name.to_owned(),
        Some(_) => name.chars().take(width.saturating_sub(2)).chain("..".chars()).collect(),
    }
}

/// Returns the end of `name` in the same way: at most `width` characters, the first two of them dots if it was longer.
pub fn tail(name: &str, width: usize) -> String {
    let name = &*Printable(name).to_string();
    match name.chars().count() {
        len if len > width => {
            "..".chars().chain(name.chars().skip((len + 2).saturating_sub(width))).collect()
        }
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_at_either_end() {
        assert_eq!((cut("abcdef", 6), tail("abcdef", 6)), ("abcdef".into(), "abcdef".into()));
        assert_eq!((cut("abcdef", 5), tail("abcdef", 5)), ("abc..".into(), "..def".into()));
        assert_eq!((cut("a\x1bb", 9), tail("a\x1bb", 9)), ("a\\x1bb".into(), "a\\x1bb".into()));
        assert_eq!(tail("a\x1bb", 5), "..1bb");
    }
}
