/// Returns the specification's name of a privilege level, as E-Trace numbers them.
pub const fn privilege_name(level: u8) -> &'static str {
    match level {
        0 => "U",
        1 => "S",
        3 => "M",
        4 => "debug",
        5 => "VU",
        6 => "VS",
        _ => "unknown",
    }
}
