/// Value that an access of a translation's last instruction adds to the count of checkpoints, if that instruction may access
/// memory. For readers of the log of a killed QEMU, a system call, which is also a last instruction, adds it too.
pub const LAST_ACCESS: u64 = 1 << 32;

/// Returns how many instructions of a translation retired.
///
/// A *checkpoint* is passed at each instruction that follows one that may access memory, since only such instructions
/// can interrupt execution. `accesses` are their indices in order; `count` is the number of instructions. `since` is
/// the number of checkpoints since the translation began. `went_on` says whether execution continued right behind it;
/// `None` if that is not known.
pub fn retired(
    accesses: impl IntoIterator<Item = u32>,
    count: u32,
    since: u64,
    went_on: Option<bool>,
) -> u32 {
    let (passed, last_accesses) = (since as u32, since >> 32);
    let mut accesses = accesses.into_iter().skip(passed.saturating_sub(1) as usize);
    let before = if passed > 0 { accesses.next().map(|index| index + 1) } else { None };
    match accesses.next() {
        // The last instruction has no checkpoint behind it.
        Some(index) if index + 1 < count => index,
        // It accessed memory, or did not have to, and execution continued.
        Some(_) if last_accesses > 0 || went_on == Some(true) => count,
        Some(index) => index,
        None if went_on.is_none() && last_accesses == 0 => before.unwrap_or_default(),
        None => count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_tell_what_retired() {
        // Six instructions; 1 and 3 may access memory.
        let of = |since, went_on| retired([1, 3], 6, since, went_on);
        assert_eq!((of(0, Some(false)), of(1, Some(false)), of(2, Some(false))), (1, 3, 6));
        // Killed: only what is before a checkpoint has certainly retired, as far as no access can have been in the way.
        assert_eq!((of(0, None), of(1, None), of(2, None)), (1, 3, 4));
        // The last may access memory, too.
        let of = |since, went_on| retired([1, 5], 6, since, went_on);
        assert_eq!((of(1, Some(true)), of(1, Some(false)), of(1, None)), (6, 5, 5));
        assert_eq!((of(1 + LAST_ACCESS, Some(false)), of(1 + 2 * LAST_ACCESS, None)), (6, 6));
        assert_eq!(of(0, Some(true)), 1);
        // A system call.
        assert_eq!(retired([1, 3], 6, 2 + LAST_ACCESS, None), 6);
        // None may access memory.
        assert_eq!((retired([], 3, 0, Some(false)), retired([], 3, 0, None)), (3, 0));
    }
}
