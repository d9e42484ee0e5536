//! Messages as OpenCSD 1.8.0's packet lister prints them.

use core::fmt::{self, Write};

use tracewright_core::{Message, Report, Reported};

/// Writes a message with its timestamp, if that came with it.
///
/// # Errors
/// Fails if `out` does.
pub fn write(out: &mut impl Write, message: &Message, timestamp: Option<u64>) -> fmt::Result {
    match *message {
        Message::Write(write) => {
            origin(out, write.master, write.channel)?;
            value(out, write.value, write.bits)?;
            out.write_str(if write.marked { "+Mrk " } else { "" })?;
            out.write_str(if write.trigger { "Trig " } else { "" })?;
            if let Some(timestamp) = timestamp {
                write!(out, " [ TS={timestamp:#014x}]; ")?;
            }
        }
        Message::Report(Report { what: Reported::GlobalError(_), .. }) => {
            out.write_str("SWTRACE({Global Error.}")?;
        }
        Message::Report(Report { master, channel, what: Reported::Frequency(hertz) }) => {
            origin(out, master, channel)?;
            value(out, hertz.into(), 32)?;
            out.write_str("Freq")?;
        }
        Message::Report(Report { master, channel, what: Reported::MasterError(code) }) => {
            origin(out, master, channel)?;
            value(out, code.into(), 8)?;
            out.write_str("{Master Error.}")?;
        }
        _ => return Ok(()),
    }
    out.write_char(')')
}

fn origin(out: &mut impl Write, master: Option<u16>, channel: u32) -> fmt::Result {
    match master {
        Some(master) => write!(out, "SWTRACE( (Ma:{master:#04x}; Ch:{channel:#04x}) "),
        None => out.write_str("SWTRACE((Ma:0x??; Ch:0x??) "),
    }
}

fn value(out: &mut impl Write, value: u64, bits: u8) -> fmt::Result {
    match bits {
        0 => Ok(()),
        _ => write!(out, "{value:#0width$x}; ", width = 2 + usize::from(bits) / 4),
    }
}
