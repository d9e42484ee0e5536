//! Compressed files: gzip, xz and zstd, recognised by their first bytes, and unpacked while they are read.
//!
//! Memory is bounded: a window of [`MOST_WINDOW`] bytes at most, which the file asks for, and a buffer. Members and frames that follow one
//! another are one stream, as the tools that write them read them.

use std::fmt;
use std::io::{self, Read};

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use tracewright_core::Crc32;
use xz4rust::{DICT_SIZE_MIN, XzDecoder};

/// Largest window or dictionary of a decompressor: `zstd --ultra -22` needs this much, `xz -9` half of it.
pub const MOST_WINDOW: u64 = 128 << 20;
/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;
/// Bytes of the longest header of a zstd frame.
pub(crate) const ZSTD_HEADER: usize = 18;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// gzip.
    Gzip,
    /// xz.
    Xz,
    /// Zstandard.
    Zstd,
}

impl Compression {
    /// Endings of the names of compressed files.
    pub const ENDINGS: [&'static str; 3] = [".xz", ".zst", ".gz"];
    /// Bytes at the start of a file that tell.
    pub const START: usize = 6;

    /// Returns how data is compressed that begins with these bytes, if it is.
    pub fn of(start: &[u8]) -> Option<Self> {
        match start {
            // Deflate is the only method, and three flags are reserved.
            [0x1f, 0x8b, 8, flags, ..] if flags & 0xe0 == 0 => Some(Self::Gzip),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ => None,
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
        })
    }
}

/// Why compressed data cannot be unpacked. A reader returns it inside an [`io::Error`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnpackError {
    /// How the data is compressed.
    pub compression: Compression,
    /// What is wrong.
    pub kind: UnpackErrorKind,
}

/// What is wrong with compressed data.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnpackErrorKind {
    /// The data ends early.
    Truncated,
    /// The data is damaged, for the reason that the decompressor gives.
    Damaged(Box<str>),
    /// The data needs a window of this many bytes.
    Window(u64),
    /// The data unpacks to more than this many bytes.
    TooLarge(u64),
}

impl UnpackError {
    /// Returns the error for data that unpacks to more than `most` bytes.
    pub fn too_large(compression: Compression, most: u64) -> io::Error {
        Self { compression, kind: UnpackErrorKind::TooLarge(most) }.into()
    }
}

impl fmt::Display for UnpackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "compressed with {}, and ", self.compression)?;
        match &self.kind {
            UnpackErrorKind::Truncated => f.write_str("cut off"),
            UnpackErrorKind::Damaged(why) => write!(f, "damaged: {why}"),
            UnpackErrorKind::Window(size) => write!(f, "needs {size} bytes of memory: not read"),
            UnpackErrorKind::TooLarge(most) => {
                write!(
                    f,
                    "more than {} MiB, the most that is unpacked of such a file: unpack it first",
                    most >> 20
                )
            }
        }
    }
}

impl std::error::Error for UnpackError {}

impl From<UnpackError> for io::Error {
    fn from(error: UnpackError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

/// Reader of data that may be compressed. It passes on other data as it is.
pub struct Unpacked<R> {
    input: Input<R>,
    state: State,
}

enum State {
    Plain,
    Gzip(Box<Gzip>),
    Xz(Box<XzDecoder<'static>>),
    Zstd(Box<FrameDecoder>),
    /// Between members, frames or streams.
    Between(Compression),
    /// After the end, or an error.
    Ended(Compression),
}

struct Gzip {
    inflate: Box<InflateState>,
    sum: Crc32,
    bytes: u32,
}

impl<R> fmt::Debug for Unpacked<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unpacked").field("compression", &self.compression()).finish_non_exhaustive()
    }
}

impl<R> Unpacked<R> {
    /// Returns how the data is compressed, if it is.
    pub fn compression(&self) -> Option<Compression> {
        match &self.state {
            State::Plain => None,
            State::Gzip(_) => Some(Compression::Gzip),
            State::Xz(_) => Some(Compression::Xz),
            State::Zstd(_) => Some(Compression::Zstd),
            State::Between(compression) | State::Ended(compression) => Some(*compression),
        }
    }
}

impl<R: Read> Unpacked<R> {
    /// Creates a reader. Looks at the first bytes of `input`.
    ///
    /// # Errors
    /// Fails if these cannot be read.
    pub fn new(input: R) -> io::Result<Self> {
        // Most files are not compressed: no more than the magic is read into a buffer of them.
        let mut input = Input { inner: input, buffer: Vec::new(), at: 0, chunk: Compression::START };
        let compression = Compression::of(input.fill(Compression::START)?);
        input.chunk = CHUNK;
        Ok(Self { input, state: compression.map_or(State::Plain, State::Between) })
    }

