//! A function with its counts, for people.

use std::fmt::Write;

use tracewright_image::SourceLine;
use tracewright_profile::{Place, Profile, Program, Runs};

use crate::record::grouped;
use crate::terminal::{END, HEADING, width};
use tracewright::{SourceFiles, disassembly, names, words};
use tracewright_engine::Line;
use tracewright_profile::annotate::{Function, Row};

/// How many targets of an indirect branch are shown.
const TARGETS: usize = 5;

/// All functions of the name.
pub fn all(
    functions: &[Function],
    profile: &Profile,
    program: &Program,
    mut sources: Option<&mut SourceFiles>,
) -> String {
    let mut text = String::new();
    for (number, function) in functions.iter().enumerate() {
        if number > 0 {
            text.push('\n');
        }
        head(&mut text, function, profile);
        let has_cycles = function.cycles().is_some();
        let mut last: Option<(String, u32)> = None;
        let mut file = String::new();
        for row in &function.rows {
            let place = Place { binary: function.binary, address: row.at.address };
            let source = program.source(place).filter(|source| source.line > 0);
            if let (Some(sources), Some(source)) = (sources.as_deref_mut(), source) {
                let now = (source.file.to_owned(), source.line);
                if last.as_ref() != Some(&now) {
                    line(&mut text, source, &mut file, row, sources);
                    last = Some(now);
                }
            }
            instruction(&mut text, function, row, program, has_cycles);
            targets(&mut text, row, program, has_cycles);
        }
    }
    text
}

fn head(text: &mut String, function: &Function, profile: &Profile) {
    let binary = profile.binaries.get(function.binary as usize).map_or("?", |binary| binary.name.as_str());
    let binary = names::file_name(binary);
    let title = match &function.inlined {
        None => format!("{} in {binary} at {:#x}", function.name, function.start),
        Some(at) => {
            let call = at.call().map_or(String::new(), |line| format!(" at {line}"));
            format!("{} in {binary}, inlined into {}{call}", function.name, at.function)
        }
    };
    let _ = writeln!(text, "{HEADING}{}{END}", names::cut(&title, width()));
    let mut about = vec![
        format!(
            "{}{} {}",
            if function.inlined.is_some() { "about " } else { "" },
            grouped(function.calls),
            words::plural(function.calls, "call")
        ),
        format!("{} {} ran", grouped(function.executed()), words::plural(function.executed(), "instruction")),
    ];
    // `coverage` counts those for the functions they are of.
    if let inlined @ 1.. = function.inlined_rows() {
        about.push(format!("{inlined} of its {} instructions are inlined", function.rows.len()));
    }
    about.extend(function.cycles().map(|cycles| format!("{} cycles", grouped(cycles))));
    let _ = writeln!(text, "{}\n", about.join(", "));
    let _ = match function.cycles() {
        Some(_) => writeln!(
            text,
            "{HEADING}{:>14}{:>14}{:>8}{:>7}  instruction{END}",
            "count", "cycles", "each", "taken"
        ),
        None => writeln!(text, "{HEADING}{:>14}{:>7}  instruction{END}", "count", "taken"),
    };
}

/// A source line, with its file where that is another than before.
fn line(text: &mut String, source: SourceLine<'_>, file: &mut String, row: &Row, sources: &mut SourceFiles) {
    let now = match &row.inlined {
        Some(name) => format!("{}: {name}, inlined", names::file_name(source.file)),
        None => names::file_name(source.file).to_owned(),
    };
    if *file != now {
        let _ = writeln!(text, "{}", names::head(&now, width()));
        *file = now;
    }
    let words = sources.line(source.file, source.line).unwrap_or("(source not found: --src)");
    let shown = words.replace('\t', "    ");
    let _ = writeln!(text, "{}", names::head(&format!("{:>6}: {shown}", source.line), width()));
}

fn instruction(text: &mut String, function: &Function, row: &Row, program: &Program, has_cycles: bool) {
    let mut line = String::new();
    let count = if row.count == 0 { "-".into() } else { grouped(row.count) };
    let _ = write!(line, "{count:>14}");
    if has_cycles {
        let cost = row.cost.filter(|_| row.count > 0);
        let cycles = cost.map_or_else(|| "-".into(), |cost| grouped(cost.cycles));
        let each = cost.filter(|cost| cost.retired > 0);
        let each = each.map(|cost| format!("{:.2}", cost.cycles as f64 / cost.retired as f64));
        let _ = write!(line, "{cycles:>14}{:>8}", each.unwrap_or_else(|| "-".into()));
    }
    let _ = write!(line, "{:>7}  ", row.runs.as_ref().map(taken).unwrap_or_default());
    let mut code = Line::default();
    let target = disassembly::write(&mut code, row.isa, &row.at);
    let offset = format!("+{:#x}", row.at.address.wrapping_sub(function.start));
    let _ = write!(line, "{offset:<7} {}", String::from_utf8_lossy(code.bytes()));
    if let Some(address) = target {
        let symbol = program.symbol(Place { binary: function.binary, address });
        let _ = match symbol {
            Some(symbol) if symbol.start != function.start => write!(line, " <{}>", symbol.offset(address)),
            _ => write!(line, " <+{:#x}>", address.wrapping_sub(function.start)),
        };
    }
    let _ = writeln!(text, "{}", names::head(&line, width()));
}

/// How often a branch was taken: never rounded to always or never if it is not.
fn taken(runs: &Runs) -> String {
    let all = runs.taken + runs.not_taken;
    match runs.taken {
        _ if all == 0 => "-".into(),
        0 => "0%".into(),
        taken if taken == all => "100%".into(),
        taken => format!("{:.1}%", (100.0 * taken as f64 / all as f64).clamp(0.1, 99.9)),
    }
}

fn targets(text: &mut String, row: &Row, program: &Program, has_cycles: bool) {
    let all: u64 = row.targets.iter().map(|(_, count)| count).sum();
    let indent = if has_cycles { 45 } else { 23 };
    for &(to, count) in row.targets.iter().take(TARGETS) {
        let name = match program.symbol(to) {
            Some(symbol) => symbol.offset(to.address).to_string(),
            None => format!("{:#x}", to.address),
        };
        let share = format!("{:.1}%", 100.0 * count as f64 / all.max(1) as f64);
        let line = format!("{:indent$}{share:>6} to {name}", "");
        let _ = writeln!(text, "{}", names::head(&line, width()));
    }
    if let left @ 1.. = row.targets.len().saturating_sub(TARGETS) {
        let _ = writeln!(text, "{:indent$}{:>6} to {left} more", "", "");
    }
}
