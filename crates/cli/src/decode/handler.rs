//! Where trap handlers are, as people say it.

use std::str::FromStr;

use tracewright_etrace::decode::{Handler, HandlerPlace};

/// `M:80000004`, `S:80200000:vectored`, or `U:next`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandlerArg(pub Handler);

impl FromStr for HandlerArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let privilege = match parts.next() {
            Some("M" | "m") => 3,
            Some("S" | "s") => 1,
            Some("U" | "u") => 0,
            Some("VS" | "vs") => 6,
            _ => return Err("expected M, S, U or VS before the colon".into()),
        };
        let place = match (parts.next().unwrap_or_default(), parts.next(), parts.next()) {
            ("next", None, _) => HandlerPlace::Next,
            (base, None, _) => HandlerPlace::Direct(address(base)?),
            (base, Some("vectored"), None) => HandlerPlace::Vectored(address(base)?),
            _ => return Err("expected nothing after the address, or :vectored".into()),
        };
        Ok(Self(Handler { privilege, place }))
    }
}

fn address(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").or(text.strip_prefix("0X")).unwrap_or(text);
    u64::from_str_radix(digits, 16)
        .map_err(|_| "expected an address in hexadecimal after the colon, or next".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn privilege_and_place() {
        let handler = |privilege, place| Ok(HandlerArg(Handler { privilege, place }));
        assert_eq!("M:80000004".parse(), handler(3, HandlerPlace::Direct(0x8000_0004)));
        assert_eq!("s:0x80200000:vectored".parse(), handler(1, HandlerPlace::Vectored(0x8020_0000)));
        assert_eq!("U:next".parse(), handler(0, HandlerPlace::Next));
        for wrong in ["", "M", "M:", "M:x", "X:8000", "M:next:vectored", "M:8000:banana", "M:8000:vectored:"]
        {
            assert!(wrong.parse::<HandlerArg>().is_err(), "{wrong}");
        }
    }
}
