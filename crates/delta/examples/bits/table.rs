//! Runs sample programs on a hart with a timing model, and encodes its cycles in each format.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tracewright_core::Block;
use tracewright_delta::{Config, Decoder, DeltaSink, Encoder, Lost, Off, Packing, Refused, Run, Span, Sync};
use tracewright_hart::bare::{self, Bare};
use tracewright_hart::linux::{self, Linux, Streams};
use tracewright_hart::timing::{self, Timed};
use tracewright_hart::{Hart, HartSink};

/// A timing model, and the formats for its width.
pub struct Model {
    name: &'static str,
    timing: timing::Config,
    formats: Vec<Config>,
}

/// Returns all models.
pub fn models() -> Vec<Model> {
    // A made-up model that retires four instructions a cycle.
    let quad =
        timing::Config { issue_width: 4, retire_width: 4, fetch_bytes: 16, ..timing::Config::dual_issue() };
    let model = |name, timing: timing::Config| {
        let width = timing.retire_width as u8;
        let formats: &[&str] = match width {
            1 => &["ac", "ac,code=delta", "abc,amortise=1", "abc,amortise=4", "de"],
            _ => &["abc", "abc,amortise=1", "abc,amortise=4", "de", "de,d=elias"],
        };
        let format = |text: &&str| Config { width, ..text.parse().unwrap_or_default() };
        Model { name, timing, formats: formats.iter().map(format).collect() }
    };
    vec![
        model("rocket_like", timing::Config::rocket_like()),
        model("tiny", timing::Config::tiny()),
        model("cva6_like", timing::Config::cva6_like()),
        model("dual_issue", timing::Config::dual_issue()),
        model("dual_issue made four wide", quad),
    ]
}

/// A program of the folder `programs`.
pub struct Program {
    /// Its name.
    pub name: String,
    elf: PathBuf,
}

/// Returns all programs.
pub fn programs() -> Vec<Program> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/bin");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let program = |elf: PathBuf| Some(Program { name: elf.file_stem()?.to_str()?.to_owned(), elf });
    let mut programs: Vec<_> = entries.filter_map(|entry| program(entry.path())).collect();
    // Those of conformance kits are made of rare cases: their sizes tell nothing.
    programs.retain(|program| !program.name.starts_with("conform"));
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    programs
}

/// The size of a program's trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Instructions that retired.
    pub instructions: u64,
    /// Cycles up to the last instruction.
    pub cycles: u64,
    /// Bytes of each format.
    pub bytes: Vec<u64>,
}

impl Row {
    /// Returns the line of the table.
    pub fn line(&self, name: &str) -> String {
        let instructions = self.instructions.max(1) as f64;
        let each = self.bytes.iter().map(|&bytes| format!("{:.3}", 8.0 * bytes as f64 / instructions));
        let cpi = self.cycles as f64 / instructions;
        let each: Vec<_> = [format!("{cpi:.2}")].into_iter().chain(each).collect();
        format!("| {name} | {} | {} |", self.instructions, each.join(" | "))
    }
}

impl Model {
    /// Returns the title of the table.
    pub fn title(&self) -> String {
        let width = self.timing.retire_width;
        format!("`{}`, up to {width} a cycle:\n", self.name)
    }

    /// Returns the head of the table.
    pub fn head(&self) -> String {
        let names = self.formats.iter().map(|format| format!("`{}`", Config { width: 1, ..*format }));
        let names: Vec<_> = names.collect();
        let line = "|--:".repeat(names.len() + 2);
        format!("| program | instructions | cycles each | {} |\n|---{line}|", names.join(" | "))
    }