    /// Begins the next member, frame or stream, if there is one.
    fn begin(&mut self, compression: Compression) -> io::Result<()> {
        if compression == Compression::Xz {
            // Streams may be padded with zeros.
            while self.input.fill(1)?.first() == Some(&0) {
                self.input.consume(1);
            }
        }
        let start = self.input.fill(ZSTD_HEADER)?;
        if start.is_empty() {
            self.state = State::Ended(compression);
            return Ok(());
        }
        self.state = match Compression::of(start) {
            Some(Compression::Gzip) => {
                gzip_header(&mut self.input)?;
                let inflate = InflateState::new_boxed(DataFormat::Raw);
                State::Gzip(Box::new(Gzip { inflate, sum: Crc32::new(), bytes: 0 }))
            }
            Some(Compression::Xz) => {
                State::Xz(XzDecoder::in_heap_with_alloc_dict_size(DICT_SIZE_MIN, MOST_WINDOW as usize / 2))
            }
            Some(Compression::Zstd) => {
                let window = zstd_window(start);
                if window > MOST_WINDOW {
                    return Err(UnpackError { compression, kind: UnpackErrorKind::Window(window) }.into());
                }
                let mut decoder = FrameDecoder::new();
                decoder.reset(&mut self.input).map_err(|error| damaged(compression, &error))?;
                State::Zstd(Box::new(decoder))
            }
            None => match zstd_skippable(start) {
                Some(len) if compression == Compression::Zstd => {
                    let skipped = io::copy(&mut (&mut self.input).take(len), &mut io::sink())?;
                    if skipped < len {
                        return Err(truncated(compression));
                    }
                    State::Between(compression)
                }
                _ => return Err(damaged(compression, &"something else follows the compressed data")),
            },
        };
        Ok(())
    }

    fn read_packed(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match &mut self.state {
                State::Plain => return self.input.read(buffer),
                State::Ended(_) => return Ok(0),
                &mut State::Between(compression) => {
                    self.begin(compression)?;
                    continue;
                }
                State::Gzip(gzip) => gzip.read(&mut self.input, buffer)?,
                State::Xz(decoder) => {
                    let (len, is_end) = xz(decoder, &mut self.input, buffer)?;
                    if is_end {
                        self.state = State::Between(Compression::Xz);
                    }
                    Some(len)
                }
                State::Zstd(decoder) => zstd(decoder, &mut self.input, buffer)?,
            };
            match read {
                Some(0) => {}
                Some(len) => return Ok(len),
                // This part has ended.
                None => {
                    let compression = self.compression().unwrap_or(Compression::Gzip);
                    self.state = State::Between(compression);
                }
            }
        }
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let read = self.read_packed(buffer);
        // After damage nothing more can be unpacked. An interrupted call is made again.
        if let (Err(error), Some(compression)) = (&read, self.compression())
            && error.kind() != io::ErrorKind::Interrupted
        {
            self.state = State::Ended(compression);
        }
        read
    }
}

fn damaged(compression: Compression, why: &dyn fmt::Display) -> io::Error {
    UnpackError { compression, kind: UnpackErrorKind::Damaged(why.to_string().into()) }.into()
}

fn truncated(compression: Compression) -> io::Error {
    UnpackError { compression, kind: UnpackErrorKind::Truncated }.into()
}

/// Input with a buffer that can be filled up.
struct Input<R> {
    inner: R,
    buffer: Vec<u8>,
    at: usize,
    /// How many bytes to read at a time.
    chunk: usize,
}

impl<R: Read> Input<R> {
    /// Returns the bytes in the buffer, after reading on until there are `least`, or all there are.
    fn fill(&mut self, least: usize) -> io::Result<&[u8]> {
        while self.buffer.len() - self.at < least {
            self.buffer.drain(..self.at);
            self.at = 0;
            let len = self.buffer.len();
            self.buffer.resize(len + least.max(self.chunk), 0);
            let read = self.inner.read(&mut self.buffer[len..]);
            self.buffer.truncate(len + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(&self.buffer[self.at..])
    }

    fn consume(&mut self, len: usize) {
        self.at += len;
    }

    /// Returns the next byte.
    fn byte(&mut self, compression: Compression) -> io::Result<u8> {
        let byte = *self.fill(1)?.first().ok_or_else(|| truncated(compression))?;
        self.consume(1);
        Ok(byte)
    }
}

impl<R: Read> Read for Input<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let len = (&self.buffer[self.at..]).read(to)?;
        // The magic was read on its own. Callers that tell formats apart by what one call returns need what follows, too.
        let more = if len < to.len() { self.inner.read(&mut to[len..])? } else { 0 };
        self.at += len;
        Ok(len + more)
    }
}

