use std::path::Path;

use tracewright_core::Isa;
use tracewright_core::control::Plan;
use tracewright_hart::Sink;
use tracewright_qemu::format::{Off, Target};
use tracewright_qemu::read::Log;

use super::{
    end_words, halfwords, open, process, programs, report_changes, source_name, symbols, translated,
};
use crate::control::{self, Qualified};
use crate::encode::write_summary;
use crate::etm;
use crate::etrace::{self, LogData, Logged};
use crate::output::{Error, Outcome, report, say};
use crate::port;
use crate::record::{grouped, traced_lines, unknown_line};

/// What is asked for.
pub struct Asked<'a> {
    /// The log.
    pub log: &'a Path,
    /// Where the capture goes.
    pub dir: &'a Path,
    /// Options of the encoder.
    pub options: &'a [String],
    /// What is traced, if not all.
    pub control: Option<control::Asked>,
    /// The trace port, if one is asked for.
    pub port: Option<port::Asked>,
    /// One thread, or all.
    pub thread: Option<u32>,
    /// Where a JSON object with what it came to goes.
    pub summary: Option<&'a Path>,
    /// Nothing is said if all went well.
    pub quiet: bool,
}

/// What threads came to.
struct Threads {
    indices: Vec<u32>,
    plan: Option<Plan>,
    qualified: Qualified,
    errors: u64,
    instructions: u64,
    quiet: bool,
}

/// Makes a capture of a retirement log: E-Trace of RISC-V, ETMv4 of Arm.
pub fn encode(asked: &Asked<'_>) -> Result<Outcome, Error> {
    let mut log = open(asked.log)?;
    let indices: Vec<_> =
        log.threads().filter(|&index| asked.thread.is_none_or(|wanted| wanted == index)).collect();
    if indices.is_empty() {
        let what = asked.thread.map_or("no thread".into(), |thread| format!("no thread {thread}"));
        return Err(Error::Message(format!("{}: the log has {what}", asked.log.display())));
    }
    let plan = match &asked.control {
        Some(control) => Some(control.plan(&symbols(log.definitions().maps()))?),
        None => None,
    };
    let qualified = Qualified::default();
    let mut threads = Threads { indices, plan, qualified, errors: 0, instructions: 0, quiet: asked.quiet };
    if let Some(damage) = log.damage() {
        report(&format!("{}: {damage}", asked.log.display()));
        threads.errors += 1;
    }
    if !asked.quiet {
        for note in log.definitions().notes() {
            report(note);
        }
    }
    match log.header().target {
        Target::Riscv64 => threads.etrace(&mut log, asked)?,
        Target::Aarch64 => threads.etm(&mut log, asked, Isa::A64)?,
        Target::Arm => threads.etm(&mut log, asked, Isa::A32)?,
    }
    if let Some(control) = &asked.control {
        threads.qualified.warn(control);
    }
    Ok(Outcome::from_errors(threads.errors))
}

impl Threads {
    /// Gives what qualifies of a thread to a sink.
    fn read_into<S: Sink>(&mut self, log: &mut Log, index: u32, asked: &Asked<'_>, mut sink: S) -> S {
        let (Some(control), Some(plan)) = (&asked.control, &self.plan) else {
            self.read(log, index, asked, &mut sink);
            return sink;
        };
        let mut controlled = control.controlled(plan, sink).with_thread(index.into());
        self.read(log, index, asked, &mut controlled);
        self.qualified.add(&Qualified::of(&controlled));
        controlled.inner
    }

    /// Instructions that were encoded.
    fn encoded(&self) -> u64 {
        if self.plan.is_some() { self.qualified.qualified } else { self.instructions }
    }

    /// Gives a thread to a sink, and says what it came to.
    fn read(&mut self, log: &mut Log, index: u32, asked: &Asked<'_>, sink: &mut impl Sink) {
        let result = log.read(index, sink);
        let instructions = log.totals().instructions;
        self.instructions += instructions;
        let name = source_name(index);
        let end = match &result {
            Ok(off) => end_words(*off),
            Err(error) => {
                report(&format!("{}: {name}: {error}", asked.log.display()));
                self.errors += 1;
                "damaged"
            }
        };
        if !self.quiet || !matches!(result, Ok(Some(Off::Exit))) {
            say(&format!("  {name:<16} {:>16}  instructions; {end}", grouped(instructions)));
        }
    }

    fn etrace(&mut self, log: &mut Log, asked: &Asked<'_>) -> Result<(), Error> {
        let settings = LogData::of(log.header()).settings(asked.options)?.with_port(asked.port)?;
        let mut folder = etrace::Folder::create(asked.dir, &settings, &super::command(log.definitions()))?;
        let mut tracers = Vec::new();
        let mut unknown = 0;
        for index in self.indices.clone() {
            let tracer = folder.thread(&source_name(index))?;
            if tracer.has_data() {
                let tracer = self.read_into(log, index, asked, Logged::new(&settings, tracer));
                unknown += tracer.unknown();
                tracers.push(tracer.tracer);
            } else {
                tracers.push(self.read_into(log, index, asked, etrace::WithoutCode(tracer)).0);
            }
        }
        let programs = programs(log.definitions().maps());
        let blocks: Vec<_> = translated(log.definitions()).collect();
        let code = halfwords(log.definitions());
        report_changes(log.definitions(), &code);
        let traced = folder.finish(tracers, &programs, blocks.iter(), |at| code.get(&at).copied())?;
        let port = port::Report::all(traced.iter().filter_map(|traced| traced.port));
        let mut all = etrace::Traced { port, ..etrace::Traced::default() };
        for traced in traced {
            all.bytes += traced.bytes;
            all.packets += traced.packets;
            all.data_packets += traced.data_packets;
        }
        if let Some(path) = asked.summary {
            write_summary(path, self.instructions, all.bytes, Some(all.packets), all.port.as_ref(), None)?;
        }
        if !self.quiet {
            traced_lines(&all, self.encoded(), Some(asked.dir));
            unknown_line(unknown);
        }
        Ok(())
    }

    fn etm(&mut self, log: &mut Log, asked: &Asked<'_>, isa: Isa) -> Result<(), Error> {
        let settings = etm::Settings::new(isa).with(asked.options)?.with_port(asked.port);
        let mut folder = etm::Folder::create(asked.dir, &settings, &super::command(log.definitions()))?;
        let mut tracers = Vec::new();
        for index in self.indices.clone() {
            let tid = log.definitions().tid(index).unwrap_or_default();
            let tracer = folder.thread(index, tid)?;
            let tracer = self.read_into(log, index, asked, tracer);
            folder.check()?;
            tracers.push(tracer);
        }
        let definitions = log.definitions();
        let code: Vec<_> =
            definitions.translations().iter().map(|of| (of.start, definitions.code(of))).collect();
        let pieces = code.iter().map(|(start, code)| (*start, code.as_slice()));
        let traced = folder.finish(tracers, process(log.header(), definitions), pieces)?;
        if let Some(path) = asked.summary {
            write_summary(path, self.instructions, traced.bytes, None, traced.port.as_ref(), None)?;
        }
        if !self.quiet {
            let bits = 8.0 * traced.bytes as f64 / traced.instructions.max(1) as f64;
            let dir = asked.dir.display();
            say(&format!(
                "  {:<16} {:>16}  bytes in {dir}, {bits:.4} bits an instruction",
                "trace",
                grouped(traced.bytes)
            ));
            traced.port.iter().flat_map(|port| port.lines("port")).for_each(|line| say(&line));
        }
        Ok(())
    }
}
