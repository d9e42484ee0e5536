//! Registers of an ETM or ETE in words.

use tracewright_etm::field;
use tracewright_input::{Protocol, Source};

/// A register in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// Name.
    pub register: &'static str,
    /// Value.
    pub value: u32,
    /// Text to put before the words: `on: `, `has: ` or nothing.
    pub verb: &'static str,
    /// Meaning of its fields.
    pub words: Vec<String>,
}

/// Returns the meaning of a register's value; the flag is set for an ETE.
type Words = fn(u32, bool) -> Vec<String>;

/// Returns the registers that decide how the trace is read, with the meaning of their fields. Sources of other protocols have none.
pub fn explain(source: &Source) -> Vec<Explained> {
    let Protocol::Etm(params) = &source.protocol else { return Vec::new() };
    let ete = params.is_ete();
    let rows: &[(&'static str, &'static str, Words)] = &[
        ("TRCCONFIGR", "on: ", config),
        ("TRCIDR0", "has: ", id0),
        ("TRCIDR1", "", |value, _| vec![format!("ETMv{}.{}", field(value, 11, 8), field(value, 7, 4))]),
        ("TRCIDR2", "", id2),
        ("TRCIDR8", "", |value, _| {
            vec![match value {
                0 => "no speculation: every element is committed at once".into(),
                depth => format!("up to {depth} elements uncommitted"),
            }]
        }),
    ];
    // An ETE tells its version in TRCDEVARCH, not here.
    let rows = rows.iter().filter(|(register, ..)| !(ete && *register == "TRCIDR1"));
    rows.filter_map(|&(register, verb, words)| {
        let value = source.register(register)? as u32;
        Some(Explained { register, value, verb, words: words(value, ete) })
    })
    .collect()
}

/// The words of the bits that are set.
fn flags(value: u32, words: &[(u32, &str)]) -> Vec<String> {
    words.iter().filter(|(bit, _)| value >> bit & 1 == 1).map(|(_, words)| (*words).into()).collect()
}

fn config(value: u32, ete: bool) -> Vec<String> {
    let mut on = flags(
        value,
        &[
            (3, "branch broadcast"),
            (4, "cycle counts"),
            (6, "context IDs"),
            (7, "VMIDs"),
            (11, "timestamps"),
            (12, "return stack"),
            (15, "VMID is CONTEXTIDR_EL2"),
        ],
    );
    if ete {
        on.extend(flags(value, &[(18, "instrumentation trace override")]));
    } else {
        on.extend(flags(value, &[(16, "data addresses"), (17, "data values")]));
    }
    let p0 = ["", "loads as P0", "stores as P0", "loads and stores as P0"][field(value, 2, 1) as usize];
    let conditional = match field(value, 10, 8) {
        1 if !ete => "conditional loads",
        2 if !ete => "conditional stores",
        3 if !ete => "conditional loads and stores",
        7 if !ete => "all conditional instructions",
        _ => "",
    };
    let q = ["", "Q elements with counts", "Q elements (reserved mode)", "Q elements"]
        [field(value, 14, 13) as usize];
    on.extend([p0, conditional, q].iter().filter(|words| !words.is_empty()).map(ToString::to_string));
    on
}

fn id0(value: u32, ete: bool) -> Vec<String> {
    let mut has = flags(value, &[(5, "branch broadcast"), (7, "cycle counts"), (9, "return stack")]);
    if !ete {
        has.extend(flags(value, &[(6, "conditional trace")]));
        if field(value, 4, 3) == 0b11 {
            has.push("data trace".into());
        }
    }
    match field(value, 16, 15) {
        0 => {}
        1 => has.push("Q elements with counts".into()),
        2 => has.push("Q elements without counts".into()),
        _ => has.push("Q elements".into()),
    }
    has.push(match field(value, 28, 24) {
        0 => "no timestamps".into(),
        6 => "48-bit timestamps".into(),
        8 => "64-bit timestamps".into(),
        size => format!("timestamps of reserved size {size}"),
    });
    has.push(format!("{} events", field(value, 11, 10) + 1));
    if field(value, 7, 7) == 1 {
        let commits = field(value, 29, 29) == 0;
        has.push(if commits { "cycle counts commit" } else { "cycle counts do not commit" }.into());
    }
    if ete {
        has.extend(flags(value, &[(23, "timestamp markers")]));
    }
    has
}

fn id2(value: u32, ete: bool) -> Vec<String> {
    let address = match field(value, 4, 0) {
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
        bytes(field(value, 9, 5), "context ID"),
        bytes(field(value, 14, 10), "VMID"),
        format!("{}-bit cycle counts", field(value, 28, 25) + 12),
    ];
    if field(value, 31, 31) == 1 && !ete {
        words.push("WFI and WFE are branches".into());
    }
    words
}
