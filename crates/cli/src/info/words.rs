//! Trace unit registers in words.

use tracewright_input::{Protocol, Source};

/// What a register's value means, in words; the flag says whether the source is an ETE.
type Words = fn(u32, bool) -> Vec<String>;

/// Each register that decides how the trace is read, as name and value, with what its fields mean.
pub fn explain(source: &Source) -> Vec<(String, Vec<String>)> {
    let Protocol::Etm(params) = &source.protocol else { return Vec::new() };
    let ete = params.is_ete();
    let rows: &[(&str, Words)] = &[
        ("TRCCONFIGR", config),
        ("TRCIDR0", id0),
        ("TRCIDR1", |value, _| vec![format!("ETMv{}.{}", bits(value, 11, 8), bits(value, 7, 4))]),
        ("TRCIDR2", id2),
        ("TRCIDR8", |value, _| {
            vec![match value {
                0 => "no speculation: every element is committed at once".into(),
                depth => format!("up to {depth} elements uncommitted"),
            }]
        }),
    ];
    // An ETE tells its version in TRCDEVARCH, not here.
    let rows = rows.iter().filter(|(name, _)| !(ete && *name == "TRCIDR1"));
    rows.filter_map(|(name, words)| {
        let value = source.register(name)? as u32;
        Some((format!("{name} {value:#x}"), words(value, ete)))
    })
    .collect()
}

const fn bits(value: u32, high: u32, low: u32) -> u32 {
    (value >> low) & (u32::MAX >> (31 - (high - low)))
}

fn config(value: u32, ete: bool) -> Vec<String> {
    let mut on: Vec<String> = Vec::new();
    let mut flag = |bit: u32, words: &str| {
        if bits(value, bit, bit) == 1 {
            on.push(words.into());
        }
    };
    flag(3, "branch broadcast");
    flag(4, "cycle counts");
    flag(6, "context IDs");
    flag(7, "VMIDs");
    flag(11, "timestamps");
    flag(12, "return stack");
    flag(15, "VMID is CONTEXTIDR_EL2");
    if ete {
        flag(18, "instrumentation trace override");
    } else {
        flag(16, "data addresses");
        flag(17, "data values");
    }
    let p0 = ["", "loads as P0", "stores as P0", "loads and stores as P0"][bits(value, 2, 1) as usize];
    let conditional = match bits(value, 10, 8) {
        0 => "",
        1 => "conditional loads",
        2 => "conditional stores",
        3 => "conditional loads and stores",
        7 => "all conditional instructions",
        _ => "conditional tracing (reserved mode)",
    };
    let q = ["", "Q elements with counts", "Q elements (reserved mode)", "Q elements"]
        [bits(value, 14, 13) as usize];
    on.extend(
        [p0, if ete { "" } else { conditional }, q]
            .iter()
            .filter(|words| !words.is_empty())
            .map(ToString::to_string),
    );
    vec![if on.is_empty() { "instruction trace only".into() } else { format!("on: {}", on.join(", ")) }]
}

fn id0(value: u32, ete: bool) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut flag = |bit: u32, text: &str| {
        if bits(value, bit, bit) == 1 {
            words.push(text.into());
        }
    };
    flag(5, "branch broadcast");
    flag(7, "cycle counts");
    flag(9, "return stack");
    if !ete {
        flag(6, "conditional trace");
    }
    if bits(value, 4, 3) == 0b11 && !ete {
        words.push("data trace".into());
    }
    match bits(value, 16, 15) {
        0 => {}
        1 => words.push("Q elements with counts".into()),
        2 => words.push("Q elements without counts".into()),
        _ => words.push("Q elements".into()),
    }
    match bits(value, 28, 24) {
        0 => words.push("no timestamps".into()),
        6 => words.push("48-bit timestamps".into()),
        8 => words.push("64-bit timestamps".into()),
        size => words.push(format!("timestamps of reserved size {size}")),
    }
    words.push(format!("{} events", bits(value, 11, 10) + 1));
    if bits(value, 7, 7) == 1 {
        let commits = bits(value, 29, 29) == 0;
        words.push(if commits { "cycle counts commit" } else { "cycle counts do not commit" }.into());
    }
    if ete && bits(value, 23, 23) == 1 {
        words.push("timestamp markers".into());
    }
    let mut has = vec![format!("has: {}", words.remove(0))];
    has.append(&mut words);
    has
}

fn id2(value: u32, ete: bool) -> Vec<String> {
    let address = match bits(value, 4, 0) {
        4 => "32-bit addresses".into(),
        8 => "64-bit addresses".into(),
        size => format!("addresses of reserved size {size}"),
    };
    let bytes = |size: u32, what: &str| match size {
        0 => format!("no {what}s"),
        size => format!("{}-bit {what}s", 8 * size),
    };
    let mut words = vec![
        address,
        bytes(bits(value, 9, 5), "context ID"),
        bytes(bits(value, 14, 10), "VMID"),
        format!("{}-bit cycle counts", bits(value, 28, 25) + 12),
    ];
    if bits(value, 31, 31) == 1 && !ete {
        words.push("WFI and WFE are branches".into());
    }
    words
}
