//! Maps of basic blocks, as LLVM 15 to 20 write them. That those of clang are read as LLVM reads them is a test of the
//! command (`propeller_places_blocks_and_functions`).

use tracewright_image::{BlockMapError, MappedBlock, MappedFunction};

use crate::support::{SHT_LLVM_BB_ADDR_MAP, load, own_section, program};

/// Reads a map, in a file of 64 or 32 bits.
fn read(wide: bool, map: Vec<u8>) -> Result<Vec<MappedFunction>, BlockMapError> {
    let mut elf = program(0x1000, vec![0x1f; 256], Vec::new());
    elf.wide = wide;
    elf.sections.push(own_section(".llvm_bb_addr_map", SHT_LLVM_BB_ADDR_MAP, 0, map, 0));
    let image = load(elf.write(), None);
    image.files().next().unwrap().block_map()
}

fn blocks(blocks: &[(u32, u64, u64)]) -> Vec<MappedBlock> {
    blocks.iter().map(|&(id, start, end)| MappedBlock { id, range: start..end }).collect()
}

#[test]
fn blocks_have_the_ids_and_addresses_of_the_compiler() {
    // Two functions: ID, bytes since the block before, size, and what it does.
    let address = |address: u64| address.to_le_bytes().to_vec();
    let first = [vec![2, 0], address(0x1000), vec![3, 0, 0, 0x2c, 8, 0x83, 1, 0, 4, 1, 2, 4, 8, 8]].concat();
    let second = [vec![1, 0], address(0x1050), vec![2, 0, 4, 8, 0, 4, 1]].concat();
    let functions = read(true, [first.clone(), second].concat()).unwrap();
    let expected = blocks(&[(0, 0x1000, 0x102c), (0x83, 0x102c, 0x1030), (2, 0x1034, 0x103c)]);
    assert_eq!(functions[0], MappedFunction { start: 0x1000, blocks: expected });
    // Before version 2, they are numbered from 0.
    let expected = blocks(&[(0, 0x1050, 0x1054), (1, 0x1054, 0x1058)]);
    assert_eq!(functions[1], MappedFunction { start: 0x1050, blocks: expected });
    assert_eq!(functions.len(), 2);
    // In files of 32 bits, addresses have 4 bytes.
    let narrow = [vec![2, 0], 0x1000_u32.to_le_bytes().to_vec(), vec![1, 0, 0, 4, 1]].concat();
    assert_eq!(read(false, narrow).unwrap()[0].blocks, blocks(&[(0, 0x1000, 0x1004)]));
    // Wherever it ends too early, nothing is taken for whole.
    for len in 1..first.len() {
        assert_eq!(read(true, first[..len].to_vec()), Err(BlockMapError::Damaged), "{len}");
    }
}

#[test]
fn functions_may_be_in_parts_and_have_counts() {
    // Two ranges, an entry count, and of each block its frequency and its successors' probabilities.
    let map = [
        vec![2, 0b1111, 2],
        0x1000_u64.to_le_bytes().to_vec(),
        vec![1, 0, 0, 8, 8],
        0x1080_u64.to_le_bytes().to_vec(),
        vec![1, 1, 0, 4, 1],
        vec![100, 7, 1, 1, 0x80, 0x01, 9, 0],
    ];
    let again = [map.concat(), map.concat()].concat();
    let functions = read(true, again).unwrap();
    let expected = blocks(&[(0, 0x1000, 0x1008), (1, 0x1080, 0x1084)]);
    assert_eq!(functions, vec![MappedFunction { start: 0x1000, blocks: expected }; 2]);
}

#[test]
fn what_is_not_known_is_not_guessed() {
    assert_eq!(read(true, Vec::new()), Ok(Vec::new()));
    for (version, features) in [(0, 0), (3, 0), (2, 0x20)] {
        let error = read(true, vec![version, features, 0, 0]).unwrap_err();
        assert_eq!(error, BlockMapError::Unknown { version, features });
        assert!(error.to_string().contains(&format!("version {version}")));
    }
    // Addresses beyond the last, and a number that is too large.
    let max = u64::MAX.to_le_bytes().to_vec();
    assert_eq!(read(true, [vec![2, 0], max, vec![1, 0, 1, 1, 0]].concat()), Err(BlockMapError::Damaged));
    let huge = [vec![2, 0], vec![0; 8], vec![1, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0]].concat();
    assert_eq!(read(true, huge), Err(BlockMapError::Damaged));
}