    /// Runs and encodes a program. The decoder must find as many instructions and cycles as the model counted.
    pub fn row(&self, program: &Program) -> Result<Row, String> {
        let failed = |why: String| format!("{}: {why}", program.name);
        let model = timing::Model::new(&self.timing).map_err(|error| failed(error.to_string()))?;
        let each = self.formats.iter().map(|&format| One::new(format)).collect::<Result<Vec<_>, _>>();
        let encoders = Encoders { cycles: Vec::new(), each: each.map_err(failed)?, refused: None };
        let mut timed = Timed::new(model, encoders);
        program.run(&mut timed).map_err(failed)?;
        let stats = *timed.model.stats();
        let mut encoders = timed.inner;
        if let Some(refused) = encoders.refused {
            return Err(failed(refused.to_string()));
        }
        for one in &mut encoders.each {
            one.encoder.finish(&mut one.bytes);
            let told = one.total();
            if (told.cycle, told.retired, told.lost) != (stats.cycles + 1, stats.instructions, 0) {
                return Err(failed(format!("{}: told {told:?}, ran {stats:?}", one.encoder.config())));
            }
            if one.encoder.config().is_exact() && told.busy != stats.busy {
                return Err(failed(format!("{}: {} busy cycles of {}", one.name(), told.busy, stats.busy)));
            }
        }
        Ok(Row {
            instructions: stats.instructions,
            cycles: stats.cycles,
            bytes: encoders.each.iter().map(|one| one.bytes.len() as u64).collect(),
        })
    }
}

impl Program {
    fn run(&self, sink: &mut impl HartSink) -> Result<(), String> {
        let elf = fs::read(&self.elf).map_err(|error| error.to_string())?;
        if bare::is_for_it(&elf) {
            let loaded = Bare::new(&elf, &bare::Options::default(), Box::new(io::sink()));
            let (core, machine) = loaded.map_err(|error| error.to_string())?;
            Hart::new(core, machine).run(u64::MAX, sink);
        } else {
            let arguments = vec![self.elf.file_name().unwrap_or_default().to_owned()];
            let options = linux::Options { arguments, streams: Streams::none(), ..linux::Options::default() };
            let (core, machine) = Linux::load(&self.elf, options).map_err(|error| error.to_string())?;
            Hart::new(core, machine).run(u64::MAX, sink);
        }
        Ok(())
    }
}

/// Encoders behind a hart, one for each format.
struct Encoders {
    cycles: Vec<u64>,
    each: Vec<One>,
    refused: Option<Refused>,
}

struct One {
    encoder: Encoder,
    bytes: Vec<u8>,
}

impl HartSink for Encoders {
    const CYCLES: bool = true;

    fn cycles(&mut self, cycles: &[u64]) {
        self.cycles.clear();
        self.cycles.extend_from_slice(cycles);
    }

    fn block(&mut self, block: &Block) {
        for one in &mut self.each {
            let told = one.encoder.block(block.start, &self.cycles, &mut one.bytes);
            self.refused = self.refused.or(told.err());
        }
    }
}

impl One {
    fn new(format: Config) -> Result<Self, String> {
        let encoder = Encoder::new(format, Packing::default()).map_err(|error| error.to_string())?;
        Ok(Self { encoder, bytes: Vec::new() })
    }

    fn name(&self) -> String {
        self.encoder.config().to_string()
    }

    /// Decodes the stream.
    fn total(&self) -> Total {
        let mut total = Total::default();
        let mut decoder = Decoder::new();
        decoder.feed(&self.bytes, &mut total);
        decoder.finish(&mut total);
        total
    }
}

/// Sums over the decoded items.
#[derive(Debug, Default)]
struct Total {
    /// Cycle after the last one.
    cycle: u64,
    retired: u64,
    /// Cycles that retired instructions.
    busy: u64,
    /// Last of these cycles.
    last: Option<u64>,
    lost: u64,
}

impl DeltaSink for Total {
    fn sync(&mut self, _: u64, _: &Sync) {}

    fn run(&mut self, run: Run) {
        // A sync may have split a cycle.
        self.busy += run.cycles - u64::from(self.last == Some(run.cycle));
        self.last = Some(run.cycle + run.cycles - 1);
        self.retired += run.retired();
    }

    fn span(&mut self, span: Span) {
        self.retired += span.retired;
    }

    fn off(&mut self, _: u64, off: Off) {
        self.cycle = off.cycle;
    }

    fn lost(&mut self, _: Lost) {
        self.lost += 1;
    }
}
