use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tracewright_capture::Pair;
use tracewright_capture::etrace::{Finished, Settings, Tracer, executed_code};
use tracewright_core::{Block, MemorySpace};
use tracewright_hart::linux::{Linux, Options, Streams};
use tracewright_hart::log::own::Writer;
use tracewright_hart::{Hart, HartSink, Stop, Trap};
use tracewright_image::{Bytes, Image};
use tracewright_input::OutputFolder;
use tracewright_isa::riscv::Xlen;

use super::{ISA, NAME, PROGRAM, Ran};
use crate::output::Error;

/// No run of the program is longer.
const LIMIT: u64 = 1 << 26;

/// Counts, and keeps each block once.
#[derive(Default)]
struct Watch {
    system_calls: u64,
    blocks: HashSet<Block>,
}

impl HartSink for Watch {
    fn block(&mut self, block: &Block) {
        self.blocks.insert(*block);
    }

    fn trap(&mut self, _: &Trap) {
        self.system_calls += 1;
    }
}

/// What the program prints.
#[derive(Clone, Default)]
struct Printed(Arc<Mutex<Vec<u8>>>);

impl Write for Printed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if let Ok(mut printed) = self.0.lock() {
            printed.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A folder for the program's file, removed at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the program, as `record --protocol etrace` does. Its file goes to `folder`, or to one that is removed.
pub fn run(folder: Option<&OutputFolder>) -> Result<Ran, Error> {
    let failed = |why: &dyn std::fmt::Display| Error::Message(format!("{NAME}: {why}"));
    let temporary = match folder {
        Some(_) => None,
        None => Some(Folder(std::env::temp_dir().join(format!("tracewright-demo-{}", std::process::id())))),
    };
    let temporary = temporary.map(|folder| OutputFolder::claim(&folder.0).map(|claimed| (claimed, folder)));
    let temporary = temporary.transpose()?;
    let folder =
        folder.or(temporary.as_ref().map(|(claimed, _)| claimed)).ok_or_else(|| failed(&"no folder"))?;
    folder.replace(NAME, PROGRAM)?;
    let file = folder.path().join(NAME);
    let printed = Printed::default();
    let streams = Streams { output: Box::new(printed.clone()), ..Streams::none() };
    let options = Options { arguments: vec![NAME.into()], streams, ..Options::default() };
    let (core, machine) = Linux::load(&file, options).map_err(|error| failed(&error))?;
    let mut hart = Hart::new(core, machine);
    let settings = Settings::new(ISA);
    let log = Writer::<_, false, false>::new(Vec::new(), Xlen::Rv64).map_err(|error| failed(&error))?;
    let mut sink = Pair(Watch::default(), Pair(log, Tracer::new(&settings, Vec::new())));
    let stop = hart.run(LIMIT, &mut sink);
    if stop != (Stop::Exit { status: 0 }) {
        return Err(failed(&format!("did not run to its end: {stop:?}")));
    }
    let Pair(Watch { system_calls, blocks }, Pair(log, tracer)) = sink;
    let log = log.finish().map_err(|error| failed(&error))?;
    let Finished { to: trace, traced, .. } = tracer.finish().map_err(|error| failed(&error))?;
    let mut builder = Image::builder();
    builder
        .elf(NAME, Bytes::new(PROGRAM.to_vec()), None, MemorySpace::ANY)
        .map_err(|error| failed(&error))?;
    let code =
        executed_code(blocks.iter(), &builder.build(), |address| hart.core.memory.peek::<2>(address)).pieces;
    let printed = printed.0.lock().map(|printed| String::from_utf8_lossy(&printed).into_owned());
    Ok(Ran {
        instructions: hart.core.instret,
        system_calls,
        printed: printed.unwrap_or_default(),
        log,
        source: settings.source,
        trace,
        traced,
        code,
    })
}
