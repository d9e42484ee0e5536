//! Inputs of every kind, compressed by the programs that people use: the results are those of the plain files.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::run::{copy_folder, elf, piped, root, run, text};
use tracewright_testkit::{Scratch, skip};

const PROGRAMS: [(&str, &str); 3] = [("gzip", "gz"), ("xz", "xz"), ("zstd", "zst")];

/// Compresses a file to another one.
fn pack(program: &str, from: impl AsRef<Path>, to: &str) -> bool {
    let from = fs::File::open(root().join(from)).unwrap();
    let packed = Command::new(program).arg("-c").stdin(from).stderr(Stdio::inherit()).output();
    let Ok(packed) = packed else {
        skip("compressed", &format!("no {program}"));
        return false;
    };
    assert!(packed.status.success());
    fs::write(to, packed.stdout).unwrap();
    true
}

/// Runs a line with a file in place of `IN`: plain, and compressed, under the same name. Both write the same to standard output.
fn same(place: &Scratch, line: &str, file: &str) {
    let plain = run!("{}", line.replace("IN", file)).ends_within(0..=1);
    assert!(!plain.out.is_empty(), "{line}");
    for (program, _) in PROGRAMS {
        let folder = place.join(program);
        fs::create_dir_all(&folder).unwrap();
        let packed = format!("{folder}/{}", Path::new(file).file_name().unwrap().to_str().unwrap());
        if pack(program, file, &packed) {
            let of_packed = run!("{}", line.replace("IN", &packed)).ends(plain.status.unwrap());
            let named = |text: &str| text.replace(&packed, "FILE").replace(file, "FILE");
            assert!(named(&of_packed.out) == named(&plain.out), "{line} {program}: {}", of_packed.err);
        }
    }
}

#[test]
fn every_input_may_be_compressed() {
    let place = Scratch::new("compressed");
    let [log, kept, csv] = ["run.log", "kept.prof", "run.csv"].map(|name| place.join(name));
    let sort = elf("sort");
    run!("record -q --log {log} --details all {sort} -- 50").good();
    run!("profile samples/hello --format tracewright -o {kept}").ends(0);
    fs::write(
        &csv,
        "VALID,ADDRESS,INSN,PRIVILEGE,EXCEPTION,ECAUSE,TVAL,INTERRUPT\n1,80000000,00000013,3,0,0,0,0\n",
    )
    .unwrap();
    let raw =
        "--packing coresight --source etm4,id=0x10,TRCCONFIGR=0x851,TRCIDR0=0x28000ea1,TRCIDR2=0x10000488";
    for (line, file) in [
        (&*format!("packets IN {raw}"), "samples/hello/buffer_0.bin"),
        (&format!("decode IN {raw} --image samples/hello/hello.elf"), "samples/hello/buffer_0.bin"),
        (
            &format!("decode IN {raw} --image samples/hello/hello.elf --from 0x30"),
            "samples/hello/buffer_0.bin",
        ),
        ("info IN", "samples/two-cores/buffer_0.bin"),
        ("decode samples/hello --image IN", "samples/hello/hello.elf"),
        ("decode IN --instructions", "samples/perf/perf.data"),
        ("decode IN --instructions", &log),
        ("decode IN", "samples/retirement.log"),
        ("stats IN", "samples/retirement.log"),
        ("profile IN", &kept),
        (&format!("record --from-log IN --listing - {sort}"), &log),
        (&format!("decode {log} --image {sort} --check IN --json"), &log),
    ] {
        same(&place, line, file);
    }
    for (program, _) in PROGRAMS {
        let packed = place.join("csv");
        if pack(program, &csv, &packed) {
            let capture = place.join(&format!("capture-{program}"));
            run!("encode {packed} -o {capture}").ends_within(0..=1);
            run!("packets {capture}").ends(0).prints("0x80000000");
        }
    }
}

#[test]
fn standard_input_may_be_compressed() {
    let place = Scratch::new("compressed");
    let line = "packets - --packing coresight --source etm4,id=0x10,TRCCONFIGR=0x851,TRCIDR0=0x28000ea1,TRCIDR2=0x10000488";
    let plain = run!("{}", line.replace(" - ", " samples/hello/buffer_0.bin ")).ends_within(0..=1);
    for (program, _) in PROGRAMS {
        let packed = place.join("packed");
        if pack(program, "samples/hello/buffer_0.bin", &packed) {
            let mut child = piped(line);
            child.stdin.take().unwrap().write_all(&fs::read(&packed).unwrap()).unwrap();
            assert_eq!(
                String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap(),
                plain.out,
                "{program}"
            );
        }
    }
}

/// What cannot come from a pipe is named, compressed or not.
#[test]
fn compressed_pipes_are_named_for_what_is_in_them() {
    let place = Scratch::new("compressed");
    let recording = place.join("perf.data");
    fs::write(&recording, [&b"PERFILE2"[..], &[0; 4096]].concat()).unwrap();
    for (program, _) in PROGRAMS {
        let packed = place.join("packed");
        if pack(program, &recording, &packed) {
            let mut child = piped("profile -");
            let _ = child.stdin.take().unwrap().write_all(&fs::read(&packed).unwrap());
            let said = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
            assert!(
                said.contains("is a recording of perf, which cannot come from a pipe"),
                "{program}: {said}"
            );
        }
    }
}

#[test]
fn files_of_a_capture_may_be_there_only_compressed() {
    for (capture, files) in [
        ("samples/etrace", &["trace.bin"][..]),
        ("samples/hello", &["buffer_0.bin", "memory_0.bin", "device_0.ini"]),
    ] {
        // The programs of the sample are elsewhere.
        let verb = if capture.ends_with("etrace") { "packets" } else { "decode --instructions" };
        let plain = run!("{verb} {capture}").ends_within(0..=1);
        for (program, ending) in PROGRAMS {
            let place = Scratch::new("compressed");
            let folder = place.join("capture");
            copy_folder(root().join(capture), &folder);
            let mut any = false;
            for file in
                files.iter().map(|file| format!("{folder}/{file}")).filter(|file| Path::new(file).exists())
            {
                any |= pack(program, &file, &format!("{file}.{ending}")) && fs::remove_file(&file).is_ok();
            }
            if any {
                let packed = run!("{verb} {folder}").ends(plain.status.unwrap());
                assert_eq!(packed.out, plain.out, "{capture} {program}: {}", packed.err);
            }
        }
    }
}

#[test]
fn damage_and_size_are_told() {
    let place = Scratch::new("compressed");
    let packed = place.join("packed");
    let zeros = place.write("zeros", &vec![b'#'; 17 << 20]);
    for (program, _) in PROGRAMS {
        if pack(program, "samples/hello/hello.elf", &packed) {
            let bytes = fs::read(&packed).unwrap();
            let cut = place.write(format!("cut-{program}"), &bytes[..bytes.len() / 2]);
            let ran = run!("decode samples/hello --image {}", text(&cut)).ends(1);
            ran.says(format!("cut-{program}: error: cannot read: compressed with {program}, and cut off"));
        }
        // Parameters have a limit, whatever they are packed into.
        if pack(program, &zeros, &packed) {
            let source = format!("etrace,isa=rv64,encapsulation=smi,params={packed}");
            run!("packets samples/etrace/trace.bin --source {source}")
                .ends(2)
                .says("longer than 16777216 bytes");
        }
    }
}
