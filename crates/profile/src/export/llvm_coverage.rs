//! LLVM's coverage export (`llvm.coverage.json.export`, version 2.0.1), as `llvm-cov export` writes it.
//!
//! A trace tells of lines, not of regions within lines: each line that has code is a segment from its first column. `regions` of
//! the summaries count lines. A branch's two counts are taken and not taken. Code without a source line is left out.

use std::fmt::{self, Write};

use tracewright_core::text::Printable;

use crate::coverage::{Coverage, File, Function, Part};

/// Kind of a region that is code, and of one that is a branch.
const CODE: u32 = 0;
const BRANCH: u32 = 4;

/// Writes all source files. Returns an empty text if there are none.
pub fn write(coverage: &Coverage) -> String {
    let files: Vec<_> = (0..).zip(&coverage.files).filter(|(_, file)| file.is_source).collect();
    let mut text = String::new();
    if !files.is_empty() {
        // Writing to a string does not fail.
        let _ = document(&mut text, coverage, &files);
    }
    text
}

fn document(text: &mut String, coverage: &Coverage, files: &[(u32, &File)]) -> fmt::Result {
    text.push_str("{\"data\":[{\"files\":[");
    let mut all = Sums::default();
    for (at, &(number, file)) in files.iter().enumerate() {
        let functions = listed(coverage.functions_of(number));
        let sums = Sums { lines: file.lines(), branches: file.branches(), functions: ran(functions) };
        all.lines += sums.lines;
        all.branches += sums.branches;
        all.functions += sums.functions;
        write!(text, "{}{{\"branches\":[", if at > 0 { ",\n" } else { "\n" })?;
        branches(text, file, None)?;
        write!(
            text,
            "],\"expansions\":[],\"filename\":{},\"mcdc_records\":[],\"segments\":[",
            Quoted(&file.name)
        )?;
        segments(text, file)?;
        write!(text, "],\"summary\":{}}}", sums.json())?;
    }
    text.push_str("],\n\"functions\":[");
    let mut before = "\n";
    for &(number, file) in files {
        // Numbers of functions in the whole list.
        let first = coverage.functions.partition_point(|function| function.file < number);
        for (index, function) in (first as u32..).zip(coverage.functions_of(number)) {
            if function.line == 0 {
                continue;
            }
            let Function { line, calls, .. } = *function;
            let count = calls.max(function.ran().into());
            write!(text, "{before}{{\"branches\":[")?;
            branches(text, file, Some(index))?;
            write!(text, "],\"count\":{count},\"filenames\":[{}],\"mcdc_records\":[],", Quoted(&file.name))?;
            write!(
                text,
                "\"name\":{},\"regions\":[[{line},1,{line},1,{count},0,0,{CODE}]]}}",
                Quoted(&function.name)
            )?;
            before = ",\n";
        }
    }
    writeln!(
        text,
        "],\n\"totals\":{}}}],\"type\":\"llvm.coverage.json.export\",\"version\":\"2.0.1\"}}",
        all.json()
    )
}

fn listed(functions: &[Function]) -> impl Iterator<Item = &Function> {
    functions.iter().filter(|function| function.line > 0)
}

fn ran<'f>(functions: impl Iterator<Item = &'f Function>) -> Part {
    let mut part = Part::default();
    functions.for_each(|function| part += Part { hit: function.ran().into(), all: 1 });
    part
}

/// Writes the branches of a file, or of one of its functions.
fn branches(text: &mut String, file: &File, function: Option<u32>) -> fmt::Result {
    let mut before = "";
    let wanted = |of: u32| function.is_none_or(|function| function == of);
    for branch in file.branches.iter().filter(|branch| branch.line > 0 && wanted(branch.function)) {
        let (line, taken, not) = (branch.line, branch.taken, branch.not_taken);
        write!(text, "{before}[{line},1,{line},1,{taken},{not},0,0,{BRANCH}]")?;
        before = ",";
    }
    Ok(())
}

/// Writes where counts change: line, column, count, whether it has one, whether a region begins, whether it is a gap.
fn segments(text: &mut String, file: &File) -> fmt::Result {
    let mut before = "";
    let mut lines = file.lines.iter().peekable();
    while let Some((&line, count)) = lines.next() {
        write!(text, "{before}[{line},1,{count},true,true,false]")?;
        before = ",";
        if lines.peek().is_none_or(|(next, _)| **next > line + 1) {
            write!(text, ",[{},1,0,false,false,false]", line.saturating_add(1))?;
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    lines: Part,
    branches: Part,
    functions: Part,
}

impl Sums {
    fn json(&self) -> String {
        let sum = |name: &str, part: Part, has_rest: bool| {
            let Part { hit, all } = part;
            let rest = if has_rest { format!("\"notcovered\":{},", all - hit) } else { String::new() };
            let percent = part.percent().unwrap_or(0.0);
            format!("\"{name}\":{{\"count\":{all},\"covered\":{hit},{rest}\"percent\":{percent}}}")
        };
        let Self { lines, branches, functions } = *self;
        let all = [
            sum("branches", branches, true),
            sum("functions", functions, false),
            sum("instantiations", functions, false),
            sum("lines", lines, false),
            sum("mcdc", Part::default(), true),
            sum("regions", lines, true),
        ];
        format!("{{{}}}", all.join(","))
    }
}

/// A name as a JSON string. Names come from untrusted files.
struct Quoted<'n>(&'n str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for character in Printable(self.0).to_string().chars() {
            if matches!(character, '"' | '\\') {
                f.write_char('\\')?;
            }
            f.write_char(character)?;
        }
        f.write_char('"')
    }
}
