use core::cmp::Ordering;

use super::host::Host;
use crate::{Flags, exact};

#[inline]
pub fn eq<H: Host>(a: u64, b: u64, flags: &mut Flags) -> bool {
    match H::of(a).partial_cmp(&H::of(b)) {
        Some(order) => order == Ordering::Equal,
        None => exact::eq(H::FORMAT, a, b, flags),
    }
}

#[inline]
pub fn lt<H: Host>(a: u64, b: u64, flags: &mut Flags) -> bool {
    match H::of(a).partial_cmp(&H::of(b)) {
        Some(order) => order == Ordering::Less,
        None => exact::lt(H::FORMAT, a, b, flags),
    }
}

#[inline]
pub fn le<H: Host>(a: u64, b: u64, flags: &mut Flags) -> bool {
    match H::of(a).partial_cmp(&H::of(b)) {
        Some(order) => order != Ordering::Greater,
        None => exact::le(H::FORMAT, a, b, flags),
    }
}

// Equal numbers have the same bits, except zeros.

#[inline]
pub fn min<H: Host>(a: u64, b: u64, flags: &mut Flags) -> u64 {
    match H::of(a).partial_cmp(&H::of(b)) {
        Some(Ordering::Less) => a,
        Some(Ordering::Greater) => b,
        Some(Ordering::Equal) => a | b,
        None => exact::min(H::FORMAT, a, b, flags),
    }
}

#[inline]
pub fn max<H: Host>(a: u64, b: u64, flags: &mut Flags) -> u64 {
    match H::of(a).partial_cmp(&H::of(b)) {
        Some(Ordering::Less) => b,
        Some(Ordering::Greater) => a,
        Some(Ordering::Equal) => a & b,
        None => exact::max(H::FORMAT, a, b, flags),
    }
}

#[inline]
pub fn classify<H: Host>(a: u64) -> u32 {
    exact::classify(H::FORMAT, a)
}
