//! The committed sample `threads` is what tracers write. `BLESS=1 cargo test` rewrites it.

#[path = "../../../../cli/tests/it/support/hello.rs"]
#[allow(dead_code, reason = "sample `hello` is another test's")]
mod hello;

use std::fs;
use std::path::{Path, PathBuf};

use tracewright_core::{Element, Exception, Isa};
use tracewright_hart::{HartSink, Trap};
use tracewright_input::{Mapping, Process, ProcessThread};

use super::super::{Folder, Settings};
use super::{Scratch, claimed};

/// Two threads of the program of sample `hello`: one runs all of it, the other is stopped in the middle.
fn write(dir: &Path) {
    let settings = Settings { timestamps: true, ..Settings::new(Isa::A64) };
    let description = "two threads, written by the tracewright encoder, no chip was involved";
    fs::write(dir.join("hello.elf"), hello::file()).unwrap();
    let mut folder = Folder::create(claimed(dir), &settings, description).unwrap();
    let mut tracers = vec![folder.thread(0, 1234).unwrap(), folder.thread(1, 1235).unwrap()];
    for (number, element) in hello::executed().iter().enumerate() {
        for (tracer, stopped) in tracers.iter_mut().zip([usize::MAX, 14]) {
            match element {
                _ if number >= stopped => {}
                Element::Timestamp { value, .. } => tracer.time(value - 0x1_2345_0000),
                Element::Block(block) => tracer.block(block),
                &Element::Exception(Exception { number, return_address, .. }) => {
                    let pc = return_address.unwrap();
                    let cause = number.into();
                    tracer.trap(&Trap { pc, cause, interrupt: false, value: 0, next: pc, served: true });
                }
                _ => {}
            }
        }
    }
    let code = hello::code();
    // Where the code is in the file.
    let file = hello::file();
    let offset = file.windows(code.len()).position(|window| window == code).unwrap() as u64;
    let file_backed = Mapping {
        start: hello::MAIN,
        end: hello::MAIN + code.len() as u64,
        offset,
        path: Some(PathBuf::from("hello.elf")),
        build_id: None,
    };
    let threads = [1234, 1235].map(|tid| ProcessThread { tid, name: String::new() }).to_vec();
    let process = Process { pid: 1234, command: "hello".into(), threads, mappings: vec![file_backed] };
    folder.finish(tracers, process, [(hello::MAIN, &code[..])], &mut Vec::new()).unwrap();
}

fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = dir.read_dir().into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.map(|path| (path.file_name().unwrap().into(), fs::read(&path).unwrap())).collect();
    files.sort();
    files
}

#[test]
fn the_sample_is_what_tracers_write() {
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/threads");
    if std::env::var_os("BLESS").is_some() {
        let _ = fs::remove_dir_all(&committed);
        write(&committed);
    }
    let scratch = Scratch::new("sample");
    write(scratch.path());
    assert_eq!(files(&committed), files(scratch.path()), "samples/threads is out of date: run with BLESS=1");
}
