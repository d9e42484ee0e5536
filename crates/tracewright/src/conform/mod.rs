//! A conformance kit for people who design trace encoders: what a core executes, and the bytes that an encoder must make of it.
//!
//! [`write()`] makes a folder of cases, which together reach every packet and every option of a protocol. Each case is a capture with the
//! expected trace (`trace.bin`), the same for a testbench (`trace.hex`, as `$readmemh` reads it), and the fields of its packets
//! (`packets.csv`). What was executed is in the folder `runs`: the program, its retirements, and the inputs of an encoder's port.
//! [`Kit::open`] opens such a folder again, and [`Kit::compare`] compares what an encoder made of a case with what is expected, as
//! [`compare`](crate::compare) does.

mod arm;
mod cases;
mod files;
mod run;
mod theirs;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tracewright_capture::control::{ControlRequest, EventList};
use tracewright_capture::encode::encoder_input;
use tracewright_capture::options::{given, plain_name};
use tracewright_capture::port::PortRequest;
use tracewright_capture::record::{self, RunOptions};
use tracewright_capture::{CaptureOptions, Condition, Protocols, etrace, ntrace};
use tracewright_core::Isa;
use tracewright_core::port::{Port, Rate, WhenFull};
use tracewright_engine::{Counts, Role};
use tracewright_etrace::ingress::{CType, ITypeWidth};
use tracewright_input::ImageFile;

pub use self::cases::unreached;
use self::cases::{Extra, Spec};
use self::run::{Losing, Program};
pub use self::theirs::Theirs;
use crate::compare::{Compared, compare};
use crate::open::OpenOptions;
use crate::trace::Trace;

