//! Input files of Debian's programs, computed and always the same.

use std::path::Path;
use std::{fs, io};

const WIDTH: u32 = 160;
const HEIGHT: u32 = 120;

/// Writes a file of each kind that `tests/debian.txt` names.
pub fn write_inputs(folder: &Path) -> io::Result<()> {
    let files: [(&str, Vec<u8>); 10] = [
        ("in.ppm", picture()),
        ("in.tif", tiff()),
        ("in.wav", wave(&sound(2))),
        ("in.l", sound(1)),
        ("in.txt", words(20_000)),
        ("short.txt", words(1500)),
        ("in.ps", POSTSCRIPT.into()),
        ("in.lua", LUA.into()),
        ("in.sql", SQL.into()),
        ("in.bc", b"scale=120; 4*a(1)\n2^500\n".into()),
    ];
    files.into_iter().try_for_each(|(name, bytes)| fs::write(folder.join(name), bytes))
}

/// Makes a picture with edges and slopes (PPM).
fn picture() -> Vec<u8> {
    [format!("P6\n{WIDTH} {HEIGHT}\n255\n").into_bytes(), pixels()].concat()
}

fn pixels() -> Vec<u8> {
    let places = (0..HEIGHT).flat_map(|y| (0..WIDTH).map(move |x| (x, y)));
    places.flat_map(|(x, y)| [(x * y / 7) as u8, (x * 3 + y * 2) as u8, (x ^ y) as u8]).collect()
}

/// Makes the same picture as TIFF: one uncompressed strip.
fn tiff() -> Vec<u8> {
    const SHORT: u16 = 3;
    const LONG: u16 = 4;
    const FIELDS: u32 = 10;
    // The header, then the directory and what does not fit into its fields, then the pixels.
    let bits = 8 + 2 + 12 * FIELDS + 4;
    let strip = bits + 6;
    let fields: [(u16, u16, u32, u32); FIELDS as usize] = [
        (256, LONG, 1, WIDTH),
        (257, LONG, 1, HEIGHT),
        (258, SHORT, 3, bits),              // bits of a sample
        (259, SHORT, 1, 1),                 // not compressed
        (262, SHORT, 1, 2),                 // RGB
        (273, LONG, 1, strip),              // where the strip is
        (277, SHORT, 1, 3),                 // samples of a pixel
        (278, LONG, 1, HEIGHT),             // rows of a strip
        (279, LONG, 1, WIDTH * HEIGHT * 3), // bytes of the strip
        (284, SHORT, 1, 1),                 // samples beside each other
    ];
    let mut bytes = b"II\x2a\0\x08\0\0\0".to_vec();
    bytes.extend((FIELDS as u16).to_le_bytes());
    for (tag, kind, count, value) in fields {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        bytes.extend(count.to_le_bytes());
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend([0; 4]);
    bytes.extend([8, 0, 8, 0, 8, 0]);
    bytes.extend(pixels());
    bytes
}

/// Makes a sound: 8,000 samples per second, 16 bits, two tones and some noise, without a header.
fn sound(seconds: u32) -> Vec<u8> {
    let mut noise = 1;
    let sample = |time: u32| {
        let tone = |step: u32| if (time / step).is_multiple_of(2) { 4000 } else { -4000 };
        (tone(9) + tone(25) + (random(&mut noise) as i32 % 500)) as i16
    };
    (0..seconds * 8000).map(sample).flat_map(i16::to_le_bytes).collect()
}

/// Makes a WAVE file of such a sound.
fn wave(samples: &[u8]) -> Vec<u8> {
    let len = samples.len() as u32;
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((len + 36).to_le_bytes());
    bytes.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    bytes.extend(8000_u32.to_le_bytes());
    bytes.extend(16000_u32.to_le_bytes());
    bytes.extend(b"\x02\0\x10\0data");
    bytes.extend(len.to_le_bytes());
    bytes.extend(samples);
    bytes
}

/// Makes compressible text.
fn words(count: u32) -> Vec<u8> {
    let words: Vec<_> =
        "trace of every instruction that a program runs block by branch taken or".split(' ').collect();
    let mut seed = 1;
    let word = |number| {
        let end = if number % 12 == 11 { "\n" } else { " " };
        [words[random(&mut seed) as usize % words.len()], end].concat()
    };
    (0..count).map(word).collect::<String>().into_bytes()
}

/// Returns sixteen random bits.
fn random(seed: &mut u32) -> u32 {
    *seed = seed.wrapping_mul(1_103_515_245).wrapping_add(12345);
    *seed >> 16
}

const POSTSCRIPT: &str = "%!PS
/Helvetica findfont 24 scalefont setfont
72 700 moveto (tracewright) show
0 1 20 { /i exch def i 20 div 0.3 0.7 setrgbcolor newpath 300 400 i 8 mul 0 360 arc stroke } for
showpage
";

const LUA: &str = "local words = {}
for i = 1, 20000 do
  local key = 'k' .. (i * 7919 % 501)
  words[key] = (words[key] or 0) + i % 7
end
local list = {}
for key, count in pairs(words) do list[#list + 1] = string.format('%s=%d', key, count) end
table.sort(list)
print(#list, table.concat(list, ' '):sub(1, 200))
";

const SQL: &str = "create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 2000)
insert into t select x, x * 7 % 101 from c;
create index i on t(b);
select b, count(*), sum(a) from t group by b order by 2, 1 limit 9;
";
