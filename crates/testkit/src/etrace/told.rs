use tracewright_etrace::stream::{Content, Message, Parser};

/// What a parser reports of a stream: offset, bytes and message of each.
pub type Told = Vec<(u64, Vec<u8>, Message)>;

/// Everything that a parser reports of chunks of a stream.
pub fn read<'a>(mut parser: Parser, chunks: impl IntoIterator<Item = &'a [u8]>) -> Told {
    let mut told = Told::new();
    let mut sink =
        |offset: u64, bytes: &[u8], message: &Message| told.push((offset, bytes.to_vec(), *message));
    for chunk in chunks {
        parser.feed(chunk, &mut sink);
    }
    parser.finish(&mut sink);
    told
}

/// Checks that every byte of a stream that begins at `start` is part of one message or one gap.
pub fn account(told: &[(u64, Vec<u8>, Message)], start: u64, bytes: &[u8]) {
    let mut end = start;
    for (offset, message_bytes, message) in told {
        assert_eq!(*offset, end, "{message:?}");
        end += match message.content {
            Content::NotSync { len } => len,
            _ => {
                let at = (offset - start) as usize;
                assert_eq!(message_bytes[..], bytes[at..at + message_bytes.len()]);
                message_bytes.len() as u64
            }
        };
    }
    assert_eq!(end, start + bytes.len() as u64);
}
