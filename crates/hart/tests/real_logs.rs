//! Readers on logs that simulators wrote.

use std::fs;
use std::io::{BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use tracewright_core::{Block, Ended};
use tracewright_hart::log::{Kind, csv, detect};
use tracewright_hart::{Blocks, Sink, Trap};
use tracewright_isa::riscv::Xlen;
use tracewright_testkit::{captures, skip};

/// Counts what it is told, and checks that it can follow each other.
#[derive(Debug, Default)]
struct Count {
    instructions: u64,
    blocks: u64,
    cut: u64,
    traps: u64,
    /// Cut blocks without a trap after them: something is missing in the log.
    gaps: u64,
    waits_for_trap: bool,
}

impl Sink for Count {
    fn block(&mut self, block: &Block) {
        self.gaps += u64::from(self.waits_for_trap);
        self.waits_for_trap = block.ended == Ended::Cut;
        self.instructions += u64::from(block.count);
        self.blocks += 1;
        self.cut += u64::from(block.ended == Ended::Cut);
    }

    fn trap(&mut self, _: &Trap) {
        self.waits_for_trap = false;
        self.traps += 1;
    }
}

/// Each line is an instruction of a block, or a trap; nothing is missing between them.
#[test]
fn retirement_traces_in_csv() {
    let folder = captures().map(|captures| captures.join("riscv/etrace/spike_pc_trace"));
    let Some(folder) = folder.filter(|folder| folder.is_dir()) else {
        return skip("retirement_traces_in_csv", "no shared captures");
    };
    let (mut files, mut instructions, mut blocks, mut traps) = (0, 0, 0, 0);
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let Some(text) = contents(&path) else {
            return skip("retirement_traces_in_csv", "no xz");
        };
        assert_eq!(detect(&text[..text.len().min(4096)]), Some(Kind::Csv), "{path:?}");
        let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count() as u64 - 1;
        let trap_lines = text
            .split(|&byte| byte == b'\n')
            .skip(1)
            .filter(|line| line.split(|&byte| byte == b',').nth(4) == Some(b"1"))
            .count() as u64;
        let mut reader = csv::Reader::new(&text[..]);
        let mut sink = Blocks::new(xlen(&path), Count::default());
        while let Some(retired) = reader.next().unwrap_or_else(|error| panic!("{path:?}: {error}")) {
            sink.take(&retired);
        }
        let count = sink.finish();
        assert_eq!(reader.skipped(), 0, "{path:?}");
        assert_eq!(count.traps, trap_lines, "{path:?}");
        assert_eq!(count.instructions + count.traps, lines, "{path:?}");
        assert_eq!(count.gaps, 0, "{path:?}");
        files += 1;
        instructions += count.instructions;
        blocks += count.blocks;
        traps += count.traps;
    }
    assert_eq!((files, instructions, blocks, traps), (17, 13_765_249, 1_844_809, 43));
}

/// What the program of a trace says; it lies beside.
fn xlen(trace: &Path) -> Xlen {
    let name = trace.file_name().unwrap().to_str().unwrap().split('.').next().unwrap();
    let program = trace.ancestors().nth(3).unwrap().join("elf").join(format!("{name}.riscv"));
    match fs::read(program) {
        Ok(bytes) if bytes.get(4) == Some(&1) => Xlen::Rv32,
        _ => Xlen::Rv64,
    }
}

/// The file, unpacked if need be; `None` if that cannot be done here.
fn contents(path: &Path) -> Option<Vec<u8>> {
    if path.extension().is_none_or(|extension| extension != "xz") {
        return Some(fs::read(path).unwrap());
    }
    let mut xz = Command::new("xz").arg("-dc").arg(path).stdout(Stdio::piped()).spawn().ok()?;
    let mut text = Vec::new();
    BufReader::new(xz.stdout.take()?).read_to_end(&mut text).unwrap();
    assert!(xz.wait().unwrap().success());
    Some(text)
}
