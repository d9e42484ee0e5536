use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Shared bytes, whole or a part, held in a memory map or a vector. Cloning copies no bytes.
///
/// ```
/// use tracewright_image::Bytes;
///
/// let whole = Bytes::from(vec![1, 2, 3, 4]);
/// assert_eq!(whole.slice(1, 2).unwrap().as_slice(), [2, 3]);
/// assert!(whole.slice(1, 4).is_none());
/// ```
#[derive(Clone)]
pub struct Bytes {
    container: Arc<dyn AsRef<[u8]> + Send + Sync>,
    range: Range<usize>,
}

impl Bytes {
    /// Wraps all bytes of `container`.
    pub fn new(container: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        let range = 0..container.as_ref().len();
        Self { container: Arc::new(container), range }
    }

    /// Returns the `len` bytes from `offset` on, or `None` if there are fewer.
    pub fn slice(&self, offset: usize, len: usize) -> Option<Self> {
        let start = self.range.start.checked_add(offset)?;
        let end = start.checked_add(len)?;
        (end <= self.range.end).then(|| Self { container: Arc::clone(&self.container), range: start..end })
    }

    /// Returns the bytes; none if the container has become shorter, which it should not.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        (*self.container).as_ref().get(self.range.clone()).unwrap_or_default()
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Returns whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(bytes)
    }
}

impl From<&'static [u8]> for Bytes {
    fn from(bytes: &'static [u8]) -> Self {
        Self::new(bytes)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({})", self.len())
    }
}
