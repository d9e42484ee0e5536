//! Demangled, printable names.

use std::fmt::{self, Write};

use cpp_demangle::DemangleOptions;
use tracewright_core::text::{Printable, is_printable};

/// Length at which a demangled name is cut: some short mangled names stand for gigabytes.
const MAX_SHOWN: usize = 0x4000;

/// Returns the name without the version that some linkers add: `memcpy` for `memcpy@@GLIBC_2.17`.
pub(crate) fn without_version(raw: &[u8]) -> &[u8] {
    match raw.iter().position(|&byte| byte == b'@') {
        Some(at) if at > 0 => &raw[..at],
        _ => raw,
    }
}

/// Returns whether the name to show may differ from the name in the file: it may be mangled, or not be printable.
pub(crate) fn is_shown_otherwise(raw: &[u8]) -> bool {
    is_mangled(raw) || !raw.iter().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Returns whether a name may be mangled, so that demangling is worth a try.
pub(crate) fn is_mangled(raw: &[u8]) -> bool {
    [&b"_Z"[..], b"_R", b"_GLOBAL_"].iter().any(|prefix| raw.starts_with(prefix))
}

/// Returns the name as the program's source has it, with unprintable characters escaped. All displayed names
/// come from here, so that no output format needs to escape control characters.
pub(crate) fn demangle(raw: &[u8]) -> Box<str> {
    let name = unescaped(raw);
    if is_printable(&name) { name } else { Printable(&name).to_string().into() }
}

fn unescaped(raw: &[u8]) -> Box<str> {
    let raw = String::from_utf8_lossy(without_version(raw));
    if is_mangled(raw.as_bytes()) {
        if let Ok(name) = rustc_demangle::try_demangle(&raw) {
            return cut(|text| write!(text, "{name:#}"));
        }
        if let Some(name) = demangle_cpp(&raw, DemangleOptions::new()) {
            return name;
        }
    }
    raw.into()
}

/// Returns the name of a C++ function without parameters and return type.
pub(crate) fn demangle_without_parameters(raw: &[u8]) -> Option<Box<str>> {
    let raw = std::str::from_utf8(without_version(raw)).ok()?;
    demangle_cpp(raw, DemangleOptions::new().no_params().no_return_type())
}

fn demangle_cpp(raw: &str, options: DemangleOptions) -> Option<Box<str>> {
    let symbol = cpp_demangle::Symbol::new(raw).ok()?;
    let name = cut(|text| symbol.structured_demangle(text, &options));
    (!name.is_empty()).then_some(name)
}

/// Returns the text that `write` writes, cut at the maximum length.
fn cut(write: impl FnOnce(&mut Cut) -> fmt::Result) -> Box<str> {
    let mut text = Cut(String::new());
    // It fails where the text is cut.
    let _ = write(&mut text);
    text.0.into()
}

struct Cut(String);

impl Write for Cut {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MAX_SHOWN {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        let table = [
            ("main", "main"),
            ("memcpy@@GLIBC_2.17", "memcpy"),
            ("_ZN3foo3barEi", "foo::bar(int)"),
            ("_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back(int&&)"),
            ("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("_Zzz", "_Zzz"),
            ("_R", "_R"),
        ];
        for (raw, shown) in table {
            assert_eq!(&*demangle(raw.as_bytes()), shown);
        }
        assert_eq!(demangle_without_parameters(b"_ZN3foo3barEi").as_deref(), Some("foo::bar"));
        assert_eq!(&*demangle(b"caf\xe9"), "caf\u{fffd}");
        assert_eq!(&*demangle(b"\x1b[2Jmain\n"), "\\x1b[2Jmain\\x0a");
    }

    #[test]
    fn a_name_that_stands_for_gigabytes_is_cut() {
        // Each substitution is twice as long as the one before.
        let mut raw = "_Z1fP1AIiiE".to_owned();
        for number in 0..30 {
            let digit = char::from_digit(number, 36).unwrap().to_ascii_uppercase();
            write!(raw, "1AIS{digit}_S{digit}_E").unwrap();
        }
        assert!(demangle(raw.as_bytes()).len() <= MAX_SHOWN);
    }
}
