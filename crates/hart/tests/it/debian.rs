//! RISC-V programs of Debian with their libraries: their output equals that under QEMU, byte for byte.
//!
//! `./test --full` fetches them (`tests/debian`); `DEBIAN=FOLDER` tells this test where they are.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tracewright_hart::linux::{Linux, Mount, Options};
use tracewright_hart::{Hart, Stop};
use tracewright_testkit::{debian, skip};

/// Runs a program here and under QEMU in the folder `at`. Both must write the same `output`.
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

#[test]
fn pictures_and_sounds() {
    let all = ["cjpeg", "djpeg", "ppm2tiff", "tiff2bw", "tiffmedian", "toast", "untoast", "lame"];
    let has_all = |root: &PathBuf| all.iter().all(|name| root.join("usr/bin").join(name).exists());
    let Some(root) = debian::Architecture::RISCV64.root().filter(has_all) else {
        return skip("programs of Debian", "not fetched; ./test --full does that, or tests/debian");
    };
    let at = Path::new(env!("CARGO_TARGET_TMPDIR")).join("debian");
    let _ = fs::remove_dir_all(&at);
    fs::create_dir_all(&at).unwrap();
    let at = at.canonicalize().unwrap();
    debian::write_inputs(&at).unwrap();

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
