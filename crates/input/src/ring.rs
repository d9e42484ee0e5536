//! Buffers that are rings in memory: their newest bytes may lie before the oldest.

pub use tracewright_coresight::mtb::{Ring, TooShort};
use tracewright_image::{Bytes, Moment};

use crate::capture::{Buffer, Capture, Piece};
use crate::file::{read_plain, read_stdin};
use crate::problem::Problem;
use crate::registry::SourceParams;
use crate::source::Protocol;

/// Most bytes of a file with a ring, which is memory of a microcontroller.
const MOST: u64 = 64 << 20;

impl Capture {
    /// Puts the bytes of rings into the order in which they were written. A buffer of which that is not possible is skipped, and a ring
    /// that is said to be in frames is left out.
    pub(crate) fn unroll_rings(&mut self) {
        let Self { buffers, sources, problems, .. } = self;
        let ring = |source: usize| match &sources[source].protocol {
            Protocol::Registered(params) => params.ring(0).map(|_| &**params),
            _ => None,
        };
        buffers.retain_mut(|buffer| {
            let rings: Vec<_> =
                buffer.sources.iter().copied().filter(|&source| ring(source).is_some()).collect();
            let Some(&first) = rings.first() else { return true };
            let path = buffer.path.clone();
            let mut problem = |why: String| problems.push(Problem::file_error(&path, why));
            if buffer.format.is_framed() {
                let name = &sources[first].name;
                problem(format!("{name} is not read from frames: the source is left out"));
                buffer.sources.retain(|source| !rings.contains(source));
                return !buffer.sources.is_empty();
            }
            let unrolled = ring(buffer.sources[0]).map_or(Ok(()), |params| unroll(buffer, params));
            unrolled.map_err(|why| problem(format!("{why}: the buffer cannot be read"))).is_ok()
        });
    }
}

fn unroll(buffer: &mut Buffer, params: &dyn SourceParams) -> Result<(), String> {
    let read = if buffer.path.as_os_str() == "-" { read_stdin(MOST) } else { read_plain(&buffer.path, MOST) };
    let mut bytes = read.map_err(|error| error.to_string())?;
    let Some(ring) = params.ring(bytes.len() as u64) else { return Ok(()) };
    let ring = ring.map_err(|error| error.to_string())?;
    // What was written after the ring's end follows it, so that positions only grow.
    let (start, oldest, len) = (ring.start as usize, ring.oldest as usize, ring.written as usize);
    bytes.truncate(ring.end().min(bytes.len() as u64) as usize);
    let newest = (oldest + len).saturating_sub(bytes.len());
    bytes.extend_from_within(start..start + newest);
    let piece = Piece { offset: ring.oldest, len: ring.written, moment: Moment::LAST, packed: None };
    (buffer.pieces, buffer.contents, buffer.ring) = (Some(vec![piece]), Some(Bytes::from(bytes)), Some(ring));
    Ok(())
}
