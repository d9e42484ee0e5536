use std::fmt;

use tracewright_etrace::decode::{Handler, HandlerPlace};

/// Names of privileges, and their numbers in packets.
const PRIVILEGES: [(&str, u8); 4] = [("M", 3), ("S", 1), ("U", 0), ("VS", 6)];

/// Error of [`handler_named`]: the part that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HandlerError {
    /// Unknown privilege.
    Privilege,
    /// Text that is not an address.
    Address,
    /// Unknown text after the address.
    Suffix,
}

impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Privilege => "expected M, S, U or VS before the colon",
            Self::Address => "expected an address in hexadecimal after the colon, or next",
            Self::Suffix => "expected nothing after the address, or :vectored",
        })
    }
}

impl std::error::Error for HandlerError {}

/// Parses a trap handler: `M:80000004`, `S:80200000:vectored`, or `U:next`.
///
/// # Errors
/// Reports which part is wrong.
pub fn handler_named(text: &str) -> Result<Handler, HandlerError> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or_default();
    let found = PRIVILEGES.into_iter().find(|(privilege, _)| privilege.eq_ignore_ascii_case(name));
    let (_, privilege) = found.ok_or(HandlerError::Privilege)?;
    let place = match (parts.next().unwrap_or_default(), parts.next(), parts.next()) {
        ("next", None, _) => HandlerPlace::Next,
        (base, None, _) => HandlerPlace::Direct(address(base)?),
        (base, Some("vectored"), None) => HandlerPlace::Vectored(address(base)?),
        _ => return Err(HandlerError::Suffix),
    };
    Ok(Handler { privilege, place })
}

/// Returns the text that [`handler_named`] reads.
pub fn handler_text(handler: &Handler) -> String {
    let name = PRIVILEGES.into_iter().find(|(_, privilege)| *privilege == handler.privilege);
    let name = name.map_or("?", |(name, _)| name);
    match handler.place {
        HandlerPlace::Direct(base) => format!("{name}:{base:x}"),
        HandlerPlace::Vectored(base) => format!("{name}:{base:x}:vectored"),
        HandlerPlace::Next => format!("{name}:next"),
    }
}

fn address(text: &str) -> Result<u64, HandlerError> {
    let digits = text.strip_prefix("0x").or(text.strip_prefix("0X")).unwrap_or(text);
    u64::from_str_radix(digits, 16).map_err(|_| HandlerError::Address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn privilege_and_place() {
        let check = |text: &str, privilege, place| {
            let handler = Handler { privilege, place };
            assert_eq!(handler_named(text), Ok(handler));
            assert_eq!(handler_named(&handler_text(&handler)), Ok(handler));
        };
        check("M:80000004", 3, HandlerPlace::Direct(0x8000_0004));
        check("s:0x80200000:vectored", 1, HandlerPlace::Vectored(0x8020_0000));
        check("U:next", 0, HandlerPlace::Next);
        for wrong in ["", "M", "M:", "M:x", "X:8000", "M:next:vectored", "M:8000:banana", "M:8000:vectored:"]
        {
            assert!(handler_named(wrong).is_err(), "{wrong}");
        }
    }
}
