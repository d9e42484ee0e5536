//! Little-endian fields of a slice, one after another.

/// Rest of a slice. If too little is left, nothing is taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    pub rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*taken)
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads a length and as many bytes: a string up to its first zero.
    pub fn string(&mut self) -> Option<String> {
        let len = self.u32()?;
        self.take(len as usize).map(text)
    }
}

/// Returns the text before the first zero.
pub(super) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Returns the given section of a file, as far as the file goes.
pub(super) fn section(bytes: &[u8], offset: u64, size: u64) -> &[u8] {
    let len = bytes.len() as u64;
    let start = offset.min(len);
    let end = offset.saturating_add(size).min(len);
    &bytes[start as usize..end as usize]
}
