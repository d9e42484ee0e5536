//! Fuzz bodies as plain functions, each run here on some thousands of random inputs.

use tracewright_core::TraceId;
use tracewright_frames::{
    BitLength, Deframer, DstreamBlocks, Format, FrameSink, Framer, Line, LineDecoder, LineEvent, Lost,
    Options, PibDecoder, PibEncoder, Pins, Run,
};
use tracewright_testkit::Rng;

/// A sink that checks the events against the input, and keeps what must not depend on chunking.
#[derive(Default)]
struct Checker<'a> {
    input: &'a [u8],
    /// Offset before which nothing may be reported any more.
    done: u64,
    told: Vec<(u64, u8)>,
    losses: Vec<Lost>,
    resets: Vec<u64>,
}

impl FrameSink for Checker<'_> {
    fn data(&mut self, run: Run, bytes: &[u8]) {
        assert!(!bytes.is_empty() && run.lane < 15 && run.id != TraceId::NULL);
        for (i, &byte) in (0..).zip(bytes) {
            let offset = run.offset_of(i);
            assert!(offset >= self.done && run.opencsd_index_of(i) <= offset);
            // Bit 0 comes from the auxiliary byte.
            assert_eq!(self.input[offset as usize] & 0xfe, byte & 0xfe);
            self.done = offset + 1;
            self.told.push((offset << 8 | u64::from(byte), run.id.get()));
        }
    }

    fn lost(&mut self, lost: Lost) {
        assert!(lost.offset >= self.done && lost.offset + lost.len <= self.input.len() as u64, "{lost}");
        self.done = lost.offset + lost.len;
        self.losses.push(lost);
    }

    fn reset(&mut self, offset: u64) {
        assert!(offset >= self.done);
        self.done = offset;
        self.resets.push(offset);
    }
}

/// Deframes any bytes in any chunking: no panic, offsets in order and true, and the same result as in one piece. The
/// first byte selects the format, the second one the chunks.
pub fn deframe(data: &[u8]) {
    let &[choice, chunk, ref input @ ..] = data else { return };
    let format = [Format::Aligned, Format::Fsync, Format::FsyncHsync][usize::from(choice % 3)];
    let is_dstream = choice & 0x80 != 0;
    let told = |chunk: usize| {
        let mut checker = Checker { input, ..Checker::default() };
        let mut deframer = Deframer::new(format);
        let mut blocks = DstreamBlocks::new();
        for piece in input.chunks(chunk) {
            if is_dstream {
                blocks.feed(piece, &mut deframer, &mut checker);
            } else {
                deframer.feed(piece, &mut checker);
            }
        }
        deframer.finish(&mut checker);
        assert_eq!(deframer.offset(), input.len() as u64);
        (checker.told, checker.losses, checker.resets)
    };
    assert_eq!(told(1 + usize::from(chunk)), told(usize::MAX));
}

/// Decodes any samples of a serial line in any chunking: no panic, offsets in order and inside the file, and the same
/// result as in one piece. The first byte selects the line and a bit length, the second one the chunks.
pub fn line(data: &[u8]) {
    let &[choice, chunk, ref input @ ..] = data else { return };
    let line = if choice & 1 == 0 { Line::Uart } else { Line::Manchester };
    let told = |chunk: usize| {
        let mut decoder = LineDecoder::new(line);
        if choice & 2 != 0 {
            decoder = decoder.with_bit_length(BitLength::from_samples(f64::from(choice >> 2)));
        }
        let (mut events, mut done) = (Vec::new(), 0);
        let mut emit = |event| {
            let (offset, end) = match event {
                LineEvent::Byte { offset, .. } => (offset, offset + 1),
                LineEvent::Lost(Lost { offset, len, .. }) => (offset, offset + len),
            };
            assert!(offset >= done && end <= input.len() as u64, "{event:?} after {done:#x}");
            done = end;
            events.push(event);
        };
        input.chunks(chunk).for_each(|piece| decoder.feed(piece, &mut emit));
        decoder.finish(&mut emit);
        events
    };
    assert_eq!(told(1 + usize::from(chunk)), told(usize::MAX));
}