/// Why a kit cannot be written or read.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The folder, or a file in it, is not what it must be.
    Kit(String),
    /// A file cannot be read or written.
    File(PathBuf, std::io::Error),
    /// A trace cannot be read.
    Trace(crate::Error),
    /// A capture cannot be made.
    Capture(tracewright_capture::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kit(message) => f.write_str(message),
            Self::File(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Trace(error) => error.fmt(f),
            Self::Capture(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<crate::Error> for Error {
    fn from(error: crate::Error) -> Self {
        Self::Trace(error)
    }
}

impl From<tracewright_capture::Error> for Error {
    fn from(error: tracewright_capture::Error) -> Self {
        Self::Capture(error)
    }
}

/// What a kit is to be.
#[derive(Clone, Debug)]
pub struct KitOptions {
    /// The folder.
    pub dir: PathBuf,
    /// The protocol: [`PROTOCOLS`].
    pub protocol: String,
    /// Options of the encoder under test: `NAME=VALUE`, or a file of them. All cases have these; a case that needs others is left out.
    pub options: Vec<String>,
    /// Whether a folder that is no kit may be replaced.
    pub force: bool,
}

/// Protocols that there are kits of.
pub const PROTOCOLS: [&str; 3] = ["etrace", "ntrace", "etm4"];

/// A folder of cases.
#[derive(Clone, Debug)]
pub struct Kit {
    /// The folder.
    pub dir: PathBuf,
    /// The protocol.
    pub protocol: String,
    /// The cases.
    pub cases: Vec<Case>,
    /// Cases that the encoder's options exclude, each with the reason.
    pub left_out: Vec<(String, String)>,
    /// Kinds of packets, each with the cases that reach it. Of a kind without any, the reason.
    pub kinds: BTreeMap<String, Vec<String>>,
    /// Options, each with the cases that set it.
    pub options: BTreeMap<String, Vec<String>>,
}

/// A case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name, and that of its folder.
    pub name: String,
    /// What it is for.
    pub about: String,
    /// Options of the encoder.
    pub options: Vec<String>,
    /// Folder of what was executed.
    pub run: String,
    /// What else an encoder must be told: a condition, a port.
    pub also: Option<String>,
    /// The source as `--source` takes it, with the program and its address, if the case is no capture of its own.
    pub source: Option<(String, u64)>,
    /// Bytes of the expected trace.
    pub bytes: u64,
    /// Packets of each kind.
    pub kinds: BTreeMap<String, u64>,
}

/// Name of the file that describes a kit.
const MANIFEST: &str = "kit.json";

/// Writes a kit.
///
/// # Errors
/// Fails if the options fit no encoder, or if the folder cannot be written or holds something else than a kit.
pub fn write(options: &KitOptions) -> Result<Kit, Error> {
    let KitOptions { dir, protocol, force, .. } = options;
    if !PROTOCOLS.contains(&protocol.as_str()) {
        return Err(Error::Kit(format!(
            "there is no kit of {protocol:?}; there are {}",
            PROTOCOLS.join(", ")
        )));
    }
    let part = files::begin(dir, *force)?;
    let mut kit = Kit {
        dir: part.clone(),
        protocol: protocol.clone(),
        cases: Vec::new(),
        left_out: Vec::new(),
        kinds: BTreeMap::new(),
        options: BTreeMap::new(),
    };
    let written = kit.fill(options).and_then(|()| kit.describe());
    if let Err(error) = written {
        let _ = std::fs::remove_dir_all(&part);
        return Err(error);
    }
    files::end(&part, dir)?;
    kit.dir.clone_from(dir);
    Ok(kit)
}

impl Kit {
    fn fill(&mut self, options: &KitOptions) -> Result<(), Error> {
        let given = given(&options.options)?;
        if self.protocol == "etm4" {
            arm::fill(self, &given)?;
        } else {
            let (base, specs) = match self.protocol.as_str() {
                "etrace" => (cases::ETRACE_BASE, cases::ETRACE),
                _ => (cases::NTRACE_BASE, cases::NTRACE),
            };
            for program in [Program(Isa::Rv64), Program(Isa::Rv32)] {
                self.run(program)?;
            }
            for spec in specs {
                self.riscv(spec, base, &given)?;
            }
            let protocol = Protocols::default().named(&self.protocol);
            let help = protocol.map(|protocol| (protocol.help)()).unwrap_or_default();
            for name in option_names(&help) {
                self.options.entry(name).or_default();
            }
        }
        if self.cases.is_empty() {
            let why = self.left_out.first().map_or("", |(_, why)| why);
            return Err(Error::Kit(format!("the options fit no case: {why}")));
        }
        Ok(())
    }

    /// Writes what the program executes.
    fn run(&self, program: Program) -> Result<(), Error> {
        let dir = self.dir.join("runs").join(program.name());
        files::folder(&dir)?;
        files::write(&dir.join("program.elf"), program.elf())?;
        files::write(&dir.join("retirement.csv"), program.retirements()?.as_bytes())?;
        let inputs = program.inputs(CType::Precise, ITypeWidth::Four, Extra::Nothing)?;
        files::write(&dir.join("ingress.csv"), inputs.as_bytes())
    }

    /// Writes a case of a RISC-V protocol, unless the encoder's own options exclude it.
    fn riscv(&mut self, spec: &Spec, base: &[&str], given: &[String]) -> Result<(), Error> {
        let name_of = |option: &str| plain_name(option.split('=').next().unwrap_or_default()).to_owned();
        let mut options: Vec<String> = given.to_vec();
        for option in spec.options {
            let pinned = given.iter().find(|of| name_of(of) == name_of(option) && *of != option);
            if let Some(pinned) = pinned {
                self.left_out
                    .push((spec.name.into(), format!("it needs {option}, the encoder has {pinned}")));
                return Ok(());
            }
            if !options.iter().any(|of| of == option) {
                options.push((*option).into());
            }
        }
        let own_base = !spec.options.iter().any(|of| of.starts_with("model="));
        let base = base
            .iter()
            .filter(|_| own_base)
            .filter(|of| !options.iter().any(|other| name_of(other) == name_of(of)));
        let options: Vec<String> = base.map(ToString::to_string).chain(options.iter().cloned()).collect();
        let program = Program(if spec.extra == Extra::Rv32 { Isa::Rv32 } else { Isa::Rv64 });
        let dir = self.dir.join("cases").join(spec.name);
        files::folder(&self.dir.join("cases"))?;
        let (control, port) = match spec.extra {
            Extra::When(when) => {
                (Some(ControlRequest::new(Condition::When, when, EventList::default())?), None)
            }
            Extra::Port(rate, bits) => (None, port(rate, bits)),
            _ => (None, None),
        };
        let protocol = Some(self.protocol.clone());
        let capture =
            CaptureOptions { protocol, options: options.clone(), control, port, ..CaptureOptions::new(&dir) };
        let run = self.dir.join("runs").join(program.name());
        let elf = run.join("program.elf");
        let mut remarks = Vec::new();
        let made = match spec.extra {
            Extra::Notify | Extra::Contexts => {
                // What the encoder is given, as its other inputs.
                let inputs = self.dir.join("cases").join("ingress.csv");
                let settings = etrace::Settings::new(program.0).with(&options)?;
                let text = program.inputs(settings.ctype, settings.itype_width, spec.extra)?;
                files::write(&inputs, text.as_bytes())?;
                let image = [ImageFile { path: elf, at: None }];
                let made = encoder_input(&inputs, program.0, &image, &capture, &mut remarks).map(|_| ());
                let _ = std::fs::rename(&inputs, dir.join("ingress.csv"));
                made
            }
            _ => {
                let options =
                    RunOptions { limit: run::LIMIT, capture: Some(capture), ..RunOptions::new(&elf) };
                record::run(program.load(&elf)?, options, &mut |_| {}, &mut remarks).map(|_| ())
            }
        };
        if let Err(error) = made {
            let _ = std::fs::remove_dir_all(&dir);
            if given.is_empty() {
                return Err(error.into());
            }
            self.left_out.push((spec.name.into(), error.to_string()));
            return Ok(());
        }
        if spec.extra == Extra::Loss {
            let settings = ntrace::Settings::new(program.0).with(&options)?;
            files::write(&dir.join("trace.bin"), &Losing::encode(program, &settings)?)?;
        }
        let also = spec.extra.words();
        let (name, about) = (spec.name.to_owned(), spec.about.to_owned());
        let (run, kinds) = (program.name().to_owned(), BTreeMap::new());
        self.add(Case { name, about, options, run, also, source: None, bytes: 0, kinds })
    }

    /// Adds a case whose trace is written, and the other forms of it.
    fn add(&mut self, mut case: Case) -> Result<(), Error> {
        let trace = self.expected(&case)?;
        let buffer = trace.buffers()?.into_iter().next().cloned();
        let buffer = buffer.ok_or_else(|| Error::Kit(format!("{}: the case has no trace", case.name)))?;
        let counted = trace.count_packets(&buffer)?;
        for (kind, packets) in counted
            .value
            .sources
            .iter()
            .map(|(_, counts)| counts)
            .chain(&counted.value.no_source)
            .flat_map(Counts::all)
        {
            if matches!(kind.role, Role::Plain | Role::Sync) {
                let cases = self.kinds.entry(kind.name.to_owned()).or_default();
                if packets > 0 {
                    cases.push(case.name.clone());
                    case.kinds.insert(kind.name.to_owned(), packets);
                }
            }
        }
        for option in &case.options {
            let name = option.split('=').next().unwrap_or_default();
            let cases = self.options.entry(name.to_owned()).or_default();
            if !cases.contains(&case.name) {
                cases.push(case.name.clone());
            }
        }
        case.bytes = files::forms(&trace, &buffer, &self.dir.join("cases").join(&case.name))?;
        self.cases.push(case);
        Ok(())
    }

    /// Opens a kit.
    ///
    /// # Errors
    /// Fails if the folder is no kit.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        let path = dir.join(MANIFEST);
        let text =
            files::read(&path, "is this the folder of a kit (conform --protocol P -o DIR makes one)?")?;
        let value: Value = serde_json::from_slice(&text)
            .map_err(|error| Error::Kit(format!("{}: {error}", path.display())))?;
        Self::of(dir, &value)
            .ok_or_else(|| Error::Kit(format!("{}: not the description of a kit", path.display())))
    }

    fn of(dir: &Path, value: &Value) -> Option<Self> {
        let word = |value: &Value, name: &str| Some(value.get(name)?.as_str()?.to_owned());
        let words = |value: &Value| -> Option<Vec<String>> {
            value.as_array()?.iter().map(|word| Some(word.as_str()?.to_owned())).collect()
        };
        let lists = |name: &str| -> Option<BTreeMap<String, Vec<String>>> {
            value
                .get(name)?
                .as_object()?
                .iter()
                .map(|(name, list)| Some((name.clone(), words(list)?)))
                .collect()
        };
        let case = |case: &Value| {
            let name = word(case, "name")?;
            // The name is that of a folder here, and nowhere else.
            let is_plain =
                !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
            let kinds = case.get("kinds")?.as_object()?.iter();
            Some(Case {
                name: is_plain.then_some(name)?,
                about: word(case, "about")?,
                options: words(case.get("options")?)?,
                run: word(case, "run").filter(|run| run.bytes().all(|byte| byte.is_ascii_alphanumeric()))?,
                also: word(case, "also"),
                source: word(case, "source").zip(case.get("address").and_then(Value::as_u64)),
                bytes: case.get("bytes")?.as_u64()?,
                kinds: kinds
                    .map(|(kind, count)| Some((kind.clone(), count.as_u64()?)))
                    .collect::<Option<_>>()?,
            })
        };
        Some(Self {
            dir: dir.to_owned(),
            protocol: word(value, "protocol")?,
            cases: value.get("cases")?.as_array()?.iter().map(case).collect::<Option<_>>()?,
            left_out: Vec::new(),
            kinds: lists("kinds")?,
            options: lists("options")?,
        })
    }

    /// Returns the kit as a JSON object, as it is in its folder.
    pub fn json(&self) -> Value {
        let cases = self.cases.iter().map(|case| {
            let Case { name, about, options, run, also, source, bytes, kinds } = case;
            let (source, address) = source.clone().unzip();
            json!({
                "name": name, "about": about, "options": options, "run": run, "also": also, "source": source,
                "address": address, "bytes": bytes, "kinds": kinds,
            })
        });
        let left_out: BTreeMap<_, _> = self.left_out.iter().cloned().collect();
        json!({
            "format": 1, "protocol": self.protocol, "cases": cases.collect::<Vec<_>>(), "left_out": left_out,
            "kinds": self.kinds, "options": self.options,
        })
    }

    /// Opens the expected trace of a case.
    ///
    /// # Errors
    /// Fails if it cannot be opened.
    pub fn expected(&self, case: &Case) -> Result<Trace, Error> {
        self.trace(case, None)
    }

    /// Opens a trace of a case: the expected one, or what an encoder made of it.
    fn trace(&self, case: &Case, theirs: Option<&Path>) -> Result<Trace, Error> {
        let dir = self.dir.join("cases").join(&case.name);
        let Some((source, address)) = &case.source else {
            return Ok(theirs.into_iter().fold(OpenOptions::new(), OpenOptions::trace_file).open(&dir)?);
        };
        let source =
            source.parse().map_err(|error| Error::Kit(format!("{MANIFEST}: {}: {error}", case.name)))?;
        let program = self.dir.join("runs").join(&case.run).join("program.bin");
        let options = OpenOptions::new().source(source).packing(tracewright_input::Packing::Source);
        let options = options.image(program, Some(*address));
        Ok(options.open(theirs.unwrap_or(&dir.join("trace.bin")))?)
    }

    /// Returns what the kit has, in words.
    pub fn summary(&self) -> String {
        let reached =
            |lists: &BTreeMap<String, Vec<String>>| lists.values().filter(|cases| !cases.is_empty()).count();
        let mut text = format!(
            "{} cases; they reach {} of {} kinds of packets, and set {} of {} options",
            self.cases.len(),
            reached(&self.kinds),
            self.kinds.len(),
            reached(&self.options),
            self.options.len()
        );
        if !self.left_out.is_empty() {
            text += &format!(
                "; {} cases are left out, which this encoder cannot have (README.md says why)",
                self.left_out.len()
            );
        }
        text
    }

    /// Compares what an encoder made of the named cases, or of all, with what is expected. A file is of one case.
    ///
    /// # Errors
    /// Fails if there is no such case, if no trace is found, or if one cannot be read.
    pub fn check(&self, theirs: &Path, names: &[String]) -> Result<Checked, Error> {
        let known = || self.cases.iter().map(|case| case.name.as_str()).collect::<Vec<_>>().join(", ");
        if let Some(name) = names.iter().find(|name| !self.cases.iter().any(|case| case.name == **name)) {
            return Err(Error::Kit(format!("there is no case {name:?}; there are {}", known())));
        }
        if !theirs.exists() {
            return Err(Error::Kit(format!("{}: no such file or folder", theirs.display())));
        }
        let cases: Vec<_> =
            self.cases.iter().filter(|case| names.is_empty() || names.contains(&case.name)).collect();
        if theirs.is_file() && cases.len() != 1 {
            return Err(Error::Kit(format!(
                "{}: a file is of one case: say which with --case",
                theirs.display()
            )));
        }
        let mut checked = Checked::default();
        for case in cases {
            match Theirs::find(theirs, case)? {
                None => checked.missing.push(case.name.clone()),
                Some(found) => {
                    let (expected, compared) = self.compare(case, found.path())?;
                    checked.cases.push((case.name.clone(), expected, compared));
                }
            }
        }
        if checked.cases.is_empty() {
            let what = "no trace of any case: name them CASE.bin or CASE.hex";
            return Err(Error::Kit(format!("{}: {what}", theirs.display())));
        }
        Ok(checked)
    }

    /// Compares what an encoder made of a case with what is expected.
    ///
    /// # Errors
    /// Fails if one of the traces cannot be read.
    pub fn compare(&self, case: &Case, theirs: &Path) -> Result<(Trace, Vec<Compared>), Error> {
        let expected = self.expected(case)?;
        let compared = compare(&expected, &self.trace(case, Some(theirs))?)?;
        Ok((expected, compared))
    }
}

/// Result of comparing what an encoder made.
#[derive(Debug, Default)]
pub struct Checked {
    /// The cases that were found: name, expected trace, and the result of each source.
    pub cases: Vec<(String, Trace, Vec<Compared>)>,
    /// The cases that were not found.
    pub missing: Vec<String>,
}

impl Checked {
    /// Returns whether a case is wrong.
    pub fn is_wrong(&self) -> bool {
        self.cases.iter().any(|(.., compared)| compared.iter().any(|of| of.difference.is_some()))
    }

    /// Returns it in lines: a line for each case, with the first difference of each that is wrong.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut counts = BTreeMap::<&str, usize>::new();
        for (name, expected, compared) in &self.cases {
            for of in compared {
                *counts.entry(of.verdict()).or_default() += 1;
                text += &Compared { source: name.clone(), ..of.clone() }.text(expected);
            }
        }
        for name in &self.missing {
            text += &format!("{name}: not found\n");
        }
        let count = |verdict: &str| counts.get(verdict).copied().unwrap_or(0);
        text + &format!(
            "{} the same, {} other and legal, {} wrong, {} not found\n",
            count("same"),
            count("legal"),
            count("wrong"),
            self.missing.len()
        )
    }

    /// Returns it as JSON.
    pub fn json(&self) -> Value {
        let cases = self.cases.iter().flat_map(|(name, expected, compared)| {
            compared.iter().map(move |of| {
                let mut object = of.json(expected);
                object["case"] = name.as_str().into();
                object
            })
        });
        let missing = self.missing.iter().map(|name| json!({ "case": name, "verdict": "missing" }));
        cases.chain(missing).collect()
    }
}

fn port(bits_a_cycle: u32, bits: u64) -> Option<PortRequest> {
    let rate = Rate::new(bits_a_cycle, 1)?;
    Some(PortRequest { rate, limited: Some(Port { rate, bits, when_full: WhenFull::Drop }) })
}

/// Returns the names in the help of an encoder's options.
fn option_names(help: &str) -> impl Iterator<Item = String> {
    let is_row = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    help.lines().filter(is_row).filter_map(|line| line.split_whitespace().next()).map(str::to_owned)
}
