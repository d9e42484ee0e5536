//! Random executions, as logs, and what is read from them.

mod code;
mod damage;
mod expected;
mod machine;
mod writer;

use std::io::Cursor;

use tracewright_qemu::format::Off;
use tracewright_qemu::read::{Definitions, Log, Thread};

use self::expected::{Everything, Plain, plain};
use self::machine::{Ran, run};

#[test]
fn what_ran_is_read_back() {
    let mut blocks = 0;
    for seed in 0..600 {
        let Ran { header, records, threads, told } = run(seed);
        let mut definitions = Definitions::default();
        for chunk in &records.0 {
            assert_eq!(definitions.take(chunk), Ok(chunk.len()));
        }
        for (index, (words, told)) in threads.iter().zip(&told).enumerate() {
            let (mut everything, mut short) = (Everything::default(), Plain::default());
            let mut threads = [Thread::new(index as u32, &header), Thread::new(index as u32, &header)];
            for chunk in 0..words.chunks.len() {
                let bytes = words.bytes(chunk);
                threads[0].take(&bytes, &definitions, &mut everything).unwrap();
                threads[1].take(&bytes, &definitions, &mut short).unwrap();
            }
            threads[0].finish(&definitions, &mut everything);
            threads[1].finish(&definitions, &mut short);
            assert_eq!(threads[0].off(), Some(Off::Exit));
            for (at, (told, expected)) in everything.told.iter().zip(told).enumerate() {
                assert_eq!(told, expected, "seed {seed}, thread {index}, item {at}");
            }
            assert_eq!(everything.told.len(), told.len(), "seed {seed}, thread {index}");
            assert!(short.told == plain(told), "seed {seed}, thread {index}: the short way differs");
            assert_eq!(threads[0].instructions(), threads[1].instructions());
            blocks += told.len();
        }
    }
    assert!(blocks > 100_000, "{blocks}");
}

#[test]
fn a_file_is_read_like_its_chunks() {
    for seed in 0..60 {
        let ran = run(seed);
        let file = writer::file(&ran.header, &ran.records, &ran.threads, seed % 2 == 0);
        let mut log = Log::new(Cursor::new(file)).unwrap();
        assert!(log.damage().is_none());
        assert_eq!(log.definitions().command(), ["/bin/program", "argument"]);
        assert!(log.threads().eq(0..ran.threads.len() as u32));
        for (index, told) in (0..).zip(&ran.told) {
            let mut everything = Everything::default();
            assert_eq!(log.read(index, &mut everything).unwrap(), Some(Off::Exit));
            assert!(everything.told == *told, "seed {seed}, thread {index}");
        }
    }
}
