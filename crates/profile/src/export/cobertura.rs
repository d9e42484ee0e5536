//! Cobertura's XML (coverage-04.dtd), which CI servers read.
//!
//! A package is a folder, a class is a source file. Code without a source line is left out. The same coverage gives the same
//! bytes, so `timestamp` is 0.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use tracewright_core::text::Printable;

use crate::coverage::{Branch, Coverage, File, Function, Part};

/// Writes all source files. Returns an empty text if there are none.
pub fn write(coverage: &Coverage) -> String {
    let mut packages: BTreeMap<&str, Vec<(u32, &File)>> = BTreeMap::new();
    for (number, file) in (0..).zip(&coverage.files).filter(|(_, file)| file.is_source) {
        let folder = file.name.rsplit_once('/').map_or("", |(folder, _)| folder);
        packages.entry(folder).or_default().push((number, file));
    }
    let mut text = String::new();
    if !packages.is_empty() {
        // Writing to a string does not fail.
        let _ = document(&mut text, coverage, &packages);
    }
    text
}

fn document(
    text: &mut String,
    coverage: &Coverage,
    packages: &BTreeMap<&str, Vec<(u32, &File)>>,
) -> fmt::Result {
    let (lines, branches) = sums(packages.values().flatten().map(|(_, file)| *file));
    writeln!(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(text, "<!DOCTYPE coverage SYSTEM \"http://cobertura.sourceforge.net/xml/coverage-04.dtd\">")?;
    write!(text, "<coverage {} ", rates(lines, branches))?;
    write!(text, "lines-covered=\"{}\" lines-valid=\"{}\" ", lines.hit, lines.all)?;
    write!(text, "branches-covered=\"{}\" branches-valid=\"{}\" ", branches.hit, branches.all)?;
    writeln!(text, "version=\"tracewright\" timestamp=\"0\">")?;
    writeln!(text, "<sources>\n<source>.</source>\n</sources>\n<packages>")?;
    for (folder, files) in packages {
        let (lines, branches) = sums(files.iter().map(|(_, file)| *file));
        writeln!(text, "<package name=\"{}\" {}>\n<classes>", Attribute(folder), rates(lines, branches))?;
        for (number, file) in files {
            class(text, file, coverage.functions_of(*number))?;
        }
        writeln!(text, "</classes>\n</package>")?;
    }
    writeln!(text, "</packages>\n</coverage>")
}

fn class(text: &mut String, file: &File, functions: &[Function]) -> fmt::Result {
    let name = file.name.rsplit('/').next().unwrap_or(&file.name);
    write!(text, "<class name=\"{}\" filename=\"{}\" ", Attribute(name), Attribute(&file.name))?;
    writeln!(text, "{}>\n<methods>", rates(file.lines(), file.branches()))?;
    for function in functions.iter().filter(|function| function.line > 0) {
        let (name, rates) = (Attribute(&function.name), rates(function.lines, function.branches));
        writeln!(text, "<method name=\"{name}\" signature=\"\" {rates}>\n<lines>")?;
        // A function that was entered elsewhere, or whose entry was not traced, ran nevertheless.
        let hits = function.calls.max(function.ran().into());
        writeln!(text, "<line number=\"{}\" hits=\"{hits}\"/>\n</lines>\n</method>", function.line)?;
    }
    writeln!(text, "</methods>\n<lines>")?;
    for (&line, &hits) in &file.lines {
        let first = file.branches.partition_point(|branch| branch.line < line);
        let branches: Vec<_> =
            file.branches[first..].iter().take_while(|branch| branch.line == line).collect();
        write!(text, "<line number=\"{line}\" hits=\"{hits}\"")?;
        if branches.is_empty() {
            writeln!(text, "/>")?;
        } else {
            conditions(text, &branches)?;
        }
    }
    writeln!(text, "</lines>\n</class>")
}

fn conditions(text: &mut String, branches: &[&Branch]) -> fmt::Result {
    let mut all = Part::default();
    branches.iter().for_each(|branch| all += branch.outcomes());
    let Part { hit, all } = all;
    writeln!(text, " branch=\"true\" condition-coverage=\"{}% ({hit}/{all})\">", 100 * hit / all.max(1))?;
    writeln!(text, "<conditions>")?;
    for (number, branch) in branches.iter().enumerate() {
        let percent = 50 * branch.outcomes().hit;
        writeln!(text, "<condition number=\"{number}\" type=\"jump\" coverage=\"{percent}%\"/>")?;
    }
    writeln!(text, "</conditions>\n</line>")
}

fn sums<'f>(files: impl Iterator<Item = &'f File>) -> (Part, Part) {
    files.fold((Part::default(), Part::default()), |(mut lines, mut branches), file| {
        lines += file.lines();
        branches += file.branches();
        (lines, branches)
    })
}

/// Returns the attributes that all elements above lines have.
fn rates(lines: Part, branches: Part) -> String {
    let rate = |part: Part| part.percent().unwrap_or(100.0) / 100.0;
    format!("line-rate=\"{:.4}\" branch-rate=\"{:.4}\" complexity=\"0\"", rate(lines), rate(branches))
}

/// A name inside quotes. Names come from untrusted files.
struct Attribute<'n>(&'n str);

impl fmt::Display for Attribute<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in Printable(self.0).to_string().chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                _ => f.write_char(character)?,
            }
        }
        Ok(())
    }
}