/// Decodes any samples of a port's pins, with the same expectations. What was found is sent again, and found again. The first byte selects
/// the pins, the second one the chunks.
pub fn pib(data: &[u8]) {
    let &[choice, chunk, ref input @ ..] = data else { return };
    let pins = [Pins::One, Pins::Two, Pins::Four][usize::from(choice % 3)];
    let told = |input: &[u8], chunk: usize| {
        let (mut decoder, mut events, mut done) = (PibDecoder::new(pins), Vec::new(), 0);
        let mut emit = |event| {
            let (offset, end) = match event {
                LineEvent::Byte { offset, .. } => (offset, offset + 1),
                LineEvent::Lost(Lost { offset, len, .. }) => (offset, offset + len),
            };
            assert!(offset >= done && end <= input.len() as u64, "{event:?} after {done:#x}");
            done = end;
            events.push(event);
        };
        input.chunks(chunk).for_each(|piece| decoder.feed(piece, &mut emit));
        decoder.finish(&mut emit);
        events
    };
    let whole = told(input, usize::MAX);
    assert_eq!(told(input, 1 + usize::from(chunk)), whole);
    let byte = |event: &LineEvent| if let LineEvent::Byte { byte, .. } = event { Some(*byte) } else { None };
    if whole.iter().any(|event| byte(event).is_none()) {
        return;
    }
    let bytes: Vec<u8> = whole.iter().filter_map(byte).collect();
    let (mut encoder, mut samples) = (PibEncoder::new(pins), Vec::new());
    encoder.push(&bytes, &mut samples);
    encoder.finish(&mut samples);
    assert_eq!(told(&samples, usize::MAX).iter().filter_map(byte).collect::<Vec<_>>(), bytes);
}

/// Runs any sequence of pushes and flushes, and deframes the result. Each step is an ID (high bit: flush after it), a
/// length, and that many bytes.
pub fn frame(data: &[u8]) {
    let &[fsync_every, hsync_every, ref steps @ ..] = data else { return };
    let options = Options {
        fsync_every: u32::from(fsync_every).try_into().ok(),
        hsync_every: u32::from(hsync_every).try_into().ok(),
    };
    let format = match options {
        Options { hsync_every: Some(_), .. } => Format::FsyncHsync,
        Options { fsync_every: Some(_), .. } => Format::Fsync,
        Options { fsync_every: None, hsync_every: None } => Format::Aligned,
    };
    let mut framer = Framer::new(options);
    let (mut stream, mut sent) = (Vec::new(), vec![Vec::new(); 128]);
    let mut steps = steps;
    while let &[id, len, ref rest @ ..] = steps {
        let (bytes, rest) = rest.split_at(usize::from(len % 40).min(rest.len()));
        let source = TraceId::from_low_bits(id);
        if framer.push(source, bytes, &mut stream).is_ok() && source != TraceId::NULL {
            sent[usize::from(source.get())].extend(bytes);
        }
        if id & 0x80 != 0 {
            framer.flush(&mut stream);
        }
        steps = rest;
    }
    framer.flush(&mut stream);

    let mut collected = Collector(vec![Vec::new(); 128]);
    let mut deframer = Deframer::new(format);
    deframer.feed(&stream, &mut collected);
    deframer.finish(&mut collected);
    assert_eq!(collected.0, sent);
}

struct Collector(Vec<Vec<u8>>);

impl FrameSink for Collector {
    fn data(&mut self, run: Run, bytes: &[u8]) {
        self.0[usize::from(run.id.get())].extend(bytes);
    }

    fn lost(&mut self, lost: Lost) {
        panic!("{lost}");
    }

    fn reset(&mut self, offset: u64) {
        panic!("a barrier at {offset:#x}");
    }
}

/// Returns random bytes. In half of the inputs, most of them make syncs and ID bytes.
pub fn random_input(rng: &mut Rng) -> Vec<u8> {
    let len = rng.sized(12) as usize;
    let mut input = rng.bytes(len);
    if rng.one_in(2) {
        for byte in input.iter_mut().skip(2) {
            *byte = *rng.pick(&[0xff, 0xff, 0xff, 0x7f, 0x7f, 0x00, 0x21, 0x22, *byte]);
        }
    }
    input
}

#[test]
fn deframing_anything() {
    let mut rng = Rng::new(31);
    for _ in 0..5_000 {
        deframe(&random_input(&mut rng));
    }
}

#[test]
fn pins_with_anything() {
    let mut rng = Rng::new(73);
    for _ in 0..4_000 {
        pib(&random_input(&mut rng));
        // Mostly messages of zeros and ones, so that some are whole.
        let mut input = random_input(&mut rng);
        for byte in input.iter_mut().skip(2) {
            *byte = *rng.pick(&[0xff, 0xff, 0xf0, 0x0f, 0x3f, 0x03, 0, *byte]);
        }
        pib(&input);
    }
}

#[test]
fn a_line_with_anything() {
    let mut rng = Rng::new(33);
    for _ in 0..5_000 {
        line(&random_input(&mut rng));
        // Samples that are mostly runs of a few lengths, as those of a line are.
        let len = rng.below(1 << 10) as usize;
        let mut samples: Vec<u8> = (0..len).map(|_| *rng.pick(&[0, 0, 0xff, 0xff, 0x0f, 0xf0])).collect();
        if let [choice, ..] = &mut samples[..] {
            *choice = rng.next_u64() as u8;
        }
        line(&samples);
    }
}

#[test]
fn framing_anything() {
    let mut rng = Rng::new(32);
    for _ in 0..5_000 {
        frame(&random_input(&mut rng));
    }
}
