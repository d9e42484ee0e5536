//! An E-Trace source in words: every parameter with its meaning, what is switched on, how large packets can be.

use std::io::Write;

use serde_json::{Map, Value, json};
use tracewright_core::Isa;
use tracewright_etrace::stream::Encapsulation;
use tracewright_input::EtraceSource;
use tracewright_input::etrace::{Field, Group, fields};

use super::wrap;
use crate::terminal::width;

/// Columns of names and of values.
const NAME: usize = 18;
const VALUE: usize = 9;

/// All of a source but its name.
pub fn text(out: &mut impl Write, source: &EtraceSource) -> std::io::Result<()> {
    let EtraceSource { config, isa, .. } = source;
    row(out, "isa", isa_name(*isa), "what the hart executes")?;
    let (name, words) = encapsulation(config.encapsulation);
    row(out, "encapsulation", name, &words)?;
    for (group, heading) in [
        (Group::Params, "built with (names of the specification, without _p)"),
        (Group::Options, "switched on, until a support packet says otherwise"),
        (Group::Data, "data trace, until a support packet says otherwise"),
    ] {
        writeln!(out, "  {heading}")?;
        for field in fields().filter(|field| field.group == group) {
            row(out, field.name, &value(&field, source), &meaning(&field, source))?;
        }
    }
    writeln!(out, "  payloads before compression (bits that repeat at the upper end are not sent)")?;
    for (name, bits) in source.config.params.payload_bits() {
        let bytes = bits.div_ceil(8);
        let plural = if bytes == 1 { "" } else { "s" };
        row(out, name, &format!("{bits} bits"), &format!("at most {bytes} byte{plural}"))?;
    }
    Ok(())
}

fn row(out: &mut impl Write, name: &str, value: &str, words: &str) -> std::io::Result<()> {
    for (i, line) in wrap(words, width() - 4 - NAME - VALUE - 2).iter().enumerate() {
        let (name, value) = if i == 0 { (name, value) } else { ("", "") };
        writeln!(out, "    {name:<NAME$}{value:>VALUE$}  {line}")?;
    }
    Ok(())
}

fn value(field: &Field, source: &EtraceSource) -> String {
    match field.text(&source.config) {
        text if text == "true" => "yes".into(),
        text if text == "false" => "no".into(),
        text => text,
    }
}

/// What a field means; for the size of a table, what it comes to.
fn meaning(field: &Field, source: &EtraceSource) -> String {
    let value = field.number(&source.config).unwrap_or(0);
    let entries = match field.name {
        "bpred_size" => Some("the branch predictor"),
        "cache_size" => Some("the jump target cache"),
        "return_stack_size" => Some("the stack of returns"),
        _ => None,
    };
    match entries {
        Some(table) if value == 0 => format!("entries of {table}: there is none"),
        Some(table) => format!("{} entries of {table} (2^{value})", 1u64 << value.min(63)),
        None => field.meaning.into(),
    }
}

fn encapsulation(encapsulation: Encapsulation) -> (&'static str, String) {
    match encapsulation {
        Encapsulation::Standard { source_bits, timestamp_bytes, type_bits } => {
            let words = format!(
                "RISC-V's: {source_bits} bits of source, {timestamp_bytes} bytes of timestamp, {type_bits} bits of type"
            );
            ("standard", words)
        }
        Encapsulation::Smi => ("smi", "a header byte with length and type".into()),
        Encapsulation::Pulp => ("pulp", "records of 40 bytes, with timestamps".into()),
    }
}

fn isa_name(isa: Isa) -> &'static str {
    if isa == Isa::Rv32 { "rv32" } else { "rv64" }
}

/// The same as values.
pub fn json(source: &EtraceSource) -> Value {
    let group = |group: Group| {
        let fields = fields().filter(|field| field.group == group);
        fields.map(|field| (field.name.to_owned(), field_json(&field, source))).collect::<Map<_, _>>()
    };
    let encapsulation = match source.config.encapsulation {
        Encapsulation::Standard { source_bits, timestamp_bytes, type_bits } => json!({
            "kind": "standard", "source_bits": source_bits, "timestamp_bytes": timestamp_bytes, "type_bits": type_bits,
        }),
        other => json!({"kind": encapsulation(other).0}),
    };
    let sizes: Map<_, _> =
        source.config.params.payload_bits().map(|(name, bits)| (name.into(), bits.into())).collect();
    json!({
        "isa": isa_name(source.isa),
        "encapsulation": encapsulation,
        "params": group(Group::Params),
        "options": group(Group::Options),
        "data_options": group(Group::Data),
        "packet_bits": sizes,
    })
}

fn field_json(field: &Field, source: &EtraceSource) -> Value {
    let text = field.text(&source.config);
    let value: Value = match field.number(&source.config) {
        Some(number) => number.into(),
        None if field.is_flag() => (text == "true").into(),
        None => text.into(),
    };
    json!({"value": value, "meaning": meaning(field, source)})
}
