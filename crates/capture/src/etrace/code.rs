use tracewright_core::{Block, Ended, MemorySpace};
use tracewright_image::Image;

/// Code that was executed.
#[derive(Debug, PartialEq, Eq)]
pub struct ExecutedCode {
    /// Code that is not in the programs, or differs there: pieces with their addresses.
    pub pieces: Vec<(u64, Vec<u8>)>,
    /// The first address whose code is not known.
    pub unknown: Option<u64>,
}

/// Most half-words of unknown code that are looked up one by one, since a log can have any number of them. After that, the rest of a block
/// is skipped where its code is not known.
const MOST_UNKNOWN: u64 = 1 << 20;

/// Returns code that was executed and is not in `image`: boot code, generated code, and everything if there is no program. `halfword`
/// returns the code at an address.
pub fn executed_code<'a>(
    blocks: impl Iterator<Item = &'a Block>,
    image: &Image,
    mut halfword: impl FnMut(u64) -> Option<[u8; 2]>,
) -> ExecutedCode {
    // An instruction that traps does not retire, but a reader wants to see it.
    let end = |block: &Block| block.end.saturating_add(if block.ended == Ended::Cut { 4 } else { 0 });
    let mut ranges: Vec<(u64, u64, u64)> =
        blocks.filter(|block| block.count > 0).map(|block| (block.start, end(block), block.end)).collect();
    ranges.sort_unstable();
    let (mut unknown, mut unknowns) = (None, 0);
    let mut pieces: Vec<(u64, Vec<u8>)> = Vec::new();
    // Blocks overlap: each address is looked at once.
    let mut done = 0;
    for (start, end, retired) in ranges {
        for at in (start.max(done)..end).step_by(2) {
            let mut known = [0; 2];
            let is_known = image.read_into(at, MemorySpace::ANY, &mut known) == 2;
            match (halfword(at), pieces.last_mut()) {
                (Some(bytes), _) if is_known && known == bytes => {}
                (Some(bytes), Some((address, piece))) if at - *address == piece.len() as u64 => {
                    piece.extend(bytes);
                }
                (Some(bytes), _) => pieces.push((at, bytes.to_vec())),
                (None, _) if !is_known && at < retired => {
                    unknown = unknown.or(Some(at));
                    unknowns += 1;
                    if unknowns > MOST_UNKNOWN {
                        break;
                    }
                }
                (None, _) => {}
            }
        }
        done = done.max(end);
    }
    ExecutedCode { pieces, unknown }
}

#[cfg(test)]
mod tests {
    use tracewright_core::{Class, Isa};
    use tracewright_image::Bytes;

    use super::*;

    #[test]
    fn only_what_is_not_known_is_kept() {
        let block = |start, end| Block {
            start,
            end,
            count: 1,
            isa: Isa::Rv64,
            last_len: 2,
            class: Class::NEXT,
            ended: Ended::NotTaken,
        };
        let mut builder = Image::builder();
        builder.raw("", Bytes::new(vec![1; 6]), 0x10, MemorySpace::ANY).unwrap();
        let image = builder.build();
        // At 0x12 something else is in memory; at 0x20 nothing is.
        let memory = |at: u64| (at != 0x20).then_some([if at == 0x12 { 2 } else { 1 }; 2]);
        let blocks = [block(0x14, 0x1a), block(0x10, 0x16), block(0x1e, 0x24), block(0x8, 0x8)];
        let code = executed_code(blocks.iter(), &image, memory);
        let pieces = [(0x12, vec![2; 2]), (0x16, vec![1; 4]), (0x1e, vec![1; 2]), (0x22, vec![1; 2])];
        assert_eq!(code, ExecutedCode { pieces: pieces.to_vec(), unknown: Some(0x20) });
        // What a program has need not be in memory any more; what trapped did not run.
        let cut = Block { ended: Ended::Cut, ..block(0x10, 0x16) };
        let code = executed_code([cut].iter(), &image, |_| None);
        assert_eq!(code, ExecutedCode { pieces: Vec::new(), unknown: None });
        // However much is not known, what is known is kept.
        let (unknown, known) = (0x100_0000, 0x800_0000);
        let blocks = [block(unknown, unknown + 2 * MOST_UNKNOWN + 0x100), block(known, known + 4)];
        let code = executed_code(blocks.iter(), &image, |at| (at >= known).then_some([1; 2]));
        assert_eq!(code, ExecutedCode { pieces: vec![(known, vec![1; 4])], unknown: Some(unknown) });
    }
}
