//! The programs, and how our hart runs one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tracewright_core::{Isa, MemorySpace};
use tracewright_hart::bare::{self, Bare};
use tracewright_hart::linux::{self, Linux, Streams};
use tracewright_hart::{Hart, HartSink};
use tracewright_image::Image;
use tracewright_testkit::{captures, skip};

use crate::hart::program::{PROGRAMS, Program, Size};

/// A program that can be traced.
pub struct Traced {
    pub name: String,
    elf: PathBuf,
    /// Whether it is one of the shared ones; else it is ours.
    pub is_shared: bool,
    on: Machine,
}

enum Machine {
    /// One of the benchmark's, in some size.
    Sized(&'static Program, Size),
    Linux,
    /// With the most instructions it may run.
    Bare(Box<bare::Options>, u64),
}

/// Our own that run long, under Linux.
pub fn long(size: Size) -> Vec<Traced> {
    let traced = |program: &'static Program| Traced {
        name: program.named(size),
        elf: program.elf(),
        is_shared: false,
        on: Machine::Sized(program, size),
    };
    PROGRAMS.iter().map(traced).collect()
}

/// All of our own, without arguments, on the machine that they are for.
pub fn samples() -> Vec<Traced> {
    let traced = |elf: PathBuf| {
        let name = elf.file_stem()?.to_str()?.to_owned();
        let is_bare = bare::is_for_it(&fs::read(&elf).ok()?);
        let on = if is_bare { Machine::Bare(Box::default(), u64::MAX) } else { Machine::Linux };
        Some(Traced { name, elf, is_shared: false, on })
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs/bin");
    files(&folder).into_iter().filter_map(traced).collect()
}

/// The shared ones, on a bare machine, as they were when others traced them.
pub fn shared() -> Vec<Traced> {
    let Some(captures) = captures() else {
        skip("E-Trace of the shared programs", "no captures");
        return Vec::new();
    };
    files(&captures.join("riscv/elf")).into_iter().filter_map(bare_program).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn bare_program(path: PathBuf) -> Option<Traced> {
    let name = path.file_stem()?.to_str()?.to_owned();
    let mut options = bare::Options {
        // As these were recorded.
        pmp_regions: if name == "test_discon_branch_exception" { 0 } else { 16 },
        more_memory: if name == "br_j_asm" { vec![(0x2001_0000, 0x1_0000)] } else { Vec::new() },
        // Its start is for a board that nobody has.
        entry: (name == "xrle").then_some(0x2001_0522),
        ..bare::Options::default()
    };
    let elf = match name.as_str() {
        // The first runs the second.
        "pk" => return None,
        "hello_world" => {
            options.arguments = vec!["pk".into(), path.to_str()?.to_owned()];
            options.host_files = path.parent().map(Path::to_path_buf);
            path.with_file_name("pk.riscv")
        }
        _ => path,
    };
    // It does not end.
    let limit = if name == "xrle" { 164_959 } else { u64::MAX };
    Some(Traced { name, elf, is_shared: true, on: Machine::Bare(Box::new(options), limit) })
}

impl Traced {
    /// Runs it to its end, or so many instructions.
    pub fn run(&self, limit: u64, sink: &mut impl HartSink) -> Result<(), String> {
        match &self.on {
            Machine::Sized(program, size) => {
                program.run_for(*size, limit, sink)?;
            }
            Machine::Linux => {
                let options = linux::Options {
                    arguments: vec![self.elf.as_os_str().to_owned()],
                    streams: Streams::none(),
                    ..linux::Options::default()
                };
                let (core, machine) = Linux::load(&self.elf, options).map_err(|error| self.failed(&error))?;
                Hart::new(core, machine).run(limit, sink);
            }
            Machine::Bare(options, most) => {
                let elf = fs::read(&self.elf).map_err(|error| self.failed(&error))?;
                let machine = Bare::new(&elf, options, Box::new(io::sink()));
                let (core, machine) = machine.map_err(|error| self.failed(&error))?;
                Hart::new(core, machine).run(limit.min(*most), sink);
            }
        }
        Ok(())
    }

    /// Its code, and the instruction set that is in.
    pub fn image(&self) -> Result<(Image, Isa), String> {
        let bytes = fs::read(&self.elf).map_err(|error| self.failed(&error))?;
        let isa = if bytes.get(4) == Some(&1) { Isa::Rv32 } else { Isa::Rv64 };
        let mut builder = Image::builder();
        let added = builder.elf(&self.name, bytes.into(), None, MemorySpace::ANY);
        added.map_err(|error| self.failed(&error))?;
        Ok((builder.build(), isa))
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> String {
        format!("{}: {error}", self.name)
    }
}
