//! Text of `capture.toml`.

use std::fmt::Write;

use tracewright_core::text::is_unprintable;

use super::{CHECKSUMS_FILE, FORMAT};
use crate::etrace::{self, EtraceSource, Group, encapsulation};

/// Content of `capture.toml`.
#[derive(Debug, Default)]
pub(super) struct Description {
    pub(super) description: Option<String>,
    /// Whether the recording is complete.
    pub(super) finished: bool,
    /// Name, parameters, and the file with the retirement-delta trace.
    pub(super) sources: Vec<(String, EtraceSource, Option<String>)>,
    /// Name, file, and the indices of the sources.
    pub(super) buffers: Vec<(String, String, Vec<usize>)>,
    /// File, address and build ID.
    pub(super) images: Vec<(String, Option<u64>, Option<String>)>,
    /// File of raw bytes, address, offset and length.
    pub(super) pieces: Vec<(String, u64, u64, u64)>,
}

impl Description {
    /// Returns the names of all files.
    pub(super) fn files(&self) -> Vec<&str> {
        let deltas = self.sources.iter().filter_map(|(.., delta)| delta.as_ref());
        let buffers = self.buffers.iter().map(|(_, file, _)| file);
        let images = self.images.iter().map(|(file, ..)| file);
        let mut pieces: Vec<_> = self.pieces.iter().map(|(file, ..)| file).collect();
        pieces.dedup();
        deltas.chain(buffers).chain(images).chain(pieces).map(String::as_str).collect()
    }

    /// Returns the text, with comments on the values that need explanation.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        writeln!(
            text,
            "# A trace, and all that is needed to read it: `tracewright info` takes this folder."
        )?;
        writeln!(text, "format = {FORMAT}")?;
        if let Some(description) = &self.description {
            writeln!(text, "description = {}", quoted(description))?;
        }
        match self.finished {
            true => writeln!(text, "checksums = {}", quoted(CHECKSUMS_FILE))?,
            false => writeln!(text, "finished = false # this is recorded just now, or was cut off")?,
        }
        for (name, source, delta) in &self.sources {
            writeln!(text, "\n[[source]]\nname = {}\nprotocol = \"etrace\"", quoted(name))?;
            writeln!(text, "id = {} # in the stream (srcID)", source.source)?;
            writeln!(text, "isa = {}", quoted(etrace::isa_name(source.isa)))?;
            if !source.handlers.is_empty() {
                let handlers: Vec<_> =
                    source.handlers.iter().map(|handler| quoted(&etrace::handler_text(handler))).collect();
                writeln!(text, "handlers = [{}] # where traps go", handlers.join(", "))?;
            }
            if let Some(delta) = delta {
                writeln!(text, "delta = {} # the cycle of each instruction", quoted(delta))?;
            }
            let kind = source.config.encapsulation;
            writeln!(text, "\n[source.encapsulation]\nkind = {}", quoted(encapsulation::name(kind)))?;
            for (value, (name, _, meaning)) in
                encapsulation::parts(kind).into_iter().flatten().zip(encapsulation::PARTS)
            {
                writeln!(text, "{name} = {value} # {meaning}")?;
            }
            for (group, key) in
                [(Group::Params, "params"), (Group::Options, "options"), (Group::Data, "data_options")]
            {
                writeln!(text, "\n[source.{key}]")?;
                for field in etrace::fields().filter(|field| field.group == group) {
                    let value = field.text(&source.config);
                    let is_plain = field.is_flag() || field.number(&source.config).is_some();
                    let value = if is_plain { value } else { quoted(&value) };
                    writeln!(text, "{} = {value} # {}", field.name, field.meaning)?;
                }
            }
        }
        for (name, file, sources) in &self.buffers {
            writeln!(text, "\n[[buffer]]\nname = {}\nfile = {}", quoted(name), quoted(file))?;
            let names = sources.iter().filter_map(|&source| self.sources.get(source));
            let names: Vec<_> = names.map(|(name, ..)| quoted(name)).collect();
            writeln!(text, "sources = [{}]", names.join(", "))?;
        }
        for (file, address, build_id) in &self.images {
            writeln!(text, "\n[[image]]\nfile = {}", quoted(file))?;
            if let Some(address) = address {
                writeln!(text, "address = {address:#x}")?;
            }
            if let Some(build_id) = build_id {
                writeln!(text, "build_id = {}", quoted(build_id))?;
            }
        }
        for (file, address, offset, length) in &self.pieces {
            writeln!(text, "\n[[image]]\nfile = {}\naddress = {address:#x}", quoted(file))?;
            writeln!(text, "offset = {offset:#x}\nlength = {length:#x}")?;
        }
        Ok(())
    }
}

/// Quotes a text for TOML.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            _ if is_unprintable(character) => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(character));
            }
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}
