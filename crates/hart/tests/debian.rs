//! Programs of Debian for RISC-V, with their libraries: their output is that under QEMU, byte for byte.
//!
//! `tests/debian-riscv64 FOLDER` makes the folder; `DEBIAN_RISCV64=FOLDER` tells this test of it.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tracewright_hart::linux::{Linux, Mount, Options};
use tracewright_hart::{Hart, Stop};
use tracewright_testkit::skip;

/// Runs a program here and under QEMU in the folder `at`; both write `output`, which is to be the same.
fn compare(root: &Path, at: &Path, program: &str, arguments: &[&str], output: &str) {
    let path = root.join("usr/bin").join(program);
    let status = Command::new("qemu-riscv64")
        .arg("-L")
        .arg(root)
        .arg(&path)
        .args(arguments)
        .current_dir(at)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let theirs = fs::read(at.join(output)).unwrap();
    fs::remove_file(at.join(output)).unwrap();

    let mut all = vec![path.clone().into_os_string()];
    all.extend(arguments.iter().map(Into::into));
    let options = Options {
        arguments: all,
        root: Some(root.to_path_buf()),
        mounts: vec![Mount { at: at.to_path_buf(), host: at.to_path_buf(), writable: true }],
        folder: Some(at.to_path_buf()),
        ..Options::default()
    };
    let (core, linux) = Linux::load(&path, options).unwrap_or_else(|error| panic!("{error}"));
    let mut hart = Hart::new(core, linux);
    let stop = hart.run(u64::MAX, &mut ());
    assert_eq!(Some(stop), status.code().map(|status| Stop::Exit { status }), "{program}");
    assert_eq!(hart.machine.warnings(), [""; 0], "{program}");
    let ours = fs::read(at.join(output)).unwrap();
    assert!(!ours.is_empty() && ours == theirs, "{program}: {} and {} bytes", ours.len(), theirs.len());
}

/// A picture with edges and slopes.
fn picture() -> Vec<u8> {
    let (width, height) = (160_u32, 120);
    let mut bytes = format!("P6\n{width} {height}\n255\n").into_bytes();
    for y in 0..height {
        for x in 0..width {
            bytes.extend([(x * y / 7) as u8, (x * 3 + y * 2) as u8, (x ^ y) as u8]);
        }
    }
    bytes
}

/// A sound: 8,000 samples a second, 16 bits, two tones and some noise, without a header.
fn sound(seconds: u32) -> Vec<u8> {
    let mut noise = 1_u32;
    let sample = |time: u32| {
        noise = noise.wrapping_mul(1_103_515_245).wrapping_add(12345);
        let tone = |step: u32| if (time / step).is_multiple_of(2) { 4000 } else { -4000 };
        (tone(9) + tone(25) + ((noise >> 16) as i32 % 500)) as i16
    };
    (0..seconds * 8000).map(sample).flat_map(i16::to_le_bytes).collect()
}

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

#[test]
fn pictures_and_sounds() {
    let Some(root) = std::env::var_os("DEBIAN_RISCV64").map(PathBuf::from) else {
        return skip("programs of Debian", "DEBIAN_RISCV64 is not set; see tests/debian-riscv64");
    };
    let at = Path::new(env!("CARGO_TARGET_TMPDIR")).join("debian");
    let _ = fs::remove_dir_all(&at);
    fs::create_dir_all(&at).unwrap();
    let at = at.canonicalize().unwrap();
    fs::write(at.join("in.ppm"), picture()).unwrap();
    fs::write(at.join("in.wav"), wave(&sound(2))).unwrap();
    fs::write(at.join("in.l"), sound(2)).unwrap();

    let compare = |program, arguments: &[&str], output| compare(&root, &at, program, arguments, output);
    compare("cjpeg", &["-quality", "85", "-outfile", "a.jpg", "in.ppm"], "a.jpg");
    compare("cjpeg", &["-progressive", "-optimize", "-outfile", "b.jpg", "in.ppm"], "b.jpg");
    compare("djpeg", &["-outfile", "a.ppm", "a.jpg"], "a.ppm");
    compare("djpeg", &["-dct", "float", "-bmp", "-outfile", "b.bmp", "b.jpg"], "b.bmp");
    compare("ppm2tiff", &["-c", "lzw", "in.ppm", "a.tif"], "a.tif");
    compare("tiff2bw", &["a.tif", "b.tif"], "b.tif");
    compare("tiffmedian", &["a.tif", "c.tif"], "c.tif");
    compare("toast", &["-f", "-l", "-p", "in.l"], "in.l.gsm");
    compare("untoast", &["-f", "-l", "-p", "in.l.gsm"], "in.l");
    compare("lame", &["--quiet", "in.wav", "a.mp3"], "a.mp3");
    compare("lame", &["--quiet", "--decode", "a.mp3", "b.wav"], "b.wav");
}
