//! What an encoder under test made: bytes, or bytes in hexadecimal as `$writememh` writes them.

use std::path::{Path, PathBuf};

use super::{Case, Error, files};

/// The trace that an encoder made of a case, as a file of bytes. A file made of hexadecimal is removed when this is dropped.
#[derive(Debug)]
pub struct Theirs {
    path: PathBuf,
    is_made: bool,
}

/// Largest file of hexadecimal that is read.
const MOST: u64 = 1 << 30;

impl Theirs {
    /// Finds it: `folder/CASE.bin`, `folder/CASE.hex`, `folder/CASE/trace.bin` or `folder/CASE/trace.hex`; a file is it itself. Returns
    /// `None` if there is none.
    ///
    /// # Errors
    /// Fails if a file in hexadecimal cannot be read.
    pub fn find(place: &Path, case: &Case) -> Result<Option<Self>, Error> {
        let name = &case.name;
        let inside = place.join("cases");
        let folders = [place, inside.as_path()];
        let names = [
            format!("{name}.bin"),
            format!("{name}.hex"),
            format!("{name}/trace.bin"),
            format!("{name}/trace.hex"),
        ];
        let all = folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name)));
        let found =
            if place.is_dir() { all.into_iter().find(|path| path.is_file()) } else { Some(place.to_owned()) };
        match found {
            Some(path) if path.extension().is_some_and(|extension| extension == "hex") => {
                Self::of_hex(&path, case).map(Some)
            }
            found => Ok(found.map(|path| Self { path, is_made: false })),
        }
    }

    fn of_hex(path: &Path, case: &Case) -> Result<Self, Error> {
        let failed = |error| Error::File(path.to_owned(), error);
        if std::fs::metadata(path).map_err(failed)?.len() > MOST {
            return Err(Error::Kit(format!(
                "{}: more than {} MiB of hexadecimal",
                path.display(),
                MOST >> 20
            )));
        }
        let text = files::read(path, "the trace of an encoder in hexadecimal")?;
        let bytes = bytes_of(&text).map_err(|error| Error::Kit(format!("{}:{error}", path.display())))?;
        let made = format!("tracewright-conform-{}-{}.bin", std::process::id(), case.name);
        let made = std::env::temp_dir().join(made);
        files::write(&made, &bytes)?;
        Ok(Self { path: made, is_made: true })
    }

    /// Returns the file of bytes.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        if self.is_made {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Reads bytes as `$readmemh` does: numbers of two digits between blanks, comments, and addresses that go on.
///
/// # Errors
/// Fails with the line and what is wrong with it.
pub fn bytes_of(text: &[u8]) -> Result<Vec<u8>, String> {
    let (mut bytes, mut in_comment) = (Vec::new(), false);
    for (number, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let line = String::from_utf8_lossy(line);
        let mut rest = line.as_ref();
        let mut plain = String::new();
        loop {
            let end = if in_comment { rest.find("*/") } else { rest.find("/*") };
            let Some(end) = end else { break };
            if in_comment {
                plain.push(' ');
            } else if let Some(before) = rest[..end].find("//") {
                plain += &rest[..before];
                rest = "";
                break;
            } else {
                plain += &rest[..end];
            }
            (in_comment, rest) = (!in_comment, &rest[end + 2..]);
        }
        if !in_comment {
            plain += rest.split("//").next().unwrap_or_default();
        }
        for word in plain.split_whitespace() {
            let wrong = |expected: &str| {
                format!(
                    "{}: {:?}: expected {expected}",
                    number + 1,
                    word.chars().take(20).collect::<String>()
                )
            };
            if let Some(address) = word.strip_prefix('@') {
                let address = u64::from_str_radix(&address.replace('_', ""), 16).ok();
                if address != Some(bytes.len() as u64) {
                    return Err(wrong(&format!("@{:x}, the address of the next byte", bytes.len())));
                }
                continue;
            }
            let digits = word.replace('_', "");
            let byte = Some(digits.as_str()).filter(|digits| digits.len() <= 2);
            let byte = byte.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            bytes.push(byte.ok_or_else(|| wrong("a byte of two hexadecimal digits"))?);
        }
    }
    if in_comment { Err("a comment does not end".into()) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::bytes_of;

    #[test]
    fn hexadecimal_is_read_as_verilog_does() {
        assert_eq!(bytes_of(b"05 1f // x\n@2 a\n/* 7\n 8 */ FF\n").unwrap(), [5, 0x1f, 10, 0xff]);
        assert_eq!(bytes_of(b"1_2 /* a */ 3 // /* b\n4").unwrap(), [0x12, 3, 4]);
        let error = |text: &[u8]| bytes_of(text).unwrap_err();
        assert_eq!(error(b"00\nxx"), "2: \"xx\": expected a byte of two hexadecimal digits");
        assert_eq!(error(b"123"), "1: \"123\": expected a byte of two hexadecimal digits");
        assert_eq!(error(b"@10 00"), "1: \"@10\": expected @0, the address of the next byte");
        assert_eq!(error(b"00 /* 1"), "a comment does not end");
    }
}
