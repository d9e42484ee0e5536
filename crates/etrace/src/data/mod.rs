//! Data trace: te_data packets, their encoder and decoder.

/// How data is traced (`doptions` of a support packet).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Addresses are not sent.
    pub no_address: bool,
    /// Values are not sent.
    pub no_data: bool,
    /// Addresses are sent whole, not as differences.
    pub full_address: bool,
    /// Values are sent whole, not as differences.
    pub full_data: bool,
}

/// A te_data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet;
