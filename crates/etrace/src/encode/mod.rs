//! The encoder: what a hart retires to packets.
