use std::fmt::Write as _;
use std::path::Path;
use tracewright_engine::Tally;

use serde_json::json;

use super::run::Ran;
use super::{NAME, SHOWN};
use crate::json::line;
use crate::record::grouped;
use tracewright::check::Checked;

/// Lines of the snippet.
const LINES: usize = 14;

/// What there is to tell.
pub struct Story<'a> {
    pub ran: &'a Ran,
    pub tally: &'a Tally,
    pub checked: &'a Checked,
    /// Whether the trace tells exactly what ran.
    pub equal: bool,
    pub kept: Option<&'a Path>,
}

impl Story<'_> {
    fn bits(&self) -> f64 {
        8.0 * self.ran.traced.bytes as f64 / self.ran.instructions.max(1) as f64
    }

    /// For people.
    pub fn text(&self, snippet: &str) -> String {
        let Self { ran, tally, checked, .. } = *self;
        let mut text = format!("{NAME}: Ackermann, Fibonacci and the eight queens, on a RISC-V hart.\n\n");
        for line in ran.printed.lines() {
            let _ = writeln!(text, "    {line}");
        }
        let result = if self.equal { "all are the same" } else { "the rest is not the same" };
        let rows = [
            ("ran", ran.instructions, format!("instructions, {} system calls", ran.system_calls)),
            ("traced", ran.traced.bytes, format!("bytes of E-Trace, {:.3} bits an instruction", self.bits())),
            ("decoded", tally.instructions, "instructions, from the trace and the ELF file alone".into()),
            ("compared", checked.equal.instructions, format!("instructions with what ran: {result}")),
        ];
        text += "\n";
        for (what, number, more) in rows {
            let _ = writeln!(text, "  {what:<9} {:>9} {more}", grouped(number));
        }
        text += "\n";
        if !self.equal {
            return text + &checked.text();
        }
        if !snippet.is_empty() {
            text += &format!("The first call of {SHOWN}, as decode --instructions shows it:\n\n");
            text += &shorten(snippet);
            text += "\n";
        }
        match self.kept {
            Some(dir) => {
                let dir = dir.display();
                let _ = write!(
                    text,
                    "It is all in {dir}:\n  tracewright decode {dir} --instructions | less\n  \
                     tracewright decode {dir} --check {dir}/run.log\n"
                );
            }
            None => {
                text += "The same with your own program, for Linux or without an operating system:\n  \
                         tracewright record --log run.log -o run app.elf\n  \
                         tracewright decode run --instructions | less\n  \
                         tracewright decode run --check run.log\n";
            }
        }
        text
    }

    /// For programs.
    pub fn json(&self) -> String {
        let Self { ran, tally, checked, equal, kept } = self;
        let object = json!({
            "program": NAME, "instructions": ran.instructions, "system_calls": ran.system_calls,
            "trace_bytes": ran.traced.bytes, "packets": ran.traced.packets,
            "bits_per_instruction": (1000.0 * self.bits()).round() / 1000.0,
            "decoded_instructions": tally.instructions, "compared_instructions": checked.equal.instructions,
            "equal": equal, "kept": kept.map(|dir| dir.display().to_string()),
        });
        line("demo", object)
    }
}

/// The first lines from where the function begins.
fn shorten(snippet: &str) -> String {
    let begins = format!(" {SHOWN}+0x0");
    let lines = snippet.lines().skip_while(|line| !line.contains(&begins)).take(LINES);
    lines.fold(String::new(), |text, line| text + line + "\n")
}