/// Reads over the header of a gzip member.
fn gzip_header(input: &mut Input<impl Read>) -> io::Result<()> {
    let mut next = || input.byte(Compression::Gzip);
    let mut header = [0; 10];
    for byte in &mut header {
        *byte = next()?;
    }
    let flags = header[3];
    if flags & 4 != 0 {
        let len = u16::from_le_bytes([next()?, next()?]);
        for _ in 0..len {
            next()?;
        }
    }
    for text in [8, 16] {
        while flags & text != 0 && next()? != 0 {}
    }
    if flags & 2 != 0 {
        next()?;
        next()?;
    }
    Ok(())
}

impl Gzip {
    /// Unpacks some bytes. Returns `None` at the end of the member.
    fn read(&mut self, input: &mut Input<impl Read>, to: &mut [u8]) -> io::Result<Option<usize>> {
        let from = input.fill(1)?;
        if from.is_empty() {
            return Err(truncated(Compression::Gzip));
        }
        let result = inflate(&mut self.inflate, from, to, MZFlush::None);
        input.consume(result.bytes_consumed);
        let unpacked = &to[..result.bytes_written];
        self.sum = self.sum.and(unpacked);
        self.bytes = self.bytes.wrapping_add(unpacked.len() as u32);
        match result.status {
            Ok(MZStatus::StreamEnd) if unpacked.is_empty() => {
                self.check(input)?;
                Ok(None)
            }
            Ok(_) => Ok(Some(unpacked.len())),
            Err(_) => Err(damaged(Compression::Gzip, &"its deflate data makes no sense")),
        }
    }

    /// Compares checksum and length with those at the end of the member.
    fn check(&self, input: &mut Input<impl Read>) -> io::Result<()> {
        let mut words = [0; 2];
        for word in &mut words {
            let mut bytes = [0; 4];
            for byte in &mut bytes {
                *byte = input.byte(Compression::Gzip)?;
            }
            *word = u32::from_le_bytes(bytes);
        }
        match words == [self.sum.sum(), self.bytes] {
            true => Ok(()),
            false => Err(damaged(Compression::Gzip, &"its checksum is wrong")),
        }
    }
}

/// Unpacks some bytes. Returns how many, and whether the stream ends after them.
fn xz(decoder: &mut XzDecoder<'_>, input: &mut Input<impl Read>, to: &mut [u8]) -> io::Result<(usize, bool)> {
    let mut least = 1;
    loop {
        let from = input.fill(least)?;
        let there = from.len();
        let step = match decoder.decode(from, to) {
            Ok(step) => step,
            Err(xz4rust::XzError::NeedsLargerInputBuffer) if there >= least => {
                least = there + 1;
                continue;
            }
            Err(xz4rust::XzError::NeedsLargerInputBuffer) => return Err(truncated(Compression::Xz)),
            Err(error) => return Err(damaged(Compression::Xz, &error)),
        };
        input.consume(step.input_consumed());
        let unpacked = step.output_produced();
        if unpacked > 0 || step.is_end_of_stream() {
            return Ok((unpacked, step.is_end_of_stream()));
        }
        if step.input_consumed() == 0 {
            if there < least {
                return Err(truncated(Compression::Xz));
            }
            least = there + 1;
        }
    }
}

/// Unpacks some bytes. Returns `None` at the end of the frame.
fn zstd(
    decoder: &mut FrameDecoder,
    input: &mut Input<impl Read>,
    to: &mut [u8],
) -> io::Result<Option<usize>> {
    while decoder.can_collect() == 0 {
        if decoder.is_finished() {
            return Ok(None);
        }
        if input.fill(1)?.is_empty() {
            return Err(truncated(Compression::Zstd));
        }
        let decoded = decoder.decode_blocks(&mut *input, BlockDecodingStrategy::UptoBlocks(1));
        decoded.map_err(|error| match input.fill(1) {
            Ok([]) => truncated(Compression::Zstd),
            _ => damaged(Compression::Zstd, &error),
        })?;
    }
    decoder.read(to).map(Some)
}

/// Returns the bytes of a zstd frame that is to be skipped, head included.
fn zstd_skippable(start: &[u8]) -> Option<u64> {
    let (&[low, a, b, c, size @ ..], _) = start.split_first_chunk::<8>()?;
    (low & 0xf0 == 0x50 && [a, b, c] == [0x2a, 0x4d, 0x18]).then(|| 8 + u64::from(u32::from_le_bytes(size)))
}

