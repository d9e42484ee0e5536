use super::*;

fn written(write: impl Fn(&mut BitWriter)) -> String {
    let mut writer = BitWriter::new();
    write(&mut writer);
    let bits = writer.bits();
    let text: String = writer.take().iter().map(|byte| format!("{byte:08b}")).collect();
    text[..bits].to_owned()
}

/// The codes of small numbers, as usually defined.
#[test]
fn codes_of_small_numbers() {
    let gamma = ["1", "010", "011", "00100", "00101", "00110", "00111", "0001000"];
    let delta = ["1", "0100", "0101", "01100", "01101", "01110", "01111", "00100000"];
    for (n, (gamma, delta)) in (1..).zip(gamma.into_iter().zip(delta)) {
        assert_eq!(written(|writer| writer.gamma(n)), gamma);
        assert_eq!(written(|writer| writer.delta(n)), delta);
    }
}

#[test]
fn any_number_is_read_as_written() {
    let edges = (0..64).flat_map(|bit| [1_u64 << bit, (1 << bit) | 1, u64::MAX >> bit]);
    for n in edges.chain([0x1234_5678_9abc_def1]) {
        for code in [Code::Gamma, Code::Delta] {
            // At any position in a byte.
            for before in 0..9 {
                let mut writer = BitWriter::new();
                writer.put(0, before);
                writer.elias(code, n);
                assert_eq!(writer.bits() as u32, before + elias_bits(code, n));
                writer.put(1, 1);
                let mut reader = BitReader::new(writer.take());
                assert_eq!(reader.take(before), Some(0));
                assert_eq!(reader.elias(code), Some(n), "{code:?} {n:#x} after {before}");
                assert_eq!(reader.take(1), Some(1));
                assert!(reader.is_padding());
            }
        }
    }
}

#[test]
fn what_is_cut_is_no_number() {
    for n in [2, 9, 300, 1 << 40, u64::MAX] {
        for code in [Code::Gamma, Code::Delta] {
            let mut writer = BitWriter::new();
            writer.elias(code, n);
            let bytes = writer.take().to_vec();
            for len in 0..bytes.len() {
                assert_eq!(BitReader::new(&bytes[..len]).elias(code), None);
            }
        }
    }
    // Longer than any number.
    assert_eq!(BitReader::new(&[0; 8]).gamma(), None);
    assert_eq!(BitReader::new(&[0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).gamma(), None);
    assert_eq!(BitReader::new(&[0, 0x81, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).delta(), None);
}
