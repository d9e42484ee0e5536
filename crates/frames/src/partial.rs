use crate::block::Segment;

/// A frame that is assembled byte by byte, because the input was split inside it or it has syncs inside.
#[derive(Clone, Debug, Default)]
pub(crate) struct Partial {
    bytes: [u8; 16],
    origins: [Origin; 16],
    len: usize,
    /// Bytes of half syncs since the frame's first byte.
    half_syncs: u32,
}

/// The origin of a byte of the frame.
#[derive(Clone, Copy, Debug, Default)]
struct Origin {
    offset: u64,
    /// Bytes of half syncs between the frame's first byte and this one.
    half_syncs: u32,
}

impl Partial {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    pub(crate) fn complete(&self) -> Option<&[u8; 16]> {
        (self.len == 16).then_some(&self.bytes)
    }

    /// Returns the file offset of the first byte, if there is one.
    pub(crate) fn offset(&self) -> Option<u64> {
        (self.len > 0).then_some(self.origins[0].offset)
    }

    /// Appends a byte. Does nothing if the frame is complete.
    pub(crate) fn push(&mut self, byte: u8, offset: u64) {
        if self.len < 16 {
            self.bytes[self.len] = byte;
            self.origins[self.len] = Origin { offset, half_syncs: self.half_syncs };
            self.len += 1;
        }
    }

    pub(crate) fn skip_half_sync(&mut self) {
        if self.len > 0 {
            self.half_syncs = self.half_syncs.saturating_add(2);
        }
    }

    /// Starts a new frame.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.half_syncs = 0;
    }

    /// Returns whether the bytes of the complete frame are adjacent in the file.
    pub(crate) fn is_whole(&self) -> bool {
        self.origins[15].offset - self.origins[0].offset == 15
    }

    /// Cuts a segment of this frame where its bytes are not adjacent in the file, and sets the origin of each piece.
    pub(crate) fn place<'a>(&self, segment: &Segment<'a>, mut emit: impl FnMut(&Segment<'a>)) {
        let mut lane = usize::from(segment.lane);
        let mut bytes = segment.bytes;
        while !bytes.is_empty() {
            let Origin { offset, half_syncs } = self.origins[lane];
            let neighbours =
                (offset..).zip(&self.origins[lane..]).take_while(|(at, origin)| *at == origin.offset);
            let (piece, rest) = bytes.split_at(neighbours.count().min(bytes.len()));
            let slip = segment.slip.saturating_add(half_syncs);
            emit(&Segment { offset, lane: lane as u8, slip, bytes: piece, ..*segment });
            lane += piece.len();
            bytes = rest;
        }
    }
}