/// Returns the memory that the zstd frame that begins with these bytes needs, as far as its header is there.
pub(crate) fn zstd_window(start: &[u8]) -> u64 {
    let byte = |at: usize| start.get(at).copied().unwrap_or(0);
    let descriptor = byte(4);
    if descriptor >> 5 & 1 == 0 {
        let window = byte(5);
        let base = 1_u64 << (10 + (window >> 3));
        return base + base / 8 * u64::from(window & 7);
    }
    // The unpacked size replaces the window size, little-endian, after a dictionary's ID.
    let id = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let bytes = [1, 2, 4, 8][usize::from(descriptor >> 6)];
    let size = (0..bytes).rev().fold(0, |size, at| size << 8 | u64::from(byte(5 + id + at)));
    if bytes == 2 { size + 256 } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `gzip -9`, `xz -9` and `zstd -19` of "trace " a hundred times, made by their own programs.
    fn packed(program: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        use std::io::Write;
        use std::process::{Command, Stdio};
        let child =
            Command::new(program).args(["-c", "-9"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut child) = child else {
            tracewright_testkit::skip("compressed", &format!("no {program}"));
            return None;
        };
        let mut to = child.stdin.take().unwrap();
        let given = bytes.to_vec();
        let writing = std::thread::spawn(move || to.write_all(&given));
        let output = child.wait_with_output().unwrap();
        writing.join().unwrap().unwrap();
        Some(output.stdout)
    }

    /// Reads in small pieces, from a reader that gives a few bytes at a time.
    fn unpack(bytes: &[u8]) -> io::Result<Vec<u8>> {
        struct Slow<'a>(&'a [u8]);
        impl Read for Slow<'_> {
            fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
                let len = to.len().min(7);
                self.0.read(&mut to[..len])
            }
        }
        let mut reader = Unpacked::new(Slow(bytes))?;
        let (mut all, mut chunk) = (Vec::new(), [0; 333]);
        loop {
            match reader.read(&mut chunk)? {
                0 => return Ok(all),
                len => all.extend_from_slice(&chunk[..len]),
            }
        }
    }

    /// Formats are told apart by the bytes that one call returns.
    #[test]
    fn one_call_returns_more_than_the_magic() {
        let bytes = data();
        let mut reader = io::BufReader::new(Unpacked::new(&bytes[..]).unwrap());
        let start = io::BufRead::fill_buf(&mut reader).unwrap();
        assert_eq!(start, &bytes[..bytes.len().min(8192)]);
    }

    fn data() -> Vec<u8> {
        let mut state = 7_u32;
        let noise = (0..30_000).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if state >> 28 == 0 { (state >> 20) as u8 } else { 0 }
        });
        noise.chain([b'x'; 200_000]).collect()
    }

    #[test]
    fn what_the_programs_pack_is_unpacked() {
        let data = data();
        for program in ["gzip", "xz", "zstd"] {
            let Some(packed) = packed(program, &data) else { continue };
            assert!(Compression::of(&packed).is_some_and(|of| of.to_string() == program), "{program}");
            assert_eq!(unpack(&packed).unwrap(), data, "{program}");
            // Two after one another are one.
            let twice = [&packed[..], &packed].concat();
            assert_eq!(unpack(&twice).unwrap().len(), 2 * data.len(), "{program}");
            for len in [packed.len() - 1, packed.len() / 2, 20] {
                let error = unpack(&packed[..len]).unwrap_err();
                let error = error.get_ref().and_then(|error| error.downcast_ref::<UnpackError>()).cloned();
                assert_eq!(error.unwrap().kind, UnpackErrorKind::Truncated, "{program} {len}");
            }
            let more = [&packed[..], b"junk junk junk junk"].concat();
            assert!(unpack(&more).is_err(), "{program}");
        }
    }

    #[test]
    fn damage_is_no_panic() {
        let data = data();
        for program in ["gzip", "xz", "zstd"] {
            let Some(packed) = packed(program, &data[..40_000]) else { continue };
            for at in (0..packed.len()).step_by(packed.len() / 97) {
                let mut bytes = packed.clone();
                bytes[at] ^= 0x41;
                let _ = unpack(&bytes);
            }
        }
    }

    #[test]
    fn other_data_is_passed_on() {
        for data in [&b""[..], b"a", &[0x1f, 0x8b, 8, 0xff, 1, 2, 3], &data()] {
            assert_eq!(unpack(data).unwrap(), data);
        }
    }

    #[test]
    fn a_frame_that_needs_much_memory_is_refused() {
        // A window of 2 TiB.
        let error = unpack(&[0x28, 0xb5, 0x2f, 0xfd, 0, 0xf8, 1, 0, 0]).unwrap_err();
        assert!(error.to_string().contains("bytes of memory: not read"), "{error}");
    }
}
