use tracewright_etrace::stream::Encapsulation;

/// Name and meaning of each encapsulation.
pub const ENCAPSULATIONS: &[(&str, &str)] = &[
    ("standard", "the RISC-V encapsulation specification's (with source_bits, timestamp_bytes, type_bits)"),
    ("smi", "a header byte with length and type, as the reference model writes"),
    ("pulp", "records of 40 bytes, as PULP's rv_tracer writes into memory"),
];

/// Parts of the standard encapsulation: name, largest value and meaning.
pub(crate) const PARTS: [(&str, u64, &str); 3] = [
    ("source_bits", 16, "bits of a source's ID"),
    ("timestamp_bytes", 8, "bytes of a timestamp, where a packet has one"),
    ("type_bits", 8, "bits of the type before each payload"),
];

pub(crate) fn parts(encapsulation: Encapsulation) -> Option<[u8; 3]> {
    match encapsulation {
        Encapsulation::Standard { source_bits, timestamp_bytes, type_bits } => {
            Some([source_bits, timestamp_bytes, type_bits])
        }
        Encapsulation::Smi | Encapsulation::Pulp => None,
    }
}

pub(crate) fn name(encapsulation: Encapsulation) -> &'static str {
    match encapsulation {
        Encapsulation::Standard { .. } => "standard",
        Encapsulation::Smi => "smi",
        Encapsulation::Pulp => "pulp",
    }
}

/// Returns the encapsulation with this name; missing `parts` are 0.
pub(crate) fn named(name: &str, parts: [Option<u64>; 3]) -> Result<Encapsulation, String> {
    for ((part, most, _), value) in PARTS.iter().zip(parts) {
        if let Some(value) = value
            && value > *most
        {
            return Err(format!("{part}={value}: at most {most}"));
        }
    }
    let [source_bits, timestamp_bytes, type_bits] = parts.map(|part| part.unwrap_or(0) as u8);
    let encapsulation = match name {
        "standard" => Encapsulation::Standard { source_bits, timestamp_bytes, type_bits },
        "smi" => Encapsulation::Smi,
        "pulp" => Encapsulation::Pulp,
        _ => {
            let names: Vec<_> = ENCAPSULATIONS.iter().map(|(name, _)| *name).collect();
            return Err(format!("encapsulation {name:?}: expected {}", names.join(", ")));
        }
    };
    match PARTS.iter().zip(parts).find(|(_, value)| value.is_some()) {
        Some(((part, ..), _)) if name != "standard" => {
            Err(format!("{part}: only the standard encapsulation has it"))
        }
        _ => Ok(encapsulation),
    }
}
