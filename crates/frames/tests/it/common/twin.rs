//! A deframer that has the whole input at once and reads it byte by byte: slow, obvious, and independent of the real
//! one.

use tracewright_frames::{Format, Lost, LostReason};

use super::{Container, Event, Record};

/// A byte of the stream, with its position in the file and in the stream without the container's footers.
#[derive(Clone, Copy)]
struct Byte {
    value: u8,
    offset: u64,
    position: u64,
}

struct Twin {
    stream: Vec<Byte>,
    /// Length of the file.
    end: u64,
    source: Option<u8>,
    record: Record,
}

/// Deframes the whole input.
pub fn deframe(format: Format, container: Container, input: &[u8]) -> Record {
    let payload = (0..).zip(input).filter(|(offset, _)| container == Container::Plain || offset % 512 < 504);
    let stream =
        (0..).zip(payload).map(|(position, (offset, &value))| Byte { value, offset, position }).collect();
    let record = Record { events: Vec::new(), padding: 0 };
    let mut twin = Twin { stream, end: input.len() as u64, source: None, record };
    match format {
        Format::Aligned => twin.aligned(),
        Format::Fsync => twin.synced(false),
        Format::FsyncHsync => twin.synced(true),
    }
    twin.record
}

impl Twin {
    fn aligned(&mut self) {
        let mut at = 0;
        while at < self.stream.len() {
            let fsyncs = (at..).step_by(4).take_while(|&at| self.is(at, &[0xff, 0xff, 0xff, 0x7f])).count();
            let start = self.offset(at);
            if fsyncs > 0 && fsyncs % 4 == 0 {
                self.record.events.push(Event::Reset(start));
                self.source = None;
                at += 4 * fsyncs;
            } else if fsyncs > 0 {
                at += 4 * fsyncs;
                self.lose(start, self.offset(at - 1) + 1, LostReason::StraySync);
            } else if at + 16 > self.stream.len() {
                return self.lose(start, self.end, LostReason::Truncated);
            } else {
                let frame = self.stream[at..at + 16].to_vec();
                at += 16;
                if frame.iter().step_by(2).any(|byte| byte.value == 0xff) {
                    self.lose(start, self.offset(at - 1) + 1, LostReason::ReservedId);
                } else {
                    self.frame(&frame);
                }
            }
        }
    }

    fn synced(&mut self, has_half_syncs: bool) {
        let Some(mut at) = self.find_fsync(0, 0, LostReason::NoSync) else { return };
        let mut frame: Vec<Byte> = Vec::new();
        while at < self.stream.len() {
            let start = frame.first().map_or(self.offset(at), |byte| byte.offset);
            let rest: Vec<u8> = self.stream[at..].iter().take(4).map(|byte| byte.value).collect();
            match *rest {
                [0xff, 0xff, 0xff, 0x7f] => {
                    if !frame.is_empty() {
                        self.lose(start, self.offset(at), LostReason::CutFrame);
                    }
                    frame.clear();
                    at += 4;
                }
                [0xff, 0x7f, ..] if has_half_syncs => at += 2,
                [_] | [0xff, 0xff] | [0xff, 0xff, 0xff] => {
                    return self.lose(start, self.end, LostReason::Truncated);
                }
                [0xff, ..] => {
                    frame.clear();
                    let from = at.saturating_sub(1);
                    let Some(found) = self.find_fsync(from, start, LostReason::ReservedId) else { return };
                    at = found;
                }
                _ => {
                    frame.extend(&self.stream[at..at + 2]);
                    at += 2;
                    if frame.len() == 16 {
                        self.frame(&frame);
                        frame.clear();
                    }
                }
            }
        }
        if let [first, ..] = *frame {
            self.lose(first.offset, self.end, LostReason::Truncated);
        }
    }

    /// Returns the position after the first FSYNC at or after `from`. What lies between `lost_from` and the FSYNC is
    /// lost.
    fn find_fsync(&mut self, from: usize, lost_from: u64, reason: LostReason) -> Option<usize> {
        let found = (from..self.stream.len()).find(|&at| self.is(at, &[0xff, 0xff, 0xff, 0x7f]));
        let end = found.map_or(self.end, |at| self.offset(at));
        if end != lost_from {
            self.lose(lost_from, end, reason);
        }
        found.map(|at| at + 4)
    }

    fn frame(&mut self, frame: &[Byte]) {
        let aux = frame[15].value;
        // OpenCSD's group: its index, and how many bytes it has.
        let (mut group, mut count) = (frame[0].position, 0);
        let mut at = 0;
        while at < 15 {
            let byte = frame[at];
            let bit = aux >> (at / 2) & 1;
            if at % 2 == 0 && byte.value & 1 == 1 {
                let id = byte.value >> 1;
                let id_at = at;
                if self.source != Some(id) {
                    if bit == 1 && at < 14 {
                        at += 1;
                        self.data(frame[at].value, frame[at].offset, group + count);
                        count += 1;
                    }
                    if count > 0 {
                        (group, count) = (frame[0].position + id_at as u64, 0);
                    }
                    self.source = Some(id);
                }
            } else {
                let value = if at % 2 == 0 { byte.value | bit } else { byte.value };
                self.data(value, byte.offset, group + count);
                count += 1;
            }
            at += 1;
        }
    }

    fn data(&mut self, byte: u8, offset: u64, opencsd_index: u64) {
        match self.source {
            None => self.lose(offset, offset + 1, LostReason::NoSource),
            Some(0) => self.record.padding += 1,
            Some(id) => self.record.events.push(Event::Data { id, byte, offset, opencsd_index }),
        }
    }

    fn lose(&mut self, from: u64, to: u64, reason: LostReason) {
        self.source = None;
        let new = Lost { offset: from, len: to.saturating_sub(from), reason };
        if let Some(Event::Lost(last)) = self.record.events.last_mut()
            && last.reason == reason
            && (reason == LostReason::NoSource || last.offset + last.len == from)
        {
            last.len = to - last.offset;
        } else {
            self.record.events.push(Event::Lost(new));
        }
    }

    fn is(&self, at: usize, pattern: &[u8]) -> bool {
        let values = self.stream[at.min(self.stream.len())..].iter().map(|byte| byte.value);
        values.take(pattern.len()).eq(pattern.iter().copied())
    }

    fn offset(&self, at: usize) -> u64 {
        self.stream[at].offset
    }
}
